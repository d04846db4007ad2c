//! `/api/v1/deliveries`: the log of messages.

use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;
use toolmark_domain::limits::CURSOR_BYTES;
use toolmark_domain::timestamp::Timestamp;
use toolmark_registry::{DeliveryFilter, DeliveryState, Resend};
use uuid::Uuid;

use super::shapes::{
    AttemptEntry, ById, DeliveryFacts, DeliveryPage, OnItsWay, ReplayOneBody, WholeDelivery,
};
use super::{actor, answered, endpoint_problem, id_of, invalid, page, page_size, replay_problem, signed};
use crate::cursor;
use crate::ext::invalid_cursor;
use crate::extract::{Ask, Own, Segments};
use crate::problem::Problem;
use crate::state::App;

/// Its parameters.
const KNOWN: &[&str] = &["owner", "endpoint", "state", "limit", "cursor"];
/// First part of its cursors: the last time and id.
const CURSOR: &str = "d1";

#[utoipa::path(
    get, path = "/api/v1/deliveries", tag = "alerts", operation_id = "list_deliveries", security(("token" = [])),
    summary = "Read the delivery log",
    description = "Newest first. What is over is forgotten after 30 days.",
    params(
        ("owner" = Option<String>, Query, max_length = 100, description = "Whose; may be left out when the token names one owner."),
        ("endpoint" = Option<String>, Query, pattern = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", description = "Of this endpoint only."),
        ("state" = Option<String>, Query, pattern = r"^(held|gathered|queued|waiting|sending|delivered|dead)$",
            description = "In this state only."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "Most of the page; 30 unless given."),
        ("cursor" = Option<String>, Query, max_length = 6144, pattern = r"^d1(-([0-9a-f]{2})*){2}$",
            description = "`next_cursor` of the page before. The filters have to be given again."),
    ),
    responses((status = 200, body = DeliveryPage, description = "A page."))
)]
pub(crate) async fn list_deliveries(State(app): State<App>, ask: Ask) -> Result<Response, Problem> {
    let actor = actor(&app, ask.headers()).await?;
    let mut read = Own::parse(ask.query(), KNOWN);
    let owner = read.text("owner", 100);
    let endpoint = read.text("endpoint", 100);
    let state = read.text("state", 100);
    let limit = page_size(&mut read);
    let cursor = read.text("cursor", CURSOR_BYTES);
    read.finish()?;
    let endpoint = endpoint
        .map(|id| id.parse().map_err(|_| invalid("query.endpoint", "not an id")))
        .transpose()?;
    let state = state
        .map(|word| DeliveryState::parse(&word).ok_or_else(|| invalid("query.state", "no such state")))
        .transpose()?;
    let before = match cursor {
        Some(cursor) => {
            let [at, id] = cursor::parts(&cursor, CURSOR).ok_or_else(invalid_cursor)?;
            let at = Timestamp::from_micros(at.parse().unwrap_or_default());
            Some((at, id.parse().unwrap_or(Uuid::nil())))
        }
        None => None,
    };
    let filter = DeliveryFilter {
        owner: None,
        endpoint,
        state,
    };
    let found = app
        .registry
        .list_deliveries(&actor, owner.as_deref(), filter, before, limit + 1)
        .await
        .map_err(|error| endpoint_problem(&error))?;
    let (rows, next_cursor) = page(found, limit, |row| {
        let at = row.created_at.as_micros().to_string();
        cursor::join(CURSOR, &[&at, &row.id.to_string()])
    });
    let deliveries = rows.into_iter().map(DeliveryFacts::from).collect();
    let body = DeliveryPage {
        deliveries,
        next_cursor,
    };
    Ok(answered(StatusCode::OK, &body))
}

#[utoipa::path(
    get, path = "/api/v1/deliveries/{id}", tag = "alerts", operation_id = "get_delivery", security(("token" = [])),
    summary = "Get a delivery with every attempt",
    params(ById),
    responses((status = 200, body = WholeDelivery, description = "The delivery."))
)]
pub(crate) async fn get_delivery(
    State(app): State<App>,
    Segments([id]): Segments<1>,
    ask: Ask,
) -> Result<Response, Problem> {
    let actor = actor(&app, ask.headers()).await?;
    Own::parse(ask.query(), &[]).finish()?;
    let found = app.registry.delivery(&actor, id_of(&id, "delivery")?).await;
    let (delivery, attempts) = found.map_err(|error| endpoint_problem(&error))?;
    let body = WholeDelivery {
        delivery: delivery.into(),
        log: attempts.into_iter().map(AttemptEntry::from).collect(),
    };
    Ok(answered(StatusCode::OK, &body))
}

#[utoipa::path(
    post, path = "/api/v1/deliveries/{id}/replay", tag = "alerts", operation_id = "replay_delivery", security(("token" = [])),
    summary = "Send a delivery again",
    description = "Under its id. One that was delivered only when that is asked for.",
    params(ById),
    request_body = ReplayOneBody,
    responses((status = 202, body = OnItsWay, description = "It will be sent."))
)]
pub(crate) async fn replay_delivery(
    State(app): State<App>,
    Segments([id]): Segments<1>,
    request: Request,
) -> Result<Response, Problem> {
    let (actor, body) = signed::<ReplayOneBody>(&app, request).await?;
    let resend = if body.delivered {
        Resend::All
    } else {
        Resend::Missing
    };
    let id = id_of(&id, "delivery")?;
    let done = app.registry.replay_delivery(&actor, id, resend).await;
    done.map_err(|error| replay_problem(&error))?;
    let body = OnItsWay {
        delivery: id.to_string(),
    };
    Ok(answered(StatusCode::ACCEPTED, &body))
}

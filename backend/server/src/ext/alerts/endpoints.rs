//! `/api/v1/endpoints`: where messages go.

use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;
use toolmark_domain::alert::{Channel, Shape};
use toolmark_registry::{EndpointRequest, Resend};

use super::shapes::{
    ById, ChannelWord, ConfirmationBody, EndpointFacts, EndpointPage, MadeEndpoint, NewEndpointBody,
    NewSecret, OnItsWay, ReplayBody, Replayed, RotationBody, ShapeWord,
};
use super::{
    actor, answered, body_of, endpoint_problem, gone, id_of, list_asked, page, replay_problem, signed,
    signed_bare,
};
use crate::cursor;
use crate::extract::{Ask, Own, Segments};
use crate::lists::store_problem;
use crate::problem::{Code, Problem};
use crate::state::App;

/// First part of its cursors: the last id.
const CURSOR: &str = "n1";

#[utoipa::path(
    get, path = "/api/v1/endpoints", tag = "alerts", operation_id = "list_endpoints", security(("token" = [])),
    summary = "List endpoints",
    params(
        ("owner" = Option<String>, Query, max_length = 100, description = "Whose; may be left out when the token names one owner."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "Most of the page; 30 unless given."),
        ("cursor" = Option<String>, Query, max_length = 6144, pattern = r"^n1(-([0-9a-f]{2})*){1}$",
            description = "`next_cursor` of the page before."),
    ),
    responses((status = 200, body = EndpointPage, description = "A page."))
)]
pub(crate) async fn list_endpoints(State(app): State<App>, ask: Ask) -> Result<Response, Problem> {
    let actor = actor(&app, ask.headers()).await?;
    let asked = list_asked(ask.query(), CURSOR)?;
    let found = app
        .registry
        .list_endpoints(&actor, asked.owner.as_deref(), asked.after, asked.limit + 1)
        .await
        .map_err(|error| endpoint_problem(&error))?;
    let (rows, next_cursor) = page(found, asked.limit, |row| {
        cursor::join(CURSOR, &[&row.id.to_string()])
    });
    let endpoints = rows.into_iter().map(EndpointFacts::from).collect();
    Ok(answered(
        StatusCode::OK,
        &EndpointPage {
            endpoints,
            next_cursor,
        },
    ))
}

#[utoipa::path(
    post, path = "/api/v1/endpoints", tag = "alerts", operation_id = "create_endpoint", security(("token" = [])),
    summary = "Make an endpoint",
    description = "The answer holds the key of a webhook, once. A mail address gets a message first and nothing else \
        until its reader confirmed it.",
    request_body = NewEndpointBody,
    responses((status = 201, body = MadeEndpoint, description = "The endpoint."))
)]
pub(crate) async fn create_endpoint(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let (actor, body) = signed::<NewEndpointBody>(&app, request).await?;
    let asked = EndpointRequest {
        owner: body.owner,
        label: body.label,
        channel: match body.channel {
            ChannelWord::Webhook => Channel::Webhook,
            ChannelWord::Email => Channel::Email,
        },
        address: body.address,
        shape: match body.shape {
            ShapeWord::Standard => Shape::Standard,
            ShapeWord::Slack => Shape::Slack,
        },
    };
    let made = app.registry.create_endpoint(&actor, asked).await;
    let (endpoint, secret) = made.map_err(|error| endpoint_problem(&error))?;
    let made = MadeEndpoint {
        endpoint: endpoint.into(),
        secret: secret.map(|secret| secret.0),
    };
    Ok(answered(StatusCode::CREATED, &made))
}

#[utoipa::path(
    get, path = "/api/v1/endpoints/{id}", tag = "alerts", operation_id = "get_endpoint", security(("token" = [])),
    summary = "Get an endpoint",
    params(ById),
    responses((status = 200, body = EndpointFacts, description = "The endpoint."))
)]
pub(crate) async fn get_endpoint(
    State(app): State<App>,
    Segments([id]): Segments<1>,
    ask: Ask,
) -> Result<Response, Problem> {
    let actor = actor(&app, ask.headers()).await?;
    Own::parse(ask.query(), &[]).finish()?;
    let found = app.registry.endpoint(&actor, id_of(&id, "endpoint")?).await;
    let found: EndpointFacts = found.map_err(|error| endpoint_problem(&error))?.into();
    Ok(answered(StatusCode::OK, &found))
}

#[utoipa::path(
    delete, path = "/api/v1/endpoints/{id}", tag = "alerts", operation_id = "delete_endpoint", security(("token" = [])),
    summary = "Remove an endpoint",
    description = "Its subscriptions, its waiting messages and its log go with it.",
    params(ById),
    responses((status = 204, description = "It is gone."))
)]
pub(crate) async fn delete_endpoint(
    State(app): State<App>,
    Segments([id]): Segments<1>,
    request: Request,
) -> Result<Response, Problem> {
    let actor = signed_bare(&app, request).await?;
    let done = app
        .registry
        .delete_endpoint(&actor, id_of(&id, "endpoint")?)
        .await;
    done.map_err(|error| endpoint_problem(&error))?;
    Ok(gone())
}

#[utoipa::path(
    post, path = "/api/v1/endpoints/{id}/test", tag = "alerts", operation_id = "test_endpoint", security(("token" = [])),
    summary = "Send a test message",
    description = "Signed and sent like any other, also to a paused endpoint; once, whatever comes of it.",
    params(ById),
    responses((status = 202, body = OnItsWay, description = "It will be sent."))
)]
pub(crate) async fn test_endpoint(
    State(app): State<App>,
    Segments([id]): Segments<1>,
    request: Request,
) -> Result<Response, Problem> {
    let actor = signed_bare(&app, request).await?;
    let sent = app.registry.test_endpoint(&actor, id_of(&id, "endpoint")?).await;
    let delivery = sent.map_err(|error| endpoint_problem(&error))?.to_string();
    Ok(answered(StatusCode::ACCEPTED, &OnItsWay { delivery }))
}

#[utoipa::path(
    post, path = "/api/v1/endpoints/{id}/rotate", tag = "alerts", operation_id = "rotate_secret", security(("token" = [])),
    summary = "Replace the key of a webhook",
    description = "Messages carry a signature of each key while the old one is valid.",
    params(ById),
    request_body = RotationBody,
    responses((status = 200, body = NewSecret, description = "The new key, once."))
)]
pub(crate) async fn rotate_secret(
    State(app): State<App>,
    Segments([id]): Segments<1>,
    request: Request,
) -> Result<Response, Problem> {
    let (actor, body) = signed::<RotationBody>(&app, request).await?;
    let id = id_of(&id, "endpoint")?;
    let rotated = app.registry.rotate_secret(&actor, id, body.overlap_secs).await;
    let (secret, until) = rotated.map_err(|error| endpoint_problem(&error))?;
    let made = NewSecret {
        secret: secret.0,
        old_until: until.to_string(),
    };
    Ok(answered(StatusCode::OK, &made))
}

#[utoipa::path(
    post, path = "/api/v1/endpoints/{id}/pause", tag = "alerts", operation_id = "pause_endpoint", security(("token" = [])),
    summary = "Stop sending, and keep what waits",
    params(ById),
    responses((status = 204, description = "It is paused."))
)]
pub(crate) async fn pause_endpoint(
    State(app): State<App>,
    Segments([id]): Segments<1>,
    request: Request,
) -> Result<Response, Problem> {
    let actor = signed_bare(&app, request).await?;
    let done = app.registry.pause_endpoint(&actor, id_of(&id, "endpoint")?).await;
    done.map_err(|error| endpoint_problem(&error))?;
    Ok(gone())
}

#[utoipa::path(
    post, path = "/api/v1/endpoints/{id}/resume", tag = "alerts", operation_id = "resume_endpoint", security(("token" = [])),
    summary = "Send again, what waits first",
    params(ById),
    responses((status = 204, description = "It is active."))
)]
pub(crate) async fn resume_endpoint(
    State(app): State<App>,
    Segments([id]): Segments<1>,
    request: Request,
) -> Result<Response, Problem> {
    let actor = signed_bare(&app, request).await?;
    let done = app
        .registry
        .resume_endpoint(&actor, id_of(&id, "endpoint")?)
        .await;
    done.map_err(|error| endpoint_problem(&error))?;
    Ok(gone())
}

#[utoipa::path(
    post, path = "/api/v1/endpoints/{id}/replay", tag = "alerts", operation_id = "replay_events", security(("token" = [])),
    summary = "Send events again, from a number on",
    description = "Those that the endpoint's subscriptions fit now, also from before they were made; under the ids they \
        had. What was delivered is left out unless asked for.",
    params(ById),
    request_body = ReplayBody,
    responses((status = 202, body = Replayed, description = "How many messages go out."))
)]
pub(crate) async fn replay_events(
    State(app): State<App>,
    Segments([id]): Segments<1>,
    request: Request,
) -> Result<Response, Problem> {
    let (actor, body) = signed::<ReplayBody>(&app, request).await?;
    let id = id_of(&id, "endpoint")?;
    let to = match body.to {
        Some(to) => to,
        None => app.registry.head().await.map_err(|error| store_problem(&error))?,
    };
    let resend = if body.delivered {
        Resend::All
    } else {
        Resend::Missing
    };
    let replayed = app
        .registry
        .replay_events(&actor, id, body.from, to, resend)
        .await;
    let messages = replayed.map_err(|error| replay_problem(&error))?;
    Ok(answered(StatusCode::ACCEPTED, &Replayed { messages }))
}

#[utoipa::path(
    post, path = "/api/v1/endpoints/{id}/confirm", tag = "alerts", operation_id = "confirm_endpoint",
    summary = "Confirm a mail address",
    description = "With the code of the message that was sent there; no token is needed.",
    params(ById),
    request_body = ConfirmationBody,
    responses((status = 204, description = "Alerts are sent there from now on."))
)]
pub(crate) async fn confirm_endpoint(
    State(app): State<App>,
    Segments([id]): Segments<1>,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    Own::parse(parts.uri.query(), &[]).finish()?;
    let body: ConfirmationBody = body_of(&app, &parts.headers, body).await?;
    let done = app
        .registry
        .confirm_endpoint(id_of(&id, "endpoint")?, &body.code)
        .await;
    if done.map_err(|error| store_problem(&error))? {
        Ok(gone())
    } else {
        Err(Problem::new(Code::NotFound, "no endpoint waits for this code"))
    }
}

//! `/api/v1/subscriptions`: which events are wanted.

use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;
use toolmark_domain::alert::Cadence;
use toolmark_domain::alert::filter::Filter;
use toolmark_domain::event::{EventKind, Severity};
use toolmark_registry::SubscriptionRequest;

use super::shapes::{
    ById, CadenceWord, FilterBody, NewSubscriptionBody, SeverityWord, SubscriptionBody, SubscriptionFacts,
    SubscriptionPage,
};
use super::{
    actor, answered, gone, id_of, invalid, list_asked, page, signed, signed_bare, subscription_problem,
};
use crate::cursor;
use crate::extract::{Ask, Own, Segments};
use crate::problem::Problem;
use crate::state::App;

/// First part of its cursors: the last id.
const CURSOR: &str = "u1";

fn cadence(word: CadenceWord) -> Cadence {
    match word {
        CadenceWord::Instant => Cadence::Instant,
        CadenceWord::Hourly => Cadence::Hourly,
        CadenceWord::Daily => Cadence::Daily,
    }
}

fn filter(body: FilterBody) -> Result<Filter, Problem> {
    let mut kinds = Vec::new();
    for (index, word) in body.kinds.iter().enumerate() {
        let kind = EventKind::parse(word);
        let all = || EventKind::ALL.map(EventKind::as_str).join("`, `");
        kinds.push(kind.ok_or_else(|| {
            invalid(
                &format!("body.filter.kinds[{index}]"),
                &format!("expected one of `{}`", all()),
            )
        })?);
    }
    Ok(Filter {
        servers: body.servers,
        namespaces: body.namespaces,
        lock: body.lock,
        kinds,
        rules: body.rules,
        tools: body.tools,
        severity: match body.severity {
            None | Some(SeverityWord::Info) => Severity::Info,
            Some(SeverityWord::Low) => Severity::Low,
            Some(SeverityWord::Medium) => Severity::Medium,
            Some(SeverityWord::High) => Severity::High,
            Some(SeverityWord::Critical) => Severity::Critical,
        },
    })
}

#[utoipa::path(
    get, path = "/api/v1/subscriptions", tag = "alerts", operation_id = "list_subscriptions", security(("token" = [])),
    summary = "List subscriptions",
    params(
        ("owner" = Option<String>, Query, max_length = 100, description = "Whose; may be left out when the token names one owner."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "Most of the page; 30 unless given."),
        ("cursor" = Option<String>, Query, max_length = 6144, pattern = r"^u1(-([0-9a-f]{2})*){1}$",
            description = "`next_cursor` of the page before."),
    ),
    responses((status = 200, body = SubscriptionPage, description = "A page."))
)]
pub(crate) async fn list_subscriptions(State(app): State<App>, ask: Ask) -> Result<Response, Problem> {
    let actor = actor(&app, ask.headers()).await?;
    let asked = list_asked(ask.query(), CURSOR)?;
    let found = app
        .registry
        .list_subscriptions(&actor, asked.owner.as_deref(), asked.after, asked.limit + 1)
        .await
        .map_err(|error| subscription_problem(&error))?;
    let (rows, next_cursor) = page(found, asked.limit, |row| {
        cursor::join(CURSOR, &[&row.id.to_string()])
    });
    let subscriptions = rows.into_iter().map(SubscriptionFacts::from).collect();
    let body = SubscriptionPage {
        subscriptions,
        next_cursor,
    };
    Ok(answered(StatusCode::OK, &body))
}

#[utoipa::path(
    post, path = "/api/v1/subscriptions", tag = "alerts", operation_id = "create_subscription", security(("token" = [])),
    summary = "Subscribe an endpoint to events",
    description = "From the newest event on; earlier ones are sent by a replay.",
    request_body = NewSubscriptionBody,
    responses((status = 201, body = SubscriptionFacts, description = "The subscription."))
)]
pub(crate) async fn create_subscription(
    State(app): State<App>,
    request: Request,
) -> Result<Response, Problem> {
    let (actor, body) = signed::<NewSubscriptionBody>(&app, request).await?;
    let asked = SubscriptionRequest {
        endpoint: body
            .endpoint
            .parse()
            .map_err(|_| invalid("body.endpoint", "not an id"))?,
        label: body.label,
        filter: filter(body.filter)?,
        cadence: cadence(body.cadence),
    };
    let made = app.registry.create_subscription(&actor, asked).await;
    let made: SubscriptionFacts = made.map_err(|error| subscription_problem(&error))?.into();
    Ok(answered(StatusCode::CREATED, &made))
}

#[utoipa::path(
    get, path = "/api/v1/subscriptions/{id}", tag = "alerts", operation_id = "get_subscription", security(("token" = [])),
    summary = "Get a subscription",
    params(ById),
    responses((status = 200, body = SubscriptionFacts, description = "The subscription."))
)]
pub(crate) async fn get_subscription(
    State(app): State<App>,
    Segments([id]): Segments<1>,
    ask: Ask,
) -> Result<Response, Problem> {
    let actor = actor(&app, ask.headers()).await?;
    Own::parse(ask.query(), &[]).finish()?;
    let found = app
        .registry
        .subscription(&actor, id_of(&id, "subscription")?)
        .await;
    let found: SubscriptionFacts = found.map_err(|error| subscription_problem(&error))?.into();
    Ok(answered(StatusCode::OK, &found))
}

#[utoipa::path(
    put, path = "/api/v1/subscriptions/{id}", tag = "alerts", operation_id = "replace_subscription", security(("token" = [])),
    summary = "Replace label, filter and cadence of a subscription",
    params(ById),
    request_body = SubscriptionBody,
    responses((status = 200, body = SubscriptionFacts, description = "The subscription as it is now."))
)]
pub(crate) async fn replace_subscription(
    State(app): State<App>,
    Segments([id]): Segments<1>,
    request: Request,
) -> Result<Response, Problem> {
    let (actor, body) = signed::<SubscriptionBody>(&app, request).await?;
    let id = id_of(&id, "subscription")?;
    let changed = app
        .registry
        .change_subscription(
            &actor,
            id,
            &body.label,
            &filter(body.filter)?,
            cadence(body.cadence),
        )
        .await;
    let changed: SubscriptionFacts = changed.map_err(|error| subscription_problem(&error))?.into();
    Ok(answered(StatusCode::OK, &changed))
}

#[utoipa::path(
    delete, path = "/api/v1/subscriptions/{id}", tag = "alerts", operation_id = "delete_subscription", security(("token" = [])),
    summary = "End a subscription",
    description = "What it matched already is still sent.",
    params(ById),
    responses((status = 204, description = "It is gone."))
)]
pub(crate) async fn delete_subscription(
    State(app): State<App>,
    Segments([id]): Segments<1>,
    request: Request,
) -> Result<Response, Problem> {
    let actor = signed_bare(&app, request).await?;
    let done = app
        .registry
        .delete_subscription(&actor, id_of(&id, "subscription")?)
        .await;
    done.map_err(|error| subscription_problem(&error))?;
    Ok(gone())
}

//! Alerts in our own API: endpoints, subscriptions, deliveries. Every operation needs a token that may `subscribe` for
//! the owner.

mod deliveries;
mod endpoints;
mod shapes;
mod subscriptions;

pub(crate) use deliveries::{
    __path_get_delivery, __path_list_deliveries, __path_replay_delivery, get_delivery, list_deliveries,
    replay_delivery,
};
pub(crate) use endpoints::{
    __path_confirm_endpoint, __path_create_endpoint, __path_delete_endpoint, __path_get_endpoint,
    __path_list_endpoints, __path_pause_endpoint, __path_replay_events, __path_resume_endpoint,
    __path_rotate_secret, __path_test_endpoint, confirm_endpoint, create_endpoint, delete_endpoint,
    get_endpoint, list_endpoints, pause_endpoint, replay_events, resume_endpoint, rotate_secret,
    test_endpoint,
};
pub(crate) use subscriptions::{
    __path_create_subscription, __path_delete_subscription, __path_get_subscription,
    __path_list_subscriptions, __path_replace_subscription, create_subscription, delete_subscription,
    get_subscription, list_subscriptions, replace_subscription,
};

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use toolmark_domain::limits::{CURSOR_BYTES, PAGE_DEFAULT, PAGE_MAX};
use toolmark_registry::{Actor, AuthError, EndpointError, OwnerError, ReplayError, SubscriptionError};
use uuid::Uuid;

use super::{invalid_cursor, text};
use crate::answer;
use crate::cursor;
use crate::extract::{Own, authorization, bearer_token, json_bytes, json_value, unauthenticated};
use crate::problem::{Code, FieldError, Problem};
use crate::state::App;

/// Who asks.
pub(super) async fn actor(app: &App, headers: &HeaderMap) -> Result<Actor, Problem> {
    let Ok(authorization) = authorization(headers) else {
        return Err(unauthenticated("a token is needed")
            .hint("send `Authorization: Bearer tmk_…`; an operator makes one with `toolmark admin token create --subscribe OWNER`"));
    };
    let token = bearer_token(authorization)?;
    app.registry
        .authenticate(token)
        .await
        .map_err(|error| match error {
            AuthError::Invalid | AuthError::Disabled => unauthenticated("the token is not valid"),
            AuthError::Expired => unauthenticated("the token has expired"),
            AuthError::Revoked => unauthenticated("the token was revoked"),
            AuthError::Store(error) => Problem::internal(&error),
        })
}

/// A write: who asks, and what its body says.
pub(super) async fn signed<T: DeserializeOwned>(app: &App, request: Request) -> Result<(Actor, T), Problem> {
    let (parts, body) = request.into_parts();
    Own::parse(parts.uri.query(), &[]).finish()?;
    let actor = actor(app, &parts.headers).await?;
    Ok((actor, body_of(app, &parts.headers, body).await?))
}

/// What a body says; everything it must not say is named.
pub(super) async fn body_of<T: DeserializeOwned>(
    app: &App,
    headers: &HeaderMap,
    body: Body,
) -> Result<T, Problem> {
    let raw = json_bytes(headers, body, app.settings.body_read).await?;
    let value = json_value(&raw)
        .map_err(|unfit| Problem::new(unfit.code, "the body cannot be used").errors(unfit.errors))?;
    serde_json::from_value(value).map_err(|error| invalid("body", &error.to_string()))
}

/// A write without a body.
pub(super) async fn signed_bare(app: &App, request: Request) -> Result<Actor, Problem> {
    let parts = request.into_parts().0;
    Own::parse(parts.uri.query(), &[]).finish()?;
    actor(app, &parts.headers).await
}

/// 422 with the place.
pub(super) fn invalid(location: &str, message: &str) -> Problem {
    let detail = format!("{location}: {message}");
    Problem::new(Code::ValidationFailed, detail).errors(vec![FieldError::located(message, location)])
}

pub(super) fn answered(status: StatusCode, body: &impl Serialize) -> Response {
    let mut response = answer::fresh(text(body));
    *response.status_mut() = status;
    response
}

fn gone() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

fn id_of(segment: &str, what: &'static str) -> Result<Uuid, Problem> {
    segment
        .parse()
        .map_err(|_| Problem::new(Code::NotFound, format!("no such {what}")))
}

fn owner_problem(error: &OwnerError) -> Problem {
    match error {
        OwnerError::Forbidden(_) => Problem::new(Code::Forbidden, error.to_string())
            .hint("an operator makes a token with `toolmark admin token create --subscribe OWNER`"),
        OwnerError::Unnamed | OwnerError::BadName => invalid("owner", &error.to_string()),
    }
}

pub(super) fn endpoint_problem(error: &EndpointError) -> Problem {
    let words = error.to_string();
    match error {
        EndpointError::Owner(error) => owner_problem(error),
        EndpointError::BadLabel => invalid("body.label", &words),
        EndpointError::BadAddress(_) => invalid("body.address", &words),
        EndpointError::NoMail => invalid("body.channel", &words),
        EndpointError::NoShape => invalid("body.shape", &words),
        EndpointError::BadOverlap(_) => invalid("body.overlap_secs", &words),
        EndpointError::NotFound => Problem::new(Code::NotFound, words),
        EndpointError::TooMany(_) | EndpointError::NoKey | EndpointError::State(_) => {
            Problem::new(Code::Refused, words)
        }
        EndpointError::Store(error) => Problem::internal(error),
    }
}

pub(super) fn subscription_problem(error: &SubscriptionError) -> Problem {
    let words = error.to_string();
    match error {
        SubscriptionError::Owner(error) => owner_problem(error),
        SubscriptionError::BadLabel => invalid("body.label", &words),
        SubscriptionError::BadFilter(faults) => {
            let errors = faults
                .iter()
                .map(|fault| FieldError::located(fault.what.clone(), format!("body.filter.{}", fault.field)));
            Problem::new(Code::ValidationFailed, words).errors(errors.collect())
        }
        SubscriptionError::NoEndpoint => invalid("body.endpoint", &words),
        SubscriptionError::NotFound => Problem::new(Code::NotFound, words),
        SubscriptionError::TooMany(_) => Problem::new(Code::Refused, words),
        SubscriptionError::Store(error) => Problem::internal(error),
    }
}

pub(super) fn replay_problem(error: &ReplayError) -> Problem {
    match error {
        ReplayError::Endpoint(error) => endpoint_problem(error),
        ReplayError::BadRange => invalid("body", &error.to_string()),
        ReplayError::NotOver(_) => Problem::new(Code::Refused, error.to_string())
            .hint("what was delivered is sent again with `{\"delivered\": true}`"),
        ReplayError::Store(error) => Problem::internal(error),
    }
}

/// Owner, size and place of a list by id.
struct ListAsked {
    owner: Option<String>,
    limit: u32,
    after: Option<Uuid>,
}

const LIST_KNOWN: &[&str] = &["owner", "limit", "cursor"];

fn list_asked(query: Option<&str>, list: &str) -> Result<ListAsked, Problem> {
    let mut read = Own::parse(query, LIST_KNOWN);
    let owner = read.text("owner", 100);
    let limit = page_size(&mut read);
    let cursor = read.text("cursor", CURSOR_BYTES);
    read.finish()?;
    let after = match cursor {
        Some(cursor) => {
            let [id] = cursor::parts(&cursor, list).ok_or_else(invalid_cursor)?;
            // Any text of the form is a place in the list.
            Some(id.parse().unwrap_or(Uuid::nil()))
        }
        None => None,
    };
    Ok(ListAsked { owner, limit, after })
}

fn page_size(read: &mut Own<'_>) -> u32 {
    let limit = read.integer("limit", 1, i64::from(PAGE_MAX));
    limit
        .and_then(|limit| u32::try_from(limit).ok())
        .unwrap_or(PAGE_DEFAULT)
}

/// The page, and the cursor of the one after it: one more than asked for was read.
fn page<T>(mut rows: Vec<T>, limit: u32, next: impl Fn(&T) -> String) -> (Vec<T>, Option<String>) {
    let more = rows.len() > limit as usize;
    rows.truncate(limit as usize);
    let cursor = rows.last().filter(|_| more).map(next);
    (rows, cursor)
}

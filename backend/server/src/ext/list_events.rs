//! `GET /api/v1/events`: the feed, from a number on; with `wait` it answers when there is something new.

use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use toolmark_domain::limits::{EVENTS_PAGE_MAX, EVENTS_WAIT_SECS};
use toolmark_registry::StoreError;

use super::shapes::EventPage;
use super::text;
use crate::answer;
use crate::extract::{Ask, Own};
use crate::lists::store_problem;
use crate::problem::Problem;
use crate::state::App;

/// Its parameters.
const KNOWN: &[&str] = &["after", "limit", "wait"];
/// Events of a page unless asked otherwise.
const PAGE: u32 = 100;
/// The greatest number JSON readers keep exactly.
const MOST: i64 = 9_007_199_254_740_991;

#[utoipa::path(
    get, path = "/api/v1/events", tag = "registry", operation_id = "list_events",
    summary = "Read the feed of events",
    description = "Numbered without gaps. Keep `last` and give it as `after`: nothing is missed, nothing comes twice. \
        A `head` smaller than `after` means that the number is of another registry.",
    params(
        ("after" = Option<i64>, Query, minimum = 0, maximum = 9_007_199_254_740_991i64,
            description = "Events with a greater number; all of them unless given."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Most events of the answer; 100 unless given."),
        ("wait" = Option<u32>, Query, minimum = 0, maximum = 30,
            description = "Seconds to wait for an event when `after` is the newest one."),
    ),
    responses((status = 200, body = EventPage, description = "The events, maybe none."))
)]
pub(crate) async fn list_events(State(app): State<App>, ask: Ask) -> Result<Response, Problem> {
    let mut read = Own::parse(ask.query(), KNOWN);
    let after = read.integer("after", 0, MOST).unwrap_or(0);
    let limit = read.integer("limit", 1, i64::from(EVENTS_PAGE_MAX));
    let limit = limit.and_then(|limit| u32::try_from(limit).ok()).unwrap_or(PAGE);
    let wait = read.integer("wait", 0, i64::try_from(EVENTS_WAIT_SECS).unwrap_or_default());
    let wait = wait.and_then(|wait| u64::try_from(wait).ok()).unwrap_or(0);
    read.finish()?;
    let page = page(&app, after, limit, Duration::from_secs(wait)).await;
    let page = page.map_err(|error| store_problem(&error))?;
    Ok(answer::json(text(&page), ask.headers()))
}

async fn page(app: &App, after: i64, limit: u32, wait: Duration) -> Result<EventPage, StoreError> {
    let mut head = app.registry.head().await?;
    if head == after && !wait.is_zero() {
        tokio::select! {
            newer = app.registry.wait_past(after, wait) => head = newer?,
            () = app.stopping.cancelled() => {}
        }
    }
    let events = app.registry.events_after(after, limit).await?;
    let last = events.last().map_or(after, |event| event.seq);
    Ok(EventPage {
        last,
        head: events.last().map_or(head, |event| event.seq.max(head)),
        events: events.into_iter().map(|event| event.body).collect(),
    })
}

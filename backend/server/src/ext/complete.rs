//! `GET /api/v1/complete`: what a name that is being typed may become.

use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use toolmark_domain::limits::LIST_SEARCH_CHARS;
use utoipa::ToSchema;

use super::list_tools::problem;
use super::text;
use crate::answer;
use crate::extract::{Ask, Own};
use crate::problem::Problem;
use crate::state::App;

/// Ways to go on.
#[derive(Serialize, ToSchema)]
pub(crate) struct Completions {
    tools: Vec<Completed>,
    servers: Vec<Completed>,
    /// The word that was probably meant, where no name begins so.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    instead: Option<String>,
    /// The event the index reflects.
    event: i64,
}

/// A name that begins as typed.
#[derive(Serialize, ToSchema)]
pub(crate) struct Completed {
    /// `ns/name#tool` or `ns/name`.
    id: String,
    /// How many go by this name.
    count: usize,
}

#[utoipa::path(
    get, path = "/api/v1/complete", tag = "search", operation_id = "complete",
    summary = "Complete a name",
    description = "Names of tools and servers that begin with what was typed, in any spelling; the shortest and most used first.",
    params(("q" = String, Query, max_length = 200, pattern = r"^[^\u0000]*$", description = "What was typed so far.")),
    responses((status = 200, body = Completions, description = "Ways to go on."))
)]
pub(crate) async fn complete(State(app): State<App>, ask: Ask) -> Result<Response, Problem> {
    let mut read = Own::parse(ask.query(), &["q"]);
    let typed = read.text("q", LIST_SEARCH_CHARS);
    if typed.is_none() {
        read.refuse("q", "give the beginning of a name".to_owned());
    }
    read.finish()?;
    let found = app
        .registry
        .complete(&typed.unwrap_or_default())
        .await
        .map_err(|error| problem(&error))?;
    let each = |found: Vec<toolmark_registry::search::Completion>| {
        let found = found.into_iter();
        found
            .map(|completion| Completed {
                id: completion.id,
                count: completion.count,
            })
            .collect()
    };
    let body = Completions {
        tools: each(found.tools),
        servers: each(found.servers),
        instead: found.instead.map(|(_, searched)| searched),
        event: found.event,
    };
    Ok(answer::json(text(&body), ask.headers()))
}

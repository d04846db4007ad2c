//! `GET /api/v1/stats`: what the registry holds, counted.

use axum::extract::State;
use axum::response::Response;

use super::shapes::Numbers;
use super::text;
use crate::answer;
use crate::extract::{Ask, Own};
use crate::lists::store_problem;
use crate::problem::Problem;
use crate::state::App;

#[utoipa::path(
    get, path = "/api/v1/stats", tag = "registry", operation_id = "get_stats",
    summary = "Count what the registry holds",
    description = "At most ten seconds old.",
    responses((status = 200, body = Numbers, description = "The counts."))
)]
pub(crate) async fn get_stats(State(app): State<App>, ask: Ask) -> Result<Response, Problem> {
    Own::parse(ask.query(), &[]).finish()?;
    let stats = app
        .registry
        .stats()
        .await
        .map_err(|error| store_problem(&error))?;
    Ok(answer::json(text(&Numbers::from(stats)), ask.headers()))
}

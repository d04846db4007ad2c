//! `GET /servers/{serverName}/versions`: all versions of a server, newest publication first.

use axum::extract::State;
use axum::response::Response;

use super::{absent, list_body};
use crate::answer;
use crate::extract::{Ask, Official, Segments};
use crate::lists::store_problem;
use crate::problem::Problem;
use crate::state::App;

pub(crate) async fn list_versions(
    State(app): State<App>,
    Segments([name]): Segments<1>,
    ask: Ask,
) -> Result<Response, Problem> {
    let mut read = Official::parse(ask.query());
    let include_deleted = read.boolean("include_deleted").unwrap_or(false);
    read.finish()?;
    let versions = app
        .registry
        .versions_of(&name, include_deleted)
        .await
        .map_err(|error| store_problem(&error))?;
    if versions.is_empty() {
        return absent(&app, ask.uri(), &name).await;
    }
    Ok(answer::json(list_body(&versions, None), ask.headers()))
}

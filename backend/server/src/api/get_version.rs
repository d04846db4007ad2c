//! `GET /servers/{serverName}/versions/{version}`: one version, or `latest`.

use axum::extract::State;
use axum::response::Response;

use super::{absent, one_body};
use crate::answer;
use crate::extract::{Ask, Official, Segments};
use crate::lists::store_problem;
use crate::problem::Problem;
use crate::state::App;

pub(crate) async fn get_version(
    State(app): State<App>,
    Segments([name, version]): Segments<2>,
    ask: Ask,
) -> Result<Response, Problem> {
    let mut read = Official::parse(ask.query());
    let include_deleted = read.boolean("include_deleted").unwrap_or(false);
    read.finish()?;
    let found = app
        .registry
        .version(&name, &version, include_deleted)
        .await
        .map_err(|error| store_problem(&error))?;
    match found {
        Some(found) => Ok(answer::json(one_body(&found), ask.headers())),
        None => absent(&app, ask.uri(), &name).await,
    }
}

//! `GET /api/v1/servers/{name}`: a server, by its current version.

use axum::extract::State;
use axum::response::Response;

use super::shapes::WholeVersion;
use super::{no_server, text};
use crate::answer;
use crate::api::absent_as;
use crate::extract::{Ask, Own, Segments};
use crate::lists::store_problem;
use crate::problem::Problem;
use crate::state::App;

#[utoipa::path(
    get, path = "/api/v1/servers/{name}", tag = "servers", operation_id = "get_server",
    summary = "Get a server by its current version",
    description = "Also when every version is deleted: the status says so.",
    params(("name" = String, Path, max_length = 200, min_length = 1, pattern = r"^[^\u0000]+$",
        description = "`namespace/name`, with the slash percent-encoded.")),
    responses((status = 200, body = WholeVersion, description = "The current version."))
)]
pub(crate) async fn get_server(
    State(app): State<App>,
    Segments([name]): Segments<1>,
    ask: Ask,
) -> Result<Response, Problem> {
    Own::parse(ask.query(), &[]).finish()?;
    let current = app.registry.current(&name).await;
    match current.map_err(|error| store_problem(&error))? {
        Some(current) => {
            let body = WholeVersion::new(&current).map_err(|error| Problem::internal(&error))?;
            Ok(answer::json(text(&body), ask.headers()))
        }
        None => absent_as(&app, ask.uri(), &name, 4, || no_server(&name)).await,
    }
}

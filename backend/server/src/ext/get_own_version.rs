//! `GET /api/v1/servers/{name}/versions/{version}`: one version, by its exact text.

use axum::extract::State;
use axum::response::Response;
use toolmark_domain::record::Version;

use super::shapes::WholeVersion;
use super::{no_server, no_version, text};
use crate::answer;
use crate::api::absent_as;
use crate::extract::{Ask, Own, Segments};
use crate::lists::store_problem;
use crate::problem::Problem;
use crate::state::App;

#[utoipa::path(
    get, path = "/api/v1/servers/{name}/versions/{version}", tag = "servers", operation_id = "get_version",
    summary = "Get one version",
    description = "By its exact text, whatever its status. `current` stands for the current version, unless one is called so.",
    params(
        ("name" = String, Path, max_length = 200, min_length = 1, pattern = r"^[^\u0000]+$",
            description = "`namespace/name`, with the slash percent-encoded."),
        ("version" = String, Path, max_length = 255, min_length = 1, pattern = r"^[^\u0000]+$",
            description = "As published, percent-encoded, or `current`."),
    ),
    responses((status = 200, body = WholeVersion, description = "The version."))
)]
pub(crate) async fn get_own_version(
    State(app): State<App>,
    Segments([name, version]): Segments<2>,
    ask: Ask,
) -> Result<Response, Problem> {
    Own::parse(ask.query(), &[]).finish()?;
    match find(&app, &name, &version).await? {
        Some(found) => {
            let body = WholeVersion::new(&found).map_err(|error| Problem::internal(&error))?;
            Ok(answer::json(text(&body), ask.headers()))
        }
        None => missing(&app, &ask, &name, &version).await,
    }
}

/// The version under its exact text, or the current one.
pub(super) async fn find(app: &App, name: &str, version: &str) -> Result<Option<Version>, Problem> {
    let found = match version {
        // A version that is called so comes first.
        "current" => match app.registry.version(name, version, true).await {
            Ok(None) => app.registry.current(name).await,
            found => found,
        },
        // The store reads the word in upstream's sense, which is not offered here.
        "latest" => Ok(None),
        _ => app.registry.version(name, version, true).await,
    };
    found.map_err(|error| store_problem(&error))
}

/// Which of the two is missing.
pub(super) async fn missing(app: &App, ask: &Ask, name: &str, version: &str) -> Result<Response, Problem> {
    let server = app.registry.current(name).await;
    if server.map_err(|error| store_problem(&error))?.is_some() {
        return Err(no_version(name, version));
    }
    absent_as(app, ask.uri(), name, 4, || no_server(name)).await
}

//! `GET /api/v1/servers/{name}/versions/{version}/document`: the bytes of a `server.json` as received, which is what
//! its digest is of.

use axum::extract::State;
use axum::response::Response;

use super::get_own_version::{find, missing};
use super::no_version;
use crate::answer;
use crate::extract::{Ask, Own, Segments};
use crate::lists::store_problem;
use crate::problem::Problem;
use crate::state::App;

#[utoipa::path(
    get, path = "/api/v1/servers/{name}/versions/{version}/document", tag = "servers", operation_id = "get_document",
    summary = "Get the bytes of a document as received",
    params(
        ("name" = String, Path, max_length = 200, min_length = 1, pattern = r"^[^\u0000]+$",
            description = "`namespace/name`, with the slash percent-encoded."),
        ("version" = String, Path, max_length = 255, min_length = 1, pattern = r"^[^\u0000]+$",
            description = "As published, percent-encoded, or `current`."),
    ),
    responses((status = 200, body = Object, content_type = "application/json",
        description = "The bytes whose SHA-256 is the version's `sha256`."))
)]
pub(crate) async fn get_document(
    State(app): State<App>,
    Segments([name, version]): Segments<2>,
    ask: Ask,
) -> Result<Response, Problem> {
    Own::parse(ask.query(), &[]).finish()?;
    let Some(found) = find(&app, &name, &version).await? else {
        return missing(&app, &ask, &name, &version).await;
    };
    let raw = app.registry.raw_document(&name, found.version.as_str()).await;
    let raw = raw.map_err(|error| store_problem(&error))?;
    let raw = raw.ok_or_else(|| no_version(&name, &version))?;
    Ok(answer::text(raw, answer::JSON, ask.headers()))
}

//! `GET /api/v1/servers/{name}/versions/{version}/manifest`: the snapshot document that is shown of a version.

use axum::extract::State;
use axum::response::Response;

use super::get_own_version::{find, missing};
use crate::answer;
use crate::extract::{Ask, Own, Segments};
use crate::lists::store_problem;
use crate::observed::observe_problem;
use crate::problem::{Code, Problem};
use crate::state::App;

#[utoipa::path(
    get, path = "/api/v1/servers/{name}/versions/{version}/manifest", tag = "observations",
    operation_id = "get_manifest", summary = "Get what a version declares",
    description = "The `toolmark.snapshot/1` document of the last believed look at its first target that could be \
        looked at: tools, prompts and resources byte for byte as the server sent them, and their digests.",
    params(
        ("name" = String, Path, max_length = 200, min_length = 1, pattern = r"^[^\u0000]+$",
            description = "`namespace/name`, with the slash percent-encoded."),
        ("version" = String, Path, max_length = 255, min_length = 1, pattern = r"^[^\u0000]+$",
            description = "As published, percent-encoded, or `current`."),
    ),
    responses((status = 200, body = Object, description = "The document."))
)]
pub(crate) async fn get_manifest(
    State(app): State<App>,
    Segments([name, version]): Segments<2>,
    ask: Ask,
) -> Result<Response, Problem> {
    Own::parse(ask.query(), &[]).finish()?;
    let Some(found) = find(&app, &name, &version).await? else {
        return missing(&app, &ask, &name, &version).await;
    };
    let rows = app.registry.last_looks(&name, found.version.as_str()).await;
    let rows = rows.map_err(|error| store_problem(&error))?;
    let Some(row) = rows.iter().find(|row| row.is_shown) else {
        return Err(not_observed(&rows));
    };
    let bytes = app.registry.document_bytes(&row.document).await;
    let bytes = bytes.map_err(|error| observe_problem(&error))?;
    let text = String::from_utf8(bytes.to_vec()).map_err(|error| Problem::internal(&error))?;
    Ok(answer::json(text, ask.headers()))
}

fn not_observed(rows: &[toolmark_registry::StoredSnapshot]) -> Problem {
    let detail = match rows.first() {
        Some(row) => format!(
            "this version could not be observed: the last look at `{}` ended as `{}`",
            row.target,
            row.outcome.as_str()
        ),
        None => "this version was not observed yet".to_owned(),
    };
    Problem::new(Code::NotFound, detail).hint("the looks are listed at `snapshots`, beside this one")
}

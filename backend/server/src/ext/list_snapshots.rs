//! `GET /api/v1/servers/{name}/versions/{version}/snapshots`: every look at its targets, newest first.

use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use toolmark_domain::limits::PAGE_MAX;
use toolmark_registry::StoredSnapshot;
use utoipa::ToSchema;

use super::get_own_version::{find, missing};
use super::text;
use crate::answer;
use crate::extract::{Ask, Own, Segments};
use crate::lists::store_problem;
use crate::problem::Problem;
use crate::state::App;

/// One look at one target.
#[derive(Serialize, ToSchema)]
#[schema(as = Snapshot)]
pub(crate) struct SnapshotFacts {
    /// UUID.
    id: String,
    /// `npm:NAME@V`, `pypi:NAME@V`, `oci:REF`, `mcpb:URL`, or the URL of a remote.
    target: String,
    #[schema(format = DateTime)]
    observed_at: String,
    took_ms: i64,
    /// `observed`, `declared`, `auth_required`, `needs_configuration`, `crashed`, `timed_out`, `does_not_speak_mcp`,
    /// `unreachable`, `refused_by_policy`, `not_observed`.
    outcome: &'static str,
    /// A finer state under the outcome.
    reason: Option<String>,
    protocol_version: Option<String>,
    /// `manifest/1`, lower-case hex; null where there is no manifest.
    manifest: Option<String>,
    /// The gravest finding about its form and texts.
    severity: Option<&'static str>,
    tools: i64,
    prompts: i64,
    resources: i64,
    resource_templates: i64,
    /// Model tokens of all definitions of tools.
    token_cost: i64,
    /// Whether it is believed: a changed era or an emptied list is looked at twice.
    confirmed: bool,
    /// Whether it is what is shown of its target.
    shown: bool,
}

impl From<&StoredSnapshot> for SnapshotFacts {
    fn from(row: &StoredSnapshot) -> Self {
        Self {
            id: row.id.to_string(),
            target: row.target.clone(),
            observed_at: row.observed_at.to_string(),
            took_ms: row.took_ms,
            outcome: row.outcome.as_str(),
            reason: row.reason.clone(),
            protocol_version: row.protocol_version.clone(),
            manifest: row.manifest.map(|digest| digest.to_string()),
            severity: row.severity.map(toolmark_domain::event::Severity::as_str),
            tools: row.tools,
            prompts: row.prompts,
            resources: row.resources,
            resource_templates: row.templates,
            token_cost: row.token_cost,
            confirmed: row.confirmed,
            shown: row.is_shown,
        }
    }
}

/// The looks at one version.
#[derive(Serialize, ToSchema)]
pub(crate) struct SnapshotList {
    /// `namespace/name`.
    name: String,
    version: String,
    /// Newest first, the newest hundred.
    snapshots: Vec<SnapshotFacts>,
}

#[utoipa::path(
    get, path = "/api/v1/servers/{name}/versions/{version}/snapshots", tag = "observations",
    operation_id = "list_snapshots", summary = "List the looks at a version",
    description = "Each time Toolmark looked at one of its packages or remotes, and how that ended.",
    params(
        ("name" = String, Path, max_length = 200, min_length = 1, pattern = r"^[^\u0000]+$",
            description = "`namespace/name`, with the slash percent-encoded."),
        ("version" = String, Path, max_length = 255, min_length = 1, pattern = r"^[^\u0000]+$",
            description = "As published, percent-encoded, or `current`."),
    ),
    responses((status = 200, body = SnapshotList, description = "The looks, maybe none."))
)]
pub(crate) async fn list_snapshots(
    State(app): State<App>,
    Segments([name, version]): Segments<2>,
    ask: Ask,
) -> Result<Response, Problem> {
    Own::parse(ask.query(), &[]).finish()?;
    let Some(found) = find(&app, &name, &version).await? else {
        return missing(&app, &ask, &name, &version).await;
    };
    let version = found.version.as_str();
    let rows = app.registry.snapshots_of(&name, version, PAGE_MAX).await;
    let rows = rows.map_err(|error| store_problem(&error))?;
    let body = SnapshotList {
        name: found.server.to_string(),
        version: version.to_owned(),
        snapshots: rows.iter().map(SnapshotFacts::from).collect(),
    };
    Ok(answer::json(text(&body), ask.headers()))
}

//! `GET /api/v1/servers/{name}/versions/{version}/provenance`: who built each package, and everything that rests on.

use axum::extract::State;
use axum::response::Response;
use serde_json::{Value, json};
use toolmark_registry::StoredVerdict;

use super::get_own_version::{find, missing};
use super::text;
use crate::answer;
use crate::extract::{Ask, Own, Segments};
use crate::lists::store_problem;
use crate::problem::Problem;
use crate::state::App;

#[utoipa::path(
    get, path = "/api/v1/servers/{name}/versions/{version}/provenance", tag = "provenance",
    operation_id = "get_provenance",
    summary = "Get who built the packages of a version",
    description = "Of each package the verdict that is shown, with its report, the record of the check, and the signed \
        summary; and every check there was, newest first. A version that was not checked yet has an empty list.",
    params(
        ("name" = String, Path, max_length = 200, min_length = 1, pattern = r"^[^\u0000]+$",
            description = "`namespace/name`, with the slash percent-encoded."),
        ("version" = String, Path, max_length = 255, min_length = 1, pattern = r"^[^\u0000]+$",
            description = "As published, percent-encoded, or `current`."),
    ),
    responses((status = 200, body = Object, description = "Verdicts by target, and their history."))
)]
pub(crate) async fn get_provenance(
    State(app): State<App>,
    Segments([name, version]): Segments<2>,
    ask: Ask,
) -> Result<Response, Problem> {
    Own::parse(ask.query(), &[]).finish()?;
    let Some(found) = find(&app, &name, &version).await? else {
        return missing(&app, &ask, &name, &version).await;
    };
    let version = found.version.as_str();
    let rows = app.registry.verdicts_of(&name, version).await;
    let rows = rows.map_err(|error| store_problem(&error))?;
    let mut targets = Vec::new();
    for row in rows.iter().filter(|row| row.is_shown) {
        targets.push(whole(&app, row).await?);
    }
    let history: Vec<Value> = rows.iter().map(short).collect();
    let body = json!({
        "schema": "toolmark.provenance/1",
        "server": found.server,
        "version": version,
        "targets": targets,
        "history": history,
    });
    Ok(answer::json(text(&body), ask.headers()))
}

fn short(row: &StoredVerdict) -> Value {
    json!({
        "target": row.target,
        "position": row.position,
        "checked_at": row.checked_at,
        "cause": row.cause.as_str(),
        "verdict": row.verdict,
        "level": row.level,
        "reasons": row.reasons,
        "warnings": row.warnings,
        "changes": row.changes,
        "severity": row.severity,
        "artifact": row.artifact,
        "record": row.record,
        "report": row.report,
        "summary": row.summary,
        "shown": row.is_shown,
        "last": row.is_last,
    })
}

async fn whole(app: &App, row: &StoredVerdict) -> Result<Value, Problem> {
    let documents = app.registry.verdict_documents(row.clone()).await;
    let documents = documents.map_err(|error| Problem::internal(&error))?;
    let evidence: Vec<Value> = documents
        .record
        .needs()
        .into_iter()
        .chain([row.record, row.report])
        .map(|digest| json!({"sha256": digest, "href": format!("/api/v1/evidence/{digest}")}))
        .collect();
    let mut body = short(row);
    body["meaning"] = json!(row.verdict.meaning());
    body["builder"] = json!(row.builder);
    body["report"] = documents.report;
    body["record"] = json!(documents.record);
    body["record_sha256"] = json!(row.record);
    body["report_sha256"] = json!(row.report);
    body["signed_summary"] = json!(documents.summary);
    body["evidence"] = json!(evidence);
    Ok(body)
}

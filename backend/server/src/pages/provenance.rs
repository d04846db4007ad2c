//! `/s/{namespace}/{name}/{version}/provenance`: who built the packages of a version.

use axum::extract::State;
use axum::response::Response;
use toolmark_domain::provenance::Verdict;
use toolmark_domain::record::Version;
use toolmark_domain::timestamp::Timestamp;
use toolmark_frontend::paths::version_below_v;
use toolmark_frontend::views::{Check, ProvenanceView};
use toolmark_registry::StoredVerdict;

use super::servers::{Found, find};
use super::{Form, not_recorded, page, site};
use crate::extract::{Ask, Own, Segments};
use crate::lists::store_problem;
use crate::problem::Problem;
use crate::state::App;

type Path3 = Segments<3>;

pub(crate) async fn provenance(
    State(app): State<App>,
    Segments([namespace, name, version]): Path3,
    ask: Ask,
) -> Result<Response, Problem> {
    provenance_as(&app, &ask, [&namespace, &name, &version], Form::Html).await
}

pub(crate) async fn provenance_twin(
    State(app): State<App>,
    Segments([namespace, name, version]): Path3,
    ask: Ask,
) -> Result<Response, Problem> {
    provenance_as(&app, &ask, [&namespace, &name, &version], Form::Json).await
}

pub(crate) async fn provenance_below(
    State(app): State<App>,
    Segments([namespace, name, version]): Path3,
    ask: Ask,
) -> Result<Response, Problem> {
    let version = version_below_v(&version);
    provenance_as(&app, &ask, [&namespace, &name, version], Form::Html).await
}

pub(crate) async fn provenance_below_twin(
    State(app): State<App>,
    Segments([namespace, name, version]): Path3,
    ask: Ask,
) -> Result<Response, Problem> {
    let version = version_below_v(&version);
    provenance_as(&app, &ask, [&namespace, &name, version], Form::Json).await
}

async fn provenance_as(
    app: &App,
    ask: &Ask,
    [namespace, name, version]: [&str; 3],
    form: Form,
) -> Result<Response, Problem> {
    Own::parse(ask.query(), &[]).finish()?;
    let (name, all) = match find(app, ask, namespace, name, false).await? {
        Found::Server(name, all, _) => (name, all),
        Found::Elsewhere(response) => return Ok(response),
    };
    if !all.iter().any(|found| found.version.as_str() == version) {
        return Err(not_recorded(format!("this server has no version `{version}`")));
    }
    let rows = app.registry.last_verdicts(name.as_str(), version).await;
    let rows = rows.map_err(|error| store_problem(&error))?;
    let mut checks = Vec::new();
    for row in rows.iter().filter(|row| row.is_shown) {
        checks.push(check(app, row, &rows).await?);
    }
    let view = ProvenanceView::new(&site(app), &name, version, &checks);
    page(&view, form, ask.headers())
}

async fn check(app: &App, row: &StoredVerdict, all: &[StoredVerdict]) -> Result<Check, Problem> {
    let documents = app.registry.verdict_documents(row.clone()).await;
    let documents = documents.map_err(|error| Problem::internal(&error))?;
    let record = serde_json::to_value(&documents.record).map_err(|error| Problem::internal(&error))?;
    let later = all
        .iter()
        .find(|other| other.is_last && !other.is_shown && other.position == row.position);
    Ok(Check {
        target: row.target.clone(),
        verdict: row.verdict,
        level: row.level,
        checked_at: row.checked_at,
        failed_at: later.map(|later| later.checked_at),
        changes: row.changes.clone(),
        report: documents.report,
        record,
        record_sha256: row.record.to_string(),
    })
}

/// What is said of a version as a whole: the gravest verdict on its packages.
pub(super) async fn trust(app: &App, version: &Version) -> Result<Option<(Verdict, Timestamp)>, Problem> {
    let rows = app
        .registry
        .last_verdicts(version.server.as_str(), version.version.as_str())
        .await;
    let rows = rows.map_err(|error| store_problem(&error))?;
    let shown = rows.into_iter().filter(|row| row.is_shown);
    let gravest = shown.min_by_key(|row| row.verdict.rank());
    Ok(gravest.map(|row| (row.verdict, row.checked_at)))
}

//! `/`, `/stats`, `/status`.

use axum::extract::State;
use axum::response::Response;
use toolmark_domain::event::Severity;
use toolmark_frontend::views::{HomeView, InstanceStatus, StatsView, StatusView};
use toolmark_registry::{ChangeFilter, Engine};

use super::{Form, page, site};
use crate::extract::{Ask, Own};
use crate::lists::store_problem;
use crate::problem::Problem;
use crate::state::App;

/// Servers shown as recently updated.
const RECENT: u32 = 12;
/// Changes shown as worth a look.
const GRAVE: u32 = 5;

pub(crate) async fn home(State(app): State<App>, ask: Ask) -> Result<Response, Problem> {
    Own::parse(ask.query(), &[]).finish()?;
    let stats = app
        .registry
        .stats()
        .await
        .map_err(|error| store_problem(&error))?;
    let recent = app.registry.list_recent(RECENT).await;
    let recent = recent.map_err(|error| store_problem(&error))?;
    let grave = ChangeFilter {
        severity: Some(Severity::Medium),
        ..ChangeFilter::default()
    };
    let (changes, _) = super::changes::list(&app, &grave, None, GRAVE).await?;
    let view = HomeView::new(&site(&app), &stats, &recent, &changes);
    page(&view, Form::Html, ask.headers())
}

pub(crate) async fn stats(State(app): State<App>, ask: Ask) -> Result<Response, Problem> {
    stats_as(&app, &ask, Form::Html).await
}

pub(crate) async fn stats_twin(State(app): State<App>, ask: Ask) -> Result<Response, Problem> {
    stats_as(&app, &ask, Form::Json).await
}

async fn stats_as(app: &App, ask: &Ask, form: Form) -> Result<Response, Problem> {
    Own::parse(ask.query(), &[]).finish()?;
    let stats = app
        .registry
        .stats()
        .await
        .map_err(|error| store_problem(&error))?;
    page(&StatsView::new(&site(app), &stats), form, ask.headers())
}

pub(crate) async fn status(State(app): State<App>, ask: Ask) -> Result<Response, Problem> {
    status_as(&app, &ask, Form::Html).await
}

pub(crate) async fn status_twin(State(app): State<App>, ask: Ask) -> Result<Response, Problem> {
    status_as(&app, &ask, Form::Json).await
}

async fn status_as(app: &App, ask: &Ask, form: Form) -> Result<Response, Problem> {
    Own::parse(ask.query(), &[]).finish()?;
    let event = app.registry.head().await.ok();
    let jobs = app.registry.job_counts().await.ok();
    let build = &app.settings.build;
    let instance = InstanceStatus {
        version: build.version.clone(),
        commit: Some(build.git_commit.clone()).filter(|commit| commit != "unknown"),
        store: match app.registry.engine() {
            Engine::Sqlite => "SQLite",
            Engine::Postgres => "PostgreSQL",
        },
        ready: event.is_some(),
        event,
        jobs_waiting: jobs.map(|[waiting, _, _]| waiting),
        jobs_running: jobs.map(|[_, running, _]| running),
        started_at: app.started_at,
        asked_at: app.registry.now(),
    };
    page(&StatusView::new(&site(app), instance), form, ask.headers())
}

//! `/s/{namespace}/{name}` and below: a server, its versions, one version. A server or version whose own name ends in
//! `.json` wins over the twin of another.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use toolmark_domain::limits::VERSION_CHARS;
use toolmark_domain::name::ServerName;
use toolmark_domain::record::{Outline, Version};
use toolmark_domain::validation::{self, Severity};
use toolmark_domain::version::VersionId;
use toolmark_frontend::paths::version_below_v;
use toolmark_frontend::views::{FormFinding, ServerView, VersionsView};

use super::provenance::trust;
use super::{Form, not_recorded, page, site};
use crate::api::with_segment;
use crate::extract::{Ask, Own, Segments};
use crate::lists::store_problem;
use crate::middleware::moved;
use crate::observed::looked;
use crate::outlines::outlines;
use crate::problem::Problem;
use crate::state::App;

/// What a path asks for: a server that is there, in a form; or where to go instead.
pub(super) enum Found {
    Server(ServerName, Arc<Vec<Outline>>, Form),
    Elsewhere(Response),
}

/// `/s/{namespace}/{name}` and `/s/{namespace}/{name}.json`.
pub(crate) async fn server(
    State(app): State<App>,
    Segments([namespace, name]): Segments<2>,
    ask: Ask,
) -> Result<Response, Problem> {
    Own::parse(ask.query(), &[]).finish()?;
    let (name, all, form) = match find(&app, &ask, &namespace, &name, true).await? {
        Found::Server(name, all, form) => (name, all, form),
        Found::Elsewhere(response) => return Ok(response),
    };
    let shown = all.iter().find(|outline| outline.is_current).or(all.first());
    let shown = shown.ok_or_else(|| not_recorded("this server has no version"))?;
    let beside = named(&app, &name, &ServerView::needs(&shown.version, &all)).await?;
    let shown = one_of(&beside, &shown.version)?;
    let looked = looked(&app, shown.server.as_str(), shown.version.as_str()).await?;
    let view = ServerView::of_server(&site(&app), shown, &beside)
        .with_version_count(all.len())
        .with_findings(findings(shown))
        .with_looks(
            &looked.looks,
            looked.shown.as_ref().map(|(_, declared)| declared.as_ref()),
        );
    page(&view, form, ask.headers())
}

pub(crate) async fn versions(
    State(app): State<App>,
    Segments([namespace, name]): Segments<2>,
    ask: Ask,
) -> Result<Response, Problem> {
    versions_as(&app, &ask, &namespace, &name, Form::Html).await
}

pub(crate) async fn versions_twin(
    State(app): State<App>,
    Segments([namespace, name]): Segments<2>,
    ask: Ask,
) -> Result<Response, Problem> {
    versions_as(&app, &ask, &namespace, &name, Form::Json).await
}

async fn versions_as(
    app: &App,
    ask: &Ask,
    namespace: &str,
    name: &str,
    form: Form,
) -> Result<Response, Problem> {
    let mut read = Own::parse(ask.query(), &["cursor"]);
    let cursor = read.text("cursor", VERSION_CHARS);
    read.finish()?;
    match find(app, ask, namespace, name, false).await? {
        Found::Server(name, all, _) => {
            let rows = named(app, &name, &VersionsView::needs(&all, cursor.as_deref())).await?;
            let view = VersionsView::new(&site(app), &name, &all, &rows, cursor.as_deref());
            page(&view, form, ask.headers())
        }
        Found::Elsewhere(response) => Ok(response),
    }
}

/// `/s/{namespace}/{name}/{version}` and its twin.
pub(crate) async fn version(
    State(app): State<App>,
    Segments([namespace, name, version]): Segments<3>,
    ask: Ask,
) -> Result<Response, Problem> {
    version_as(&app, &ask, &namespace, &name, &version).await
}

/// `/s/{namespace}/{name}/v/{version}`, for versions that cannot be a segment of their own.
pub(crate) async fn version_below(
    State(app): State<App>,
    Segments([namespace, name, version]): Segments<3>,
    ask: Ask,
) -> Result<Response, Problem> {
    version_as(&app, &ask, &namespace, &name, version_below_v(&version)).await
}

async fn version_as(
    app: &App,
    ask: &Ask,
    namespace: &str,
    name: &str,
    version: &str,
) -> Result<Response, Problem> {
    Own::parse(ask.query(), &[]).finish()?;
    let (name, all) = match find(app, ask, namespace, name, false).await? {
        Found::Server(name, all, _) => (name, all),
        Found::Elsewhere(response) => return Ok(response),
    };
    let exact = |wanted: &str| all.iter().find(|found| found.version.as_str() == wanted);
    // The twin of the empty version is `~.json`.
    let twin = || version.strip_suffix(".json").and_then(exact);
    let (shown, form) = match (exact(version), twin()) {
        (Some(shown), _) => (shown, Form::Html),
        (None, Some(shown)) => (shown, Form::Json),
        (None, None) => return Err(not_recorded(format!("this server has no version `{version}`"))),
    };
    let beside = named(app, &name, &ServerView::needs(&shown.version, &all)).await?;
    let shown = one_of(&beside, &shown.version)?;
    let looked = looked(app, shown.server.as_str(), shown.version.as_str()).await?;
    let trust = trust(app, shown).await?;
    let view = ServerView::of_version(&site(app), shown, &beside)
        .with_version_count(all.len())
        .with_findings(findings(shown))
        .with_verdict(trust)
        .with_looks(
            &looked.looks,
            looked.shown.as_ref().map(|(_, declared)| declared.as_ref()),
        );
    page(&view, form, ask.headers())
}

/// The server at a path, with the outlines of all its versions.
pub(super) async fn find(
    app: &App,
    ask: &Ask,
    namespace: &str,
    name: &str,
    twin: bool,
) -> Result<Found, Problem> {
    let twin = name
        .strip_suffix(".json")
        .filter(|_| twin)
        .map(|name| (name, Form::Json));
    for (name, form) in [Some((name, Form::Html)), twin].into_iter().flatten() {
        let Ok(name) = ServerName::parse(&format!("{namespace}/{name}")) else {
            continue;
        };
        let all = outlines(app, name.as_str()).await?;
        if !all.is_empty() {
            return Ok(Found::Server(name, all, form));
        }
    }
    canonical(app, ask, namespace, name).await
}

/// The versions a page shows, with their documents.
async fn named(app: &App, name: &ServerName, wanted: &[VersionId]) -> Result<Vec<Version>, Problem> {
    let found = app.registry.versions_named(name.as_str(), wanted).await;
    found.map_err(|error| store_problem(&error))
}

/// The one a page is about; gone when it was taken down since its outline was read.
fn one_of<'a>(versions: &'a [Version], wanted: &VersionId) -> Result<&'a Version, Problem> {
    let found = versions.iter().find(|version| version.version == *wanted);
    found.ok_or_else(|| not_recorded(format!("this server has no version `{wanted}`")))
}

/// A redirect when the name is there in another letter case.
async fn canonical(app: &App, ask: &Ask, namespace: &str, name: &str) -> Result<Found, Problem> {
    let plain = name.strip_suffix(".json");
    for (name, end) in [Some((name, "")), plain.map(|name| (name, ".json"))]
        .into_iter()
        .flatten()
    {
        let found = app.registry.canonical_name(&format!("{namespace}/{name}")).await;
        if let Some(found) = found.map_err(|error| store_problem(&error))? {
            let target = with_segment(ask.uri(), 2, found.namespace());
            let target = target.parse().map_err(|_| not_recorded("no such server"))?;
            let local = format!("{}{end}", found.local());
            let target = with_segment(&target, 3, &local);
            // The same path again would be a loop: the server is there, but none of its versions is.
            if ask
                .uri()
                .path_and_query()
                .is_none_or(|asked| asked.as_str() != target)
            {
                return Ok(Found::Elsewhere(moved(&target)));
            }
        }
    }
    Err(not_recorded(format!(
        "no server `{namespace}/{name}` is recorded"
    )))
}

/// What the validator says of a stored document. One that was right when it was stored is not looked at again.
fn findings(version: &Version) -> Vec<FormFinding> {
    if version.valid {
        return Vec::new();
    }
    let Ok(document) = serde_json::from_str(&version.document) else {
        return Vec::new();
    };
    let found = validation::validate(&document);
    let found = found.issues.iter().map(|issue| {
        let severity = match issue.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "info",
        };
        FormFinding::new(severity, &issue.path, &issue.message)
    });
    found.collect()
}

//! `/s/{namespace}/{name}/{version}/tools` and each tool below it.

use axum::extract::State;
use axum::response::Response;
use toolmark_domain::limits::MANIFEST_ITEMS;
use toolmark_domain::manifest::ItemKind;
use toolmark_domain::name::ServerName;
use toolmark_frontend::paths::version_below_v;
use toolmark_frontend::views::{Moment, ToolHistory, ToolView, ToolsView};

use super::servers::{Found, find};
use super::{Form, not_recorded, page, site};
use crate::extract::{Ask, Own, Segments};
use crate::lists::store_problem;
use crate::observed::{looked, observe_problem};
use crate::problem::Problem;
use crate::state::App;

type Path3 = Segments<3>;
type Path4 = Segments<4>;

pub(crate) async fn tools(
    State(app): State<App>,
    Segments([namespace, name, version]): Path3,
    ask: Ask,
) -> Result<Response, Problem> {
    tools_as(&app, &ask, [&namespace, &name, &version], Form::Html).await
}

pub(crate) async fn tools_twin(
    State(app): State<App>,
    Segments([namespace, name, version]): Path3,
    ask: Ask,
) -> Result<Response, Problem> {
    tools_as(&app, &ask, [&namespace, &name, &version], Form::Json).await
}

pub(crate) async fn tools_below(
    State(app): State<App>,
    Segments([namespace, name, version]): Path3,
    ask: Ask,
) -> Result<Response, Problem> {
    tools_as(
        &app,
        &ask,
        [&namespace, &name, version_below_v(&version)],
        Form::Html,
    )
    .await
}

pub(crate) async fn tools_below_twin(
    State(app): State<App>,
    Segments([namespace, name, version]): Path3,
    ask: Ask,
) -> Result<Response, Problem> {
    tools_as(
        &app,
        &ask,
        [&namespace, &name, version_below_v(&version)],
        Form::Json,
    )
    .await
}

pub(crate) async fn tool(
    State(app): State<App>,
    Segments([namespace, name, version, tool]): Path4,
    ask: Ask,
) -> Result<Response, Problem> {
    tool_as(&app, &ask, [&namespace, &name, &version], &tool).await
}

pub(crate) async fn tool_below(
    State(app): State<App>,
    Segments([namespace, name, version, tool]): Path4,
    ask: Ask,
) -> Result<Response, Problem> {
    tool_as(&app, &ask, [&namespace, &name, version_below_v(&version)], &tool).await
}

/// The server and the version of a path, or where to go instead.
async fn version_of(
    app: &App,
    ask: &Ask,
    [namespace, name, version]: [&str; 3],
) -> Result<Result<ServerName, Response>, Problem> {
    let (name, all) = match find(app, ask, namespace, name, false).await? {
        Found::Server(name, all, _) => (name, all),
        Found::Elsewhere(response) => return Ok(Err(response)),
    };
    if all.iter().any(|found| found.version.as_str() == version) {
        Ok(Ok(name))
    } else {
        Err(not_recorded(format!("this server has no version `{version}`")))
    }
}

async fn tools_as(app: &App, ask: &Ask, path: [&str; 3], form: Form) -> Result<Response, Problem> {
    let mut read = Own::parse(ask.query(), &["cursor"]);
    let most = i64::try_from(MANIFEST_ITEMS).unwrap_or(i64::MAX);
    let cursor = read.integer("cursor", 0, most).unwrap_or(0);
    read.finish()?;
    let name = match version_of(app, ask, path).await? {
        Ok(name) => name,
        Err(elsewhere) => return Ok(elsewhere),
    };
    let looked = looked(app, name.as_str(), path[2]).await?;
    let declared = looked.shown.as_ref().map(|(_, declared)| declared.as_ref());
    let cursor = usize::try_from(cursor).unwrap_or_default();
    let view = ToolsView::new(&site(app), &name, path[2], declared, cursor);
    page(&view, form, ask.headers())
}

async fn tool_as(app: &App, ask: &Ask, path: [&str; 3], tool: &str) -> Result<Response, Problem> {
    Own::parse(ask.query(), &[]).finish()?;
    let name = match version_of(app, ask, path).await? {
        Ok(name) => name,
        Err(elsewhere) => return Ok(elsewhere),
    };
    let looked = looked(app, name.as_str(), path[2]).await?;
    let Some((row, declared)) = looked.shown else {
        return Err(not_recorded(
            "this version was not observed yet, so no tool of it is known",
        ));
    };
    let key = version_below_v(tool);
    let found = |wanted: &str| declared.manifest.tools().find(|item| item.key == wanted);
    // A tool whose own name ends so wins over the twin of another.
    let twin = || key.strip_suffix(".json").and_then(found);
    let (item, form) = match (found(key), twin()) {
        (Some(item), _) => (item, Form::Html),
        (None, Some(item)) => (item, Form::Json),
        (None, None) => return Err(not_recorded(format!("this version declares no tool `{key}`"))),
    };
    let snapshot = app.registry.snapshot_document(&row).await;
    let snapshot = snapshot.map_err(|error| observe_problem(&error))?;
    let raw = snapshot
        .list(ItemKind::Tool)
        .and_then(|list| list.get(item.index));
    let items = app.registry.items_of(name.as_str()).await;
    let items = items.map_err(|error| store_problem(&error))?;
    let history = items
        .into_iter()
        .find(|known| known.kind == ItemKind::Tool && known.line == row.line && known.key == item.key)
        .map(|known| {
            ToolHistory::new(
                Moment(known.first_seen_at),
                known.first_seen_version.as_str(),
                Moment(known.changed_at),
                known.changed_version.as_str(),
            )
        });
    let definition = raw.map_or("", |raw| raw.get());
    let view = ToolView::new(&site(app), &name, path[2], &declared, (item, definition), history);
    page(&view, form, ask.headers())
}

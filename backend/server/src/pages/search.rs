//! `/search` and `/publishers/{namespace}`: lists of servers by name, page by page.

use axum::extract::State;
use axum::response::Response;
use toolmark_domain::limits::{LIST_SEARCH_CHARS, PAGE_DEFAULT, SERVER_NAME_CHARS};
use toolmark_domain::record::ServerSummary;
use toolmark_frontend::views::{PublisherView, SearchView};
use toolmark_registry::ServerFilter;

use super::{Form, not_recorded, page, site};
use crate::extract::{Ask, Own, Segments};
use crate::lists::store_problem;
use crate::problem::Problem;
use crate::state::App;

pub(crate) async fn search(State(app): State<App>, ask: Ask) -> Result<Response, Problem> {
    search_as(&app, &ask, Form::Html).await
}

pub(crate) async fn search_twin(State(app): State<App>, ask: Ask) -> Result<Response, Problem> {
    search_as(&app, &ask, Form::Json).await
}

async fn search_as(app: &App, ask: &Ask, form: Form) -> Result<Response, Problem> {
    let mut read = Own::parse(ask.query(), &["q", "cursor"]);
    let query = read.text("q", LIST_SEARCH_CHARS).unwrap_or_default();
    let cursor = read.text("cursor", SERVER_NAME_CHARS.1);
    read.finish()?;
    let filter = ServerFilter {
        search: Some(query.clone()).filter(|query| !query.trim().is_empty()),
        ..ServerFilter::default()
    };
    let (found, next) = list(app, &filter, cursor.as_deref()).await?;
    let view = SearchView::new(&site(app), &query, &found, cursor.as_deref(), next.as_deref());
    page(&view, form, ask.headers())
}

/// `/publishers/{namespace}` and its twin: a namespace that ends in `.json` and has servers wins.
pub(crate) async fn publisher(
    State(app): State<App>,
    Segments([segment]): Segments<1>,
    ask: Ask,
) -> Result<Response, Problem> {
    let mut read = Own::parse(ask.query(), &["cursor"]);
    let cursor = read.text("cursor", SERVER_NAME_CHARS.1);
    read.finish()?;
    let twin = segment
        .strip_suffix(".json")
        .map(|namespace| (namespace, Form::Json));
    for (namespace, form) in [Some((segment.as_str(), Form::Html)), twin].into_iter().flatten() {
        let filter = ServerFilter {
            namespace: Some(namespace.to_owned()),
            ..ServerFilter::default()
        };
        let (found, next) = list(&app, &filter, cursor.as_deref()).await?;
        if !found.is_empty() || cursor.is_some() {
            let view = PublisherView::new(&site(&app), namespace, &found, next.as_deref());
            return page(&view, form, ask.headers());
        }
    }
    Err(not_recorded("no server is listed under this namespace"))
}

/// A page of servers and the name the next one starts after.
async fn list(
    app: &App,
    filter: &ServerFilter,
    cursor: Option<&str>,
) -> Result<(Vec<ServerSummary>, Option<String>), Problem> {
    let found = app.registry.list_servers(filter, cursor, PAGE_DEFAULT + 1).await;
    let mut found = found.map_err(|error| store_problem(&error))?;
    let more = found.len() > PAGE_DEFAULT as usize;
    found.truncate(PAGE_DEFAULT as usize);
    let next = found.last().filter(|_| more).map(|last| last.name.to_string());
    Ok((found, next))
}

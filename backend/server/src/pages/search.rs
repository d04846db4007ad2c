//! `/search` and `/publishers/{namespace}`: tools and servers that fit, and lists of servers by name, page by page.

use axum::extract::State;
use axum::response::Response;
use toolmark_domain::find::summary;
use toolmark_domain::limits::{PAGE_DEFAULT, SERVER_NAME_CHARS};
use toolmark_domain::name::ServerName;
use toolmark_domain::record::ServerSummary;
use toolmark_frontend::views::{
    FacetView, FoundTools, PublisherView, SearchView, SearchWords, ToolGroup, ToolRowView,
};
use toolmark_registry::search::{After, ListOptions, Listing};
use toolmark_registry::{FindError, ListedTool, ServerFilter, ToolPage};

use super::{Form, not_recorded, page, site};
use crate::api::with_segment;
use crate::ext::listing::Narrowed;
use crate::ext::{find_problem, marks};
use crate::extract::{Ask, Own, Segments};
use crate::lists::store_problem;
use crate::middleware::moved;
use crate::problem::{Code, Problem};
use crate::state::App;

/// First part of the cursors of this page.
const CURSOR: &str = "p1";
/// Most tools shown of one server before "n more here".
const PER_SERVER: usize = 3;
/// Servers shown above the tools.
const SERVERS: usize = 10;
/// Longest summary of a tool, in characters.
const SUMMARY_CHARS: usize = 240;

pub(crate) async fn search(State(app): State<App>, ask: Ask) -> Result<Response, Problem> {
    search_as(&app, &ask, Form::Html).await
}

pub(crate) async fn search_twin(State(app): State<App>, ask: Ask) -> Result<Response, Problem> {
    search_as(&app, &ask, Form::Json).await
}

async fn search_as(app: &App, ask: &Ask, form: Form) -> Result<Response, Problem> {
    let asked = Narrowed::read(ask.query(), CURSOR)?;
    let plain = asked.query.trim().is_empty() && asked.narrow.is_empty();
    let view = if plain {
        by_name(app, &asked).await?
    } else {
        match ranked(app, &asked).await {
            Ok(view) => view,
            // Until the index is there, the words are looked for in names and descriptions of servers.
            Err(FindError::Rebuilding) => by_name(app, &asked).await?.being_built(),
            Err(error) => return Err(find_problem(&error)),
        }
    };
    page(&view, form, ask.headers())
}

/// Every server, by name.
async fn by_name(app: &App, asked: &Narrowed) -> Result<SearchView, Problem> {
    let filter = ServerFilter {
        search: Some(asked.query.clone()).filter(|query| !query.trim().is_empty()),
        ..ServerFilter::default()
    };
    let after = asked.after.as_ref().map(|after| after.id.as_str());
    let (found, next) = list(app, &filter, after).await?;
    let cursor = next.map(|id| asked.cursor(CURSOR, &After { id, place: 0 }));
    Ok(SearchView::new(
        &site(app),
        &words(asked),
        &found,
        &FoundTools::default(),
        cursor,
    ))
}

/// The tools that fit, and on the first page some servers; servers alone, page by page, where no tool fits.
async fn ranked(app: &App, asked: &Narrowed) -> Result<SearchView, FindError> {
    let mode = app.registry.settings().search_mode;
    let (text, options) = asked.options(mode, app.registry.now(), PER_SERVER);
    let tools = app.registry.list_tools(&text, options.clone()).await?;
    let alone = tools.listing.total == 0;
    let (servers, listing) = if alone || options.after.is_none() {
        let limit = if alone { options.limit } else { SERVERS };
        let page = app
            .registry
            .find_servers(&text, ListOptions { limit, ..options })
            .await?;
        (page.servers, page.listing)
    } else {
        (Vec::new(), Listing::default())
    };
    let paged = if alone { &listing } else { &tools.listing };
    let last = paged.hits.last().filter(|_| paged.more);
    let cursor = last.map(|last| {
        let after = After {
            id: last.hit.id.clone(),
            place: last.place,
        };
        asked.cursor(CURSOR, &after)
    });
    let servers: Vec<ServerSummary> = servers.into_iter().map(|(summary, ..)| summary).collect();
    let mut shown = found(&tools);
    if alone {
        shown.relaxed = listing.relaxed;
        shown.instead = listing.instead;
    }
    Ok(SearchView::new(
        &site(app),
        &words(asked),
        &servers,
        &shown,
        cursor,
    ))
}

fn words(asked: &Narrowed) -> SearchWords {
    SearchWords {
        query: asked.query.clone(),
        narrow: asked
            .narrow
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect(),
        later: asked.after.is_some(),
    }
}

/// Tools below their servers, in the order of each server's best.
fn found(tools: &ToolPage) -> FoundTools {
    let mut groups: Vec<ToolGroup> = Vec::new();
    for listed in &tools.tools {
        let server = &listed.tool.server;
        let row = row(listed);
        match groups.iter_mut().find(|group| group.server == *server) {
            Some(group) => group.tools.push(row),
            None => groups.push(ToolGroup {
                server: server.clone(),
                version: listed.tool.version.clone(),
                found: listed.of_server,
                tools: vec![row],
            }),
        }
    }
    let listing = &tools.listing;
    let facets = listing.facets.iter().filter(|facet| !facet.values.is_empty());
    FoundTools {
        groups,
        total: listing.total,
        facets: facets
            .map(|facet| FacetView {
                name: facet.group,
                values: facet.values.clone(),
            })
            .collect(),
        relaxed: listing.relaxed.clone(),
        instead: listing.instead.clone(),
        event: tools.event,
    }
}

fn row(listed: &ListedTool) -> ToolRowView {
    let tool = &listed.tool;
    let summary = summary(&tool.description, SUMMARY_CHARS);
    let words: Vec<String> = tool.why.iter().map(|(word, _)| word.clone()).collect();
    ToolRowView {
        id: tool.id.clone(),
        name: tool.name.clone(),
        title: tool.title.clone(),
        marks: marks(&summary, &words),
        summary,
        deprecated: tool.status.is_some_and(|status| status.as_str() == "deprecated"),
        high_findings: tool.high_findings,
        copies: tool.also_in.len(),
        tokens: tool.tokens,
        verdict: tool.verdict.clone(),
    }
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
    let cursor = place(cursor)?;
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
    elsewhere(&app, &ask, &segment).await
}

/// A redirect when the namespace is there in another letter case.
async fn elsewhere(app: &App, ask: &Ask, segment: &str) -> Result<Response, Problem> {
    let plain = segment.strip_suffix(".json").map(|plain| (plain, ".json"));
    for (namespace, end) in [Some((segment, "")), plain].into_iter().flatten() {
        let found = app.registry.canonical_namespace(namespace).await;
        let found = found.map_err(|error| store_problem(&error))?;
        if let Some(found) = found.filter(|found| found != namespace) {
            return Ok(moved(&with_segment(ask.uri(), 2, &format!("{found}{end}"))));
        }
    }
    Err(not_recorded("no server is listed under this namespace"))
}

/// The cursor of these lists is the last name of the page before.
fn place(cursor: Option<String>) -> Result<Option<String>, Problem> {
    if cursor
        .as_deref()
        .is_some_and(|name| ServerName::parse(name).is_err())
    {
        return Err(
            Problem::new(Code::InvalidCursor, "query.cursor: not a cursor of this list")
                .hint("leave `cursor` out for the first page, and go on from there by its links"),
        );
    }
    Ok(cursor)
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

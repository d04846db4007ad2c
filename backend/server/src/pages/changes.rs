//! `/changes` and `/s/{namespace}/{name}/changes`.

use axum::extract::State;
use axum::response::Response;
use serde_json::Value;
use toolmark_domain::event::Severity;
use toolmark_domain::limits::PAGE_DEFAULT;
use toolmark_frontend::views::{Change, ChangesView};
use toolmark_registry::{ChangeFilter, StoredChange};

use super::servers::{Found, find};
use super::{Form, page, site};
use crate::extract::{Ask, Own, Segments};
use crate::lists::store_problem;
use crate::problem::{Code, Problem};
use crate::state::App;

/// The greatest event number a path may name.
const MOST: i64 = 9_007_199_254_740_991;

pub(crate) async fn changes(State(app): State<App>, ask: Ask) -> Result<Response, Problem> {
    let mut read = Own::parse(ask.query(), &["cursor", "severity"]);
    let before = read.integer("cursor", 1, MOST);
    let word = read.text("severity", 20);
    read.finish()?;
    let least = word.as_deref().map(severity).transpose()?;
    let filter = ChangeFilter {
        severity: least.filter(|least| *least > Severity::Info),
        ..ChangeFilter::default()
    };
    let (changes, more) = list(&app, &filter, before, PAGE_DEFAULT).await?;
    page(
        &ChangesView::of_all(&site(&app), &changes, least, more, before),
        Form::Html,
        ask.headers(),
    )
}

fn severity(word: &str) -> Result<Severity, Problem> {
    Severity::parse(word).ok_or_else(|| {
        Problem::new(Code::InvalidParameter, "query.severity: not a severity")
            .hint("info, low, medium, high or critical")
    })
}

pub(crate) async fn server_changes(
    State(app): State<App>,
    Segments([namespace, name]): Segments<2>,
    ask: Ask,
) -> Result<Response, Problem> {
    let mut read = Own::parse(ask.query(), &["cursor"]);
    let before = read.integer("cursor", 1, MOST);
    read.finish()?;
    let (name, versions) = match find(&app, &ask, &namespace, &name, false).await? {
        Found::Server(name, versions, _) => (name, versions),
        Found::Elsewhere(response) => return Ok(response),
    };
    let filter = ChangeFilter {
        server: Some(name.to_string()),
        ..ChangeFilter::default()
    };
    let (changes, more) = list(&app, &filter, before, PAGE_DEFAULT).await?;
    let view = ChangesView::of_server(&site(&app), &name, &versions, &changes, more, before);
    page(&view, Form::Html, ask.headers())
}

/// A page of changes, and whether there are older ones.
pub(super) async fn list(
    app: &App,
    filter: &ChangeFilter,
    before: Option<i64>,
    limit: u32,
) -> Result<(Vec<Change>, bool), Problem> {
    let rows = app.registry.list_changes(filter, before, limit + 1).await;
    let mut rows = rows.map_err(|error| store_problem(&error))?;
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = rows.len() > most;
    rows.truncate(most);
    Ok((rows.into_iter().map(change).collect(), more))
}

/// A change with the words of its event.
fn change(row: StoredChange) -> Change {
    let data = &row.event["data"];
    let tools = data["tools"].as_array().into_iter().flatten();
    Change {
        seq: row.seq,
        server: row.server,
        at: row.at,
        line: row.line,
        from_version: row.from_version.to_string(),
        to_version: row.to_version.to_string(),
        label: row.label,
        severity: row.severity,
        backfill: row.backfill,
        rules: row.rules,
        summary: data["summary"].as_str().map(str::to_owned),
        tools: tools.filter_map(Value::as_str).map(str::to_owned).collect(),
        finding_count: data["findings_count"]
            .as_u64()
            .and_then(|count| usize::try_from(count).ok())
            .unwrap_or_default(),
    }
}

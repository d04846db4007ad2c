//! `/s/{namespace}/{name}/diff/{from}...{to}` with its twins `.json`, `.patch` and `.sarif`, and `/api/v1/diff`.

use axum::extract::State;
use axum::response::Response;
use serde_json::{Value, json};
use toolmark_domain::diff::{Diff, patch};
use toolmark_domain::finding::report;
use toolmark_domain::name::ServerName;
use toolmark_frontend::views::{DiffView, Side};
use toolmark_registry::{ObserveError, StoredSnapshot};

use super::servers::{Found, find};
use super::{Form, page, site};
use crate::answer;
use crate::extract::{Ask, Own, Segments};
use crate::lists::store_problem;
use crate::problem::{Code, Problem};
use crate::state::App;

/// In which form a comparison is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum As {
    Page,
    Json,
    Patch,
    Sarif,
}

pub(crate) async fn diff(
    State(app): State<App>,
    Segments([namespace, name, step]): Segments<3>,
    ask: Ask,
) -> Result<Response, Problem> {
    Own::parse(ask.query(), &[]).finish()?;
    let name = match find(&app, &ask, &namespace, &name, false).await? {
        Found::Server(name, _, _) => name,
        Found::Elsewhere(response) => return Ok(response),
    };
    let known = async |version: &str| app.registry.version(name.as_str(), version, true).await;
    // A version may end in `.json`: the whole text counts first.
    for (ending, form) in [
        ("", As::Page),
        (".json", As::Json),
        (".patch", As::Patch),
        (".sarif", As::Sarif),
    ] {
        let Some(step) = step.strip_suffix(ending) else {
            continue;
        };
        let Some((from, to)) = step.split_once("...") else {
            continue;
        };
        let to_known = known(to).await.map_err(|error| store_problem(&error))?;
        let from_known = known(from).await.map_err(|error| store_problem(&error))?;
        if to_known.is_some() && from_known.is_some() {
            let pair = pair(&app, &name, from, to).await?;
            return answered(&app, &ask, &name, pair, form).await;
        }
    }
    Err(
        Problem::new(Code::NotFound, "no such pair of versions is recorded")
            .hint("write it as `/diff/1.0.0...1.1.0`"),
    )
}

type Pair = (StoredSnapshot, StoredSnapshot);

/// What is shown of both versions, of one target where there is one in common.
async fn pair(app: &App, name: &ServerName, from: &str, to: &str) -> Result<Pair, Problem> {
    let shown = async |version: &str| -> Result<Vec<StoredSnapshot>, Problem> {
        let looks = app.registry.last_looks(name.as_str(), version).await;
        let mut looks = looks.map_err(|error| store_problem(&error))?;
        looks.retain(|look| look.is_shown);
        Ok(looks)
    };
    let (old, new) = (shown(from).await?, shown(to).await?);
    let same = new
        .iter()
        .find_map(|new| old.iter().find(|old| old.line == new.line).map(|old| (old, new)));
    let pair = same.or_else(|| Some((old.first()?, new.first()?)));
    pair.map(|(old, new)| (old.clone(), new.clone())).ok_or_else(|| {
        let version = if old.is_empty() { from } else { to };
        Problem::new(
            Code::NotFound,
            format!("version `{version}` was not observed: there is nothing to compare"),
        )
    })
}

fn problem(error: &ObserveError) -> Problem {
    Problem::internal(error)
}

async fn answered(
    app: &App,
    ask: &Ask,
    name: &ServerName,
    (old, new): Pair,
    form: As,
) -> Result<Response, Problem> {
    if form == As::Patch {
        let text = operations(app, &old, &new).await?;
        return Ok(answer::json(text.to_string(), ask.headers()));
    }
    let found: Diff = app
        .registry
        .compare(&old, &new)
        .await
        .map_err(|error| problem(&error))?;
    if form == As::Sarif {
        let log = sarif(app, &new, &found).await?;
        return Ok(answer::json(log.to_string(), ask.headers()));
    }
    let side = |row: &StoredSnapshot| Side {
        version: row.version.to_string(),
        target: row.target.clone(),
        observed_at: row.observed_at,
        manifest: row.manifest,
    };
    let view = DiffView::new(&site(app), name, &side(&old), &side(&new), found);
    let form = if form == As::Json { Form::Json } else { Form::Html };
    page(&view, form, ask.headers())
}

/// What has to be done to the one manifest to get the other.
async fn operations(app: &App, old: &StoredSnapshot, new: &StoredSnapshot) -> Result<Value, Problem> {
    let before = app
        .registry
        .manifest_of(old)
        .await
        .map_err(|error| problem(&error))?;
    let after = app
        .registry
        .manifest_of(new)
        .await
        .map_err(|error| problem(&error))?;
    Ok(json!({
        "schema": "toolmark.patch/1",
        "from": {"version": old.version, "manifest/1": old.manifest},
        "to": {"version": new.version, "manifest/1": new.manifest},
        "operations": patch(&before, &after),
    }))
}

async fn sarif(app: &App, new: &StoredSnapshot, found: &Diff) -> Result<Value, Problem> {
    let document = app
        .registry
        .snapshot_document(new)
        .await
        .map_err(|error| problem(&error))?;
    let manifest = app
        .registry
        .manifest_of(new)
        .await
        .map_err(|error| problem(&error))?;
    let text = String::from_utf8(document.to_bytes()).unwrap_or_default();
    let source = report::Source {
        file: &new.target,
        text: &text,
        manifest: &manifest,
    };
    Ok(report::sarif(source, &found.findings, env!("CARGO_PKG_VERSION")))
}

/// Its parameters.
const KNOWN: &[&str] = &["server", "from", "to", "format"];

#[utoipa::path(
    get, path = "/api/v1/diff", tag = "observations", operation_id = "get_diff",
    summary = "Compare two versions of a server",
    description = "By the rules of this release: `toolmark.diff/1`, as the command `diff` prints it; or as the \
        structural patch, or as SARIF.",
    params(
        ("server" = String, Query, min_length = 1, max_length = 200, description = "`namespace/name`."),
        ("from" = String, Query, min_length = 1, max_length = 255, description = "The earlier version."),
        ("to" = String, Query, min_length = 1, max_length = 255, description = "The later one."),
        ("format" = Option<String>, Query, pattern = r"^(json|patch|sarif)$", description = "`json` unless given."),
    ),
    responses((status = 200, body = Object, description = "The comparison."))
)]
pub(crate) async fn get_diff(State(app): State<App>, ask: Ask) -> Result<Response, Problem> {
    let mut read = Own::parse(ask.query(), KNOWN);
    let server = read.text("server", 200);
    let (from, to) = (read.text("from", 255), read.text("to", 255));
    let format = read.text("format", 10);
    read.finish()?;
    let needed = |value: Option<String>, what: &str| {
        let value = value.filter(|value| !value.is_empty());
        value.ok_or_else(|| {
            Problem::new(
                Code::InvalidParameter,
                format!("query.{what}: it has to be given"),
            )
        })
    };
    let server = needed(server, "server")?;
    let (from, to) = (needed(from, "from")?, needed(to, "to")?);
    let form = match format.as_deref() {
        None | Some("json") => As::Json,
        Some("patch") => As::Patch,
        Some("sarif") => As::Sarif,
        Some(_) => {
            return Err(Problem::new(
                Code::InvalidParameter,
                "query.format: `json`, `patch` or `sarif`",
            ));
        }
    };
    let missing = || Problem::new(Code::NotFound, "no such server is recorded");
    let name = ServerName::parse(&server).map_err(|_| missing())?;
    for version in [&from, &to] {
        let found = app.registry.version(name.as_str(), version, true).await;
        if found.map_err(|error| store_problem(&error))?.is_none() {
            return Err(Problem::new(Code::NotFound, "no such version is recorded"));
        }
    }
    let (old, new) = pair(&app, &name, &from, &to).await?;
    if form == As::Json {
        let found = app
            .registry
            .compare(&old, &new)
            .await
            .map_err(|error| problem(&error))?;
        let text = serde_json::to_string(&found).map_err(|error| Problem::internal(&error))?;
        return Ok(answer::json(text, ask.headers()));
    }
    answered(&app, &ask, &name, (old, new), form).await
}

//! `GET` and `POST /api/v1/find`: what `find_tools` answers, for programs that do not speak MCP.

use axum::extract::{Request, State};
use axum::response::Response;
use serde_json::{Map, Value, json};
use toolmark_domain::find::{AskError, FindAsk};
use toolmark_domain::limits::{
    FIND_LIMIT_MAX, FIND_TOKENS_MAX, FIND_TOKENS_MIN, SEARCH_CHARS, SERVER_NAME_CHARS,
};

use super::list_tools::{body, problem};
use crate::answer;
use crate::extract::{Ask, Own, json_bytes, json_value};
use crate::problem::{Code, FieldError, Problem};
use crate::state::App;

/// Its parameters.
const KNOWN: &[&str] = &["q", "server", "limit", "detail", "max_tokens"];

#[utoipa::path(
    get, path = "/api/v1/find", tag = "search", operation_id = "find",
    summary = "Find tools for a need",
    description = "What the tool `find_tools` of `/mcp` answers to one need. With `POST` the body is the arguments of that \
        tool, so that several needs, ids and filters can be given.",
    params(
        ("q" = String, Query, min_length = 1, max_length = 2000, pattern = r"^[^\u0000]*[^\u0000\s][^\u0000]*$", description = "What should be done."),
        ("server" = Option<String>, Query, max_length = 200, pattern = r"^[^\u0000]*$", description = "Only tools of this server."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 20, description = "Most tools; 7 unless given."),
        ("detail" = Option<String>, Query, pattern = "^(auto|compact|full)?$", description = "How much of each tool; `auto` unless given."),
        ("max_tokens" = Option<u32>, Query, minimum = 300, maximum = 50000, description = "Bounds the answer; 2000 unless given."),
    ),
    responses((status = 200, body = inline(Object), description = "The answer: `toolmark.find/1`."))
)]
pub(crate) async fn find(State(app): State<App>, ask: Ask) -> Result<Response, Problem> {
    let mut read = Own::parse(ask.query(), KNOWN);
    let mut arguments = Map::new();
    match read.text("q", SEARCH_CHARS) {
        Some(query) if !query.trim().is_empty() => {
            arguments.insert("query".into(), query.into());
        }
        _ => read.refuse("q", "give words that say what should be done".to_owned()),
    }
    let server = read.text("server", SERVER_NAME_CHARS.1);
    let server = server.filter(|server| !server.trim().is_empty());
    let detail = read.one_of("detail", &["auto", "compact", "full"]);
    for (name, value) in [("server", server), ("detail", detail)] {
        arguments.extend(value.map(|value| (name.to_owned(), Value::from(value))));
    }
    let number = |most: usize| i64::try_from(most).unwrap_or(i64::MAX);
    let limit = read.integer("limit", 1, number(FIND_LIMIT_MAX));
    let tokens = read.integer("max_tokens", number(FIND_TOKENS_MIN), number(FIND_TOKENS_MAX));
    for (name, value) in [("limit", limit), ("max_tokens", tokens)] {
        arguments.extend(value.map(|value| (name.to_owned(), json!(value))));
    }
    read.finish()?;
    let found = found(&app, &arguments).await?;
    Ok(answer::json(body(&found), ask.headers()))
}

#[utoipa::path(
    post, path = "/api/v1/find", tag = "search", operation_id = "find_by_post",
    summary = "Find tools for several needs",
    description = "The body is the arguments of the tool `find_tools`, whose schema `/mcp` lists.",
    request_body = inline(Object),
    responses((status = 200, body = inline(Object), description = "The answer: `toolmark.find/1`."))
)]
pub(crate) async fn find_by_post(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let (parts, sent) = request.into_parts();
    Own::parse(parts.uri.query(), &[]).finish()?;
    let raw = json_bytes(&parts.headers, sent, app.settings.body_read).await?;
    let value = json_value(&raw).map_err(|unfit| {
        let first = unfit
            .errors
            .first()
            .map_or("body", |error| error.message.as_str());
        Problem::new(unfit.code, first.to_owned()).errors(unfit.errors.clone())
    })?;
    let Some(arguments) = value.as_object() else {
        return Err(Problem::new(Code::InvalidParameter, "body: expected an object"));
    };
    let found = found(&app, arguments).await?;
    Ok(answer::fresh(body(&found)))
}

async fn found(app: &App, arguments: &Map<String, Value>) -> Result<Value, Problem> {
    let ask = FindAsk::read(arguments).map_err(|errors| refused(&errors))?;
    let answer = app.registry.find(&ask).await.map_err(|error| problem(&error))?;
    Ok(answer.value)
}

fn refused(errors: &[AskError]) -> Problem {
    let first = errors.first().map_or_else(String::new, ToString::to_string);
    let each = errors
        .iter()
        .map(|error| FieldError::located(error.message.clone(), format!("body.{}", error.place)));
    Problem::new(Code::InvalidParameter, first)
        .errors(each.collect())
        .hint("the arguments are those of the tool `find_tools` of `/mcp`")
}

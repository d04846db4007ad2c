//! The official registry's contract, under `/v0.1` and `/v0` alike: one file per operation.

mod edit_version;
mod get_health;
mod get_openapi;
mod get_version;
mod list_servers;
mod list_versions;
mod login_none;
mod publish_server;
mod set_status;
mod signed;
mod validate_server;

pub(crate) use edit_version::edit_version;
pub(crate) use get_health::{get_build, get_health, ping};
pub(crate) use get_openapi::{get_openapi_json, get_openapi_yaml};
pub(crate) use get_version::get_version;
pub(crate) use list_servers::list_servers;
pub(crate) use list_versions::list_versions;
pub(crate) use login_none::login_none;
pub(crate) use publish_server::publish_server;
pub(crate) use set_status::{set_all_statuses, set_status};
pub(crate) use validate_server::validate_server;

use axum::response::Response;
use http::Uri;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use toolmark_domain::record::Version;

use crate::answer;
use crate::lists::store_problem;
use crate::middleware::moved;
use crate::problem::{Code, FieldError, Problem};
use crate::state::App;

/// What stands unencoded in a path segment.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The list body: the rows as they are, then how many and where the next page starts.
fn list_body(versions: &[Version], next_cursor: Option<&str>) -> String {
    let size: usize = versions.iter().map(|version| version.document.len() + 512).sum();
    let mut out = String::with_capacity(size + 128);
    out.push_str(r#"{"servers":["#);
    for (index, version) in versions.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        version.write_response(&mut out);
    }
    out.push_str(r#"],"metadata":{"#);
    if let Some(cursor) = next_cursor {
        // Base64url: nothing in it needs escaping.
        out.push_str(r#""nextCursor":""#);
        out.push_str(cursor);
        out.push_str(r#"","#);
    }
    out.push_str(r#""count":"#);
    out.push_str(&versions.len().to_string());
    out.push_str("}}");
    out
}

/// The result of a write: one version.
fn written(version: &Version) -> Response {
    answer::fresh(one_body(version))
}

fn one_body(version: &Version) -> String {
    let mut out = String::with_capacity(version.document.len() + 640);
    version.write_response(&mut out);
    out
}

/// A name nobody has, on the official paths: upstream's words.
async fn absent(app: &App, uri: &Uri, name: &str) -> Result<Response, Problem> {
    absent_as(app, uri, name, 3, || {
        Problem::new(Code::NotFound, "Server not found")
    })
    .await
}

/// A write to a name nobody has, which is not redirected: who writes should know the name. It says which one is there
/// in another letter case.
async fn spelled(app: &App, name: &str, problem: Problem) -> Problem {
    if problem.code() != Code::NotFound {
        return problem;
    }
    match app.registry.canonical_name(name).await {
        Ok(Some(there)) if there.as_str() != name => problem.errors(vec![FieldError::at(
            format!("did you mean `{there}`?"),
            "path.serverName",
            name.chars().take(200).collect::<String>(),
        )]),
        Ok(_) => problem,
        Err(error) => store_problem(&error),
    }
}

/// A name nobody has: a redirect when somebody has it in another letter case, else `problem`. `segment` is the name's
/// place in the path, counted from 1.
pub(crate) async fn absent_as(
    app: &App,
    uri: &Uri,
    name: &str,
    segment: usize,
    problem: impl FnOnce() -> Problem,
) -> Result<Response, Problem> {
    let canonical = app.registry.canonical_name(name).await;
    match canonical.map_err(|error| store_problem(&error))? {
        Some(canonical) if canonical.as_str() != name => {
            Ok(moved(&with_segment(uri, segment, canonical.as_str())))
        }
        Some(_) | None => Err(problem()),
    }
}

/// The same target with another text in one segment of its path.
pub(crate) fn with_segment(uri: &Uri, segment: usize, text: &str) -> String {
    let encoded = utf8_percent_encode(text, SEGMENT).to_string();
    let segments: Vec<&str> = uri
        .path()
        .split('/')
        .enumerate()
        .map(|(index, old)| if index == segment { encoded.as_str() } else { old })
        .collect();
    let mut target = segments.join("/");
    if let Some(query) = uri.query() {
        target.push('?');
        target.push_str(query);
    }
    target
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_segment_changes_and_the_query_stays() {
        let uri = Uri::from_static("/v0.1/servers/Acme%2FTool/versions/1.0.0?include_deleted=true");
        assert_eq!(
            with_segment(&uri, 3, "acme/tool"),
            "/v0.1/servers/acme%2Ftool/versions/1.0.0?include_deleted=true"
        );
    }

    #[test]
    fn an_empty_list_is_an_array_and_has_no_cursor() {
        assert_eq!(list_body(&[], None), r#"{"servers":[],"metadata":{"count":0}}"#);
        assert_eq!(
            list_body(&[], Some("x")),
            r#"{"servers":[],"metadata":{"nextCursor":"x","count":0}}"#
        );
    }
}

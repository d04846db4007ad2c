//! Pages for people. Each is a view of `toolmark-frontend` filled from the registry; the same view gives the page's
//! `.json` twin.

mod changes;
mod diff;
mod docs;
mod home;
mod provenance;
mod reader;
mod search;
mod servers;
mod tools;

pub(crate) use changes::{changes, server_changes};
pub(crate) use diff::{__path_get_diff, diff, get_diff};
pub(crate) use docs::{docs, docs_index, docs_index_markdown, docs_index_twin};
pub(crate) use home::{home, stats, stats_twin, status, status_twin};
pub(crate) use provenance::{provenance, provenance_below, provenance_below_twin, provenance_twin};
pub(crate) use reader::{confirm_reader, reader, reader_again, stop_reader};
pub(crate) use search::{publisher, search, search_twin};
pub(crate) use servers::{server, version, version_below, versions, versions_twin};
pub(crate) use tools::{tool, tool_below, tools, tools_below, tools_below_twin, tools_twin};

use axum::body::Body;
use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use toolmark_frontend::Page;
use toolmark_frontend::views::{ErrorView, Site};

use crate::answer;
use crate::problem::{Code, Problem};
use crate::state::App;

const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
/// Own origin only, nothing inline, nobody may frame it.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; \
     connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);

/// Which form of a page is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Html,
    Json,
}

/// What all pages share.
pub(crate) fn site(app: &App) -> Site {
    Site {
        public_url: app.settings.public_url.clone(),
    }
}

/// A page, or its twin.
pub(crate) fn page(view: &impl Page, form: Form, asked: &HeaderMap) -> Result<Response, Problem> {
    match form {
        Form::Json => {
            let text = view.json().map_err(|error| Problem::internal(&error))?;
            Ok(answer::json(text, asked))
        }
        Form::Html => {
            let html = view.render().map_err(|error| Problem::internal(&error))?;
            let mut response = answer::text(html, HTML, asked);
            protect(response.headers_mut());
            Ok(response)
        }
    }
}

/// The headers that keep a page to itself.
fn protect(headers: &mut HeaderMap) {
    headers.insert(header::CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(
        HeaderName::from_static("cross-origin-opener-policy"),
        HeaderValue::from_static("same-origin"),
    );
}

/// The page of a problem: the same code as in the API, and a way onward.
pub(crate) fn problem(app: &App, problem: &Problem, mut response: Response, request_id: &str) -> Response {
    let code = problem.code();
    let mut view = ErrorView::new(
        &site(app),
        code.status().as_u16(),
        code.as_str(),
        problem.detail(),
    )
    .with_request_id(request_id);
    if let Some(hint) = problem.hint_text() {
        view = view.with_hint(hint);
    }
    let html = view.render().unwrap_or_else(|error| {
        tracing::error!(error = %error, "the error page cannot be rendered");
        String::from(
            "<!doctype html><html lang=\"en\"><title>error</title><main>something went wrong here</main>",
        )
    });
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HTML);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    protect(headers);
    *response.body_mut() = Body::from(html);
    response
}

fn not_recorded(what: impl Into<String>) -> Problem {
    Problem::new(Code::NotFound, what.into()).hint("search for it at `/search`")
}

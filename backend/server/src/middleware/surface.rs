//! Which manner of speaking a path belongs to, and how a problem looks there.

use axum::body::Body;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, header};

use super::Asked;
use crate::pages;
use crate::problem::Problem;
use crate::state::App;

/// The manner of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Surface {
    /// Upstream's contract: its problem shape, no members of ours.
    Official,
    /// Our own API.
    Own,
    /// A page for people.
    Page,
}

impl Surface {
    pub(crate) fn of(path: &str, headers: &HeaderMap) -> Self {
        if path.starts_with("/api/") || path == "/api" {
            return Self::Own;
        }
        if is_official(path) {
            return Self::Official;
        }
        let wants_page = headers
            .get(header::ACCEPT)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|accepted| accepted.contains("text/html"));
        if wants_page { Self::Page } else { Self::Own }
    }
}

/// Paths a client of the official registry asks, also mistaken ones.
pub(crate) fn is_official(path: &str) -> bool {
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    matches!(
        first,
        "servers" | "ping" | "version" | "openapi.yaml" | "openapi.json"
    ) || path == "/health"
        || is_version_word(first)
}

/// `v0`, `v0.1`, `v1.2.3`.
pub(crate) fn is_version_word(segment: &str) -> bool {
    segment.strip_prefix('v').is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_digit())
            && rest.bytes().all(|b| b.is_ascii_digit() || b == b'.')
    })
}

/// Gives the answer the body of its problem.
pub(crate) fn render(app: &App, problem: &Problem, mut response: Response, asked: &Asked) -> Response {
    let (body, media_type) = match asked.surface {
        Surface::Official => (problem.official(), problem.media_type()),
        Surface::Own => (problem.own(&asked.id), problem.media_type()),
        Surface::Page => return pages::problem(app, problem, response, &asked.id),
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, media_type);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    *response.body_mut() = Body::from(body);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_has_its_manner() {
        let plain = HeaderMap::new();
        let mut browser = HeaderMap::new();
        browser.insert(header::ACCEPT, "text/html,*/*".parse().unwrap());
        for path in [
            "/v0.1/servers",
            "/v0/x",
            "/v0.9/servers",
            "/servers",
            "/health",
            "/version",
            "/v1",
        ] {
            assert_eq!(Surface::of(path, &browser), Surface::Official, "{path}");
        }
        for path in ["/api/v1/servers", "/api"] {
            assert_eq!(Surface::of(path, &browser), Surface::Own, "{path}");
        }
        for path in ["/", "/s/a/b", "/vx", "/versions", "/health/live"] {
            assert_eq!(Surface::of(path, &browser), Surface::Page, "{path}");
            assert_eq!(Surface::of(path, &plain), Surface::Own, "{path}");
        }
    }
}

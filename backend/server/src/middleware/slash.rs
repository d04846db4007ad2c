//! One spelling per path: no slash at the end, none doubled. Anything else is one 308 to the tidy path, query kept.

use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, StatusCode, Uri, header};

/// The tidy form, when it differs.
pub(crate) fn tidy(uri: &Uri) -> Option<String> {
    let path = uri.path();
    let ends = path.len() > 1 && path.ends_with('/');
    if !ends && !path.contains("//") {
        return None;
    }
    let mut tidy = String::with_capacity(path.len());
    for segment in path.split('/').filter(|segment| !segment.is_empty()) {
        tidy.push('/');
        tidy.push_str(segment);
    }
    if tidy.is_empty() {
        tidy.push('/');
    }
    // A browser reads `/\host` as another host.
    let mut tidy = tidy.replace('\\', "%5C");
    if let Some(query) = uri.query() {
        tidy.push('?');
        tidy.push_str(query);
    }
    Some(tidy)
}

/// 308 to `location`.
pub(crate) fn moved(location: &str) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::PERMANENT_REDIRECT;
    if let Ok(location) = HeaderValue::from_str(location) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_redirect_is_enough_for_any_path() {
        for (asked, tidied) in [
            ("/", None),
            ("/a", None),
            ("/a?x=//", None),
            ("/a/", Some("/a")),
            ("/a//?x=1&y=/", Some("/a?x=1&y=/")),
            ("//a///b//", Some("/a/b")),
            ("//", Some("/")),
            ("//evil.example/", Some("/evil.example")),
            ("/\\evil.example/", Some("/%5Cevil.example")),
            ("/a%2Fb/", Some("/a%2Fb")),
        ] {
            // An absolute form keeps a leading double slash in the path.
            let uri: Uri = format!("http://here{asked}").parse().unwrap();
            let first = tidy(&uri);
            assert_eq!(first.as_deref(), tidied, "{asked}");
            if let Some(first) = first {
                assert_eq!(tidy(&first.parse().unwrap()), None, "{asked}");
            }
        }
    }
}

//! CORS on every answer: everything here is public or needs a token in a header, so every origin may ask. Editors and
//! Copilot read registries from web pages; without these headers on errors too they can only say "blocked".

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

/// PATCH is missing upstream; with it browsers can change a status.
const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
/// `*` does not cover `Authorization`, so the names are given too.
const HEADERS: HeaderValue = HeaderValue::from_static("Authorization, Content-Type, If-None-Match, *");
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "Content-Type, Content-Length, ETag, Location, Retry-After, RateLimit-Limit, RateLimit-Remaining, \
     RateLimit-Reset, X-Request-Id",
);
const ANY: HeaderValue = HeaderValue::from_static("*");
const DAY: HeaderValue = HeaderValue::from_static("86400");

pub(crate) fn is_preflight(request: &Request) -> bool {
    request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ORIGIN)
        && request
            .headers()
            .contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

pub(crate) fn preflight() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response.headers_mut().insert(header::ACCESS_CONTROL_MAX_AGE, DAY);
    response
}

pub(crate) fn write(headers: &mut HeaderMap) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, ANY);
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HEADERS);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
}

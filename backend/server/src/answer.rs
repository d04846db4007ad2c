//! Successful answers: JSON with a validator, so that a client can ask "still so?" for a few bytes.

use std::sync::OnceLock;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use sha2::{Digest as _, Sha256};

use crate::middleware::{accepts_gzip, gzip, mark_gzip};

/// Keep it, but ask each time: what is served here changes when somebody publishes, not by the clock.
pub(crate) const REVALIDATE: HeaderValue = HeaderValue::from_static("public, no-cache");
pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// Below this gzip is not worth it.
const GZIP_LEAST_BYTES: usize = 1024;

/// A whole body, ready to be sent many times.
pub(crate) struct Entry {
    body: Bytes,
    media_type: HeaderValue,
    etag: HeaderValue,
    gzip: OnceLock<Bytes>,
}

impl Entry {
    pub(crate) fn new(body: String, media_type: HeaderValue) -> Self {
        let body = Bytes::from(body);
        Self {
            etag: etag(&body),
            media_type,
            body,
            gzip: OnceLock::new(),
        }
    }

    /// Bytes it holds, for the bound of the cache.
    pub(crate) fn weight(&self) -> u32 {
        // The gzip form comes later and is smaller; counted as a third.
        u32::try_from(self.body.len() + self.body.len() / 3 + 256).unwrap_or(u32::MAX)
    }

    /// 200 with the body, or 304 when the client has it.
    pub(crate) fn respond(&self, asked: &HeaderMap) -> Response {
        if knows(asked, &self.etag) {
            return not_modified(self.etag.clone());
        }
        if self.body.len() >= GZIP_LEAST_BYTES && accepts_gzip(asked) {
            let packed = self.gzip.get_or_init(|| gzip(&self.body)).clone();
            let mut response = whole(packed, self.media_type.clone(), self.etag.clone());
            mark_gzip(response.headers_mut());
            return response;
        }
        whole(self.body.clone(), self.media_type.clone(), self.etag.clone())
    }
}

/// JSON that is sent once; 304 when the client has it.
pub(crate) fn json(body: String, asked: &HeaderMap) -> Response {
    text(body, JSON, asked)
}

/// A text of any type; 304 when the client has it.
pub(crate) fn text(body: impl Into<Bytes>, media_type: HeaderValue, asked: &HeaderMap) -> Response {
    let body = body.into();
    let etag = etag(&body);
    if knows(asked, &etag) {
        return not_modified(etag);
    }
    whole(body, media_type, etag)
}

/// JSON about the moment, or the result of a write: not to be kept.
pub(crate) fn fresh(body: String) -> Response {
    let mut response = Response::new(Body::from(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, JSON);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn whole(body: Bytes, media_type: HeaderValue, etag: HeaderValue) -> Response {
    let mut response = Response::new(Body::from(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, media_type);
    headers.insert(header::ETAG, etag);
    headers.insert(header::CACHE_CONTROL, REVALIDATE);
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    response
}

fn not_modified(etag: HeaderValue) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    let headers = response.headers_mut();
    headers.insert(header::ETAG, etag);
    headers.insert(header::CACHE_CONTROL, REVALIDATE);
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    response
}

/// Weak, because the gzip form of the same facts has the same tag.
fn etag(body: &[u8]) -> HeaderValue {
    let digest = Sha256::digest(body);
    let tag = format!("W/\"{}\"", hex::encode(&digest[..12]));
    HeaderValue::from_str(&tag).expect("hex digits are a header value")
}

/// Whether `If-None-Match` names this tag (weak comparison) or `*`.
fn knows(asked: &HeaderMap, etag: &HeaderValue) -> bool {
    let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    let Ok(ours) = etag.to_str().map(opaque) else {
        return false;
    };
    asked
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|list| list.split(','))
        .any(|tag| tag.trim() == "*" || opaque(tag) == ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asking(tag: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::IF_NONE_MATCH, tag.parse().unwrap());
        headers
    }

    #[test]
    fn an_unchanged_body_is_304_and_a_changed_one_is_not() {
        let entry = Entry::new("{}".into(), JSON);
        let tag = entry.respond(&HeaderMap::new()).headers()[header::ETAG].clone();
        let tag = tag.to_str().unwrap();
        for known in [tag, &tag[2..], "*", &format!("\"x\", {tag}")] {
            assert_eq!(entry.respond(&asking(known)).status(), 304, "{known}");
        }
        assert_eq!(entry.respond(&asking("\"x\"")).status(), 200);
        assert_eq!(Entry::new("{ }".into(), JSON).respond(&asking(tag)).status(), 200);
    }
}

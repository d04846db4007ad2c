//! gzip for whole text bodies of a useful size. Streams and what is already encoded stay as they are.

use std::io::Write;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderMap, HeaderValue, header};
use http_body::Body as _;
use http_body_util::BodyExt;

/// Below this gzip saves less than a packet.
const LEAST_BYTES: u64 = 1024;
/// From this size on the work leaves the event loop.
const BLOCKING_BYTES: u64 = 48 * 1024;

/// Whether the client takes gzip: named, or by `*`, and not with `q=0`.
pub(crate) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let given = headers.get(header::ACCEPT_ENCODING);
    let Some(accepted) = given.and_then(|value| value.to_str().ok()) else {
        return false;
    };
    accepted.split(',').any(|item| {
        let mut parts = item.split(';').map(str::trim);
        let coding = parts.next().unwrap_or_default();
        let refused = parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"));
        (coding.eq_ignore_ascii_case("gzip") || coding == "*") && !refused
    })
}

/// The gzip form of `bytes`.
pub(crate) fn gzip(bytes: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), Compression::new(4));
    encoder.write_all(bytes).expect("writing to memory does not fail");
    encoder.finish().expect("writing to memory does not fail").into()
}

/// Compresses the body when that is worth it.
pub(crate) async fn response(response: Response) -> Response {
    let Some(size) = response.body().size_hint().exact() else {
        return response;
    };
    let headers = response.headers();
    if size < LEAST_BYTES || headers.contains_key(header::CONTENT_ENCODING) || !is_text(headers) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(collected) = body.collect().await else {
        return Response::from_parts(parts, Body::empty());
    };
    let plain = collected.to_bytes();
    let packed = if size < BLOCKING_BYTES {
        gzip(&plain)
    } else {
        let input = plain.clone();
        match tokio::task::spawn_blocking(move || gzip(&input)).await {
            Ok(packed) => packed,
            Err(_) => return Response::from_parts(parts, Body::from(plain)),
        }
    };
    mark(&mut parts.headers);
    let length = HeaderValue::from(packed.len());
    parts.headers.insert(header::CONTENT_LENGTH, length);
    Response::from_parts(parts, Body::from(packed))
}

/// The headers of a gzip body.
pub(crate) fn mark(headers: &mut HeaderMap) {
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
}

fn is_text(headers: &HeaderMap) -> bool {
    let given = headers.get(header::CONTENT_TYPE);
    let Some(kind) = given.and_then(|value| value.to_str().ok()) else {
        return false;
    };
    kind.starts_with("text/")
        || ["json", "xml", "yaml", "javascript"]
            .iter()
            .any(|word| kind.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_used_only_when_the_client_takes_it() {
        let takes = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, value.parse().unwrap());
            accepts_gzip(&headers)
        };
        for yes in ["gzip", "br, gzip", "GZIP;q=0.5", "*"] {
            assert!(takes(yes), "{yes}");
        }
        for no in ["br", "gzip;q=0", "gzip; q=0.0", "identity", ""] {
            assert!(!takes(no), "{no}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }
}

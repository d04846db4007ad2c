//! Compression: a layer for every answer, and the gzip form that cached answers keep so that it is made once.

use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderMap, HeaderValue, header};
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};

/// Below this gzip saves less than a packet.
const LEAST_BYTES: u64 = 1024;

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

/// Compresses bodies of a useful size on their way out, by brotli or gzip; streams of events, pictures and what is
/// already encoded stay as they are.
pub(crate) fn layer() -> CompressionLayer<impl Predicate> {
    let worthwhile = SizeAbove::new(LEAST_BYTES)
        .and(NotForContentType::IMAGES)
        .and(NotForContentType::SSE);
    CompressionLayer::new()
        .quality(CompressionLevel::Precise(4))
        .compress_when(worthwhile)
}

/// The headers of a gzip body.
pub(crate) fn mark(headers: &mut HeaderMap) {
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
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

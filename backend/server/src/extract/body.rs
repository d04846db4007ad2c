//! Request bodies: bounded in size and time, JSON only, in upstream's order of refusals.

use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, header};
use http_body_util::BodyExt;
use serde_json::Value;
use toolmark_domain::json::{self, Finding, ReadError};
use toolmark_domain::limits::{BODY_DRAIN_BYTES, JSON_DEPTH, SERVER_JSON_BYTES};
use toolmark_registry::{Draft, DraftError};

use crate::problem::{Code, FieldError, LOCATION_CHARS, Problem};

/// What stands in the way of a body: the answer's code, and every place.
#[derive(Debug)]
pub(crate) struct Unfit {
    pub(crate) code: Code,
    pub(crate) errors: Vec<FieldError>,
}

/// Reads the whole body of a JSON request; refusals that end the request at once are problems.
pub(crate) async fn json_bytes(headers: &HeaderMap, body: Body, within: Duration) -> Result<Bytes, Problem> {
    let raw = bytes(headers, body, within).await?;
    if raw.is_empty() {
        return Err(Problem::new(Code::BodyMissing, "request body is required"));
    }
    if !is_json(headers) {
        let given = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
        let given = String::from_utf8_lossy(given.unwrap_or_default());
        let shown: String = given.chars().take(100).collect();
        return Err(
            Problem::new(Code::MediaType, format!("unknown content type: {shown}"))
                .hint("send `Content-Type: application/json`"),
        );
    }
    Ok(raw)
}

/// Reads a body that is not a `server.json`.
pub(crate) fn json_value(raw: &[u8]) -> Result<Value, Unfit> {
    let read = json::read(raw, SERVER_JSON_BYTES).map_err(|error| unreadable(&error))?;
    if read.findings.is_empty() {
        Ok(read.value)
    } else {
        Err(doubtful(&read.findings))
    }
}

/// Reads a `server.json` and puts it through the gate.
pub(crate) fn draft(raw: &[u8]) -> Result<Draft, Unfit> {
    Draft::read(raw.to_vec()).map_err(|error| match error {
        DraftError::Unreadable(error) => unreadable(&error),
        DraftError::Doubtful(findings) => doubtful(&findings),
        DraftError::Gate(errors) => Unfit {
            code: Code::ValidationFailed,
            errors: errors.into_iter().map(FieldError::from).collect(),
        },
    })
}

fn unreadable(error: &ReadError) -> Unfit {
    let (location, message) = match error {
        ReadError::TooDeep { pointer } => (
            location(pointer),
            format!("nested deeper than {JSON_DEPTH} levels"),
        ),
        ReadError::Empty
        | ReadError::TooLarge { .. }
        | ReadError::ByteOrderMark
        | ReadError::Syntax { .. } => ("body".to_owned(), error.to_string()),
    };
    Unfit {
        code: Code::BodyNotJson,
        errors: vec![FieldError::located(message, location)],
    }
}

fn doubtful(findings: &[Finding]) -> Unfit {
    let errors = findings.iter().map(|finding| {
        let message = match finding {
            Finding::DuplicateKey { .. } => "duplicate key",
            Finding::Nul { .. } => "NUL character",
        };
        FieldError::located(message, location(finding.pointer()))
    });
    Unfit {
        code: Code::ValidationFailed,
        errors: errors.collect(),
    }
}

/// `/packages/0/transport` as `body.packages[0].transport`, cut where it is longer than anyone reads.
fn location(pointer: &str) -> String {
    let mut out = String::from("body");
    for token in pointer.split('/').skip(1) {
        if token.bytes().all(|b| b.is_ascii_digit()) && !token.is_empty() {
            out.push('[');
            out.push_str(token);
            out.push(']');
        } else {
            out.push('.');
            out.push_str(&token.replace("~1", "/").replace("~0", "~"));
        }
    }
    out.chars().take(LOCATION_CHARS).collect()
}

async fn bytes(headers: &HeaderMap, body: Body, within: Duration) -> Result<Bytes, Problem> {
    let announced = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let is_over = announced.is_some_and(|length| length > SERVER_JSON_BYTES as u64);
    if is_over && headers.contains_key(header::EXPECT) {
        // The client waits for our word before it sends anything.
        return Err(too_large());
    }
    let read = tokio::time::timeout(within, collect(body, is_over)).await;
    match read {
        Ok(read) => read,
        Err(_) if is_over => Err(too_large()),
        Err(_) => Err(Problem::new(
            Code::BodyTimeout,
            format!("the body did not arrive within {} seconds", within.as_secs()),
        )),
    }
}

/// Reads the body. One over the limit is read on for a while and dropped: many clients write all of it before they
/// read, and an answer followed by a reset connection is one they never see.
async fn collect(mut body: Body, mut is_over: bool) -> Result<Bytes, Problem> {
    let mut read = BytesMut::new();
    let mut seen = 0;
    while let Some(frame) = body.frame().await {
        let data = match frame {
            Ok(frame) => frame.into_data(),
            Err(_) if is_over => break,
            Err(_) => {
                return Err(Problem::new(
                    Code::BodyMissing,
                    "the body ended before it was complete",
                ));
            }
        };
        let Ok(data) = data else { continue };
        seen += data.len();
        is_over |= seen > SERVER_JSON_BYTES;
        if seen > BODY_DRAIN_BYTES {
            break;
        }
        if is_over {
            read = BytesMut::new();
        } else {
            read.extend_from_slice(&data);
        }
    }
    if is_over {
        Err(too_large())
    } else {
        Ok(read.freeze())
    }
}

fn too_large() -> Problem {
    Problem::new(
        Code::BodyTooLarge,
        format!("request body is too large limit={SERVER_JSON_BYTES} bytes"),
    )
}

/// A missing type is read as JSON, as upstream does.
fn is_json(headers: &HeaderMap) -> bool {
    let Some(given) = headers.get(header::CONTENT_TYPE) else {
        return true;
    };
    let essence = given
        .to_str()
        .unwrap_or("?")
        .split(';')
        .next()
        .unwrap_or_default()
        .trim();
    essence.is_empty() || essence.eq_ignore_ascii_case("application/json") || {
        let lower = essence.to_ascii_lowercase();
        lower.starts_with("application/") && lower.ends_with("+json")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn code(content_type: Option<&str>, body: impl Into<Body>, within: u64) -> Option<Code> {
        let mut headers = HeaderMap::new();
        if let Some(content_type) = content_type {
            headers.insert(header::CONTENT_TYPE, content_type.parse().unwrap());
        }
        let read = json_bytes(&headers, body.into(), Duration::from_millis(within)).await;
        read.err().map(|problem| problem.code())
    }

    #[tokio::test]
    async fn only_json_is_read_and_a_missing_type_is_json() {
        assert_eq!(code(None, "{}", 5000).await, None);
        for good in [
            "application/json; charset=utf-8",
            "APPLICATION/JSON",
            "application/merge-patch+json",
        ] {
            assert_eq!(code(Some(good), "{}", 5000).await, None, "{good}");
        }
        for bad in ["text/plain", "application/xml", "json"] {
            assert_eq!(code(Some(bad), "{}", 5000).await, Some(Code::MediaType), "{bad}");
        }
        assert_eq!(code(Some("text/plain"), "", 5000).await, Some(Code::BodyMissing));
    }

    #[tokio::test]
    async fn the_size_limit_holds_at_its_edge() {
        let edge = format!("\"{}\"", "a".repeat(SERVER_JSON_BYTES - 2));
        assert_eq!(code(None, edge.clone(), 5000).await, None);
        assert_eq!(
            code(None, format!("{edge} "), 5000).await,
            Some(Code::BodyTooLarge)
        );
    }

    #[tokio::test]
    async fn a_body_that_does_not_come_is_given_up() {
        let never = futures_util::stream::pending::<Result<Bytes, std::io::Error>>();
        let body = Body::from_stream(never);
        assert_eq!(code(None, body, 1).await, Some(Code::BodyTimeout));
    }

    #[test]
    fn what_is_wrong_with_json_names_the_place() {
        let error = |text: &str| {
            let unfit = json_value(text.as_bytes()).unwrap_err();
            let first = unfit.errors.into_iter().next().unwrap();
            (unfit.code, first.location.unwrap(), first.message)
        };
        let (code, place, message) = error("{\"a\":}");
        assert_eq!((code, place.as_str()), (Code::BodyNotJson, "body"));
        assert!(message.contains("line 1, column 6"), "{message}");
        let (code, place, message) = error(r#"{"a/b":[{"k":1,"k":2}]}"#);
        assert_eq!((code, place.as_str()), (Code::ValidationFailed, "body.a/b[0].k"));
        assert_eq!(message, "duplicate key");
        let (_, place, _) = error(&format!("{{\"a\":{}", "[".repeat(70)));
        assert!(place.starts_with("body.a[0][0]"), "{place}");
    }
}

//! What is decided before the protocol: who may ask from where, and whether the body is one request. The library
//! answers some of these in plain text or not at all; here each is an answer a client of either era can read.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderValue, Method, StatusCode, header};
use http_body_util::{BodyExt as _, Limited};
use rmcp::model::ProtocolVersion;
use serde_json::{Value, json};
use toolmark_domain::limits::MCP_REQUEST_BYTES;
use url::Url;

use crate::answer::JSON;
use crate::state::App;

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const INVALID_PARAMS: i64 = -32602;
const UNSUPPORTED_VERSION: i64 = -32022;
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// The layer in front of the endpoint.
pub(crate) async fn gate(State(app): State<App>, request: Request, next: Next) -> Response {
    match enter(&app, request).await {
        Ok(request) => next.run(request).await,
        Err(refusal) => *refusal,
    }
}

async fn enter(app: &App, request: Request) -> Result<Request, Box<Response>> {
    if request.method() != Method::POST {
        let mut response = refuse(
            StatusCode::METHOD_NOT_ALLOWED,
            INVALID_REQUEST,
            "send requests with POST; there are no sessions",
            None,
        );
        response
            .headers_mut()
            .insert(header::ALLOW, HeaderValue::from_static("POST"));
        return Err(Box::new(response));
    }
    check_host(app, &request)?;
    check_origin(app, &request)?;
    let (parts, body) = request.into_parts();
    let read = tokio::time::timeout(
        app.settings.body_read,
        Limited::new(body, MCP_REQUEST_BYTES).collect(),
    );
    let bytes = match read.await {
        Ok(Ok(collected)) => collected.to_bytes(),
        Ok(Err(_)) => {
            let message = format!("the request is larger than {MCP_REQUEST_BYTES} bytes");
            return Err(Box::new(refuse(
                StatusCode::PAYLOAD_TOO_LARGE,
                INVALID_REQUEST,
                &message,
                None,
            )));
        }
        Err(_) => {
            let message = "the request did not arrive in time";
            return Err(Box::new(refuse(
                StatusCode::REQUEST_TIMEOUT,
                INVALID_REQUEST,
                message,
                None,
            )));
        }
    };
    let version = parts.headers.get("mcp-protocol-version");
    check_message(&bytes, version.and_then(|version| version.to_str().ok()))?;
    Ok(Request::from_parts(parts, Body::from(bytes)))
}

/// The name the request came to: one of ours, an address, or this machine. Any other may be a name that was pointed
/// here to get past a browser's rules.
fn check_host(app: &App, request: &Request) -> Result<(), Box<Response>> {
    let given = request
        .headers()
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let given = given.or_else(|| request.uri().authority().map(http::uri::Authority::as_str));
    let host = given.map(host_of).unwrap_or_default();
    let settings = &app.settings;
    let public = settings
        .public_url
        .as_deref()
        .and_then(|url| Url::parse(url).ok());
    let allowed = is_local(&host)
        || is_address(&host)
        || public
            .as_ref()
            .and_then(Url::host_str)
            .is_some_and(|public| public == host)
        || settings
            .mcp_hosts
            .iter()
            .any(|allowed| allowed == "*" || allowed.eq_ignore_ascii_case(&host));
    if allowed {
        return Ok(());
    }
    let shown: String = host.chars().take(100).collect();
    Err(Box::new(refuse(
        StatusCode::FORBIDDEN,
        INVALID_REQUEST,
        &format!(
            "host `{shown}` is not served here; the operator names it in `server.public_url` or `mcp.hosts`"
        ),
        None,
    )))
}

fn check_origin(app: &App, request: &Request) -> Result<(), Box<Response>> {
    let Some(origin) = request.headers().get(header::ORIGIN) else {
        return Ok(());
    };
    let origin = origin.to_str().unwrap_or_default();
    let settings = &app.settings;
    let read = Url::parse(origin).ok();
    let same = |other: &str| {
        let other = Url::parse(other).ok().map(|url| url.origin());
        read.as_ref().is_some_and(|read| Some(read.origin()) == other)
    };
    let local = read.as_ref().and_then(Url::host_str).is_some_and(is_local);
    let allowed = local
        || settings.public_url.as_deref().is_some_and(same)
        || settings
            .mcp_origins
            .iter()
            .any(|allowed| allowed == "*" || same(allowed));
    if allowed {
        return Ok(());
    }
    let shown: String = origin.chars().take(100).collect();
    Err(Box::new(refuse(
        StatusCode::FORBIDDEN,
        INVALID_REQUEST,
        &format!("origin `{shown}` may not ask here; the operator names it in `mcp.origins`"),
        None,
    )))
}

/// The host of an authority, without its port.
fn host_of(authority: &str) -> String {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
        _ => authority,
    };
    host.trim_end_matches('.').to_ascii_lowercase()
}

fn is_local(host: &str) -> bool {
    matches!(host, "localhost" | "127.0.0.1" | "[::1]" | "::1")
}

fn is_address(host: &str) -> bool {
    host.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok()
}

/// One request or notification, of a version we speak.
fn check_message(bytes: &[u8], version: Option<&str>) -> Result<(), Box<Response>> {
    let bad = |code: i64, message: &str| Err(Box::new(refuse(StatusCode::BAD_REQUEST, code, message, None)));
    let Ok(message) = serde_json::from_slice::<Value>(bytes) else {
        return bad(PARSE_ERROR, "the body is not JSON");
    };
    let Some(message) = message.as_object() else {
        return bad(
            INVALID_REQUEST,
            "the body must be one request; batches are not taken",
        );
    };
    if message.get("jsonrpc") != Some(&Value::from("2.0")) {
        return bad(INVALID_REQUEST, "`jsonrpc` must be \"2.0\"");
    }
    let id = message.get("id");
    let named = match id {
        None | Some(Value::String(_)) => true,
        Some(Value::Number(number)) => number.is_i64() || number.is_u64(),
        Some(_) => false,
    };
    if !named {
        return bad(INVALID_REQUEST, "`id` must be a text or a whole number");
    }
    let Some(method) = message.get("method") else {
        // An answer to a question we never ask; the protocol's library says so.
        return Ok(());
    };
    if !method.is_string() {
        return bad(INVALID_REQUEST, "`method` must be a text");
    }
    let cursor = message.get("params").and_then(|params| params.get("cursor"));
    if cursor.is_some_and(|cursor| !cursor.is_string() && !cursor.is_null()) {
        return Err(Box::new(refuse(
            StatusCode::BAD_REQUEST,
            INVALID_PARAMS,
            "`cursor` must be a text",
            id,
        )));
    }
    let own = message
        .get("params")
        .and_then(|params| params.get("_meta"))
        .and_then(|meta| meta.get(VERSION_KEY));
    if let (Some(asked), None) = (version, own)
        && !ProtocolVersion::KNOWN_VERSIONS
            .iter()
            .any(|known| known.as_str() == asked)
    {
        let supported: Vec<&str> = ProtocolVersion::KNOWN_VERSIONS
            .iter()
            .rev()
            .map(ProtocolVersion::as_str)
            .collect();
        let asked: String = asked.chars().take(40).collect();
        let error = json!({
            "code": UNSUPPORTED_VERSION, "message": format!("protocol version `{asked}` is not spoken here"),
            "data": {"supported": supported, "requested": asked},
        });
        return Err(Box::new(answer(StatusCode::BAD_REQUEST, &error, id)));
    }
    Ok(())
}

fn refuse(status: StatusCode, code: i64, message: &str, id: Option<&Value>) -> Response {
    answer(status, &json!({"code": code, "message": message}), id)
}

fn answer(status: StatusCode, error: &Value, id: Option<&Value>) -> Response {
    let mut body = json!({"jsonrpc": "2.0", "error": error});
    if let Some(id) = id {
        body["id"] = id.clone();
    }
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_one_request() {
        let code = |body: &str, version: Option<&str>| {
            let refusal = check_message(body.as_bytes(), version).err();
            refusal.map(|refusal| refusal.status().as_u16())
        };
        let ok = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
        assert_eq!(code(ok, None), None);
        assert_eq!(code(ok, Some("2025-06-18")), None);
        assert_eq!(code(ok, Some("1999-01-01")), Some(400));
        assert_eq!(
            code(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, None),
            None
        );
        for bad in [
            "{",
            "[]",
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":7}}"#,
        ] {
            assert_eq!(code(bad, None), Some(400), "{bad}");
        }
    }

    #[test]
    fn a_host_is_read_with_and_without_port() {
        for (given, host) in [
            ("Example.com:8080", "example.com"),
            ("example.com.", "example.com"),
            ("[::1]:80", "[::1]"),
            ("127.0.0.1", "127.0.0.1"),
        ] {
            assert_eq!(host_of(given), host);
        }
        assert!(is_local("localhost") && is_local("[::1]") && !is_local("localhost.evil.example"));
        assert!(is_address("192.0.2.1") && is_address("[2001:db8::1]") && !is_address("a.example"));
    }
}

//! JSON-RPC as it stands on the wire: what we write, and a lenient reading of what comes back. Values are kept as
//! received.

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolmark_domain::json::Members;
use toolmark_domain::manifest;

use crate::condition::Condition;

/// The modern version we speak.
pub(crate) const MODERN: &str = "2026-07-28";
/// The legacy versions we speak, newest first.
pub(crate) const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Codes of the modern protocol; no others tell the era.
pub(crate) const HEADER_MISMATCH: i64 = -32020;
pub(crate) const MISSING_CAPABILITY: i64 = -32021;
pub(crate) const UNSUPPORTED_VERSION: i64 = -32022;
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;

/// In whose words a request is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Self-contained, version and client in each request.
    Modern,
    /// After `initialize`.
    Legacy,
}

#[derive(Serialize)]
struct Request<'a> {
    jsonrpc: &'static str,
    id: u64,
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<Params<'a>>,
}

#[derive(Serialize)]
struct Params<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<&'a RawValue>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Value>,
}

/// The bytes of a request, without a line end.
pub(crate) fn request(
    id: u64,
    method: &str,
    style: Style,
    cursor: Option<&RawValue>,
    condition: &Condition,
) -> String {
    let meta = (style == Style::Modern).then(|| {
        json!({
            META_VERSION: MODERN,
            META_CLIENT: client_info(condition),
            META_CAPABILITIES: {},
        })
    });
    let params = (cursor.is_some() || meta.is_some()).then_some(Params { cursor, meta });
    text(&Request {
        jsonrpc: "2.0",
        id,
        method,
        params,
    })
}

/// The bytes of `initialize`.
pub(crate) fn initialize(id: u64, condition: &Condition) -> String {
    text(&json!({
        "jsonrpc": "2.0", "id": id, "method": "initialize",
        "params": {
            "protocolVersion": LEGACY[0],
            "capabilities": {},
            "clientInfo": client_info(condition),
        },
    }))
}

/// The bytes of a notification without parameters.
pub(crate) fn notification(method: &str) -> String {
    text(&json!({"jsonrpc": "2.0", "method": method}))
}

/// Our answer to a request of the server: nothing but `ping` is known here.
pub(crate) fn refusal(id: &RawValue, method: &str) -> String {
    let id = id.get();
    if method == "ping" {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
    } else {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{METHOD_NOT_FOUND},"message":"not offered by this client"}}}}"#
        )
    }
}

fn client_info(condition: &Condition) -> Value {
    json!({"name": condition.client_name, "version": condition.client_version})
}

fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("requests have text as keys")
}

/// An error as answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RpcError {
    pub(crate) code: Option<i64>,
    pub(crate) message: String,
    pub(crate) data: Value,
}

impl RpcError {
    fn read(raw: &str) -> Self {
        let (value, _) = manifest::parse(raw);
        Self {
            code: value.get("code").and_then(Value::as_i64),
            message: match value.get("message").and_then(Value::as_str) {
                Some(message) => message.to_owned(),
                None => raw.chars().take(200).collect(),
            },
            data: value.get("data").cloned().unwrap_or_default(),
        }
    }

    /// Of the modern protocol?
    pub(crate) fn is_modern(&self) -> bool {
        matches!(
            self.code,
            Some(HEADER_MISMATCH | MISSING_CAPABILITY | UNSUPPORTED_VERSION)
        )
    }

    /// What it says, for people and for [`crate::classify`].
    pub(crate) fn words(&self) -> String {
        let code = self
            .code
            .map_or("without a code".to_owned(), |code| code.to_string());
        let detail = match &self.data {
            Value::Null => String::new(),
            data => format!(" {data}"),
        };
        format!("error {code}: {}{detail}", self.message)
    }

    /// Versions named in the error.
    pub(crate) fn supported(&self) -> Vec<&str> {
        let list = self.data.get("supported").and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str).collect()
    }
}

/// One message of the other side.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    Response {
        /// As written; none where there is no member `id`.
        id: Option<&'a RawValue>,
        body: Result<&'a RawValue, RpcError>,
        /// Members that stand twice.
        doubled: bool,
    },
    Call {
        id: &'a RawValue,
        method: String,
    },
    Notice {
        method: String,
    },
}

/// The messages in `text`: one, or those of a batch; none where it is something else. The flag says which.
pub(crate) fn read(text: &str) -> (Vec<Message<'_>>, bool) {
    match text.trim_start().as_bytes().first() {
        Some(b'{') => (one(text).into_iter().collect(), false),
        Some(b'[') => {
            let all: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
            (all.iter().filter_map(|raw| one(raw.get())).collect(), true)
        }
        _ => (Vec::new(), false),
    }
}

fn one(text: &str) -> Option<Message<'_>> {
    let members = Members::object(text)?;
    let id = members.raw("id");
    if let Some(method) = members.text("method") {
        return Some(match id {
            Some(id) => Message::Call { id, method },
            None => Message::Notice { method },
        });
    }
    let body = match (members.get("error"), members.raw("result")) {
        (Some(error), _) => Err(RpcError::read(error)),
        (None, Some(result)) => Ok(result),
        (None, None) => return None,
    };
    Some(Message::Response {
        id,
        body,
        doubled: !members.repeated().is_empty(),
    })
}

/// How an answer fits the question with our id `ours`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    Exact,
    /// By another spelling, or without an id where only one question is open.
    Loose,
    No,
}

/// Whether a response answers our only open question. An error without a usable id counts only where `first`: later
/// on it may as well answer a notification, which some servers do.
pub(crate) fn fits(id: Option<&RawValue>, is_error: bool, ours: u64, first: bool) -> Fit {
    let raw = id.map(RawValue::get);
    match raw {
        Some(raw) if raw == ours.to_string() => Fit::Exact,
        Some(raw) if raw == format!("\"{ours}\"") => Fit::Loose,
        Some(raw) if raw.trim_matches('"').parse::<u64>().is_ok_and(|id| id < ours) => Fit::No,
        _ if is_error && first => Fit::Loose,
        None | Some("null") if !is_error => Fit::Loose,
        _ => Fit::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn requests_are_what_the_protocol_asks_for() {
        let condition = &Condition::TAKES[0];
        let cursor = raw(r#""""#);
        let modern: Value =
            serde_json::from_str(&request(7, "tools/list", Style::Modern, Some(&cursor), condition)).unwrap();
        assert_eq!(modern["id"], 7);
        assert_eq!(modern["params"]["cursor"], "");
        assert_eq!(modern["params"]["_meta"][META_VERSION], MODERN);
        assert_eq!(modern["params"]["_meta"][META_CAPABILITIES], json!({}));
        assert_eq!(
            modern["params"]["_meta"][META_CLIENT]["name"],
            condition.client_name
        );
        let legacy: Value =
            serde_json::from_str(&request(8, "tools/list", Style::Legacy, None, condition)).unwrap();
        assert_eq!(legacy, json!({"jsonrpc": "2.0", "id": 8, "method": "tools/list"}));
    }

    #[test]
    fn answers_fit_by_id_and_by_place() {
        let cases = [
            (Some("3"), false, true, Fit::Exact),
            (Some("3"), true, false, Fit::Exact),
            (Some("\"3\""), false, false, Fit::Loose),
            (Some("2"), true, true, Fit::No),
            (None, true, true, Fit::Loose),
            (None, true, false, Fit::No),
            (Some("null"), true, true, Fit::Loose),
            (Some("\"server-error\""), true, true, Fit::Loose),
            (Some("\"server-error\""), true, false, Fit::No),
            (Some("null"), false, false, Fit::Loose),
            (Some("99"), false, false, Fit::No),
        ];
        for (id, is_error, first, expected) in cases {
            let id = id.map(raw);
            assert_eq!(
                fits(id.as_deref(), is_error, 3, first),
                expected,
                "{id:?} {is_error} {first}"
            );
        }
    }

    #[test]
    fn what_is_no_message_is_told_from_what_is() {
        assert!(read("Starting…").0.is_empty());
        assert!(read(r#"{"level":"info"}"#).0.is_empty());
        assert!(matches!(
            read(r#"{"id":1,"result":{},"error":null}"#).0[..],
            [Message::Response { body: Ok(_), .. }]
        ));
        let (batch, is_batch) = read(r#"[{"id":1,"method":"ping"},{"method":"x"}]"#);
        assert!(is_batch);
        assert!(matches!(
            batch[..],
            [Message::Call { .. }, Message::Notice { .. }]
        ));
        let (odd, _) = read(r#"{"id":1,"error":"no"}"#);
        let Message::Response { body: Err(error), .. } = &odd[0] else {
            panic!("{odd:?}")
        };
        assert_eq!((error.code, error.message.as_str()), (None, "\"no\""));
    }
}

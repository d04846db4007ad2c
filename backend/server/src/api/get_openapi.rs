//! `GET /openapi.yaml`, `/openapi.json`: the official contract as we serve it. Written once, as JSON.

use std::sync::LazyLock;

use axum::response::Response;
use http::HeaderValue;
use serde_json::Value;

use crate::answer;
use crate::extract::Ask;

const SOURCE: &str = include_str!("openapi/official.json");

/// The file's paths, once under `/v0.1` and once under `/v0`.
static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let mut document: Value = serde_json::from_str(SOURCE).expect("a test reads the same file");
    if let Some(Value::Object(once)) = document.get("paths").cloned() {
        let twice = ["/v0.1", "/v0"].iter().flat_map(|version| {
            once.iter().map(move |(path, item)| {
                let mut item = item.clone();
                name_operations(&mut item, version);
                (format!("{version}{path}"), item)
            })
        });
        document["paths"] = Value::Object(twice.collect());
    }
    document
});

/// An operation id is unique in the document: those of `/v0` end in it.
fn name_operations(item: &mut Value, version: &str) {
    let operations = item
        .as_object_mut()
        .into_iter()
        .flat_map(|item| item.values_mut());
    for id in operations.filter_map(|operation| operation.get_mut("operationId")) {
        if let (Some(text), "/v0") = (id.as_str(), version) {
            *id = format!("{text}_v0").into();
        }
    }
}

static JSON_TEXT: LazyLock<String> = LazyLock::new(|| DOCUMENT.to_string());

static YAML_TEXT: LazyLock<String> = LazyLock::new(|| {
    let mut out = String::with_capacity(SOURCE.len() * 2);
    write_yaml(&DOCUMENT, 0, &mut out);
    out
});

pub(crate) async fn get_openapi_json(ask: Ask) -> Response {
    answer::text(JSON_TEXT.as_str(), answer::JSON, ask.headers())
}

pub(crate) async fn get_openapi_yaml(ask: Ask) -> Response {
    let media_type = HeaderValue::from_static("application/openapi+yaml");
    answer::text(YAML_TEXT.as_str(), media_type, ask.headers())
}

/// Block style for what holds something, JSON for the rest: every JSON scalar is a YAML scalar.
fn write_yaml(value: &Value, depth: usize, out: &mut String) {
    match value {
        Value::Object(object) if !object.is_empty() => {
            for (key, inner) in object {
                indent(depth, out);
                write_entry(&Value::from(key.as_str()).to_string(), ":", inner, depth, out);
            }
        }
        Value::Array(list) if !list.is_empty() => {
            for inner in list {
                indent(depth, out);
                write_entry("-", "", inner, depth, out);
            }
        }
        scalar => {
            indent(depth, out);
            out.push_str(&scalar.to_string());
            out.push('\n');
        }
    }
}

fn write_entry(start: &str, colon: &str, inner: &Value, depth: usize, out: &mut String) {
    out.push_str(start);
    out.push_str(colon);
    let block = match inner {
        Value::Object(object) => !object.is_empty(),
        Value::Array(list) => !list.is_empty(),
        _ => false,
    };
    if block {
        out.push('\n');
        write_yaml(inner, depth + 1, out);
    } else {
        out.push(' ');
        out.push_str(&inner.to_string());
        out.push('\n');
    }
}

fn indent(depth: usize, out: &mut String) {
    for _ in 0..depth {
        out.push_str("  ");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn yaml_is_the_same_document_in_blocks() {
        let mut out = String::new();
        write_yaml(
            &json!({"a": [1, {"b": "x: y"}], "c": {}, "200": {"d": null}}),
            0,
            &mut out,
        );
        assert_eq!(
            out,
            "\"a\":\n  - 1\n  -\n    \"b\": \"x: y\"\n\"c\": {}\n\"200\":\n  \"d\": null\n"
        );
    }

    #[test]
    fn clients_find_the_marks_they_check() {
        let document = &*DOCUMENT;
        assert_eq!(document["info"]["version"], "1.0.0");
        let description = document["info"]["description"].as_str().unwrap();
        assert!(description.contains("https://github.com/modelcontextprotocol/registry"));
        assert!(YAML_TEXT.contains("https://github.com/modelcontextprotocol/registry"));
        for version in ["/v0", "/v0.1"] {
            for path in [
                "/servers",
                "/servers/{serverName}/versions",
                "/servers/{serverName}/versions/{version}",
                "/servers/{serverName}/versions/{version}/status",
                "/servers/{serverName}/status",
                "/publish",
                "/validate",
                "/health",
                "/ping",
                "/version",
            ] {
                assert!(
                    document["paths"].get(format!("{version}{path}")).is_some(),
                    "{version}{path}"
                );
            }
        }
    }
}

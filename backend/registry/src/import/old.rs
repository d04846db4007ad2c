//! Documents from before the published schemas: keys in snake case, the version inside `version_detail`. They are
//! served in today's spelling so that clients can read them; the bytes as received are kept beside.

use serde_json::{Map, Value};

/// Keys that were spelled otherwise, with their place in today's schema.
const RENAMED: [(&str, &str); 13] = [
    ("website_url", "websiteUrl"),
    ("registry_type", "registryType"),
    ("registry_name", "registryType"),
    ("registry_base_url", "registryBaseUrl"),
    ("file_sha256", "fileSha256"),
    ("runtime_hint", "runtimeHint"),
    ("runtime_arguments", "runtimeArguments"),
    ("package_arguments", "packageArguments"),
    ("environment_variables", "environmentVariables"),
    ("is_required", "isRequired"),
    ("is_secret", "isSecret"),
    ("is_repeated", "isRepeated"),
    ("value_hint", "valueHint"),
];

/// Whether the document is of the old form.
pub(super) fn is_old(document: &Value) -> bool {
    let has = |value: &Value, key: &str| value.get(key).is_some();
    let items = |key: &str| document.get(key).and_then(Value::as_array).into_iter().flatten();
    has(document, "version_detail")
        || has(document, "website_url")
        || items("packages").any(|package| has(package, "registry_name") || has(package, "registry_type"))
        || items("remotes").any(|remote| has(remote, "transport_type"))
}

/// The version inside `version_detail`, and when it was released.
pub(super) fn version_detail(document: &Value) -> (Option<&str>, Option<&str>, Option<bool>) {
    let detail = document.get("version_detail").unwrap_or(&Value::Null);
    let text = |key: &str| detail.get(key).and_then(Value::as_str);
    (
        text("version"),
        text("release_date"),
        detail.get("is_latest").and_then(Value::as_bool),
    )
}

/// The document in today's spelling. `id` was the registry's own and goes; nothing else is dropped.
pub(super) fn modern(document: &Value) -> Value {
    let Value::Object(map) = document else {
        return document.clone();
    };
    let mut out = Map::new();
    for (key, value) in map {
        match key.as_str() {
            "id" | "version_detail" => {}
            "packages" => drop(out.insert(key.clone(), each(value, package))),
            "remotes" => drop(out.insert(key.clone(), each(value, remote))),
            // Free-form blocks keep their keys.
            "_meta" | "repository" => drop(out.insert(key.clone(), value.clone())),
            _ => drop(out.insert(renamed(key), value.clone())),
        }
    }
    if let (None, (Some(version), ..)) = (out.get("version"), version_detail(document)) {
        out.insert("version".into(), version.into());
    }
    Value::Object(out)
}

fn each(value: &Value, change: fn(&Map<String, Value>) -> Map<String, Value>) -> Value {
    let Value::Array(items) = value else {
        return value.clone();
    };
    let changed = items.iter().map(|item| match item {
        Value::Object(map) => Value::Object(change(map)),
        other => other.clone(),
    });
    changed.collect()
}

fn renamed(key: &str) -> String {
    let found = RENAMED.iter().find(|(old, _)| *old == key);
    found.map_or(key, |(_, new)| new).to_owned()
}

fn package(old: &Map<String, Value>) -> Map<String, Value> {
    let mut new = Map::new();
    for (key, value) in old {
        let key = if key == "name" && !old.contains_key("identifier") {
            "identifier".to_owned()
        } else {
            renamed(key)
        };
        let value = match key.as_str() {
            "runtimeArguments" | "packageArguments" | "environmentVariables" => each(value, input),
            _ => value.clone(),
        };
        new.insert(key, value);
    }
    new
}

fn input(old: &Map<String, Value>) -> Map<String, Value> {
    old.iter()
        .map(|(key, value)| (renamed(key), value.clone()))
        .collect()
}

fn remote(old: &Map<String, Value>) -> Map<String, Value> {
    let spelled = |key: &str| match key {
        "transport_type" => "type".to_owned(),
        other => renamed(other),
    };
    old.iter()
        .map(|(key, value)| (spelled(key), value.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_old_document_is_spelled_as_today() {
        let old = json!({
            "id": "4e9cf4cf", "name": "com.example/old", "description": "x",
            "repository": {"url": "https://example.com", "id": "1"},
            "version_detail": {"version": "0.0.1", "release_date": "2025-05-16T18:56:49Z", "is_latest": true},
            "packages": [{"registry_name": "npm", "name": "old", "version": "1.0.0",
                "package_arguments": [{"type": "named", "name": "--x", "is_required": true, "value_hint": "y"}],
                "environment_variables": [{"name": "KEY", "is_secret": true}]}],
            "remotes": [{"transport_type": "sse", "url": "https://example.com/sse"}],
        });
        assert!(is_old(&old));
        assert_eq!(
            version_detail(&old),
            (Some("0.0.1"), Some("2025-05-16T18:56:49Z"), Some(true))
        );
        let new = modern(&old);
        assert_eq!(
            new,
            json!({
                "name": "com.example/old", "description": "x",
                "repository": {"url": "https://example.com", "id": "1"},
                "packages": [{"registryType": "npm", "identifier": "old", "version": "1.0.0",
                    "packageArguments": [{"type": "named", "name": "--x", "isRequired": true, "valueHint": "y"}],
                    "environmentVariables": [{"name": "KEY", "isSecret": true}]}],
                "remotes": [{"type": "sse", "url": "https://example.com/sse"}],
                "version": "0.0.1",
            })
        );
        assert!(!is_old(&new));
    }
}

//! What a server is given for the settings its `server.json` declares: fixed values and defaults as they stand, and
//! inert values of the right format for what a user would supply. Nothing here is a secret, so nothing can leak.

use serde_json::Value;
use toolmark_domain::target::Target;
use toolmark_outbound::{HeaderMap, HeaderName, HeaderValue, Url};

use crate::observe::Remote;

/// Stands for any text, secret or not.
pub const INERT: &str = "placeholder";
/// A name that never resolves.
const INERT_HOST: &str = "placeholder.invalid";
/// Most settings of one target, and longest value, in bytes.
const SETTINGS: usize = 200;
const VALUE_BYTES: usize = 4096;
/// Deepest a value may be made of others.
const NESTING: usize = 4;

/// The settings of a package, as its process gets them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    pub env: Vec<(String, String)>,
    /// For what runs the package: `npx`, `uvx`, `docker run`.
    pub runtime_args: Vec<String>,
    pub package_args: Vec<String>,
}

/// The settings of an entry of `packages`.
pub fn of_package(declared: &Value) -> Settings {
    let env = entries(declared, "environmentVariables").filter_map(|field| {
        let name = text(field, "name").filter(|name| is_variable(name))?;
        Some((name.to_owned(), value(name, field, 0)?))
    });
    Settings {
        env: env.collect(),
        runtime_args: arguments(declared, "runtimeArguments"),
        package_args: arguments(declared, "packageArguments"),
    }
}

/// The address and headers of an entry of `remotes`; none where that makes no address.
pub fn of_remote(target: &Target) -> Option<Remote> {
    let url = Url::parse(&filled(&target.identifier, &target.declared, 0)).ok()?;
    let mut headers = HeaderMap::new();
    for field in entries(&target.declared, "headers") {
        let Some(name) = text(field, "name") else { continue };
        let given = value(name, field, 0).and_then(|value| HeaderValue::from_str(&value).ok());
        if let (Ok(header), Some(given)) = (HeaderName::from_bytes(name.as_bytes()), given)
            && !is_ours(&header)
        {
            headers.append(header, given);
        }
    }
    Some(Remote { url, headers })
}

/// Headers that say how the talk goes are not a publisher's to set.
fn is_ours(name: &HeaderName) -> bool {
    let name = name.as_str();
    let hop = [
        "accept",
        "accept-encoding",
        "connection",
        "content-length",
        "content-type",
        "cookie",
        "expect",
        "host",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "user-agent",
    ];
    hop.contains(&name) || name.starts_with("mcp-") || name.starts_with("proxy-")
}

fn text<'a>(field: &'a Value, key: &str) -> Option<&'a str> {
    field.get(key)?.as_str()
}

fn is(field: &Value, key: &str) -> bool {
    field.get(key).and_then(Value::as_bool).unwrap_or(false)
}

fn entries<'a>(declared: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    let list = declared.get(key).and_then(Value::as_array);
    list.into_iter().flatten().take(SETTINGS)
}

/// A name that no shell and no loader takes for something else.
fn is_variable(name: &str) -> bool {
    let fit = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let loader = name.starts_with("LD_") || matches!(name, "PATH" | "HOME" | "NODE_OPTIONS" | "PYTHONPATH");
    !name.is_empty() && name.len() <= 128 && fit && !loader
}

fn arguments(declared: &Value, key: &str) -> Vec<String> {
    let mut words = Vec::new();
    for field in entries(declared, key) {
        let name = text(field, "name");
        if text(field, "type") != Some("named") {
            let hint = text(field, "valueHint").or(name).unwrap_or_default();
            words.extend(value(hint, field, 0));
            continue;
        }
        let Some(name) = name else { continue };
        // A switch has no value of its own: it is there when it must be.
        let switch = text(field, "format") == Some("boolean")
            && ["value", "default"].iter().all(|key| field.get(key).is_none());
        if switch {
            words.extend(is(field, "isRequired").then(|| name.to_owned()));
        } else if let Some(value) = value(name, field, 0) {
            words.push(name.to_owned());
            words.push(value);
        }
    }
    words
}

/// The value of a setting; none where a user could leave it out.
fn value(name: &str, field: &Value, depth: usize) -> Option<String> {
    if let Some(fixed) = text(field, "value") {
        return Some(filled(fixed, field, depth)).filter(|text| is_fit(text));
    }
    if let Some(default) = text(field, "default").filter(|text| !text.is_empty() && is_fit(text)) {
        return Some(default.to_owned());
    }
    if !is(field, "isRequired") && !is(field, "isSecret") {
        return None;
    }
    let choice = field.get("choices").and_then(|choices| choices.get(0)?.as_str());
    let example = text(field, "placeholder").filter(|_| !is(field, "isSecret"));
    let given = choice.or(example).filter(|text| !text.is_empty() && is_fit(text));
    Some(given.map_or_else(|| inert(name, text(field, "format")), str::to_owned))
}

fn is_fit(text: &str) -> bool {
    text.len() <= VALUE_BYTES && !text.chars().any(char::is_control)
}

/// The text with each `{variable}` of the field in its place.
fn filled(text: &str, field: &Value, depth: usize) -> String {
    let variables = field.get("variables").and_then(Value::as_object);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let Some(close) = rest[open..].find('}').map(|at| open + at) else {
            break;
        };
        let key = &rest[open + 1..close];
        let variable = variables.and_then(|variables| variables.get(key));
        out.push_str(&rest[..open]);
        match variable {
            Some(variable) if depth < NESTING && out.len() < VALUE_BYTES => {
                let given = value(key, variable, depth + 1);
                out.push_str(&given.unwrap_or_else(|| inert(key, self::text(variable, "format"))));
            }
            _ => out.push_str(&rest[open..=close]),
        }
        rest = &rest[close + 1..];
    }
    out.push_str(rest);
    out
}

/// A value of the right format that does nothing.
fn inert(name: &str, format: Option<&str>) -> String {
    let name = name.to_ascii_uppercase();
    let named = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    match format {
        Some("boolean") => return "false".to_owned(),
        Some("number" | "integer") => return "1".to_owned(),
        Some("filepath") => return "/tmp".to_owned(),
        _ => {}
    }
    if named(&["EMAIL"]) {
        format!("{INERT}@{INERT_HOST}")
    } else if named(&[
        "DATABASE_URL",
        "POSTGRES_URL",
        "CONNECTION_STRING",
        "DATABASE_URI",
        "DSN",
    ]) {
        format!("postgres://{INERT}@{INERT_HOST}:5432/{INERT}")
    } else if named(&["MONGO"]) && named(&["URI", "URL"]) {
        format!("mongodb://{INERT_HOST}:27017/{INERT}")
    } else if named(&["URL", "URI", "ENDPOINT"]) {
        format!("https://{INERT_HOST}/")
    } else if named(&["PORT"]) && !named(&["PORTAL", "EXPORT", "IMPORT", "REPORT", "SUPPORT", "TRANSPORT"]) {
        "8080".to_owned()
    } else if named(&["HOST", "DOMAIN"]) {
        INERT_HOST.to_owned()
    } else if named(&["DIRECTORY", "FOLDER", "_DIR", "_PATH", "-DIR", "-PATH"]) {
        "/tmp".to_owned()
    } else {
        INERT.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_package_gets_what_it_must_have() {
        let settings = of_package(&json!({
            "environmentVariables": [
                {"name": "API_KEY", "isSecret": true, "isRequired": true, "placeholder": "sk-live"},
                {"name": "OPTIONAL"},
                {"name": "REGION", "default": "eu"},
                {"name": "MODE", "isRequired": true, "choices": ["read", "write"]},
                {"name": "RETRIES", "isRequired": true, "format": "number"},
                {"name": "DEBUG", "isRequired": true, "format": "boolean"},
                {"name": "BASE_URL", "isRequired": true},
                {"name": "SERVER_PORT", "isRequired": true},
                {"name": "LD_PRELOAD", "value": "/evil.so"},
                {"name": "A B", "value": "x"},
                {"name": "AUTH", "value": "Bearer {token}", "variables": {"token": {"isSecret": true}}},
                7,
            ],
            "runtimeArguments": [{"type": "named", "name": "-e", "value": "K={k}", "variables": {"k": {"default": "v"}}}],
            "packageArguments": [
                {"type": "positional", "valueHint": "target_dir", "isRequired": true},
                {"type": "positional", "value": "serve"},
                {"type": "named", "name": "--read-only", "format": "boolean", "isRequired": true},
                {"type": "named", "name": "--maybe", "format": "boolean"},
                {"type": "named", "name": "--email", "isRequired": true},
                {"type": "named", "name": "--left-out"},
            ],
        }));
        let env: Vec<(&str, &str)> = settings
            .env
            .iter()
            .map(|(k, v)| (k.as_str(), v.as_str()))
            .collect();
        assert_eq!(
            env,
            [
                ("API_KEY", "placeholder"),
                ("REGION", "eu"),
                ("MODE", "read"),
                ("RETRIES", "1"),
                ("DEBUG", "false"),
                ("BASE_URL", "https://placeholder.invalid/"),
                ("SERVER_PORT", "8080"),
                ("AUTH", "Bearer placeholder"),
            ]
        );
        assert_eq!(settings.runtime_args, ["-e", "K=v"]);
        assert_eq!(
            settings.package_args,
            [
                "/tmp",
                "serve",
                "--read-only",
                "--email",
                "placeholder@placeholder.invalid"
            ]
        );
    }

    #[test]
    fn a_remote_gets_its_headers_and_a_whole_address() {
        let target = |declared: Value| Target {
            position: 0,
            kind: "remote".to_owned(),
            transport: "streamable-http".to_owned(),
            identifier: declared["url"].as_str().unwrap_or_default().to_owned(),
            version: None,
            declared,
        };
        let remote = of_remote(&target(json!({
            "url": "https://{tenant}.example.com/{unknown}/mcp",
            "variables": {"tenant": {"isRequired": true}},
            "headers": [
                {"name": "Authorization", "value": "Bearer {key}", "variables": {"key": {"isSecret": true}}},
                {"name": "X-Optional"},
                {"name": "Host", "value": "other.example"},
                {"name": "Mcp-Session-Id", "value": "1"},
                {"name": "X-Bad", "value": "a\nb"},
            ],
        })))
        .unwrap();
        assert_eq!(
            remote.url.as_str(),
            "https://placeholder.example.com/%7Bunknown%7D/mcp"
        );
        let headers: Vec<(&str, &HeaderValue)> =
            remote.headers.iter().map(|(k, v)| (k.as_str(), v)).collect();
        assert_eq!(
            headers,
            [("authorization", &HeaderValue::from_static("Bearer placeholder"))]
        );
        assert!(of_remote(&target(json!({"url": "not an address"}))).is_none());
    }

    #[test]
    fn values_made_of_themselves_end() {
        let mut field = json!({"value": "{a}{a}", "variables": {}});
        for _ in 0..20 {
            field = json!({"value": "{a}{a}", "variables": {"a": field}});
        }
        assert!(value("x", &field, 0).unwrap().len() < 2 * VALUE_BYTES);
    }
}

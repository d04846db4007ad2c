//! Hiding what must not be printed: secrets, and credentials inside URLs.

use serde_json::Value;
use url::Url;

/// What stands in place of a secret.
const MASK: &str = "********";

/// Parameters of a URL that carry a secret, by a part of their name.
const SECRET_PARTS: [&str; 7] = [
    "pass",
    "secret",
    "token",
    "key",
    "signature",
    "credential",
    "auth",
];

/// The value with its secrets replaced.
pub(crate) fn masked(value: &Value, secret: bool) -> Value {
    match value {
        Value::Null => Value::Null,
        _ if secret => Value::from(MASK),
        Value::String(text) => Value::from(masked_text(text)),
        Value::Array(items) => items.iter().map(|item| masked(item, false)).collect(),
        other => other.clone(),
    }
}

/// The text, with the credentials replaced if it is a URL; wholly replaced if it looks like a URL with credentials
/// but cannot be read as one.
pub(crate) fn masked_text(text: &str) -> String {
    let Some(mut url) = Url::parse(text).ok().filter(Url::has_host) else {
        let hides = text.contains('@') || SECRET_PARTS.iter().any(|part| contains(text, part));
        return if hides { MASK.to_owned() } else { text.to_owned() };
    };
    let mut changed = false;
    if url.password().is_some_and(|password| !password.is_empty()) {
        changed |= url.set_password(Some(MASK)).is_ok();
    } else if !url.username().is_empty() && matches!(url.scheme(), "http" | "https") {
        // A lone user name in a web URL is usually a token.
        changed |= url.set_username(MASK).is_ok();
    }
    let is_secret = |name: &str| SECRET_PARTS.iter().any(|part| contains(name, part));
    if url.query_pairs().any(|(name, _)| is_secret(&name)) {
        let pairs: Vec<(String, String)> = url
            .query_pairs()
            .map(|(name, value)| {
                let shown = if is_secret(&name) {
                    MASK.to_owned()
                } else {
                    value.into_owned()
                };
                (name.into_owned(), shown)
            })
            .collect();
        url.query_pairs_mut().clear().extend_pairs(pairs);
        changed = true;
    }
    if changed { url.to_string() } else { text.to_owned() }
}

fn contains(text: &str, part: &str) -> bool {
    text.to_ascii_lowercase().contains(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn credentials_in_urls_are_hidden_and_the_rest_is_kept() {
        for (given, shown) in [
            ("postgres://a:b@db/x", "postgres://a:********@db/x"),
            ("postgres://a@db/x", "postgres://a@db/x"),
            (
                "postgres://db/x?user=a&password=b",
                "postgres://db/x?user=a&password=********",
            ),
            ("https://ghp_secret@example.com/", "https://********@example.com/"),
            (
                "https://example.com/?api_key=b",
                "https://example.com/?api_key=********",
            ),
            ("https://example.com", "https://example.com"),
            ("./toolmark-data", "./toolmark-data"),
            ("a:b@[broken", "********"),
            ("host=db password=b", "********"),
        ] {
            assert_eq!(masked_text(given), shown);
        }
        assert_eq!(
            masked(&json!(["https://a:b@c/"]), false),
            json!(["https://a:********@c/"])
        );
        assert_eq!(masked(&json!("abc"), true), json!("********"));
        assert_eq!(masked(&json!(null), true), json!(null));
    }
}

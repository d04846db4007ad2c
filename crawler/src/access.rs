//! Who gives access to a remote that refuses us: the challenge of its answer and its protected-resource metadata
//! (RFC 9728), recorded and never used.

use std::time::Duration;

use serde_json::{Value, json};
use toolmark_domain::json;
use toolmark_domain::limits::{ACCESS_METADATA_BYTES, OUTBOUND_EXPANSION, OUTBOUND_REDIRECTS};
use toolmark_outbound::{Caps, Client, Incoming, Policy, Retry, Url, header};

/// Time for one document.
const TIME: Duration = Duration::from_secs(10);
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// What the answer says, and the document it leads to.
pub(crate) async fn found(client: &Client, url: &Url, incoming: &Incoming) -> Value {
    let challenges: Vec<String> = incoming
        .headers
        .get_all(header::WWW_AUTHENTICATE)
        .iter()
        .take(8)
        .map(|value| crate::mask::words(&String::from_utf8_lossy(value.as_bytes())))
        .collect();
    let named = challenges
        .iter()
        .find_map(|challenge| parameter(challenge, "resource_metadata"));
    let mut places: Vec<Url> = named
        .and_then(|text| Url::parse(&text).ok())
        .into_iter()
        .collect();
    places.extend(well_known(url));
    let mut metadata = Value::Null;
    let mut from = Value::Null;
    for place in places {
        if let Some(document) = document(client, &place).await {
            metadata = document;
            from = Value::from(place.as_str());
            break;
        }
    }
    json!({
        "status": incoming.status.as_u16(),
        "challenges": challenges,
        "metadata_url": from,
        "metadata": metadata,
    })
}

/// Where the document may lie when the challenge does not say.
fn well_known(url: &Url) -> Vec<Url> {
    let path = url.path().trim_end_matches('/');
    let mut paths = vec![format!("{WELL_KNOWN}{path}"), WELL_KNOWN.to_owned()];
    paths.dedup();
    let at = |path: String| {
        let mut place = url.clone();
        place.set_path(&path);
        place.set_query(None);
        place.set_fragment(None);
        place
    };
    paths.into_iter().map(at).collect()
}

async fn document(client: &Client, url: &Url) -> Option<Value> {
    let caps = Caps {
        body_bytes: ACCESS_METADATA_BYTES,
        expansion: OUTBOUND_EXPANSION,
        first_byte: TIME,
        total: TIME,
        redirects: OUTBOUND_REDIRECTS,
        retry: Retry::NEVER,
    };
    let answer = client
        .get(Policy::Public, url, &caps)
        .await
        .ok()?
        .success()
        .ok()?;
    let read = json::read(&answer.body, ACCESS_METADATA_BYTES).ok()?;
    let names = read
        .value
        .get("authorization_servers")
        .or_else(|| read.value.get("resource"));
    names.is_some().then_some(read.value)
}

/// A parameter of a challenge, quoted or not.
fn parameter(challenge: &str, name: &str) -> Option<String> {
    let mut rest = challenge;
    loop {
        let at = rest.find(name)?;
        let before = rest[..at].chars().next_back();
        let after = rest[at + name.len()..].trim_start();
        if let Some(value) = after.strip_prefix('=')
            && before.is_none_or(|c| c == ' ' || c == ',')
        {
            let value = value.trim_start();
            return Some(match value.strip_prefix('"') {
                Some(quoted) => quoted.split('"').next().unwrap_or_default().to_owned(),
                None => value.split([',', ' ']).next().unwrap_or_default().to_owned(),
            });
        }
        rest = &rest[at + name.len()..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_the_metadata_is_read_from_a_challenge() {
        let challenge = r#"Bearer error="invalid_token", resource_metadata = "https://a.example/x", scope=a"#;
        assert_eq!(
            parameter(challenge, "resource_metadata").as_deref(),
            Some("https://a.example/x")
        );
        assert_eq!(parameter(challenge, "scope").as_deref(), Some("a"));
        assert_eq!(parameter("Bearer xscope=a", "scope"), None);
    }

    #[test]
    fn it_is_looked_for_below_and_beside_the_path() {
        let url = Url::parse("https://a.example/b/mcp/?q=1").unwrap();
        let places: Vec<String> = well_known(&url).into_iter().map(String::from).collect();
        assert_eq!(
            places,
            [
                "https://a.example/.well-known/oauth-protected-resource/b/mcp",
                "https://a.example/.well-known/oauth-protected-resource",
            ]
        );
        let root = Url::parse("https://a.example/").unwrap();
        assert_eq!(well_known(&root).len(), 1);
    }
}

//! Asking a registry over HTTP.

use std::time::Duration;

use anyhow::{Context as _, anyhow};
use serde_json::{Value, json};
use toolmark_domain::limits::{
    IMPORT_FIRST_BYTE_SECS, IMPORT_PAGE_SECS, OUTBOUND_EXPANSION, OUTBOUND_REDIRECTS, STATUS_ANSWER_BYTES,
};
use toolmark_outbound::{Caps, Policy, Retry};
use url::Url;

use super::Standing;
use crate::opening;
use crate::outcome::Failure;

/// How `version` of `name` stands at the registry; `None` when it knows none.
pub(super) async fn version(registry: &Url, name: &str, version: &str) -> Result<Option<Standing>, Failure> {
    let url = below(registry, &["v0.1", "servers", name, "versions", version])?;
    let Some(answer) = get(&url).await? else {
        return Ok(None);
    };
    let text = |key: &str| answer["server"][key].as_str().map(str::to_owned);
    match (text("name"), text("version")) {
        (Some(name), Some(version)) => Ok(Some(Standing {
            name,
            version,
            meta: answer.get("_meta").cloned().unwrap_or_default(),
        })),
        _ => Err(Failure::unknown(anyhow!(
            "`{url}` did not answer with a version of a server"
        ))),
    }
}

/// What the registry says of itself; counts where it has our own API.
pub(super) async fn whole(registry: &Url) -> Result<Value, Failure> {
    let version = get(&below(registry, &["v0.1", "version"])?).await?;
    let version =
        version.ok_or_else(|| Failure::unknown(anyhow!("`{registry}` does not say its version")))?;
    let mut facts = json!({"registry": registry.as_str(), "version": version["version"]});
    let stats = get(&below(registry, &["api", "v1", "stats"])?)
        .await
        .ok()
        .flatten();
    for (key, from) in [
        ("servers", "servers"),
        ("versions", "versions"),
        ("head_event", "events"),
    ] {
        if let Some(count) = stats
            .as_ref()
            .and_then(|stats| stats.get(from))
            .filter(|count| count.is_u64())
        {
            facts[key] = count.clone();
        }
    }
    Ok(facts)
}

/// A URL below the registry's, each part percent-encoded.
fn below(registry: &Url, parts: &[&str]) -> Result<Url, Failure> {
    let mut url = registry.clone();
    url.set_query(None);
    url.set_fragment(None);
    match url.path_segments_mut() {
        Ok(mut segments) if matches!(registry.scheme(), "http" | "https") => {
            segments.pop_if_empty().extend(parts);
        }
        _ => {
            return Err(Failure::unreadable(anyhow!(
                "`{registry}` is not an http or https address"
            )));
        }
    }
    Ok(url)
}

/// The JSON at `url`; `None` for 404.
async fn get(url: &Url) -> Result<Option<Value>, Failure> {
    let caps = Caps {
        body_bytes: STATUS_ANSWER_BYTES,
        expansion: OUTBOUND_EXPANSION,
        first_byte: Duration::from_secs(IMPORT_FIRST_BYTE_SECS),
        total: Duration::from_secs(IMPORT_PAGE_SECS),
        redirects: OUTBOUND_REDIRECTS,
        retry: Retry::NEVER,
    };
    let client = opening::client()?;
    let answer = client
        .get(Policy::Configured, url, &caps)
        .await
        .map_err(Failure::unknown)?;
    if answer.status.as_u16() == 404 {
        return Ok(None);
    }
    let answer = answer.success().map_err(Failure::unknown)?;
    let value =
        serde_json::from_slice(&answer.body).with_context(|| format!("`{url}` did not answer with JSON"));
    value.map(Some).map_err(Failure::unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_encoded_below_the_registrys_address() {
        let at = |registry: &str| below(&Url::parse(registry).unwrap(), &["v0.1", "servers", "a/b c"]);
        assert_eq!(
            at("http://h:1").unwrap().as_str(),
            "http://h:1/v0.1/servers/a%2Fb%20c"
        );
        assert_eq!(
            at("http://h:1/r/?x#y").unwrap().as_str(),
            "http://h:1/r/v0.1/servers/a%2Fb%20c"
        );
        assert!(at("mailto:a@b").is_err());
    }
}

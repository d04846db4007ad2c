//! Asking a registry over HTTP.

use anyhow::{Context as _, anyhow};
use serde_json::{Value, json};
use toolmark_outbound::Policy;
use url::Url;

use super::Standing;
use crate::opening;
use crate::other::{CAPS, below};
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

/// The JSON at `url`; `None` for 404.
async fn get(url: &Url) -> Result<Option<Value>, Failure> {
    let client = opening::client()?;
    let answer = client
        .get(Policy::Configured, url, &CAPS)
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

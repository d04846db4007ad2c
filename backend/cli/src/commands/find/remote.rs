//! Asking a registry's `find` over HTTP.

use anyhow::{Context as _, anyhow};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use serde_json::{Map, Value};
use toolmark_outbound::{Policy, Request};
use url::Url;

use crate::opening;
use crate::other::{CAPS, below};
use crate::outcome::Failure;

/// The answer of a registry to these arguments.
pub(crate) async fn find(registry: &Url, arguments: &Map<String, Value>) -> Result<Value, Failure> {
    let url = below(registry, &["api", "v1", "find"])?;
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let request = Request {
        method: Method::POST,
        url: url.clone(),
        headers,
        body: Bytes::from(serde_json::to_vec(arguments).unwrap_or_default()),
    };
    let client = opening::client()?;
    let answer = client
        .send(Policy::Configured, &request, &CAPS)
        .await
        .map_err(Failure::unknown)?;
    let value: Value = serde_json::from_slice(&answer.body)
        .with_context(|| format!("`{url}` did not answer with JSON"))
        .map_err(Failure::unknown)?;
    if answer.status.is_success() {
        return Ok(value);
    }
    let detail = value["detail"].as_str().unwrap_or("no reason given");
    let detail: String = detail.chars().take(300).collect();
    Err(Failure::unknown(anyhow!(
        "`{url}` answered {}: {detail}",
        answer.status
    )))
}

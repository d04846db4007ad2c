//! Asking a registry's `find` over HTTP.

use std::time::Duration;

use anyhow::{Context as _, anyhow};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header};
use serde_json::{Map, Value};
use toolmark_domain::limits::{
    IMPORT_FIRST_BYTE_SECS, IMPORT_PAGE_SECS, OUTBOUND_EXPANSION, OUTBOUND_REDIRECTS, STATUS_ANSWER_BYTES,
};
use toolmark_outbound::{Caps, Policy, Request, Retry};
use url::Url;

use crate::opening;
use crate::outcome::Failure;

/// The answer of a registry to these arguments.
pub(crate) async fn find(registry: &Url, arguments: &Map<String, Value>) -> Result<Value, Failure> {
    let mut url = registry.clone();
    url.set_query(None);
    url.set_fragment(None);
    match url.path_segments_mut() {
        Ok(mut segments) if matches!(registry.scheme(), "http" | "https") => {
            segments.pop_if_empty().extend(["api", "v1", "find"]);
        }
        _ => {
            return Err(Failure::unreadable(anyhow!(
                "`{registry}` is not an http or https address"
            )));
        }
    }
    let caps = Caps {
        body_bytes: STATUS_ANSWER_BYTES,
        expansion: OUTBOUND_EXPANSION,
        first_byte: Duration::from_secs(IMPORT_FIRST_BYTE_SECS),
        total: Duration::from_secs(IMPORT_PAGE_SECS),
        redirects: OUTBOUND_REDIRECTS,
        retry: Retry::NEVER,
    };
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
        .send(Policy::Configured, &request, &caps)
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

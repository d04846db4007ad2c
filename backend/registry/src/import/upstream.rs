//! Pages of another registry's list.

use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use toolmark_domain::limits::{
    IMPORT_FIRST_BYTE_SECS, IMPORT_FIRST_PAGE_ATTEMPTS, IMPORT_PAGE_ATTEMPTS, IMPORT_PAGE_BYTES,
    IMPORT_PAGE_SECS, IMPORT_RETRY_SECS, IMPORT_RETRY_WAIT_SECS, OUTBOUND_EXPANSION, OUTBOUND_REDIRECTS,
    PAGE_MAX,
};
use toolmark_domain::timestamp::Timestamp;
use toolmark_outbound::{Caps, Client, Policy, Retry};
use url::Url;

/// How often a page that is no list is asked for again before the import stops there.
const JUNK_ATTEMPTS: u32 = 3;

/// Why a page could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PageFault {
    #[error("the page could not be fetched")]
    Fetch(#[source] toolmark_outbound::Error),
    #[error("the answer is no list of servers, {JUNK_ATTEMPTS} times in a row")]
    Junk(#[source] serde_json::Error),
}

impl PageFault {
    /// Whether nothing came from the other side.
    pub(crate) fn is_unanswered(&self) -> bool {
        use toolmark_outbound::Error::{Connect, Dropped, TimedOut};
        matches!(
            self,
            Self::Fetch(Connect { .. } | Dropped { .. } | TimedOut { .. })
        )
    }

    /// Whether the other side does not take the cursor we kept.
    pub(crate) fn is_refused_cursor(&self) -> bool {
        matches!(self, Self::Fetch(toolmark_outbound::Error::Status { status, .. })
            if matches!(status.as_u16(), 400 | 404 | 410 | 422))
    }
}

/// A page: its rows as they came, and where the next one begins.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) rows: Vec<Box<RawValue>>,
    pub(crate) next: Option<String>,
}

#[derive(Deserialize)]
struct ListBody {
    servers: Vec<Box<RawValue>>,
    #[serde(default)]
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
struct Metadata {
    /// `next_cursor` until October 2025.
    #[serde(default, rename = "nextCursor", alias = "next_cursor")]
    next: Option<String>,
}

/// Another registry.
pub(crate) struct Upstream<'a> {
    client: &'a Client,
    list: Url,
    caps: Caps,
}

impl<'a> Upstream<'a> {
    pub(crate) fn new(client: &'a Client, base: &Url) -> Self {
        Self {
            client,
            list: list_url(base),
            caps: caps(),
        }
    }

    /// The list's address, which also names the source.
    pub(crate) fn source(&self) -> &str {
        self.list.as_str()
    }

    fn page_url(&self, cursor: Option<&str>, since: Option<Timestamp>) -> Url {
        let mut url = self.list.clone();
        let mut query = url.query_pairs_mut();
        query.append_pair("limit", &PAGE_MAX.to_string());
        match since {
            // Deleted rows come with it by themselves, and saying so would be refused by some.
            Some(since) => query.append_pair("updated_since", &since.to_string()),
            None => query.append_pair("include_deleted", "true"),
        };
        if let Some(cursor) = cursor {
            query.append_pair("cursor", cursor);
        }
        drop(query);
        url
    }

    /// Fetches a page. What breaks off or passes is tried again below; an answer that is no list is tried again here.
    pub(crate) async fn page(
        &self,
        cursor: Option<&str>,
        since: Option<Timestamp>,
        is_first: bool,
    ) -> Result<Page, PageFault> {
        let url = self.page_url(cursor, since);
        let mut caps = self.caps.clone();
        if is_first {
            caps.retry.attempts = IMPORT_FIRST_PAGE_ATTEMPTS;
        }
        let mut attempt = 1;
        loop {
            let answer = self.client.get(Policy::Configured, &url, &caps).await;
            let answer = answer
                .and_then(toolmark_outbound::Answer::success)
                .map_err(PageFault::Fetch)?;
            match serde_json::from_slice::<ListBody>(&answer.body) {
                Ok(body) => {
                    let next = body.metadata.and_then(|metadata| metadata.next);
                    let next = next.filter(|cursor| !cursor.is_empty());
                    return Ok(Page {
                        rows: body.servers,
                        next,
                    });
                }
                Err(error) if attempt == JUNK_ATTEMPTS => return Err(PageFault::Junk(error)),
                Err(_) => {
                    attempt += 1;
                    self.client.pause(&self.caps.retry, attempt).await;
                }
            }
        }
    }
}

/// The list below a base URL, which may already name the version of the contract or the list itself.
fn list_url(base: &Url) -> Url {
    let mut url = base.clone();
    url.set_query(None);
    url.set_fragment(None);
    let path = base.path().trim_end_matches('/');
    let versioned = path.ends_with("/v0") || path.ends_with("/v0.1");
    let list = if path.ends_with("/servers") {
        path.to_owned()
    } else if versioned {
        format!("{path}/servers")
    } else {
        format!("{path}/v0.1/servers")
    };
    url.set_path(&list);
    url
}

fn caps() -> Caps {
    Caps {
        body_bytes: IMPORT_PAGE_BYTES,
        expansion: OUTBOUND_EXPANSION,
        first_byte: Duration::from_secs(IMPORT_FIRST_BYTE_SECS),
        total: Duration::from_secs(IMPORT_PAGE_SECS),
        redirects: OUTBOUND_REDIRECTS,
        retry: Retry {
            attempts: IMPORT_PAGE_ATTEMPTS,
            within: Duration::from_secs(IMPORT_RETRY_SECS),
            base: Duration::from_millis(500),
            longest: Duration::from_secs(IMPORT_RETRY_WAIT_SECS),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_may_name_the_contract_or_the_list() {
        for (base, list) in [
            ("http://a.example", "http://a.example/v0.1/servers"),
            ("http://a.example/", "http://a.example/v0.1/servers"),
            ("http://a.example/sub/?x=1#y", "http://a.example/sub/v0.1/servers"),
            ("http://a.example/v0", "http://a.example/v0/servers"),
            ("http://a.example/v0.1/", "http://a.example/v0.1/servers"),
            ("http://a.example/v0/servers", "http://a.example/v0/servers"),
        ] {
            assert_eq!(list_url(&base.parse().unwrap()).as_str(), list);
        }
    }
}

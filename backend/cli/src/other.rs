//! Another registry that is asked over HTTP: where its answers are, and what one may cost.

use std::time::Duration;

use anyhow::anyhow;
use toolmark_domain::limits::{
    IMPORT_FIRST_BYTE_SECS, IMPORT_PAGE_SECS, OUTBOUND_EXPANSION, OUTBOUND_REDIRECTS, STATUS_ANSWER_BYTES,
};
use toolmark_outbound::{Caps, Retry};
use url::Url;

use crate::outcome::Failure;

/// What one answer may cost.
pub(crate) const CAPS: Caps = Caps {
    body_bytes: STATUS_ANSWER_BYTES,
    expansion: OUTBOUND_EXPANSION,
    first_byte: Duration::from_secs(IMPORT_FIRST_BYTE_SECS),
    total: Duration::from_secs(IMPORT_PAGE_SECS),
    redirects: OUTBOUND_REDIRECTS,
    retry: Retry::NEVER,
};

/// A URL below the registry's, each part percent-encoded.
pub(crate) fn below(registry: &Url, parts: &[&str]) -> Result<Url, Failure> {
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

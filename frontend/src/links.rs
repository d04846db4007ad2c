//! Links that others gave us. Only plain `https` addresses become links; anything else is shown as text.

use serde::Serialize;
use toolmark_domain::limits::SHOWN_LINE_CHARS;

use crate::foreign::Foreign;

/// A foreign address, and whether it may be followed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Link {
    /// What it leads to, in our words.
    pub label: &'static str,
    pub url: Foreign,
    /// Whether the page makes it a link.
    pub linked: bool,
}

impl Link {
    /// Judges one address.
    pub fn new(label: &'static str, url: &str) -> Self {
        Self {
            label,
            url: Foreign::line(url),
            linked: is_plain_https(url),
        }
    }

    /// The address of the link, if it is one.
    pub fn href(&self) -> Option<&str> {
        self.linked.then(|| self.url.raw())
    }
}

/// `https`, a host of letters, digits, dots and hyphens, perhaps a port, no user, nothing but printable ASCII, and
/// nothing that browsers read otherwise than people (backslash, quotes, angle brackets).
pub fn is_plain_https(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("https://") else {
        return false;
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let (host, port) = authority.split_once(':').unwrap_or((authority, "443"));
    let host_ok = host.contains(|c: char| c.is_ascii_alphanumeric())
        && host
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-'));
    let port_ok = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) && port.len() <= 5;
    let rest_ok = rest
        .bytes()
        .all(|b| b.is_ascii_graphic() && !matches!(b, b'\\' | b'"' | b'\'' | b'<' | b'>' | b'`'));
    url.len() <= SHOWN_LINE_CHARS && host_ok && port_ok && rest_ok
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_https_becomes_a_link() {
        for good in [
            "https://example.com",
            "https://example.com:8443/a?b=c#d",
            "https://xn--bcher-kva.example/~x",
        ] {
            assert!(is_plain_https(good), "{good}");
        }
        for bad in [
            "",
            "http://example.com",
            "javascript:alert(1)",
            " https://example.com",
            "https://",
            "https://user@example.com/",
            "https://example.com\\@evil.example",
            "https://example.com/\" onclick=\"x",
            "https://exa mple.com",
            "https://example.com/\u{202E}",
            "https://example.com:/x",
            "https://-",
            "data:text/html,x",
            "//example.com",
        ] {
            assert!(!is_plain_https(bad), "{bad}");
        }
        let long = format!("https://example.com/{}", "a".repeat(SHOWN_LINE_CHARS));
        assert!(!is_plain_https(&long));
    }
}

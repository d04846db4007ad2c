//! Which strings are URLs to the official registry. It reads them as Go's `net/url` does, which is neither RFC 3986
//! nor the WHATWG rules of the `url` crate: `https://` and `a b` pass, `https://[v1.x]` does not. Verdicts here must
//! stay equal to those; nothing is fetched with what this gives.

use std::fmt;
use std::net::Ipv6Addr;

/// The parts of a URL that the rules look at.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Url {
    /// In lower case; empty for a relative reference.
    pub(super) scheme: String,
    /// Host and port with escapes resolved; empty when there is none.
    pub(super) host: Vec<u8>,
}

/// Why a string is no URL.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum UriError {
    Control,
    NoScheme,
    ColonInFirstSegment,
    Userinfo,
    IpLiteral,
    NoBracket,
    BadAddress,
    Port(String),
    Escape(String),
    HostCharacter(char),
}

impl fmt::Display for UriError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Control => f.write_str("net/url: invalid control character in URL"),
            Self::NoScheme => f.write_str("missing protocol scheme"),
            Self::ColonInFirstSegment => f.write_str("first path segment in URL cannot contain colon"),
            Self::Userinfo => f.write_str("net/url: invalid userinfo"),
            Self::IpLiteral => f.write_str("invalid IP-literal"),
            Self::NoBracket => f.write_str("missing ']' in host"),
            Self::BadAddress => f.write_str("invalid IPv6 address in host"),
            Self::Port(port) => write!(f, "invalid port {port:?} after host"),
            Self::Escape(escape) => write!(f, "invalid URL escape {escape:?}"),
            Self::HostCharacter(c) => write!(f, "invalid character {:?} in host name", c.to_string()),
        }
    }
}

impl Url {
    /// Reads an absolute or relative URL.
    pub(super) fn parse(text: &str) -> Result<Self, UriError> {
        let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
        if text.bytes().any(|b| b < b' ' || b == 0x7f) {
            return Err(UriError::Control);
        }
        let (scheme, rest) = split_scheme(text)?;
        let scheme = scheme.to_ascii_lowercase();
        let rest = rest.split_once('?').map_or(rest, |(path, _)| path);
        let mut host = Vec::new();
        if !rest.starts_with('/') {
            if !scheme.is_empty() {
                escapes(fragment)?;
                return Ok(Self { scheme, host });
            }
            if rest.split('/').next().is_some_and(|first| first.contains(':')) {
                return Err(UriError::ColonInFirstSegment);
            }
        }
        let mut path = rest;
        if let Some(authority) = rest.strip_prefix("//")
            && (!scheme.is_empty() || !rest.starts_with("///"))
        {
            let end = authority.find('/').unwrap_or(authority.len());
            host = parse_authority(&scheme, &authority[..end])?;
            path = &authority[end..];
        }
        escapes(path)?;
        escapes(fragment)?;
        Ok(Self { scheme, host })
    }

    /// Whether it names its scheme.
    pub(super) fn is_absolute(&self) -> bool {
        !self.scheme.is_empty()
    }

    /// The host without port and brackets.
    pub(super) fn hostname(&self) -> &[u8] {
        let host = match self.host.iter().rposition(|b| *b == b':') {
            Some(colon) if self.host[colon + 1..].iter().all(u8::is_ascii_digit) => &self.host[..colon],
            _ => &self.host,
        };
        host.strip_prefix(b"[")
            .and_then(|inner| inner.strip_suffix(b"]"))
            .unwrap_or(host)
    }
}

/// Whether the JSON Schema format `uri` holds, as upstream's schema library checks it.
pub(super) fn is_uri(text: &str) -> bool {
    let Ok(url) = Url::parse(text) else {
        return false;
    };
    let hostname = url.hostname();
    let plain = !hostname.contains(&b':');
    let bracketed = url.host.contains(&b'[') && url.host.contains(&b']');
    url.is_absolute() && (plain || bracketed && is_ipv6(hostname))
}

fn is_ipv6(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| text.parse::<Ipv6Addr>().is_ok())
}

fn split_scheme(text: &str) -> Result<(&str, &str), UriError> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err(UriError::NoScheme),
            b':' => return Ok((&text[..at], &text[at + 1..])),
            _ => break,
        }
    }
    Ok(("", text))
}

fn parse_authority(scheme: &str, authority: &str) -> Result<Vec<u8>, UriError> {
    let Some((user, host)) = authority.rsplit_once('@') else {
        return parse_host(scheme, authority);
    };
    let host = parse_host(scheme, host)?;
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&b);
    if !user.bytes().all(allowed) {
        return Err(UriError::Userinfo);
    }
    escapes(user)?;
    Ok(host)
}

fn parse_host(scheme: &str, host: &str) -> Result<Vec<u8>, UriError> {
    match host.rfind('[') {
        Some(0) => return parse_literal(host),
        Some(_) => return Err(UriError::IpLiteral),
        None => {}
    }
    // Only the web's own schemes are held to one colon; lists of hosts with ports exist elsewhere.
    let colon = if matches!(scheme, "http" | "https") {
        host.find(':')
    } else {
        host.rfind(':')
    };
    if let Some(at) = colon {
        check_port(&host[at..])?;
    }
    unescape_host(host, false)
}

fn parse_literal(host: &str) -> Result<Vec<u8>, UriError> {
    let close = host.rfind(']').ok_or(UriError::NoBracket)?;
    let port = &host[close + 1..];
    check_port(port)?;
    let inner = &host[1..close];
    let (address, zone) = match inner.find("%25") {
        Some(at) => (
            unescape_host(&inner[..at], false)?,
            unescape_host(&inner[at..], true)?,
        ),
        None => (unescape_host(inner, false)?, Vec::new()),
    };
    // A zone is `%` and at least one byte.
    if !is_ipv6(&address) || zone.len() == 1 {
        return Err(UriError::BadAddress);
    }
    Ok([b"[", address.as_slice(), &zone, b"]", port.as_bytes()].concat())
}

fn check_port(port: &str) -> Result<(), UriError> {
    let ok = port.strip_prefix(':').map_or(port.is_empty(), |digits| {
        digits.bytes().all(|b| b.is_ascii_digit())
    });
    if ok {
        Ok(())
    } else {
        Err(UriError::Port(super::place::short(port)))
    }
}

fn hex(byte: Option<&u8>) -> Option<u8> {
    let digit = char::from(*byte?).to_digit(16)?;
    u8::try_from(digit).ok()
}

/// The byte of an escape at the start of `bytes`, which begin with `%`.
fn escaped(bytes: &[u8]) -> Result<u8, UriError> {
    if let (Some(high), Some(low)) = (hex(bytes.get(1)), hex(bytes.get(2))) {
        return Ok(high << 4 | low);
    }
    let shown = &bytes[..bytes.len().min(3)];
    Err(UriError::Escape(String::from_utf8_lossy(shown).into_owned()))
}

/// Every `%` begins an escape.
fn escapes(text: &str) -> Result<(), UriError> {
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        if *byte == b'%' {
            escaped(&bytes[at..])?;
        }
    }
    Ok(())
}

fn is_host_byte(byte: u8) -> bool {
    byte >= 0x80 || byte.is_ascii_alphanumeric() || b"!$&'()*+,;=:[]<>\"-_.~".contains(&byte)
}

/// Resolves escapes in a host, where only bytes beyond ASCII (and `%` itself) may be escaped, or in a zone, where
/// any byte may be that could stand there unescaped, and the space.
fn unescape_host(text: &str, zone: bool) -> Result<Vec<u8>, UriError> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if *byte == b'%' {
            let value = escaped(&bytes[at..])?;
            let allowed = value == b'%'
                || if zone {
                    value == b' ' || is_host_byte(value)
                } else {
                    value >= 0x80
                };
            if !allowed {
                return Err(UriError::Escape(text[at..at + 3].to_owned()));
            }
            out.push(value);
            at += 3;
        } else {
            if !is_host_byte(*byte) {
                return Err(UriError::HostCharacter(char::from(*byte)));
            }
            out.push(*byte);
            at += 1;
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_as_upstream_reads_them() {
        // text, scheme, host; the verdicts are those of Go 1.26.
        for (text, scheme, host) in [
            ("", "", ""),
            ("*", "", ""),
            ("example.com", "", ""),
            ("a b", "", ""),
            ("https://", "https", ""),
            ("HTTPS://Example.com:8080/a?b#c", "https", "Example.com:8080"),
            ("https://u:p@h/", "https", "h"),
            ("https://u@x@h/", "https", "h"),
            ("https://h?x=%zz", "https", "h"),
            ("https://h:/", "https", "h:"),
            ("//h/p", "", "h"),
            ("///h/p", "", ""),
            ("javascript:alert(1)", "javascript", ""),
            ("mailto:%zz", "mailto", ""),
            ("x:///p", "x", ""),
            ("https://[::1]:80/", "https", "[::1]:80"),
            ("https://[fe80::1%25en0]/", "https", "[fe80::1%en0]"),
            ("https://[fe80::1%25en%20x]/", "https", "[fe80::1%en x]"),
            ("https://h%c3%a9/", "https", "hé"),
            ("https://a<b>\"c/", "https", "a<b>\"c"),
            ("pg://a:1,b:2/x", "pg", "a:1,b:2"),
            ("https://h/a b", "https", "h"),
        ] {
            let url = Url::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(
                (url.scheme.as_str(), url.host.as_slice()),
                (scheme, host.as_bytes()),
                "{text}"
            );
        }
    }

    #[test]
    fn what_upstream_refuses_is_refused_with_its_reason() {
        for (text, reason) in [
            (
                "git@github.com:a/b.git",
                "first path segment in URL cannot contain colon",
            ),
            (":x", "missing protocol scheme"),
            ("https://a\nb", "net/url: invalid control character in URL"),
            ("https://a b/", "invalid character \" \" in host name"),
            ("https://{x}/", "invalid character \"{\" in host name"),
            ("https://h/%zz", "invalid URL escape \"%zz\""),
            ("https://h/#%2", "invalid URL escape \"%2\""),
            ("https://h%41/", "invalid URL escape \"%41\""),
            ("https://h:x/", "invalid port \":x\" after host"),
            ("https://a:1:2/", "invalid port \":1:2\" after host"),
            ("https://[::1", "missing ']' in host"),
            ("https://[::1]x/", "invalid port \"x\" after host"),
            ("https://[1.2.3.4]/", "invalid IPv6 address in host"),
            ("https://[v1.x]/", "invalid IPv6 address in host"),
            ("https://[fe80::1%25]/", "invalid IPv6 address in host"),
            ("https://x[::1]/", "invalid IP-literal"),
            ("https://u<@h/", "net/url: invalid userinfo"),
            ("https://u%2@h/", "invalid URL escape \"%2\""),
        ] {
            assert_eq!(Url::parse(text).unwrap_err().to_string(), reason, "{text}");
        }
    }

    #[test]
    fn hostnames_drop_port_and_brackets() {
        for (text, hostname) in [
            ("https://localhost:80/", "localhost"),
            ("https://[::1]:80/", "::1"),
            ("https://h:/", "h"),
            ("https://a.localhost", "a.localhost"),
        ] {
            assert_eq!(Url::parse(text).unwrap().hostname(), hostname.as_bytes());
        }
    }

    #[test]
    fn the_schema_format_wants_a_scheme_and_a_sane_host() {
        for good in ["https://", "a:b", "https://[::1]/", "https://h/a b", "x://h"] {
            assert!(is_uri(good), "{good}");
        }
        for bad in [
            "",
            "example.com",
            "/x",
            "https://[fe80::1%25en0]/",
            "x://a:b:80/",
            "1:2",
        ] {
            assert!(!is_uri(bad), "{bad}");
        }
    }
}

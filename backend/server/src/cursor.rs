//! Page cursors: opaque, URL-safe, and they carry the filters of their list, so that a client that forgets to repeat
//! them on page two still gets page two of the same list.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use toolmark_domain::limits::CURSOR_BYTES;

/// Position and filters of the official list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListCursor {
    /// Name of the last row of the page before.
    #[serde(rename = "n")]
    pub(crate) name: String,
    /// Its version; absent: every version of the name is on a page before.
    #[serde(rename = "v", default, skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    pub(crate) search: Option<String>,
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
    pub(crate) choice: Option<String>,
    /// `updated_since` in microseconds.
    #[serde(rename = "u", default, skip_serializing_if = "Option::is_none")]
    pub(crate) updated_since: Option<i64>,
    #[serde(rename = "d", default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) include_deleted: bool,
}

/// How every cursor of ours begins: `{"` in base64url.
const OURS: &str = "eyJ";

impl ListCursor {
    /// Reads our own form, and upstream's `name:version` and `name`. `None`: it claims to be ours and is not.
    pub(crate) fn read(text: &str) -> Option<Self> {
        if text.len() > CURSOR_BYTES {
            return None;
        }
        if text.starts_with(OURS) && !text.contains('/') {
            return decode(text);
        }
        let (name, version) = match text.split_once(':') {
            // A client that does not encode its cursor turns the `+` of build metadata into a space.
            Some((name, version)) => (name, Some(version.replace(' ', "+"))),
            None => (text, None),
        };
        Some(Self {
            name: name.to_owned(),
            version,
            ..Self::default()
        })
    }
}

/// The cursor as clients get it.
pub(crate) fn encode(cursor: &impl Serialize) -> String {
    let json = serde_json::to_vec(cursor).expect("strings, numbers and booleans always serialise");
    base64url(&json)
}

/// Reads what [`encode`] wrote; anything else is `None`.
pub(crate) fn decode<T: DeserializeOwned>(text: &str) -> Option<T> {
    if text.len() > CURSOR_BYTES {
        return None;
    }
    serde_json::from_slice(&unbase64url(text)?).ok()
}

/// A cursor of our own API: a word for the list, then each part in hex. Every text of that form is a place in the
/// list, so the form can be stated in full in the API's description.
pub(crate) fn join(list: &str, parts: &[&str]) -> String {
    let mut out = list.to_owned();
    for part in parts {
        out.push('-');
        out.push_str(&hex::encode(part));
    }
    out
}

/// Reads what [`join`] wrote for this list.
pub(crate) fn parts<const N: usize>(text: &str, list: &str) -> Option<[String; N]> {
    if text.len() > CURSOR_BYTES || text.bytes().any(|b| b.is_ascii_uppercase()) {
        return None;
    }
    let mut parts = text.strip_prefix(list)?.strip_prefix('-')?.split('-');
    let mut read = [const { String::new() }; N];
    for slot in &mut read {
        let bytes = hex::decode(parts.next()?).ok()?;
        // A NUL cannot be in what we wrote, nor go into a database.
        *slot = String::from_utf8_lossy(&bytes).replace('\0', "\u{fffd}");
    }
    parts.next().is_none().then_some(read)
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// RFC 4648 §5 without padding.
fn base64url(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word =
            chunk.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for index in 0..=chunk.len() {
            let six = (word >> (18 - 6 * index)) & 63;
            out.push(char::from(ALPHABET[six as usize]));
        }
    }
    out
}

fn unbase64url(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() * 3 / 4);
    for chunk in text.as_bytes().chunks(4) {
        let mut word = 0u32;
        for byte in chunk {
            let six = match byte {
                b'A'..=b'Z' => byte - b'A',
                b'a'..=b'z' => byte - b'a' + 26,
                b'0'..=b'9' => byte - b'0' + 52,
                b'-' => 62,
                b'_' => 63,
                _ => return None,
            };
            word = word << 6 | u32::from(six);
        }
        if chunk.len() == 1 {
            return None;
        }
        let bytes = (word << (6 * (4 - chunk.len()))).to_be_bytes();
        out.extend_from_slice(&bytes[1..chunk.len()]);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64url_as_in_the_rfc() {
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg"),
            ("fo", "Zm8"),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg"),
            ("fooba", "Zm9vYmE"),
            ("foobar", "Zm9vYmFy"),
            ("???>", "Pz8_Pg"),
        ] {
            assert_eq!(base64url(plain.as_bytes()), coded);
            assert_eq!(unbase64url(coded).unwrap(), plain.as_bytes());
        }
        assert_eq!(unbase64url("A"), None);
        assert_eq!(unbase64url("Zg=="), None);
    }

    #[test]
    fn our_cursor_needs_no_encoding_and_reads_back() {
        let cursor = ListCursor {
            name: "com.example/a_b".into(),
            version: Some("1.0.0+build/é".into()),
            search: Some("two words".into()),
            choice: Some("latest".into()),
            updated_since: Some(1),
            include_deleted: true,
        };
        let text = encode(&cursor);
        assert!(
            text.bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
        );
        assert_eq!(ListCursor::read(&text), Some(cursor));
        assert!(text.starts_with(OURS));
    }

    #[test]
    fn upstreams_forms_are_read_and_damaged_ones_refused() {
        let read = |text: &str| ListCursor::read(text).map(|c| (c.name, c.version));
        assert_eq!(read("a/b:1.0.0"), Some(("a/b".into(), Some("1.0.0".into()))));
        assert_eq!(read("a/b:1.0.0 x"), Some(("a/b".into(), Some("1.0.0+x".into()))));
        assert_eq!(read("a/b:"), Some(("a/b".into(), Some(String::new()))));
        assert_eq!(read("a/b:1:2"), Some(("a/b".into(), Some("1:2".into()))));
        assert_eq!(read("a/b"), Some(("a/b".into(), None)));
        assert_eq!(read("eyJ/b:1"), Some(("eyJ/b".into(), Some("1".into()))));
        let ours = encode(&ListCursor::default());
        assert_eq!(read(&ours[..ours.len() - 2]), None);
        assert_eq!(read(&base64url(br#"{"n":"a","zz":1}"#)), None);
        assert_eq!(read(&"a".repeat(CURSOR_BYTES + 1)), None);
        assert!(read(&"a".repeat(CURSOR_BYTES)).is_some());
    }
}

//! Names of servers: `namespace/name`.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::limits::SERVER_NAME_CHARS;

/// A server's name: a namespace of `[a-zA-Z0-9.-]` and a local name of `[a-zA-Z0-9._-]`, 3 to 200 characters. The
/// official registry serves a few names with further slashes, from before its gate refused them; they are kept as they
/// are. The stricter rules of publishing are the validator's.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerName(Box<str>);

/// Text that cannot be a server's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a server name of the form `namespace/name`")]
pub struct NameError;

impl ServerName {
    /// Parses `namespace/name`.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let (least, most) = SERVER_NAME_CHARS;
        let (namespace, name) = text.split_once('/').ok_or(NameError)?;
        let namespace_ok = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-');
        let name_ok = |b: u8| namespace_ok(b) || b == b'_';
        let ok = (least..=most).contains(&text.len())
            && !namespace.is_empty()
            && namespace.bytes().all(namespace_ok)
            && name
                .split('/')
                .all(|part| !part.is_empty() && part.bytes().all(name_ok));
        if ok { Ok(Self(text.into())) } else { Err(NameError) }
    }

    /// The whole name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part before the slash.
    pub fn namespace(&self) -> &str {
        self.0.split_once('/').map_or("", |(namespace, _)| namespace)
    }

    /// The part after the first slash.
    pub fn local(&self) -> &str {
        self.0.split_once('/').map_or("", |(_, local)| local)
    }

    /// The name in lower case: two names that fold to the same are one name to people.
    pub fn folded(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

impl Serialize for ServerName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_gate_parse_and_those_with_more_slashes() {
        for good in [
            "a/b",
            "aa/bb",
            "io.github.Foo/bar_baz",
            "com.example/server.json",
            "-a/-b",
            "a/b/c",
        ] {
            assert!(ServerName::parse(good).is_ok(), "{good}");
        }
        let long = format!("{}/b", "a".repeat(199));
        for bad in [
            "",
            "a",
            "a/",
            "/b",
            "a/b/",
            "a//b",
            "a b/c",
            "a_b/c",
            "é/b",
            "a/b\0",
            long.as_str(),
        ] {
            assert!(ServerName::parse(bad).is_err(), "{bad}");
        }
        assert!(ServerName::parse(&format!("{}/b", "a".repeat(198))).is_ok());
    }
}

//! What the store keeps of servers and versions, and how the official contract shows it.

use std::cmp::Ordering;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::document::Document;
use crate::name::ServerName;
use crate::status::Status;
use crate::timestamp::Timestamp;
use crate::version::{VersionId, compare, is_prerelease};

/// Key of the official block in `_meta`.
pub const OFFICIAL_META: &str = "io.modelcontextprotocol.registry/official";
/// Key of the one block a publisher may provide.
pub const PUBLISHER_META: &str = "io.modelcontextprotocol.registry/publisher-provided";
/// Key of our own block in `_meta`.
pub const OWN_META: &str = "dev.toolmark/registry";

/// Who vouches that this version is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Its publisher, here, with a token for the name.
    Published,
    /// Another registry, or a file an operator imported.
    Imported,
    /// Toolmark, from public coordinates; the publisher was not asked.
    Listed,
}

impl Origin {
    /// The word in JSON and SQL.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Imported => "imported",
            Self::Listed => "listed",
        }
    }

    /// Reads the word back.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Published, Self::Imported, Self::Listed]
            .into_iter()
            .find(|origin| origin.as_str() == text)
    }
}

/// One version of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct Version {
    pub server: ServerName,
    pub version: VersionId,
    pub status: Status,
    pub status_changed_at: Timestamp,
    pub status_message: Option<String>,
    pub published_at: Timestamp,
    pub updated_at: Timestamp,
    /// Upstream's latest: for `/v0` and `/v0.1` only.
    pub is_latest: bool,
    /// The one people and agents should see.
    pub is_current: bool,
    pub origin: Origin,
    /// Whether the validator found no error in the document when it was stored.
    pub valid: bool,
    /// SHA-256 of the bytes as received.
    pub digest: Digest,
    /// The `server.json` as served: JSON text of one object.
    pub document: String,
}

/// What it takes to order, count and choose among the versions of a server: no document, so that a server with
/// thousands of versions costs little.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    pub version: VersionId,
    pub status: Status,
    pub published_at: Timestamp,
    pub is_current: bool,
}

impl Outline {
    /// The greatest first; among equals the one published last, then by text.
    pub fn newest_first(&self, other: &Self) -> Ordering {
        compare(
            (other.version.as_str(), other.published_at),
            (self.version.as_str(), self.published_at),
        )
        .then_with(|| other.published_at.cmp(&self.published_at))
        .then_with(|| other.version.cmp(&self.version))
    }

    /// A semantic version with a prerelease part.
    pub fn is_prerelease(&self) -> bool {
        is_prerelease(self.version.as_str())
    }
}

impl From<&Version> for Outline {
    fn from(version: &Version) -> Self {
        Self {
            version: version.version.clone(),
            status: version.status,
            published_at: version.published_at,
            is_current: version.is_current,
        }
    }
}

impl Version {
    /// Appends the `ServerResponse` of the official contract, `{"server":…,"_meta":{…}}`, to `out`. The document is
    /// copied as text: it was parsed when it was stored.
    pub fn write_response(&self, out: &mut String) {
        out.push_str(r#"{"server":"#);
        out.push_str(&self.document);
        // Words, times, digests and booleans need no escaping; the message is the one foreign string here.
        let _ = write!(
            out,
            r#","_meta":{{"{OFFICIAL_META}":{{"status":"{}","statusChangedAt":"{}","#,
            self.status.as_str(),
            self.status_changed_at
        );
        if let Some(message) = &self.status_message {
            let _ = write!(
                out,
                r#""statusMessage":{},"#,
                serde_json::Value::from(message.as_str())
            );
        }
        let _ = write!(
            out,
            r#""publishedAt":"{}","updatedAt":"{}","isLatest":{}}},"{OWN_META}":{{"current":{},"origin":"{}","valid":{},"sha256":"{}"}}}}}}"#,
            self.published_at,
            self.updated_at,
            self.is_latest,
            self.is_current,
            self.origin.as_str(),
            self.valid,
            self.digest
        );
    }
}

/// The current version of one server, as lists, search answers and the home page show it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServerSummary {
    pub name: ServerName,
    pub title: Option<String>,
    pub description: Option<String>,
    /// The current version.
    pub version: VersionId,
    pub status: Status,
    pub origin: Origin,
    pub published_at: Timestamp,
    pub updated_at: Timestamp,
    /// Of its packages, each once, in the order of the document. Words as published.
    pub registry_types: Vec<String>,
    /// Of its remotes, each once, in the order of the document. Words as published.
    pub remote_transports: Vec<String>,
}

impl ServerSummary {
    /// The summary of a version, read from its document.
    pub fn of(version: &Version) -> Self {
        let value = serde_json::from_str(&version.document).unwrap_or_default();
        let facts = Document::read(&value);
        Self {
            name: version.server.clone(),
            title: facts.title,
            description: facts.description,
            version: version.version.clone(),
            status: version.status,
            origin: version.origin,
            published_at: version.published_at,
            updated_at: version.updated_at,
            registry_types: each_once(facts.packages.into_iter().map(|package| package.registry_type)),
            remote_transports: each_once(facts.remotes.into_iter().map(|remote| remote.transport)),
        }
    }
}

fn each_once(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut kept = Vec::new();
    for word in words {
        if !kept.contains(&word) {
            kept.push(word);
        }
    }
    kept
}

/// What the registry holds, counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Stats {
    /// Servers with a current version that is not deleted.
    pub servers: i64,
    /// Versions that are not deleted.
    pub versions: i64,
    /// The newest event number.
    pub events: i64,
    /// Current versions with a package of this registry type, most first. A version may count under several.
    pub by_registry_type: Vec<(String, i64)>,
    /// Current versions with a remote of this transport, most first. A version may count under several.
    pub by_remote_transport: Vec<(String, i64)>,
    /// Current versions by who vouches for the listing.
    pub by_origin: Vec<(Origin, i64)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_response_is_json_with_the_official_block_apart_from_ours() {
        let at: Timestamp = "2025-09-10T13:57:43.256739Z".parse().unwrap();
        let version = Version {
            server: ServerName::parse("com.example/weather").unwrap(),
            version: VersionId::parse("1.0.0").unwrap(),
            status: Status::Deprecated,
            status_changed_at: at,
            status_message: Some("use \"2\"\n".into()),
            published_at: at,
            updated_at: at,
            is_latest: true,
            is_current: false,
            origin: Origin::Imported,
            valid: true,
            digest: Digest::of(b"x"),
            document: r#"{"name":"com.example/weather"}"#.into(),
        };
        let mut out = String::new();
        version.write_response(&mut out);
        let read: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!(read["_meta"][OFFICIAL_META]["statusMessage"], "use \"2\"\n");
        assert_eq!(read["_meta"][OFFICIAL_META].as_object().unwrap().len(), 6);
        assert_eq!(read["_meta"][OWN_META]["current"], false);
        assert_eq!(read["server"]["name"], "com.example/weather");
    }
}

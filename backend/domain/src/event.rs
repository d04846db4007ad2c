//! The one append-only feed: what happened, numbered without gaps.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::digest::Digest;
use crate::name::ServerName;
use crate::timestamp::Timestamp;
use crate::version::VersionId;

/// The schema name every event carries first.
pub const EVENT_SCHEMA: &str = "toolmark.event/1";

/// What happened. A closed list: a reader that meets an unknown word runs an older release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum EventKind {
    /// A publisher published a version here.
    #[serde(rename = "version.published")]
    VersionPublished,
    /// A version was taken over from another registry, a file, or our own list.
    #[serde(rename = "version.imported")]
    VersionImported,
    /// The document of a version was replaced.
    #[serde(rename = "version.edited")]
    VersionEdited,
    /// The status or status message of a version changed.
    #[serde(rename = "version.status")]
    VersionStatus,
    /// The operator's settings hide the server from now on.
    #[serde(rename = "server.hidden")]
    ServerHidden,
    /// The operator's settings no longer hide the server.
    #[serde(rename = "server.shown")]
    ServerShown,
    /// An operator took a server down; its earlier events are blanked.
    #[serde(rename = "server.taken_down")]
    ServerTakenDown,
    /// A target was looked at.
    #[serde(rename = "snapshot.recorded")]
    SnapshotRecorded,
    /// What a target declares differs from the look before.
    #[serde(rename = "change.recorded")]
    ChangeRecorded,
    /// The provenance of an artifact was decided.
    #[serde(rename = "verdict.recorded")]
    VerdictRecorded,
}

impl EventKind {
    /// Every kind.
    pub const ALL: [Self; 10] = [
        Self::VersionPublished,
        Self::VersionImported,
        Self::VersionEdited,
        Self::VersionStatus,
        Self::ServerHidden,
        Self::ServerShown,
        Self::ServerTakenDown,
        Self::SnapshotRecorded,
        Self::ChangeRecorded,
        Self::VerdictRecorded,
    ];

    /// The word in JSON and SQL.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::VersionPublished => "version.published",
            Self::VersionImported => "version.imported",
            Self::VersionEdited => "version.edited",
            Self::VersionStatus => "version.status",
            Self::ServerHidden => "server.hidden",
            Self::ServerShown => "server.shown",
            Self::ServerTakenDown => "server.taken_down",
            Self::SnapshotRecorded => "snapshot.recorded",
            Self::ChangeRecorded => "change.recorded",
            Self::VerdictRecorded => "verdict.recorded",
        }
    }

    /// Reads the word back.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

/// How much an event matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Info,
    Low,
    Medium,
    High,
    Critical,
}

impl Severity {
    /// Every severity, least first.
    pub const ALL: [Self; 5] = [Self::Info, Self::Low, Self::Medium, Self::High, Self::Critical];

    /// The word in JSON and SQL.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }

    /// Reads the word back.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.as_str() == text)
    }
}

/// An event before the store gives it its number.
#[derive(Clone, Debug)]
pub struct NewEvent {
    /// UUID, given by the caller.
    pub id: String,
    pub kind: EventKind,
    pub at: Timestamp,
    pub server: ServerName,
    pub version: Option<VersionId>,
    /// The package or remote concerned, when it is one of several.
    pub target: Option<String>,
    pub severity: Severity,
    /// Kind-specific facts; an object.
    pub data: Map<String, Value>,
}

impl NewEvent {
    /// The event as readers get it: an object with `schema` first.
    pub fn numbered(&self, seq: i64) -> Value {
        json!({
            "schema": EVENT_SCHEMA,
            "seq": seq,
            "id": self.id,
            "kind": self.kind.as_str(),
            "at": self.at,
            "server": self.server,
            "version": self.version,
            "target": self.target,
            "severity": self.severity.as_str(),
            "data": self.data,
        })
    }
}

/// An event as it stands in the feed.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub seq: i64,
    /// The event object; after a takedown only `schema`, `seq` and `blanked` are left.
    pub body: Value,
    /// RFC 9162 leaf hash of the event's RFC 8785 bytes, kept when the event is blanked.
    pub leaf_hash: Digest,
}

/// The RFC 8785 bytes of an event object: the leaf data of the log.
pub fn leaf_bytes(event: &Value) -> Vec<u8> {
    serde_json_canonicalizer::to_vec(event).expect("a JSON value without floats always has a canonical form")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_and_severity_reads_back() {
        for kind in EventKind::ALL {
            assert_eq!(EventKind::parse(kind.as_str()), Some(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
        for severity in Severity::ALL {
            assert_eq!(Severity::parse(severity.as_str()), Some(severity));
        }
    }

    #[test]
    fn leaf_bytes_sort_keys() {
        assert_eq!(leaf_bytes(&json!({"b": 1, "a": "x"})), br#"{"a":"x","b":1}"#);
    }
}

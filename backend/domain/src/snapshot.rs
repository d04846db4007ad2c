//! What one target declared at one time, as a document: the form in which the crawler, the command `probe`, the
//! store and the API pass it on.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::limits::MANIFEST_BYTES;
use crate::manifest::{self, Era, InputError, ItemKind, Manifest};

/// Name of the JSON form.
pub const SCHEMA: &str = "toolmark.snapshot/1";

/// How looking at a target ended. A closed list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Seen by us, complete.
    Observed,
    /// Signed by its publisher, not seen by us.
    Declared,
    /// It wants credentials before it says anything.
    AuthRequired,
    /// It refuses to start without settings of its own.
    NeedsConfiguration,
    /// It ended by itself.
    Crashed,
    /// It said nothing in the time it had.
    TimedOut,
    /// What answered speaks something else.
    DoesNotSpeakMcp,
    /// Nothing answered.
    Unreachable,
    /// One of our limits or rules stopped it.
    RefusedByPolicy,
    /// It was not looked at, and the reason says why.
    NotObserved,
}

impl Outcome {
    /// Every outcome.
    pub const ALL: [Self; 10] = [
        Self::Observed,
        Self::Declared,
        Self::AuthRequired,
        Self::NeedsConfiguration,
        Self::Crashed,
        Self::TimedOut,
        Self::DoesNotSpeakMcp,
        Self::Unreachable,
        Self::RefusedByPolicy,
        Self::NotObserved,
    ];

    /// The word in JSON and SQL.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Observed => "observed",
            Self::Declared => "declared",
            Self::AuthRequired => "auth_required",
            Self::NeedsConfiguration => "needs_configuration",
            Self::Crashed => "crashed",
            Self::TimedOut => "timed_out",
            Self::DoesNotSpeakMcp => "does_not_speak_mcp",
            Self::Unreachable => "unreachable",
            Self::RefusedByPolicy => "refused_by_policy",
            Self::NotObserved => "not_observed",
        }
    }

    /// Reads the word back.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == text)
    }

    /// For people, as a sentence without its subject.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Observed => "seen by us, complete",
            Self::Declared => "declared and signed by the publisher, not seen by us",
            Self::AuthRequired => "wants credentials before it says anything",
            Self::NeedsConfiguration => "refuses to start without settings of its own",
            Self::Crashed => "ended by itself",
            Self::TimedOut => "said nothing in the time it had",
            Self::DoesNotSpeakMcp => "answered, but not in this protocol",
            Self::Unreachable => "did not answer",
            Self::RefusedByPolicy => "stopped at one of our limits or rules",
            Self::NotObserved => "not looked at",
        }
    }

    /// Whether there is a manifest.
    pub fn has_manifest(self) -> bool {
        matches!(self, Self::Observed | Self::Declared)
    }
}

/// A host a server tried to reach while it started and listed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Egress {
    /// Name as asked for, or an address it used without asking.
    pub host: String,
    pub port: u16,
    /// `tcp`, `udp`, `dns`.
    pub protocol: String,
    /// In how many takes.
    pub takes: u32,
}

/// The document. Items are kept as they were received, byte for byte, so that digests can be computed again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Snapshot {
    pub schema: String,
    /// `npm:NAME@V`, `pypi:NAME@V`, `oci:REF`, `mcpb:URL`, a URL, or a command line.
    pub target: String,
    pub outcome: Outcome,
    pub era: Option<Era>,
    pub protocol_version: Option<String>,
    /// Result of `server/discover`.
    pub discover: Option<Box<RawValue>>,
    /// Result of `initialize`.
    pub initialize: Option<Box<RawValue>>,
    /// Null when it was not listed.
    pub tools: Option<Vec<Box<RawValue>>>,
    pub prompts: Option<Vec<Box<RawValue>>>,
    pub resources: Option<Vec<Box<RawValue>>>,
    pub resource_templates: Option<Vec<Box<RawValue>>>,
    /// `raw` (SHA-256 of what was received in the first take), and what [`Manifest::digests`] gives.
    pub digests: Value,
    /// Pointers to values that differed between takes.
    #[serde(default)]
    pub volatile: Vec<String>,
    #[serde(default)]
    pub egress: Vec<Egress>,
    /// A finer state under the outcome; a closed list of words.
    pub reason: Option<String>,
    /// Last lines of its error output, bounded, secrets masked.
    pub stderr_tail: Option<String>,
    pub took_ms: u64,
    /// Doubtful things about its form and its conduct.
    #[serde(default)]
    pub findings: Vec<Value>,
    /// What else is known of the look: takes, artifact, resolved dependencies, runtime. Keys may be added.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub look: Value,
}

impl Snapshot {
    /// A snapshot that says only how it ended.
    pub fn failed(target: impl Into<String>, outcome: Outcome, reason: Option<&str>) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            target: target.into(),
            outcome,
            era: None,
            protocol_version: None,
            discover: None,
            initialize: None,
            tools: None,
            prompts: None,
            resources: None,
            resource_templates: None,
            digests: Value::Null,
            volatile: Vec::new(),
            egress: Vec::new(),
            reason: reason.map(str::to_owned),
            stderr_tail: None,
            took_ms: 0,
            findings: Vec::new(),
            look: Value::Null,
        }
    }

    /// The list of one kind.
    pub fn list(&self, kind: ItemKind) -> Option<&[Box<RawValue>]> {
        let list = match kind {
            ItemKind::Tool => &self.tools,
            ItemKind::Prompt => &self.prompts,
            ItemKind::Resource => &self.resources,
            ItemKind::Template => &self.resource_templates,
        };
        list.as_deref()
    }

    /// The bytes of the document.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a snapshot has text as keys")
    }

    /// Reads a document of at most 8 MiB and some room for what stands around the manifest.
    pub fn read(bytes: &[u8]) -> Result<Self, SnapshotError> {
        if bytes.len() > MANIFEST_BYTES + MANIFEST_BYTES / 4 {
            return Err(SnapshotError::TooLarge { bytes: bytes.len() });
        }
        let read: Self = serde_json::from_slice(bytes)?;
        if read.schema == SCHEMA {
            Ok(read)
        } else {
            Err(SnapshotError::Schema { found: read.schema })
        }
    }

    /// The manifest of what it holds; an empty one where nothing was listed.
    pub fn manifest(&self) -> Result<Manifest, InputError> {
        match manifest::read(&self.to_bytes()) {
            Err(InputError::NoLists) => Ok(Manifest::default()),
            read => read,
        }
    }
}

/// Bytes that are no snapshot.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    #[error("{bytes} bytes are more than a snapshot may have")]
    TooLarge { bytes: usize },
    #[error("not a snapshot")]
    Syntax(#[from] serde_json::Error),
    #[error("the schema is `{found}`, expected `{SCHEMA}`")]
    Schema { found: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_survive_byte_for_byte() {
        let text = r#"{"schema":"toolmark.snapshot/1","target":"npm:a@1","outcome":"observed","era":"legacy",
            "protocol_version":"2025-06-18","discover":null,"initialize":{"capabilities":{}},
            "tools":[{"name":"x" , "n":1e400,"n":2}],"prompts":[],"resources":null,"resource_templates":null,
            "digests":{},"reason":null,"stderr_tail":null,"took_ms":3}"#;
        let read = Snapshot::read(text.as_bytes()).unwrap();
        let again = Snapshot::read(&read.to_bytes()).unwrap();
        assert_eq!(
            again.list(ItemKind::Tool).unwrap()[0].get(),
            r#"{"name":"x" , "n":1e400,"n":2}"#
        );
        let manifest = again.manifest().unwrap();
        assert_eq!(manifest.lists, [ItemKind::Prompt, ItemKind::Tool]);
        assert!(!manifest.items[0].facts.is_empty());
        assert_eq!(manifest.server.era, Some(Era::Legacy));
    }

    #[test]
    fn every_outcome_has_its_word() {
        for outcome in Outcome::ALL {
            assert_eq!(Outcome::parse(outcome.as_str()), Some(outcome));
            assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.as_str());
        }
        let none = Snapshot::failed("npm:a@1", Outcome::NotObserved, Some("no_sandbox"));
        assert_eq!(none.manifest().unwrap(), Manifest::default());
    }
}

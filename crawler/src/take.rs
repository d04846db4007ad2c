//! What one session with a server gave, however it ended.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use toolmark_domain::manifest::{Era, ItemKind};
use toolmark_domain::reason::Reason;
use toolmark_domain::snapshot::{Egress, Outcome};

/// How the era is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EraEvidence {
    /// It answered `server/discover` with a version of this era.
    Discovered,
    /// It refused our version in the words of the modern protocol.
    UnsupportedVersion,
    /// It answered `server/discover` with something else, then `initialize`.
    Refused,
    /// It ended on `server/discover`; a new process answered `initialize`.
    Exit,
    /// It did not answer `server/discover` in time; a new process answered `initialize`. Provisional.
    Timeout,
}

impl EraEvidence {
    /// The word in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Discovered => "discovered",
            Self::UnsupportedVersion => "unsupported_version",
            Self::Refused => "refused",
            Self::Exit => "exit",
            Self::Timeout => "timeout",
        }
    }
}

/// One session: from the first byte to the last process gone.
#[derive(Debug)]
pub struct Take {
    pub outcome: Outcome,
    pub reason: Option<Reason>,
    /// What the server itself said about that, bounded, secrets masked.
    pub words: Option<String>,
    pub era: Option<Era>,
    pub era_evidence: Option<EraEvidence>,
    pub protocol_version: Option<String>,
    /// Results as received.
    pub discover: Option<Box<RawValue>>,
    pub initialize: Option<Box<RawValue>>,
    /// The items of each list that was given to its end, as received.
    pub lists: BTreeMap<ItemKind, Vec<Box<RawValue>>>,
    /// Methods the server called on us, and how often: `roots/list`, `sampling/createMessage`, …
    pub server_requests: BTreeMap<String, u32>,
    pub stderr_tail: Option<String>,
    pub egress: Vec<Egress>,
    pub took_ms: u64,
}

//! What an import did, for the table at its end and for programs.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use toolmark_domain::timestamp::Timestamp;

use super::place::Place;
use super::row::Refusal;

/// How many examples of one reason a report holds.
pub(crate) const EXAMPLES: usize = 5;

/// Why an element was not taken over. A closed list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    NotJson,
    NotAServer,
    NoName,
    BadName,
    NoVersion,
    BadVersion,
    TooLarge,
    TooDeep,
    DuplicateKeys,
    BadMeta,
    Older,
    PublishedHere,
    TakenDown,
}

impl Reason {
    /// The word in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotJson => "not_json",
            Self::NotAServer => "not_a_server",
            Self::NoName => "no_name",
            Self::BadName => "bad_name",
            Self::NoVersion => "no_version",
            Self::BadVersion => "bad_version",
            Self::TooLarge => "too_large",
            Self::TooDeep => "too_deep",
            Self::DuplicateKeys => "duplicate_keys",
            Self::BadMeta => "bad_meta",
            Self::Older => "older",
            Self::PublishedHere => "published_here",
            Self::TakenDown => "taken_down",
        }
    }

    /// The words for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::NotJson => "not JSON",
            Self::NotAServer => "no server document",
            Self::NoName => "no name",
            Self::BadName => "name not of the form `namespace/name`",
            Self::NoVersion => "no version",
            Self::BadVersion => "version cannot be kept",
            Self::TooLarge => "too large",
            Self::TooDeep => "nested too deep",
            Self::DuplicateKeys => "name or version given twice",
            Self::BadMeta => "registry's own block cannot be read",
            Self::Older => "older than what is here",
            Self::PublishedHere => "published here by its publisher",
            Self::TakenDown => "taken down by the operator",
        }
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Elements not taken over for one reason.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Skipped {
    pub count: u64,
    /// The first few.
    pub examples: Vec<Example>,
}

/// One element not taken over.
#[derive(Clone, Debug, Serialize)]
pub struct Example {
    pub at: Place,
    pub server: Option<String>,
    pub detail: String,
}

/// Why an import ended before its source did.
#[derive(Clone, Debug, Serialize)]
pub struct Stop {
    /// Where: a page, or the source as a whole.
    pub at: String,
    /// What happened there, with its causes.
    pub cause: String,
    /// There was no answer at all.
    #[serde(skip)]
    pub unanswered: bool,
}

/// What an import did.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ImportReport {
    pub source: String,
    /// Elements met, whatever became of them.
    pub rows: u64,
    pub added: u64,
    pub updated: u64,
    pub unchanged: u64,
    pub skipped: BTreeMap<Reason, Skipped>,
    /// Of the added and updated, those in which the validator finds errors.
    pub invalid: u64,
    /// Rows with a time that is yet to come, which was cut to the time of the import.
    pub future: u64,
    /// Pages read, for a registry.
    pub pages: u64,
    /// Only what changed after this was asked for.
    pub since: Option<Timestamp>,
    /// This run went on where an interrupted one ended.
    pub resumed: bool,
    /// Set when the source could not be read to its end; what was read before is kept.
    pub stopped: Option<Stop>,
}

impl ImportReport {
    pub(crate) fn new(source: impl Into<String>) -> Self {
        Self {
            source: source.into(),
            ..Self::default()
        }
    }

    /// All elements that were not taken over.
    pub fn skipped_count(&self) -> u64 {
        self.skipped.values().map(|skipped| skipped.count).sum()
    }

    pub(crate) fn skip(&mut self, at: Place, refusal: Refusal) {
        let skipped = self.skipped.entry(refusal.reason).or_default();
        skipped.count += 1;
        if skipped.examples.len() < EXAMPLES {
            skipped.examples.push(Example {
                at,
                server: refusal.server,
                detail: refusal.detail,
            });
        }
    }

    pub(crate) fn stop(&mut self, at: impl Into<String>, cause: &dyn std::error::Error) {
        let mut words = cause.to_string();
        let mut inner = cause.source();
        while let Some(error) = inner {
            words.push_str(": ");
            words.push_str(&error.to_string());
            inner = error.source();
        }
        self.stopped = Some(Stop {
            at: at.into(),
            cause: words,
            unanswered: false,
        });
    }

    /// Whether something was met and none of it was JSON: then it was never a file of ours.
    pub(crate) fn is_all_noise(&self) -> bool {
        let noise = self
            .skipped
            .get(&Reason::NotJson)
            .map_or(0, |skipped| skipped.count);
        self.rows > 0 && noise == self.rows
    }
}

//! How a server behaved, apart from what it declares: findings about its conduct, never errors.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use toolmark_domain::finding::Severity;

/// What can be said of a server's conduct. A closed list; an id never changes its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Conduct {
    NoiseOnOutput,
    IncompleteResult,
    UnknownResultType,
    AskedClient,
    OddId,
    OddVersion,
    UndeclaredList,
    ListMoved,
    NeededSignal,
    EraProvisional,
    TakesDiffer,
    DoubledKey,
    NoVersion,
    HeaderAnnotation,
    NotListed,
    OddCursor,
    Batch,
    OrderMoves,
}

impl Conduct {
    /// Stable id, and how grave it is.
    fn entry(self) -> (&'static str, Severity) {
        match self {
            Self::NoiseOnOutput => ("C01", Severity::Info),
            Self::IncompleteResult => ("C02", Severity::Info),
            Self::UnknownResultType => ("C03", Severity::Info),
            Self::AskedClient => ("C04", Severity::Info),
            Self::OddId => ("C05", Severity::Info),
            Self::OddVersion => ("C06", Severity::Info),
            Self::UndeclaredList => ("C07", Severity::Info),
            Self::ListMoved => ("C08", Severity::Low),
            Self::NeededSignal => ("C09", Severity::Info),
            Self::EraProvisional => ("C10", Severity::Info),
            Self::TakesDiffer => ("C11", Severity::Low),
            Self::DoubledKey => ("C12", Severity::Low),
            Self::NoVersion => ("C13", Severity::Info),
            Self::HeaderAnnotation => ("C14", Severity::Info),
            Self::NotListed => ("C15", Severity::Info),
            Self::OddCursor => ("C16", Severity::Info),
            Self::Batch => ("C17", Severity::Info),
            Self::OrderMoves => ("C18", Severity::Info),
        }
    }
}

/// Most different things noted in one take.
const MOST: usize = 100;

/// What was noted, each thing once and how often.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes(BTreeMap<(Conduct, String), u32>);

impl Notes {
    /// Notes something. `what` is a sentence in our words; foreign words in it are bounded by the caller.
    pub(crate) fn add(&mut self, conduct: Conduct, what: impl Into<String>) {
        self.add_times(conduct, what, 1);
    }

    pub(crate) fn add_times(&mut self, conduct: Conduct, what: impl Into<String>, times: u32) {
        let key = (conduct, what.into());
        if self.0.contains_key(&key) || self.0.len() < MOST {
            let count = self.0.entry(key).or_default();
            *count = count.saturating_add(times);
        }
    }

    /// Everything either of two takes noted.
    pub(crate) fn merge(&mut self, other: &Self) {
        for ((conduct, what), count) in &other.0 {
            let own = self.0.entry((*conduct, what.clone())).or_default();
            *own = (*own).max(*count);
        }
    }

    /// In the form of every other finding, and how often where that says something.
    pub(crate) fn findings(&self) -> Vec<Value> {
        let each = self.0.iter().map(|((conduct, what), count)| {
            let (rule, severity) = conduct.entry();
            let times = if *count > 1 {
                format!(" ({count} times)")
            } else {
                String::new()
            };
            json!({
                "rule": rule, "severity": severity, "kind": "server", "key": null, "tool": null,
                "pointer": "", "summary": format!("{what}{times}"), "before": null, "after": null,
            })
        });
        each.collect()
    }
}

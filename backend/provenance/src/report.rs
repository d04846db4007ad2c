//! What a check answers: the verdict, each step of the way to it, and what the evidence claims.

use serde::Serialize;
use toolmark_domain::builder::Builder;
use toolmark_domain::digest::Digest;
use toolmark_domain::limits::CLAIM_CHARS;
use toolmark_domain::provenance::{Level, Reason, Verdict, Warning};
use toolmark_domain::timestamp::Timestamp;

/// The schema of [`Report`] as JSON.
pub const SCHEMA: &str = "toolmark.verdict/1";

/// One thing that speaks against an attestation, and what exactly was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) reason: Reason,
    pub(crate) note: String,
}

impl Fault {
    pub(crate) fn new(reason: Reason, note: impl Into<String>) -> Self {
        Self {
            reason,
            note: shown(&note.into()),
        }
    }
}

/// The verdict on one artifact.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub schema: &'static str,
    pub verdict: Verdict,
    pub level: Option<Level>,
    pub reasons: Vec<Reason>,
    pub warnings: Vec<Warning>,
    /// What the decisive attestation says.
    pub claims: Option<Claims>,
    /// The identity that a later release is compared with.
    pub identity: Option<Builder>,
    pub checked_at: Timestamp,
    /// The root the decisive attestation was checked with.
    pub trusted_root: Option<RootUsed>,
    /// Version of the rules.
    pub policy: &'static str,
    /// Each step for the decisive attestation.
    pub steps: Vec<Step>,
    /// Every attestation looked at, in the order found.
    pub attestations: Vec<Considered>,
}

/// A trusted root, by name and digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RootUsed {
    pub name: String,
    pub sha256: Digest,
}

/// One attestation, in short.
#[derive(Clone, Debug, Serialize)]
pub struct Considered {
    pub predicate_type: Option<String>,
    pub verdict: Verdict,
    pub level: Option<Level>,
    pub reasons: Vec<Reason>,
    pub warnings: Vec<Warning>,
}

/// The steps of a check, in the order of the chain they prove.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepName {
    Read,
    Time,
    Certificate,
    Log,
    Signature,
    Statement,
    Subject,
    Builder,
    Source,
    Trigger,
}

/// Every step, in order.
pub(crate) const STEPS: [StepName; 10] = [
    StepName::Read,
    StepName::Time,
    StepName::Certificate,
    StepName::Log,
    StepName::Signature,
    StepName::Statement,
    StepName::Subject,
    StepName::Builder,
    StepName::Source,
    StepName::Trigger,
];

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    Pass,
    Fail,
    /// Not done: an earlier step failed, or there is nothing to compare.
    NotDone,
}

/// One step and what was seen.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    pub name: StepName,
    pub state: StepState,
    pub note: String,
}

/// The steps of one attestation while it is checked.
#[derive(Clone, Debug)]
pub(crate) struct Trail(Vec<Step>);

impl Trail {
    pub(crate) fn new() -> Self {
        let step = |name| Step {
            name,
            state: StepState::NotDone,
            note: String::new(),
        };
        Self(STEPS.map(step).to_vec())
    }

    pub(crate) fn pass(&mut self, name: StepName, note: impl Into<String>) {
        self.set(name, StepState::Pass, note);
    }

    pub(crate) fn fail(&mut self, name: StepName, note: impl Into<String>) {
        self.set(name, StepState::Fail, note);
    }

    pub(crate) fn skip(&mut self, name: StepName, note: impl Into<String>) {
        self.set(name, StepState::NotDone, note);
    }

    fn set(&mut self, name: StepName, state: StepState, note: impl Into<String>) {
        let step = self.0.iter_mut().find(|step| step.name == name);
        // A step that failed once has failed; the first words about it stay.
        if let Some(step) = step.filter(|step| step.state != StepState::Fail) {
            let note = shown(&note.into());
            *step = Step { name, state, note };
        }
    }

    pub(crate) fn into_steps(self) -> Vec<Step> {
        self.0
    }
}

/// What the evidence says about origin. Text of others: bounded, to be escaped wherever it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Claims {
    pub predicate_type: Option<String>,
    /// Who vouched for the identity.
    pub issuer: Option<String>,
    /// The name in the certificate.
    pub signer: Option<String>,
    pub source_repository: Option<String>,
    pub source_repository_id: Option<String>,
    pub source_owner_id: Option<String>,
    pub source_commit: Option<String>,
    pub source_ref: Option<String>,
    pub source_visibility: Option<String>,
    /// The workflow that ran, with its ref.
    pub workflow: Option<String>,
    pub trigger: Option<String>,
    pub runner: Option<String>,
    pub run: Option<String>,
    pub environment: Option<String>,
    /// Shown only where the certificate confirms it.
    pub builder_id: Option<String>,
    /// SLSA build level, where it is a build.
    pub slsa_level: Option<u8>,
    /// The registry a publish attestation names.
    pub registry: Option<String>,
    /// Trusted times of signing.
    pub signed_at: Vec<Timestamp>,
    pub log_indexes: Vec<u64>,
}

/// Foreign text, bounded and without NUL, which no database text holds.
pub(crate) fn shown(text: &str) -> String {
    let mut out: String = text
        .chars()
        .take(CLAIM_CHARS)
        .map(|c| if c == '\0' { '\u{FFFD}' } else { c })
        .collect();
    if text.chars().nth(CLAIM_CHARS).is_some() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_is_bounded() {
        let long = "é".repeat(CLAIM_CHARS);
        assert_eq!(shown(&long), long);
        assert_eq!(shown(&format!("{long}x")), format!("{long}…"));
        assert_eq!(shown("a\0b"), "a\u{FFFD}b");
    }

    #[test]
    fn a_step_that_failed_stays_failed() {
        let mut trail = Trail::new();
        trail.fail(StepName::Log, "first");
        trail.pass(StepName::Log, "second");
        let step = &trail.into_steps()[3];
        assert_eq!((step.state, step.note.as_str()), (StepState::Fail, "first"));
    }
}

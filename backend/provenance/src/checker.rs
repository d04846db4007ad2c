//! The whole check: evidence, artifact and declaration in, report out.

use std::io::{self, Read};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256, Sha512};
use toolmark_domain::digest::Digest;
use toolmark_domain::provenance::{Level, Reason, Verdict, Warning};
use toolmark_domain::timestamp::Timestamp;

use crate::attestation::{self, Context};
use crate::document::{self, Counting, Items};
use crate::evidence::{Evidence, Observation};
use crate::keys::KeyList;
use crate::oci;
use crate::outcome::Outcome;
use crate::policy::{POLICY, Policy};
use crate::report::{Fault, Report, SCHEMA, StepName, StepState, Trail, shown};
use crate::roots::TrustedRoots;

/// The kinds of artifact whose evidence we know how to bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ecosystem {
    Npm,
    Pypi,
    Oci,
    Mcpb,
    Release,
}

/// What server.json says of the artifact. What is not given is not compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declared {
    pub ecosystem: Option<Ecosystem>,
    /// Name of the package; for Python files and release files also the name of the file.
    pub name: Option<String>,
    pub version: Option<String>,
    pub file: Option<String>,
    pub repository: Option<String>,
    /// The forge's own id of the repository.
    pub repository_id: Option<String>,
}

/// The artifact, by its digests.
#[derive(Clone, Debug, Default)]
pub struct Artifact {
    pub sha256: Option<[u8; 32]>,
    pub sha512: Option<[u8; 64]>,
}

impl Artifact {
    /// Both digests of what a reader gives, to its end.
    pub fn read(mut reader: impl Read) -> io::Result<Self> {
        let (mut sha256, mut sha512) = (Sha256::new(), Sha512::new());
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let count = match reader.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            sha256.update(&buffer[..count]);
            sha512.update(&buffer[..count]);
        }
        Ok(Self {
            sha256: Some(sha256.finalize().into()),
            sha512: Some(sha512.finalize().into()),
        })
    }
}

/// One question.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    pub evidence: Evidence<'a>,
    pub artifact: Artifact,
    pub declared: Declared,
    /// The time of the check; what was signed later than this is refused.
    pub at: Timestamp,
}

/// Roots, keys and policy to check with. Build one and keep it.
pub struct Checker {
    pub(crate) roots: TrustedRoots,
    pub(crate) keys: KeyList,
    pub(crate) policy: Policy,
}

impl Checker {
    /// A checker with these roots, keys and policy.
    pub fn new(roots: TrustedRoots, keys: KeyList, policy: Policy) -> Self {
        Self { roots, keys, policy }
    }

    /// Answers one question. The same question has the same answer.
    pub fn check(&self, request: &Request<'_>) -> Report {
        let items = match request.evidence {
            Evidence::Document { format, bytes } => document::items(format, bytes),
            Evidence::OciRecorded(files) => oci::items(files, &request.artifact),
            Evidence::Gathered(gathered) => document::gathered(gathered, &request.artifact),
        };
        let context = Context {
            checker: self,
            artifact: &request.artifact,
            declared: &request.declared,
            at: request.at,
        };
        let mut report = match items {
            Ok(Items { items, counting }) => {
                let outcomes = items.into_iter().map(|item| attestation::check(item, &context));
                together(outcomes.collect(), counting, request.at)
            }
            Err(fault) => {
                let mut outcome = Outcome::new();
                outcome.fault(StepName::Read, fault);
                together(vec![outcome], Counting::All, request.at)
            }
        };
        if let Evidence::Gathered(gathered) = request.evidence {
            contradict(&mut report, &gathered.contradictions);
        }
        report
    }

    /// The roots it checks with, by name, digest and document.
    pub fn roots(&self) -> impl Iterator<Item = (&str, Digest, &[u8])> {
        self.roots.documents()
    }

    /// The keys of the npm registry it checks with.
    pub fn keys(&self) -> &KeyList {
        &self.keys
    }

    /// The rules it checks by.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }
}

/// The answer where the trusted root itself cannot be used, so that nothing can be told.
pub fn unusable_root(error: &str, at: Timestamp) -> Report {
    let mut outcome = Outcome::new();
    outcome.fault(
        StepName::Certificate,
        Fault::new(Reason::TrustedRootUnusable, error),
    );
    together(vec![outcome], Counting::All, at)
}

/// The verdict on all attestations together.
fn together(mut outcomes: Vec<Outcome>, counting: Counting, at: Timestamp) -> Report {
    let attestations = outcomes.iter().map(Outcome::considered).collect();
    let count = outcomes.len();
    let counts: Vec<usize> = match counting {
        Counting::Any => (0..count).collect(),
        // What is of no known kind neither helps nor harms, unless there is nothing else.
        Counting::All => {
            let known: Vec<usize> = (0..count).filter(|at| !outcomes[*at].foreign()).collect();
            if known.is_empty() {
                (0..count).collect()
            } else {
                known
            }
        }
    };
    let verified = |at: &usize| outcomes[*at].verdict() == Verdict::Verified;
    let passes = match counting {
        Counting::All => counts.iter().all(verified),
        Counting::Any => counts.iter().any(verified),
    };
    let rank = |at: &usize| {
        let outcome = &outcomes[*at];
        let level = outcome.level.map_or(u8::MAX, Level::rank);
        if passes {
            // The best of those that verify.
            (u8::from(!verified(at)), level, outcome.warnings.len())
        } else {
            (outcome.verdict().rank(), level, 0)
        }
    };
    let Some(decisive) = counts.iter().copied().min_by_key(rank) else {
        return nothing(at);
    };
    let verdict = outcomes[decisive].verdict();
    let mut reasons: Vec<Reason> = outcomes[decisive].reasons();
    let mut warnings = outcomes[decisive].warnings.clone();
    let failing = counts.iter().filter(|at| !verified(at)).count();
    if !passes {
        for other in counts.iter().flat_map(|at| outcomes[*at].reasons()) {
            if !reasons.contains(&other) {
                reasons.push(other);
            }
        }
    }
    if counting == Counting::All {
        for other in counts.iter().flat_map(|at| outcomes[*at].warnings.clone()) {
            if !warnings.contains(&other) {
                warnings.push(other);
            }
        }
    }
    let decided = outcomes.swap_remove(decisive);
    if decided.level == Some(Level::Build) {
        warnings.retain(|warning| *warning != Warning::PublishAttestationOnly);
    }
    if passes && (failing > 0 || counts.len() < count) {
        warnings.push(Warning::OtherAttestationsIgnored);
    }
    warnings.sort_unstable();
    report(decided, verdict, reasons, warnings, attestations, at)
}

/// What is wrong with the artifact itself weighs more than any evidence: the gravest verdict stands.
fn contradict(report: &mut Report, contradictions: &[Observation]) {
    for seen in contradictions {
        if seen.reason.verdict().rank() < report.verdict.rank() {
            report.verdict = seen.reason.verdict();
        }
        report.level = None;
        if !report.reasons.contains(&seen.reason) {
            report.reasons.insert(0, seen.reason);
        }
        report.reasons.retain(|reason| *reason != Reason::NoAttestation);
        let subject = report
            .steps
            .iter_mut()
            .find(|step| step.name == StepName::Subject);
        if let Some(step) = subject.filter(|step| step.state != StepState::Fail) {
            step.state = StepState::Fail;
            step.note = shown(&seen.note);
        }
    }
}

fn report(
    decided: Outcome,
    verdict: Verdict,
    reasons: Vec<Reason>,
    warnings: Vec<Warning>,
    attestations: Vec<crate::report::Considered>,
    at: Timestamp,
) -> Report {
    Report {
        schema: SCHEMA,
        verdict,
        level: decided.level.filter(|_| verdict == Verdict::Verified),
        reasons,
        warnings,
        claims: (decided.claims != crate::report::Claims::default()).then_some(decided.claims),
        identity: decided.builder,
        checked_at: at,
        trusted_root: decided.root,
        policy: POLICY,
        steps: decided.trail.into_steps(),
        attestations,
    }
}

/// Every place answered, and there is nothing.
fn nothing(at: Timestamp) -> Report {
    let mut outcome = Outcome::new();
    outcome.trail = Trail::new();
    outcome.fault(
        StepName::Read,
        Fault::new(Reason::NoAttestation, "there is no attestation"),
    );
    let (verdict, reasons) = (outcome.verdict(), outcome.reasons());
    report(outcome, verdict, reasons, Vec::new(), Vec::new(), at)
}

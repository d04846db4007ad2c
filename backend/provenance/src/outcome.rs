//! What came of one attestation: everything that speaks against it, and what it says.

use toolmark_domain::builder::Builder;
use toolmark_domain::provenance::{Level, Reason, Verdict, Warning};

use crate::report::{Claims, Considered, Fault, RootUsed, StepName, Trail};

/// What came of one attestation.
pub(crate) struct Outcome {
    pub(crate) faults: Vec<Fault>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) level: Option<Level>,
    pub(crate) claims: Claims,
    pub(crate) builder: Option<Builder>,
    pub(crate) root: Option<RootUsed>,
    pub(crate) trail: Trail,
}

impl Outcome {
    pub(crate) fn new() -> Self {
        Self {
            faults: Vec::new(),
            warnings: Vec::new(),
            level: None,
            claims: Claims::default(),
            builder: None,
            root: None,
            trail: Trail::new(),
        }
    }

    pub(crate) fn fault(&mut self, step: StepName, fault: Fault) {
        self.trail.fail(step, fault.note.clone());
        self.faults.push(fault);
    }

    pub(crate) fn warn(&mut self, warning: Warning) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Verified when nothing speaks against it; else the gravest that does.
    pub(crate) fn verdict(&self) -> Verdict {
        let verdicts = self.faults.iter().map(|fault| fault.reason.verdict());
        verdicts
            .min_by_key(|verdict| verdict.rank())
            .unwrap_or(Verdict::Verified)
    }

    pub(crate) fn reasons(&self) -> Vec<Reason> {
        let mut reasons: Vec<Reason> = Vec::new();
        for fault in &self.faults {
            if !reasons.contains(&fault.reason) {
                reasons.push(fault.reason);
            }
        }
        reasons.sort_by_key(|reason| reason.verdict().rank());
        reasons
    }

    /// Whether it is not of a kind we know, so that it neither helps nor harms.
    pub(crate) fn foreign(&self) -> bool {
        self.faults
            .iter()
            .all(|fault| fault.reason == Reason::NoProvenancePredicate)
            && !self.faults.is_empty()
    }

    pub(crate) fn considered(&self) -> Considered {
        Considered {
            predicate_type: self.claims.predicate_type.clone(),
            verdict: self.verdict(),
            level: self.level.filter(|_| self.faults.is_empty()),
            reasons: self.reasons(),
            warnings: self.warnings.clone(),
        }
    }
}

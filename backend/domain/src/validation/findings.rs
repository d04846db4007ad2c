//! Issues as they are found: bounded in number, and written out only as long as there is room.

use super::place::Place;
use super::{Issue, IssueKind, Severity, Validation};
use crate::limits::VALIDATION_ISSUES;

#[derive(Default)]
pub(super) struct Findings {
    issues: Vec<Issue>,
    invalid: bool,
    left_out: usize,
}

impl Findings {
    /// A rule of meaning is broken.
    pub(super) fn semantic(
        &mut self,
        place: &Place<'_>,
        reference: &'static str,
        message: impl FnOnce() -> String,
    ) {
        self.add(
            IssueKind::Semantic,
            Severity::Error,
            place,
            || reference.to_owned(),
            message,
        );
    }

    pub(super) fn add(
        &mut self,
        kind: IssueKind,
        severity: Severity,
        place: &Place<'_>,
        reference: impl FnOnce() -> String,
        message: impl FnOnce() -> String,
    ) {
        self.invalid |= severity == Severity::Error;
        if self.issues.len() == VALIDATION_ISSUES {
            self.left_out += 1;
            return;
        }
        self.issues.push(Issue {
            kind,
            path: place.to_string(),
            message: message(),
            severity,
            reference: reference(),
        });
    }

    pub(super) fn finish(mut self) -> Validation {
        if self.left_out > 0 {
            self.issues.push(Issue {
                kind: IssueKind::Linter,
                path: String::new(),
                message: format!("{} more issues are not shown", self.left_out),
                severity: Severity::Info,
                reference: "more-issues".to_owned(),
            });
        }
        Validation {
            valid: !self.invalid,
            issues: self.issues,
        }
    }
}

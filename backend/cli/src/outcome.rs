//! What a command says at its end: the exit status, and the error at the edge.

use std::fmt::Write as _;
use std::process::ExitCode;

use crate::settings::Problem;

/// The answer of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Yes; done.
    Yes,
    /// No; not done.
    No,
    /// Bad usage or unreadable input.
    Unreadable,
    /// Could not tell.
    Unknown,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(match outcome {
            Outcome::Yes => 0,
            Outcome::No => 1,
            Outcome::Unreadable => 2,
            Outcome::Unknown => 3,
        })
    }
}

/// Why a command could not do its work.
#[derive(Debug)]
pub(crate) struct Failure {
    outcome: Outcome,
    errors: Vec<(anyhow::Error, Option<String>)>,
}

impl Failure {
    /// The input or the usage is at fault.
    pub(crate) fn unreadable(error: impl Into<anyhow::Error>) -> Self {
        Self::with(Outcome::Unreadable, error)
    }

    /// The question could not be answered.
    pub(crate) fn unknown(error: impl Into<anyhow::Error>) -> Self {
        Self::with(Outcome::Unknown, error)
    }

    /// The settings are at fault.
    pub(crate) fn settings(problems: Vec<Problem>) -> Self {
        let error = |problem: Problem| (anyhow::Error::msg(problem.message), problem.hint);
        Self {
            outcome: Outcome::Unreadable,
            errors: problems.into_iter().map(error).collect(),
        }
    }

    fn with(outcome: Outcome, error: impl Into<anyhow::Error>) -> Self {
        Self {
            outcome,
            errors: vec![(error.into(), None)],
        }
    }

    /// Adds what to do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        if let Some((_, last)) = self.errors.last_mut() {
            *last = Some(hint.into());
        }
        self
    }

    /// The exit status it leads to.
    pub(crate) fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// The words for standard error: each chain once, each hint on its own line.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        for (error, hint) in &self.errors {
            let _ = writeln!(out, "error: {error:#}");
            if let Some(hint) = hint {
                let _ = writeln!(out, "hint: {hint}");
            }
        }
        out
    }

    /// Writes [`Self::text`] to standard error.
    pub(crate) fn print(&self) {
        eprint!("{}", self.text());
    }
}

/// Whatever has no better name: the command did not do its work.
impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::with(Outcome::No, error)
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;

    #[test]
    fn a_failure_prints_its_chain_once_and_its_hint_apart() {
        let cause: Result<(), _> = Err(std::io::Error::other("no space left"));
        let failure = Failure::from(cause.context("cannot write `a`").unwrap_err()).hint("free some");
        assert_eq!(
            failure.text(),
            "error: cannot write `a`: no space left\nhint: free some\n"
        );
        assert_eq!(failure.outcome(), Outcome::No);
    }
}

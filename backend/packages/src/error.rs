//! Why a registry of origin gave no usable answer. "Not there" and "could not ask" are never the same.

use std::io;

use toolmark_outbound::StatusCode;

use crate::coordinate::Kind;

/// Why a question to a registry of origin has no answer.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// Nothing says where this kind of package lives.
    #[error("no address of a registry for {kind} packages is known")]
    NoSource { kind: Kind },
    /// The package client answered with something that is no address.
    #[error("`{client}` names no usable address of its registry")]
    Client {
        client: &'static str,
        #[source]
        source: io::Error,
    },
    /// The registry answered that there is no such thing.
    #[error("{what} is not there")]
    NotFound { what: String },
    /// The registry's answer is not what it should be.
    #[error("the answer about {what} is not usable: {fault}")]
    Answer { what: String, fault: String },
    /// The registry refused or did not answer.
    #[error("{what} could not be asked for")]
    Http {
        what: String,
        #[source]
        source: toolmark_outbound::Error,
    },
    /// What a coordinate lacks for this question.
    #[error("{what} has no {lacks}")]
    Incomplete { what: String, lacks: &'static str },
    /// What was fetched could not be written.
    #[error("what was fetched cannot be written")]
    Write(#[source] io::Error),
}

impl PackageError {
    /// Whether the same question may have an answer later without anyone changing anything.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Http { source, .. } => source.is_transient(),
            Self::NoSource { .. }
            | Self::Client { .. }
            | Self::NotFound { .. }
            | Self::Answer { .. }
            | Self::Incomplete { .. }
            | Self::Write(_) => false,
        }
    }

    /// The status of the answer, where there was one.
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Http {
                source: toolmark_outbound::Error::Status { status, .. },
                ..
            } => Some(*status),
            _ => None,
        }
    }

    pub(crate) fn answer(what: impl Into<String>, fault: impl Into<String>) -> Self {
        Self::Answer {
            what: what.into(),
            fault: fault.into(),
        }
    }
}

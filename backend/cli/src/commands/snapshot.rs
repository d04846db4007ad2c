//! What `diff` and `scan` share: a snapshot from a file, the form of the answer, the gravity that fails.

use std::io::Read as _;

use anyhow::{Context as _, anyhow};
use clap::ValueEnum;
use toolmark_domain::finding::Severity;
use toolmark_domain::finding::report::Source;
use toolmark_domain::limits::MANIFEST_BYTES;
use toolmark_domain::manifest::{self, Manifest};

use crate::outcome::{Failure, Outcome};
use crate::output::shown;

/// The form of findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum FindingsFormat {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
    /// For code scanners.
    Sarif,
}

/// The least gravity that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum AtLeast {
    Low,
    Medium,
    High,
    Critical,
}

impl AtLeast {
    /// The severity.
    pub(super) fn severity(self) -> Severity {
        match self {
            Self::Low => Severity::Low,
            Self::Medium => Severity::Medium,
            Self::High => Severity::High,
            Self::Critical => Severity::Critical,
        }
    }

    /// No where something is as grave as asked.
    pub(super) fn outcome(asked: Option<Self>, worst: Option<Severity>) -> Outcome {
        let Some(least) = asked.map(Self::severity) else {
            return Outcome::Yes;
        };
        if worst.is_some_and(|worst| worst >= least) {
            Outcome::No
        } else {
            Outcome::Yes
        }
    }
}

/// A snapshot that was read.
#[derive(Debug)]
pub(super) struct Snapshot {
    /// The name of its file, fit to be shown.
    pub(super) name: String,
    text: String,
    pub(super) manifest: Manifest,
}

impl Snapshot {
    /// Reads a file, or standard input where it is `-`.
    pub(super) fn read(file: &str) -> Result<Self, Failure> {
        let name = if file == "-" {
            "standard input".to_owned()
        } else {
            shown(file)
        };
        let bytes = bytes(file).map_err(|error| {
            let failure = Failure::unreadable(anyhow::Error::new(error).context(format!("cannot read `{name}`")));
            if is_target(file) {
                failure.hint("only files can be looked at, running servers not yet; give the answer of its `tools/list`")
            } else {
                failure
            }
        })?;
        let manifest = manifest::read(&bytes)
            .with_context(|| format!("`{name}` is no snapshot"))
            .map_err(Failure::unreadable)?;
        let text = String::from_utf8(bytes).map_err(|error| Failure::unreadable(anyhow!(error)))?;
        Ok(Self { name, text, manifest })
    }

    /// For a report that names lines.
    pub(super) fn source(&self) -> Source<'_> {
        Source {
            file: &self.name,
            text: &self.text,
            manifest: &self.manifest,
        }
    }
}

/// The bytes, one more than the limit at most, so that a file that is too large is told from one that is not.
fn bytes(file: &str) -> std::io::Result<Vec<u8>> {
    let most = MANIFEST_BYTES as u64 + 1;
    let mut bytes = Vec::new();
    if file == "-" {
        std::io::stdin().lock().take(most).read_to_end(&mut bytes)?;
    } else {
        std::fs::File::open(file)?.take(most).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Is it written like a package or a remote?
fn is_target(file: &str) -> bool {
    ["npm:", "pypi:", "oci:", "mcpb:", "https://", "http://"]
        .iter()
        .any(|head| file.starts_with(head))
}

//! `toolmark validate`: the check a registry makes of a `server.json`, made here.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::{Args, ValueEnum};
use toolmark_domain::json::{self, Finding, ReadError};
use toolmark_domain::limits::SERVER_JSON_BYTES;
use toolmark_domain::validation::report::{self, Source};
use toolmark_domain::validation::{Issue, IssueKind, Severity, Validation, inspect};

use crate::Global;
use crate::outcome::{Failure, Outcome};
use crate::output::{print, print_json};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolmark validate server.json
  toolmark validate - --format sarif < server.json

Exit status: 0 valid, 1 not valid, 2 not readable as JSON")]
pub(crate) struct ValidateArgs {
    /// A server.json, or `-` for standard input
    #[arg(value_name = "FILE|-")]
    file: PathBuf,
    /// Form of the answer
    #[arg(long, value_enum, default_value_t)]
    format: ReportFormat,
}

/// The form of a verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ReportFormat {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
    /// Annotations of a GitHub workflow.
    Github,
    /// For code scanners.
    Sarif,
}

pub(crate) fn run(global: &Global, args: &ValidateArgs) -> Result<Outcome, Failure> {
    global.start(Vec::new())?;
    let name = if args.file == Path::new("-") {
        "standard input"
    } else {
        &args.file.to_string_lossy()
    };
    let bytes = read(&args.file)
        .with_context(|| format!("cannot read `{name}`"))
        .map_err(Failure::unreadable)?;
    let validation = check(&bytes).map_err(|error| {
        Failure::unreadable(
            anyhow::Error::new(error).context(format!("`{name}` is no JSON document to check")),
        )
    })?;
    let text = std::str::from_utf8(&bytes).map_err(|error| Failure::unreadable(anyhow!(error)))?;
    let source = Source { file: name, text };
    match args.format {
        ReportFormat::Text => print(&report::text(source, &validation))?,
        ReportFormat::Json => print(&(report::json(&validation) + "\n"))?,
        ReportFormat::Github => print(&report::github(source, &validation))?,
        ReportFormat::Sarif => print_json(&report::sarif(source, &validation, env!("CARGO_PKG_VERSION")))?,
    }
    Ok(if validation.valid {
        Outcome::Yes
    } else {
        Outcome::No
    })
}

/// The bytes, one more than the limit at most, so that a file that is too large is told from one that is not.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let most = SERVER_JSON_BYTES as u64 + 1;
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        std::io::stdin().lock().take(most).read_to_end(&mut bytes)?;
    } else {
        std::fs::File::open(path)?.take(most).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// The validator's verdict; what JSON allows and a registry does not counts as an error.
fn check(bytes: &[u8]) -> Result<Validation, ReadError> {
    let read = json::read(bytes, SERVER_JSON_BYTES)?;
    let mut validation = inspect(&read.value);
    validation.valid &= read.findings.is_empty();
    validation.issues.splice(..0, read.findings.iter().map(issue));
    Ok(validation)
}

fn issue(finding: &Finding) -> Issue {
    Issue {
        kind: IssueKind::Json,
        path: path_of(finding.pointer()),
        message: finding.to_string(),
        severity: Severity::Error,
        reference: match finding {
            Finding::DuplicateKey { .. } => "json-duplicate-key",
            Finding::Nul { .. } => "json-nul",
        }
        .to_owned(),
    }
}

/// A JSON pointer in the notation of issues: `/packages/0/url` is `packages[0].url`.
fn path_of(pointer: &str) -> String {
    let mut path = String::new();
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        if !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) {
            let _ = write!(path, "[{part}]");
        } else {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(&part);
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_becomes_the_path_of_an_issue() {
        for (pointer, path) in [
            ("", ""),
            ("/name", "name"),
            ("/packages/0/a~1b", "packages[0].a/b"),
        ] {
            assert_eq!(path_of(pointer), path);
        }
    }

    #[test]
    fn a_key_given_twice_makes_a_document_invalid() {
        let good = r#"{"$schema":"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
            "name":"com.example/weather","description":"x","version":"1.0.0"}"#;
        assert_eq!(
            check(good.as_bytes()).unwrap(),
            Validation {
                valid: true,
                issues: Vec::new()
            }
        );
        let twice = good.replacen("\"name\"", "\"name\":\"com.example/wind\",\"name\"", 1);
        let found = check(twice.as_bytes()).unwrap();
        assert!(!found.valid);
        assert_eq!((found.issues.len(), found.issues[0].path.as_str()), (1, "name"));
        assert!(check(b"{").is_err());
        assert!(matches!(
            check(&vec![b' '; SERVER_JSON_BYTES + 1]),
            Err(ReadError::TooLarge { .. })
        ));
    }
}

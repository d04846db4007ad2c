//! `toolmark check`: how the servers of a lock file, or of a client's own settings, stand at a registry today.

mod clients;
mod report;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use toolmark_domain::finding::Severity;
use toolmark_domain::limits::{
    CHECKED_PINS, IMPORT_FIRST_BYTE_SECS, IMPORT_PAGE_SECS, LOCK_BYTES, MANIFEST_BYTES, OUTBOUND_EXPANSION,
};
use toolmark_domain::lock::{LOCK_SCHEMA, Lock};
use toolmark_domain::timestamp::Timestamp;
use toolmark_outbound::{Caps, HeaderMap, HeaderValue, Method, Policy, Request, Retry, header};
use toolmark_registry::{Clock as _, SystemClock};
use url::Url;

use crate::opening;
use crate::outcome::{Failure, Outcome};
use crate::output::{print, print_json, shown};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolmark check
  toolmark check --config ~/.cursor/mcp.json --registry https://registry.example --min-age 7
  toolmark check --format sarif --fail-on medium > check.sarif

Reads the settings of Claude, Cursor, VS Code (JSON), Codex (TOML) and Goose (YAML). Values of environment variables
and headers are not read, and nothing but names and versions of packages, and addresses of remotes, is sent.

Exit status: 0 all are as they should be; 1 one is changed, unknown, withdrawn, flagged or too new; 2 a file that
cannot be read; 3 the registry does not answer")]
pub(crate) struct CheckArgs {
    /// The lock file
    #[arg(
        long,
        value_name = "FILE",
        default_value = "toolmark.lock",
        conflicts_with = "config"
    )]
    file: PathBuf,
    /// The settings of a client, in place of a lock file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The registry that is asked [default: the one in the lock file, else this machine's, port 8080]
    #[arg(long, value_name = "URL")]
    registry: Option<Url>,
    /// A finding this grave is a failure
    #[arg(long, value_enum, value_name = "SEVERITY", default_value = "high")]
    fail_on: super::snapshot::AtLeast,
    /// Days a version has to be out
    #[arg(long, value_name = "DAYS", default_value_t = 0)]
    min_age: u32,
    /// Form of the answer
    #[arg(long, value_enum, default_value_t)]
    format: CheckFormat,
}

/// The form of the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum CheckFormat {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
    /// For code scanners.
    Sarif,
}

/// One thing to be checked.
#[derive(Clone, Debug, PartialEq)]
struct Subject {
    /// What people call it.
    label: String,
    /// For the registry; none when it cannot be asked about.
    asked: Option<Value>,
    /// What is wrong before anyone is asked.
    remark: Option<String>,
    /// Its line in the file.
    line: usize,
}

/// How one stands.
#[derive(Clone, Debug, PartialEq)]
struct Judged {
    label: String,
    line: usize,
    /// `same`, `known_older`, `unknown`, `withdrawn`, `not_asked`.
    standing: String,
    /// What is wrong; empty when all is well.
    faults: Vec<String>,
    /// What is worth knowing.
    notes: Vec<String>,
    answer: Value,
}

pub(crate) fn run(args: &CheckArgs) -> Result<Outcome, Failure> {
    let (file, text, registry, subjects) = subjects(args)?;
    let asked: Vec<Value> = subjects
        .iter()
        .filter_map(|subject| subject.asked.clone())
        .collect();
    let answers = if asked.is_empty() {
        Vec::new()
    } else {
        super::block_on(ask(&registry, &asked))??
    };
    let mut answers = answers.into_iter();
    let least = args.fail_on.severity();
    let now = SystemClock.now();
    let judged: Vec<Judged> = subjects
        .iter()
        .map(|subject| {
            let answer = subject.asked.as_ref().and_then(|_| answers.next());
            judge(subject, answer.as_ref(), least, args.min_age, now)
        })
        .collect();
    match args.format {
        CheckFormat::Text => print(&report::text(&judged))?,
        CheckFormat::Json => print_json(&report::json(&file, &registry, &judged))?,
        CheckFormat::Sarif => print_json(&report::sarif(&file, &text, &judged))?,
    }
    let well = judged.iter().all(|one| one.faults.is_empty());
    Ok(if well { Outcome::Yes } else { Outcome::No })
}

type Read = (String, String, Url, Vec<Subject>);

/// The file's name and text, the registry, and what is to be checked.
fn subjects(args: &CheckArgs) -> Result<Read, Failure> {
    let usual = || Url::parse("http://127.0.0.1:8080").map_err(|error| Failure::unreadable(anyhow!(error)));
    if let Some(config) = &args.config {
        let text = read(config)?;
        let found = clients::read(config, &text).map_err(|what| {
            let error = anyhow!(
                "`{}` cannot be read as a client's settings: {what}",
                config.display()
            );
            Failure::unreadable(error).hint("settings of Claude, Cursor, VS Code, Codex and Goose are read")
        })?;
        let registry = args.registry.clone().map_or_else(usual, Ok)?;
        return Ok((config.display().to_string(), text, registry, found));
    }
    let text = read(&args.file)?;
    let lock = read_lock(&args.file)?;
    let registry = match &args.registry {
        Some(registry) => registry.clone(),
        None => lock
            .registry
            .parse()
            .with_context(|| format!("`{}` is no address of a registry", shown(&lock.registry)))
            .map_err(Failure::unreadable)?,
    };
    let subject = |pin: &toolmark_domain::lock::Pin| {
        let mut asked = json!({"name": pin.name, "version": pin.version, "tools": pin.tools});
        for (key, digest) in [("manifest/1", pin.manifest), ("artifact", pin.artifact)] {
            if let Some(digest) = digest {
                asked[key] = json!(digest);
            }
        }
        Subject {
            label: format!("{}@{}", pin.name, pin.version),
            asked: Some(asked),
            remark: None,
            line: line_of(&text, &format!("\"{}\"", pin.name)),
        }
    };
    let subjects = lock.servers.iter().map(subject).collect();
    Ok((args.file.display().to_string(), text, registry, subjects))
}

/// The first line that holds `word`, from 1.
fn line_of(text: &str, word: &str) -> usize {
    text.lines()
        .position(|line| line.contains(word))
        .map_or(1, |index| index + 1)
}

fn read(path: &Path) -> Result<String, Failure> {
    let said = || format!("cannot read `{}`", path.display());
    let length = std::fs::metadata(path).with_context(said).map_err(|error| {
        let failure = Failure::unreadable(error);
        failure.hint("`toolmark pin NAME` writes a lock file")
    })?;
    if length.len() > LOCK_BYTES as u64 {
        let error = anyhow!("`{}` is larger than {LOCK_BYTES} bytes", path.display());
        return Err(Failure::unreadable(error));
    }
    std::fs::read_to_string(path)
        .with_context(said)
        .map_err(Failure::unreadable)
}

/// A lock file of this release.
pub(super) fn read_lock(path: &Path) -> Result<Lock, Failure> {
    let text = read(path)?;
    let lock: Lock = serde_json::from_str(&text)
        .with_context(|| format!("`{}` is no lock file", path.display()))
        .map_err(Failure::unreadable)?;
    if lock.schema != LOCK_SCHEMA {
        let error = anyhow!(
            "`{}` is of schema `{}`, this release reads `{LOCK_SCHEMA}`",
            path.display(),
            shown(&lock.schema)
        );
        return Err(Failure::unreadable(error));
    }
    Ok(lock)
}

/// Asks the registry about each, in order.
pub(super) async fn ask(registry: &Url, asked: &[Value]) -> Result<Vec<Value>, Failure> {
    let mut url = registry.clone();
    url.set_query(None);
    url.set_fragment(None);
    match url.path_segments_mut() {
        Ok(mut segments) => {
            segments.pop_if_empty().extend(["api", "v1", "check"]);
        }
        Err(()) => {
            return Err(Failure::unreadable(anyhow!(
                "`{registry}` is no address of a registry"
            )));
        }
    }
    let client = opening::client()?;
    let caps = Caps {
        body_bytes: MANIFEST_BYTES * 4,
        expansion: OUTBOUND_EXPANSION,
        first_byte: Duration::from_secs(IMPORT_FIRST_BYTE_SECS),
        total: Duration::from_secs(IMPORT_PAGE_SECS),
        redirects: 0,
        retry: Retry::NEVER,
    };
    let mut answers = Vec::with_capacity(asked.len());
    for part in asked.chunks(CHECKED_PINS) {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let request = Request {
            method: Method::POST,
            url: url.clone(),
            headers,
            body: json!({"servers": part}).to_string().into(),
        };
        let answer = client
            .send(Policy::Configured, &request, &caps)
            .await
            .map_err(Failure::unknown)?;
        let answer = answer.success().map_err(Failure::unknown)?;
        let value: Value = serde_json::from_slice(&answer.body)
            .with_context(|| format!("`{registry}` did not answer with JSON"))
            .map_err(Failure::unknown)?;
        let servers = value["servers"]
            .as_array()
            .filter(|servers| servers.len() == part.len());
        let error = || Failure::unknown(anyhow!("`{registry}` did not answer about each server"));
        answers.extend(servers.ok_or_else(error)?.iter().cloned());
    }
    Ok(answers)
}

fn judge(subject: &Subject, answer: Option<&Value>, least: Severity, min_age: u32, now: Timestamp) -> Judged {
    let mut faults: Vec<String> = subject.remark.iter().cloned().collect();
    let mut notes = Vec::new();
    let Some(answer) = answer else {
        return Judged {
            label: subject.label.clone(),
            line: subject.line,
            standing: "not_asked".to_owned(),
            faults,
            notes,
            answer: Value::Null,
        };
    };
    let standing = answer["standing"].as_str().unwrap_or("unknown").to_owned();
    let reasons = answer["reasons"].as_array().into_iter().flatten();
    let reasons: Vec<String> = reasons.filter_map(Value::as_str).map(shown).collect();
    match standing.as_str() {
        "same" => notes.extend(reasons),
        "known_older" => notes.push(format!("known, not current: {}", reasons.join("; "))),
        other => faults.push(format!("{other}: {}", reasons.join("; "))),
    }
    let severity = answer["severity"].as_str().and_then(Severity::parse);
    if let Some(severity) = severity.filter(|severity| *severity >= least) {
        faults.push(format!(
            "flagged: it has a finding of severity {}",
            severity.as_str()
        ));
    }
    // Only of a pin that is of the current version do the tools say what changed under it.
    if standing != "known_older" {
        faults.extend(changed(&answer["tools"]));
    }
    let published: Option<Timestamp> = answer["published_at"].as_str().and_then(|text| text.parse().ok());
    if let Some(published) = published {
        let days = (now.as_secs() - published.as_secs()).max(0) / 86_400;
        if days < i64::from(min_age) {
            faults.push(format!("too new: published {days} days ago, wanted {min_age}"));
        }
    }
    Judged {
        label: subject.label.clone(),
        line: subject.line,
        standing,
        faults,
        notes,
        answer: answer.clone(),
    }
}

fn changed(tools: &Value) -> Option<String> {
    let list = |key: &str| -> Vec<String> {
        let names = tools[key].as_array().into_iter().flatten();
        names.filter_map(Value::as_str).map(shown).collect()
    };
    let words: Vec<String> = ["added", "removed", "changed"]
        .into_iter()
        .map(|key| (key, list(key)))
        .filter(|(_, names)| !names.is_empty())
        .map(|(key, names)| format!("{key} `{}`", names.join("`, `")))
        .collect();
    (!words.is_empty()).then(|| format!("tools are not as pinned: {}", words.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject() -> Subject {
        Subject {
            label: "a/b@1".into(),
            asked: Some(json!({})),
            remark: None,
            line: 3,
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let now: Timestamp = "2026-03-10T00:00:00Z".parse().unwrap();
        let faults =
            |answer: Value, least, min_age| judge(&subject(), Some(&answer), least, min_age, now).faults;
        let same = json!({"standing": "same", "reasons": [], "published_at": "2026-03-05T00:00:00Z"});
        assert_eq!(faults(same.clone(), Severity::High, 0), Vec::<String>::new());
        assert_eq!(
            faults(same, Severity::High, 7),
            ["too new: published 5 days ago, wanted 7"]
        );
        let older =
            json!({"standing": "known_older", "reasons": ["2 is current"], "tools": {"changed": ["t"]}});
        assert_eq!(faults(older, Severity::High, 0), Vec::<String>::new());
        let gone = json!({"standing": "withdrawn", "reasons": ["the version was deleted"]});
        assert_eq!(
            faults(gone, Severity::High, 0),
            ["withdrawn: the version was deleted"]
        );
        let flagged = json!({"standing": "same", "reasons": [], "severity": "medium", "tools": {"changed": ["t"], "added": []}});
        assert_eq!(
            faults(flagged.clone(), Severity::High, 0),
            ["tools are not as pinned: changed `t`"]
        );
        assert_eq!(faults(flagged, Severity::Medium, 0).len(), 2);
        assert_eq!(
            judge(&subject(), None, Severity::High, 0, now).standing,
            "not_asked"
        );
    }
}

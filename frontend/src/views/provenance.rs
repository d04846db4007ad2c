//! Who built the packages of a version: each step of the check with what was seen, and the commands to check without us.

use askama::Template;
use serde::Serialize;
use serde_json::Value;
use toolmark_domain::name::ServerName;
use toolmark_domain::provenance::{Level, Reason, Verdict, Warning};
use toolmark_domain::timestamp::Timestamp;

use super::{Head, Moment, Site};
use crate::foreign::Foreign;
use crate::paths;

/// A check as the registry keeps it: the report and the record as JSON.
#[derive(Clone, Debug)]
pub struct Check {
    pub target: String,
    pub verdict: Verdict,
    pub level: Option<Level>,
    pub checked_at: Timestamp,
    /// The last check, where it could not tell and an earlier one is shown.
    pub failed_at: Option<Timestamp>,
    pub changes: Vec<String>,
    pub report: Value,
    pub record: Value,
    /// SHA-256 of the record.
    pub record_sha256: String,
}

/// One step.
#[derive(Clone, Debug, Serialize)]
pub struct StepRow {
    pub name: &'static str,
    /// `pass`, `fail`, `not done`.
    pub state: &'static str,
    pub note: Foreign,
}

/// Something under a name.
#[derive(Clone, Debug, Serialize)]
pub struct Said {
    pub name: &'static str,
    pub value: Foreign,
}

/// A place that was asked.
#[derive(Clone, Debug, Serialize)]
pub struct PlaceRow {
    pub what: Foreign,
    pub url: Foreign,
    pub answer: &'static str,
    pub status: Option<i64>,
    pub sha256: Option<Foreign>,
    pub note: Option<Foreign>,
}

/// A word of a closed list and what it means.
#[derive(Clone, Debug, Serialize)]
pub struct Word {
    pub word: String,
    pub means: &'static str,
}

/// A command to check without us.
#[derive(Clone, Debug, Serialize)]
pub struct Command {
    pub with: &'static str,
    pub command: String,
}

/// One target on the page.
#[derive(Clone, Debug, Serialize)]
pub struct CheckPart {
    pub target: Foreign,
    pub verdict: Verdict,
    /// In words: built by, uploaded from.
    pub headline: String,
    pub means: &'static str,
    pub level: Option<Level>,
    pub checked_at: Moment,
    pub failed_at: Option<Moment>,
    pub reasons: Vec<Word>,
    pub warnings: Vec<Word>,
    pub changes: Vec<String>,
    pub steps: Vec<StepRow>,
    /// What the evidence says beside what the document declares.
    pub claims: Vec<Said>,
    pub declared: Vec<Said>,
    pub places: Vec<PlaceRow>,
    pub commands: Vec<Command>,
    pub record_href: String,
}

#[derive(Debug, Serialize, Template)]
#[template(path = "provenance.html")]
pub struct ProvenanceView {
    pub schema: &'static str,
    #[serde(skip)]
    pub head: Head,
    pub name: ServerName,
    pub version: Foreign,
    pub version_href: String,
    pub checks: Vec<CheckPart>,
}

impl ProvenanceView {
    pub fn new(site: &Site, name: &ServerName, version: &str, checks: &[Check]) -> Self {
        let version_href = paths::version(name, version);
        let head = Head::new(
            site,
            format!("{version_href}/provenance"),
            format!("Provenance of {name} {}", Foreign::line(version).plain()),
        );
        Self {
            schema: "toolmark.page.provenance/1",
            head: head.with_twin(),
            name: name.clone(),
            version: Foreign::line(version),
            version_href,
            checks: checks.iter().map(CheckPart::new).collect(),
        }
    }
}

/// A text inside a document.
fn at<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer).and_then(Value::as_str)
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value
        .get(name)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The sentence above the steps. "Built" is said only of a build, "uploaded" only of an upload.
fn headline(check: &Check) -> String {
    let of = |name: &str| at(&check.report, name).map(|text| Foreign::line(text).plain());
    let source = of("/claims/source_repository").unwrap_or_else(|| "an unnamed source".to_owned());
    match (check.verdict, check.level) {
        (Verdict::Verified, Some(Level::Build)) => {
            let commit = of("/claims/source_commit").map(|commit| format!(" at commit {commit}"));
            format!("Built from {source}{}", commit.unwrap_or_default())
        }
        (Verdict::Verified, Some(Level::Publish)) => match of("/claims/source_repository") {
            Some(source) => format!("Uploaded from {source}"),
            None => "Uploaded to the registry it names".to_owned(),
        },
        (Verdict::Verified, Some(Level::Release)) => format!("Part of a release of {source}"),
        (Verdict::Verified, _) => format!("Signed by a workflow of {source}"),
        (Verdict::Unsigned, _) => "No provenance published".to_owned(),
        (Verdict::Mismatch, _) => match (
            of("/claims/source_repository"),
            at(&check.record, "/declared/repository"),
        ) {
            (Some(found), Some(declared)) => {
                let declared = Foreign::line(declared).plain();
                format!("Evidence exists, and names {found}; this server declares {declared}")
            }
            _ => "Evidence exists, and is about something else".to_owned(),
        },
        (Verdict::Invalid, _) => "Evidence is present, and does not verify".to_owned(),
        (Verdict::Unverifiable, _) => "Could not be checked".to_owned(),
    }
}

impl CheckPart {
    fn new(check: &Check) -> Self {
        Self {
            target: Foreign::line(&check.target),
            verdict: check.verdict,
            headline: headline(check),
            means: check.verdict.meaning(),
            level: check.level,
            checked_at: Moment(check.checked_at),
            failed_at: check.failed_at.map(Moment),
            reasons: words(&check.report, "reasons", |word| {
                word.parse::<Reason>().ok().map(Reason::meaning)
            }),
            warnings: words(&check.report, "warnings", |word| {
                word.parse::<Warning>().ok().map(Warning::meaning)
            }),
            changes: check.changes.iter().map(|word| word.replace('_', " ")).collect(),
            steps: list(&check.report, "steps").iter().filter_map(step).collect(),
            claims: said(&check.report, &CLAIMS),
            declared: said(&check.record, &DECLARED),
            places: list(&check.record, "places").iter().map(place).collect(),
            commands: commands(check),
            record_href: format!("/api/v1/evidence/{}", check.record_sha256),
        }
    }
}

fn words(report: &Value, name: &str, meaning: impl Fn(&str) -> Option<&'static str>) -> Vec<Word> {
    let all = list(report, name).iter().filter_map(Value::as_str);
    all.filter_map(|word| {
        Some(Word {
            means: meaning(word)?,
            word: word.to_owned(),
        })
    })
    .collect()
}

fn step(value: &Value) -> Option<StepRow> {
    let name = match at(value, "/name")? {
        "read" => "evidence can be read",
        "time" => "time of signing",
        "certificate" => "certificate or key",
        "log" => "transparency log",
        "signature" => "signature",
        "statement" => "kind of statement",
        "subject" => "is about this artifact",
        "builder" => "signed by a build",
        "source" => "source is the declared one",
        "trigger" => "what started the build",
        _ => return None,
    };
    let state = match at(value, "/state")? {
        "pass" => "pass",
        "fail" => "fail",
        _ => "not done",
    };
    Some(StepRow {
        name,
        state,
        note: Foreign::line(at(value, "/note").unwrap_or_default()),
    })
}

const CLAIMS: [(&str, &str); 13] = [
    ("source", "/claims/source_repository"),
    ("repository id", "/claims/source_repository_id"),
    ("commit", "/claims/source_commit"),
    ("ref", "/claims/source_ref"),
    ("workflow", "/claims/workflow"),
    ("signer", "/claims/signer"),
    ("issuer", "/claims/issuer"),
    ("builder", "/claims/builder_id"),
    ("runner", "/claims/runner"),
    ("started by", "/claims/trigger"),
    ("run", "/claims/run"),
    ("signed at", "/claims/signed_at/0"),
    ("statement", "/claims/predicate_type"),
];

const DECLARED: [(&str, &str); 6] = [
    ("repository", "/declared/repository"),
    ("repository id", "/declared/repository_id"),
    ("artifact", "/artifact/name"),
    ("artifact sha256", "/artifact/sha256"),
    ("rules", "/rules"),
    ("checked by", "/verifier"),
];

fn said(value: &Value, wanted: &[(&'static str, &str)]) -> Vec<Said> {
    let each = wanted.iter().filter_map(|(name, pointer)| {
        let value = Foreign::line(at(value, pointer)?);
        Some(Said { name, value })
    });
    each.collect()
}

fn place(value: &Value) -> PlaceRow {
    PlaceRow {
        what: Foreign::line(at(value, "/what").unwrap_or_default()),
        url: Foreign::line(at(value, "/url").unwrap_or_default()),
        answer: match at(value, "/answer") {
            Some("found") => "found",
            Some("none") => "none there",
            _ => "failed",
        },
        status: value.get("status").and_then(Value::as_i64),
        sha256: at(value, "/sha256").map(Foreign::line),
        note: at(value, "/failure/note").map(Foreign::line),
    }
}

/// Text that can stand in a command line as it is.
fn plain(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "@/._:+-".contains(c);
    !text.is_empty() && !text.starts_with('-') && text.chars().all(fits)
}

/// How to check without us. What cannot stand in a command as it is makes none.
fn commands(check: &Check) -> Vec<Command> {
    let mut all = Vec::new();
    let mut add = |with, command: String| all.push(Command { with, command });
    let target = check.target.as_str();
    let repository = at(&check.record, "/declared/repository").filter(|text| plain(text));
    if plain(target) {
        let source = repository.map(|url| format!(" --repository {url}"));
        add(
            "toolmark",
            format!("toolmark verify {target} --fetch{}", source.unwrap_or_default()),
        );
    }
    let file = at(&check.record, "/artifact/name").filter(|text| plain(text));
    let forge = repository.and_then(|url| url.strip_prefix("https://github.com/"));
    let forge = forge.map(|path| path.trim_end_matches('/').trim_end_matches(".git"));
    let (kind, rest) = target.split_once(':').unwrap_or_default();
    match kind {
        "npm" => add("npm", "npm audit signatures".to_owned()),
        "pypi" => {
            let url = at(&check.record, "/artifact/url").filter(|text| plain(text));
            if let (Some(url), Some(repository)) = (url, repository) {
                add(
                    "pypi-attestations",
                    format!("pypi-attestations verify pypi --repository {repository} {url}"),
                );
            }
        }
        "oci" if plain(rest) => {
            if let Some(forge) = forge {
                add("gh", format!("gh attestation verify oci://{rest} --repo {forge}"));
                add(
                    "cosign",
                    format!(
                        "cosign verify --certificate-oidc-issuer https://token.actions.githubusercontent.com \
                         --certificate-identity-regexp '^https://github.com/{}/' {rest}",
                        forge.replace('.', "\\.")
                    ),
                );
            }
        }
        _ => {
            if let (Some(forge), Some(file)) = (forge, file) {
                add("gh", format!("gh attestation verify {file} --repo {forge}"));
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(target: &str, repository: &str) -> Check {
        Check {
            target: target.to_owned(),
            verdict: Verdict::Verified,
            level: Some(Level::Build),
            checked_at: Timestamp::from_micros(0),
            failed_at: None,
            changes: vec!["workflow_changed".to_owned()],
            report: json!({
                "reasons": [], "warnings": ["self_hosted_runner", "<b>"],
                "claims": {"source_repository": "https://github.com/a/b<script>\u{202e}x", "source_commit": "abc"},
                "steps": [{"name": "source", "state": "fail", "note": "<img src=x onerror=1>\u{200b}"}],
            }),
            record: json!({"declared": {"repository": repository}, "artifact": {"name": "w.mcpb"}, "places": []}),
            record_sha256: "00".repeat(32),
        }
    }

    #[test]
    fn claims_are_escaped_and_hidden_characters_are_marks() {
        let name = ServerName::parse("com.example/weather").unwrap();
        let check = check("npm:weather@1.0.0", "https://github.com/acme/weather");
        let view = ProvenanceView::new(&Site::default(), &name, "1.0.0", &[check]);
        let html = view.render().unwrap();
        for foul in ["<script>", "<img src=x", "\u{202e}", "\u{200b}"] {
            assert!(!html.contains(foul), "{foul:?} in\n{html}");
        }
        assert!(html.contains("self_hosted_runner") && !html.contains("safe"));
    }

    #[test]
    fn no_foreign_text_becomes_part_of_a_command() {
        for (target, repository) in [
            ("npm:a;rm -rf /@1", "https://github.com/a/b"),
            ("oci:h.example/a`id`", "https://github.com/a/b"),
            ("mcpb:https://a.example/x", "https://github.com/a/b$(id)"),
            ("mcpb:https://a.example/x", "--help"),
        ] {
            for command in commands(&check(target, repository)) {
                assert!(!command.command.contains([';', '`', '$']), "{}", command.command);
                assert!(
                    !command.command.contains("--repository --help"),
                    "{}",
                    command.command
                );
            }
        }
        let good = commands(&check(
            "mcpb:https://a.example/w.mcpb",
            "https://github.com/acme/weather.git",
        ));
        assert_eq!(
            good[1].command,
            "gh attestation verify w.mcpb --repo acme/weather"
        );
    }
}

//! Findings as lines for people and as SARIF.

use std::fmt::Write as _;

use serde_json::Value;

use super::{Finding, Severity, Subject, excerpt};
use crate::manifest::Manifest;
use crate::sarif::{self, Entry};
use crate::validation::lines::line_of;

/// The document findings are about.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Its name as the reader knows it.
    pub file: &'a str,
    pub text: &'a str,
    pub manifest: &'a Manifest,
}

/// Lines for people: each finding with what it concerns, hidden characters as marks.
pub fn text(findings: &[Finding]) -> String {
    let mut out = String::new();
    for finding in findings {
        let key = finding.key.as_deref().unwrap_or_default();
        let place = format!("{} {}", finding.kind.as_str(), line(key));
        let _ = writeln!(
            out,
            "{}: {} {}: {}: {}",
            finding.severity.as_str(),
            finding.rule,
            place.trim_end(),
            line(if finding.pointer.is_empty() {
                "/"
            } else {
                &finding.pointer
            }),
            line(&finding.summary),
        );
        for (sign, side) in [('-', &finding.before), ('+', &finding.after)] {
            if let Some(value) = side {
                let shown = match value {
                    Value::String(text) => line(text),
                    other => line(&other.to_string()),
                };
                let _ = writeln!(out, "  {sign} {shown}");
            }
        }
    }
    out
}

/// Foreign text on one line.
fn line(text: &str) -> String {
    let flat: Vec<&str> = text.split_whitespace().collect();
    excerpt(&flat.join(" "))
}

/// A SARIF log; a finding about something that is gone points at the start of the document.
pub fn sarif(source: Source<'_>, findings: &[Finding], tool_version: &str) -> Value {
    let places: Vec<(String, usize)> = findings.iter().map(|finding| place(source, finding)).collect();
    let entries: Vec<Entry<'_>> = findings
        .iter()
        .zip(&places)
        .map(|(finding, (place, line))| Entry {
            rule: finding.rule,
            level: match finding.severity {
                Severity::Critical | Severity::High => "error",
                Severity::Medium => "warning",
                Severity::Low | Severity::Info => "note",
            },
            message: &finding.summary,
            file: source.file,
            line: *line,
            place,
        })
        .collect();
    sarif::log(tool_version, &entries, |id| Some(crate::rules::rule(id).says))
}

fn place(source: Source<'_>, finding: &Finding) -> (String, usize) {
    let Some(key) = &finding.key else {
        return (format!("server{}", finding.pointer), 1);
    };
    let named = format!("{} {}{}", finding.kind.as_str(), excerpt(key), finding.pointer);
    let item = source
        .manifest
        .items
        .iter()
        .find(|item| item.key == *key && Subject::from(item.kind) == finding.kind);
    let line = item.map_or(1, |item| {
        let mut path = format!("{}[{}]", item.kind.list(), item.index);
        for part in finding.pointer.split('/').skip(1) {
            if part.bytes().all(|byte| byte.is_ascii_digit()) && !part.is_empty() {
                let _ = write!(path, "[{part}]");
            } else {
                let _ = write!(path, ".{}", part.replace("~1", "/").replace("~0", "~"));
            }
        }
        line_of(source.text, &path)
    });
    (named, line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_points_at_its_line_and_hides_nothing() {
        let text = "{\n \"tools\": [\n  {\"name\": \"a\", \"inputSchema\": {\"type\": \"object\"},\n   \"description\": \"Adds\u{200b}\\nit\"}\n ]\n}";
        let manifest = crate::manifest::read(text.as_bytes()).unwrap();
        let findings = crate::scan::scan(&manifest).findings;
        assert_eq!(
            super::text(&findings),
            "critical: D15 tool a: /description: 1 zero-width character\n  + Adds⟨U+200B⟩ it\n"
        );
        let source = Source {
            file: "a b.json",
            text,
            manifest: &manifest,
        };
        let log = sarif(source, &findings, "1.0.0");
        let result = &log["runs"][0]["results"][0];
        assert_eq!(result["level"], "error");
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["region"]["startLine"], 4);
        assert_eq!(place["artifactLocation"]["uri"], "a%20b.json");
        let rule = &log["runs"][0]["tool"]["driver"]["rules"][0];
        assert_eq!(rule["id"], "D15");
        assert!(rule["shortDescription"]["text"].is_string());
    }
}

//! SARIF 2.1.0, the form code scanners read: one log with one run.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

/// One result of the run.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    pub rule: &'a str,
    /// `error`, `warning` or `note`.
    pub level: &'a str,
    pub message: &'a str,
    /// The file as the reader knows it, and the line from 1.
    pub file: &'a str,
    pub line: usize,
    /// The place inside the document.
    pub place: &'a str,
}

/// The log of a run; `describe` gives what is to be said of a rule beside its id.
pub fn log(
    tool_version: &str,
    entries: &[Entry<'_>],
    describe: impl Fn(&str) -> Option<&'static str>,
) -> Value {
    let mut ids: Vec<&str> = entries.iter().map(|entry| entry.rule).collect();
    ids.sort_unstable();
    ids.dedup();
    let rules = ids.into_iter().map(|id| match describe(id) {
        Some(text) => json!({"id": id, "shortDescription": {"text": text}}),
        None => json!({"id": id}),
    });
    let results = entries.iter().map(|entry| {
        json!({
            "ruleId": entry.rule,
            "level": entry.level,
            "message": {"text": entry.message},
            "locations": [{
                "physicalLocation": {
                    "artifactLocation": {"uri": uri_reference(entry.file)},
                    "region": {"startLine": entry.line},
                },
                "logicalLocations": [{"fullyQualifiedName": entry.place}],
            }],
        })
    });
    json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "toolmark", "version": tool_version, "rules": rules.collect::<Vec<_>>(),
            }},
            "results": results.collect::<Vec<_>>(),
        }],
    })
}

/// A path as a relative URI reference.
fn uri_reference(path: &str) -> String {
    const PATH: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'/')
        .remove(b'-')
        .remove(b'.')
        .remove(b'_')
        .remove(b'~');
    utf8_percent_encode(&path.replace('\\', "/"), PATH).to_string()
}

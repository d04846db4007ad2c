//! The answer of `check`, for people, programs and code scanners.

use std::fmt::Write as _;

use serde_json::{Value, json};
use toolmark_domain::sarif::{self, Entry};
use url::Url;

use super::Judged;

pub(super) fn text(judged: &[Judged]) -> String {
    let mut out = String::new();
    for one in judged {
        let word = if one.faults.is_empty() { "ok" } else { "not ok" };
        let _ = writeln!(out, "{word} {} ({})", one.label, one.standing);
        for line in one.faults.iter().chain(&one.notes) {
            let _ = writeln!(out, "  {line}");
        }
    }
    let bad = judged.iter().filter(|one| !one.faults.is_empty()).count();
    let _ = writeln!(out, "{} checked, {bad} not as they should be", judged.len());
    out
}

pub(super) fn json(file: &str, registry: &Url, judged: &[Judged]) -> Value {
    let servers: Vec<Value> = judged
        .iter()
        .map(|one| {
            json!({
                "label": one.label,
                "ok": one.faults.is_empty(),
                "standing": one.standing,
                "faults": one.faults,
                "notes": one.notes,
                "answer": one.answer,
            })
        })
        .collect();
    json!({
        "schema": "toolmark.check/1",
        "file": file,
        "registry": registry.as_str(),
        "ok": judged.iter().all(|one| one.faults.is_empty()),
        "servers": servers,
    })
}

pub(super) fn sarif(file: &str, _text: &str, judged: &[Judged]) -> Value {
    let each = judged
        .iter()
        .flat_map(|one| one.faults.iter().map(move |fault| (one, fault)));
    let messages: Vec<(String, &Judged)> = each
        .map(|(one, fault)| (format!("{}: {fault}", one.label), one))
        .collect();
    let entries: Vec<Entry<'_>> = messages
        .iter()
        .map(|(message, one)| Entry {
            rule: rule(message),
            level: "error",
            message,
            file,
            line: one.line,
            place: &one.label,
        })
        .collect();
    sarif::log(env!("CARGO_PKG_VERSION"), &entries, says)
}

/// The kind of a fault.
fn rule(message: &str) -> &'static str {
    [
        (": withdrawn", "check-withdrawn"),
        (": unknown", "check-unknown"),
        (": flagged", "check-flagged"),
        (": too new", "check-too-new"),
        (": tools are", "check-changed"),
    ]
    .into_iter()
    .find(|(word, _)| message.contains(word))
    .map_or("check-unpinned", |(_, rule)| rule)
}

fn says(rule: &str) -> Option<&'static str> {
    Some(match rule {
        "check-withdrawn" => "The version was deleted or taken down.",
        "check-unknown" => "The registry never saw this.",
        "check-flagged" => "The registry has a grave finding about it.",
        "check-too-new" => "The version has not been out for long enough.",
        "check-changed" => "Its tools are not as they were pinned.",
        "check-unpinned" => "What runs is not fixed to one version.",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_is_a_result_at_its_line() {
        let one = Judged {
            label: "a/b@1".into(),
            line: 7,
            standing: "withdrawn".into(),
            faults: vec![
                "withdrawn: the version was deleted".into(),
                "too new: published 1 days ago, wanted 7".into(),
            ],
            notes: vec![],
            answer: Value::Null,
        };
        let log = sarif("toolmark.lock", "", std::slice::from_ref(&one));
        let results = log["runs"][0]["results"].as_array().unwrap();
        let rules: Vec<_> = results
            .iter()
            .map(|result| result["ruleId"].as_str().unwrap())
            .collect();
        assert_eq!(rules, ["check-withdrawn", "check-too-new"]);
        assert_eq!(
            results[0]["locations"][0]["physicalLocation"]["region"]["startLine"],
            7
        );
        assert_eq!(
            text(&[one]).lines().last(),
            Some("1 checked, 1 not as they should be")
        );
    }
}

//! The rules about language against labelled poisoned and honest definitions, and against tool lists of real servers.
//!
//! The corpora lie beside the project, not in it: a test that does not find them prints one line and counts as
//! skipped.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use toolmark_domain::finding::{Finding, Severity};
use toolmark_domain::manifest::read;
use toolmark_domain::scan::scan;

#[path = "support/data.rs"]
mod data;

fn findings(document: &Value) -> Vec<Finding> {
    scan(&read(document.to_string().as_bytes()).unwrap()).findings
}

/// The gravest finding, those about form left out.
fn worst(findings: &[Finding]) -> Option<&Finding> {
    findings.iter().max_by_key(|finding| finding.severity)
}

#[derive(Clone, Copy, PartialEq)]
enum Label {
    Honest,
    /// Honest, with imperative or secret-like wording.
    Hard,
    /// Poisoned and openly so, which is no poisoning of a tool.
    Overt,
    Core,
}

struct Case {
    id: String,
    label: Label,
    real: Option<String>,
    hidden: bool,
    severity: Option<Severity>,
    rules: String,
    shown: String,
}

impl Case {
    fn poisoned(&self) -> bool {
        matches!(self.label, Label::Overt | Label::Core)
    }
}

const HIDDEN: [&str; 9] = [
    "hidden-unicode",
    "zero-width",
    "unicode-tags",
    "variation-selectors",
    "bidi",
    "ansi",
    "homoglyph",
    "math-bold",
    "fullwidth",
];

fn cases(text: &str) -> Vec<Case> {
    let records: Vec<Value> = serde_json::from_str(text).unwrap();
    let mut cases = Vec::new();
    for record in records {
        let label = record["label"].as_str().unwrap();
        if label == "grey" || label == "suspicious-cross-server" {
            continue;
        }
        let types: Vec<&str> = record["attack_types"]
            .as_array()
            .unwrap()
            .iter()
            .map(|t| t.as_str().unwrap())
            .collect();
        let found = findings(&json!({"tools": [record["tool"]]}));
        let rules: BTreeSet<String> = found
            .iter()
            .filter(|f| f.severity >= Severity::Medium)
            .map(|f| format!("{}:{}", f.rule, f.severity.as_str()))
            .collect();
        let shown: String = worst(&found).map_or_else(
            || record["tool"]["description"].to_string(),
            |f| format!("{} {} {:?}", f.pointer, f.summary, f.after),
        );
        let source = record["source"].as_str().unwrap();
        cases.push(Case {
            id: record["id"].as_str().unwrap().to_owned(),
            label: match (
                label == "poisoned",
                types == ["overt-malicious"],
                record["hard"] == true,
            ) {
                (true, true, _) => Label::Overt,
                (true, false, _) => Label::Core,
                (false, _, true) => Label::Hard,
                (false, _, false) => Label::Honest,
            },
            real: (record["origin"] == "real").then(|| source.to_owned()),
            hidden: types.iter().any(|t| HIDDEN.contains(t)),
            severity: worst(&found).map(|f| f.severity),
            rules: rules.into_iter().collect::<Vec<_>>().join(" "),
            shown: format!(
                "{} {types:?} {}",
                record["tool"]["name"],
                shown.chars().take(300).collect::<String>()
            ),
        });
    }
    cases
}

fn ratio(part: usize, whole: usize) -> f64 {
    let float = |n: usize| f64::from(u32::try_from(n).unwrap());
    float(part) / float(whole.max(1))
}

struct Score {
    shown: String,
    recall: f64,
    precision: f64,
    real: f64,
    hard: f64,
    servers: usize,
}

fn score(cases: &[Case], least: Severity) -> Score {
    let fires = |case: &&Case| case.severity.is_some_and(|severity| severity >= least);
    let count = |wanted: &dyn Fn(&&Case) -> bool| {
        let all: Vec<&Case> = cases.iter().filter(wanted).collect();
        (all.iter().filter(|case| fires(case)).count(), all.len())
    };
    let core = count(&|case| case.label == Label::Core);
    let benign = count(&|case| !case.poisoned());
    let real = count(&|case| case.real.is_some());
    let hard = count(&|case| case.label == Label::Hard);
    let servers: BTreeSet<&String> = cases
        .iter()
        .filter(fires)
        .filter_map(|case| case.real.as_ref())
        .collect();
    let shown = format!(
        "{}: core {core:?}, benign {benign:?}, real {real:?}, hard {hard:?}, real servers {servers:?}",
        least.as_str(),
    );
    Score {
        shown,
        recall: ratio(core.0, core.1),
        precision: ratio(core.0, core.0 + benign.0),
        real: ratio(real.0, real.1),
        hard: ratio(hard.0, hard.1),
        servers: servers.len(),
    }
}

#[test]
fn poisoned_tools_are_found_and_honest_ones_left_alone() {
    let name = "poisoned_tools_are_found_and_honest_ones_left_alone";
    let Some(text) = data::file(name, "poisoning/tools.json") else {
        return;
    };
    let cases = cases(&text);
    for case in &cases {
        let severity = case.severity.unwrap_or(Severity::Info);
        if case.label == Label::Core && severity < Severity::High {
            println!(
                "MISS {} {} [{}] {}",
                severity.as_str(),
                case.id,
                case.rules,
                case.shown
            );
        }
        if !case.poisoned() && severity >= Severity::Medium {
            println!(
                "FALSE {} {} [{}] {}",
                severity.as_str(),
                case.id,
                case.rules,
                case.shown
            );
        }
    }
    let alert = score(&cases, Severity::High);
    let review = score(&cases, Severity::Medium);
    println!("{}\n{}", alert.shown, review.shown);
    assert!(alert.recall >= 0.70, "alert recall {}", alert.recall);
    assert!(alert.real <= 0.003, "alerts on real tools {}", alert.real);
    assert!(alert.servers <= 1, "alerts on real servers {}", alert.servers);
    assert!(review.recall >= 0.90, "review recall {}", review.recall);
    assert!(review.precision >= 0.90, "review precision {}", review.precision);
    assert!(review.real <= 0.02, "reviews of real tools {}", review.real);
    assert!(
        review.hard <= 0.10,
        "reviews of hard honest tools {}",
        review.hard
    );
    let hidden: Vec<&Case> = cases.iter().filter(|case| case.hidden).collect();
    assert!(hidden.len() > 10);
    for case in hidden {
        assert!(
            case.severity >= Some(Severity::High),
            "{} {}",
            case.id,
            case.shown
        );
    }
}

#[test]
fn hidden_characters_are_never_seen_in_real_tools() {
    let name = "hidden_characters_are_never_seen_in_real_tools";
    let Some(text) = data::file(name, "poisoning/tools.json") else {
        return;
    };
    let records: Vec<Value> = serde_json::from_str(&text).unwrap();
    for record in records.iter().filter(|record| record["label"] == "benign") {
        for finding in findings(&json!({"tools": [record["tool"]]})) {
            assert!(
                !["D15", "D16", "D18"].contains(&finding.rule),
                "{} {finding:?}",
                record["id"]
            );
        }
    }
}

#[test]
fn honest_instructions_raise_no_alert() {
    let name = "honest_instructions_raise_no_alert";
    let Some(text) = data::file(name, "poisoning/instructions.json") else {
        return;
    };
    let records: Vec<Value> = serde_json::from_str(&text).unwrap();
    for record in records.iter().filter(|record| record["label"] == "benign") {
        let document = json!({"tools": [], "initialize": {"instructions": record["text"]}});
        for finding in findings(&document) {
            println!(
                "{} {} {} {:?}",
                record["source"],
                finding.severity.as_str(),
                finding.rule,
                finding.after
            );
            assert!(finding.severity < Severity::High, "{finding:?}");
        }
    }
}

/// Tool lists by server of a corpus file.
fn lists(file: &str, rows: &str) -> BTreeMap<String, Vec<Value>> {
    let mut lists = BTreeMap::new();
    for (index, row) in rows.lines().filter(|row| !row.trim().is_empty()).enumerate() {
        let row: Value = serde_json::from_str(row).unwrap();
        let tools = row["tools"].as_array().cloned().unwrap_or_default();
        let given = ["package", "server", "id", "name"]
            .iter()
            .find_map(|key| row[key].as_str());
        let key = format!("{file}#{index} {}", given.unwrap_or_default());
        lists.insert(key, tools);
    }
    lists
}

#[test]
fn every_alarm_on_public_tool_lists_is_printed() {
    let name = "every_alarm_on_public_tool_lists_is_printed";
    let files = [
        "mcpm-servers.2026-03-27.jsonl",
        "livemcp-tool-manifests.2025-08-18.jsonl",
        "docker-mcp-registry.2026-07-08.jsonl",
        "toolsdk-tool-lists.2026-07-28.jsonl",
    ];
    let (mut tools, mut alarms, mut reviews) = (0, 0, 0);
    for file in files {
        let Some(text) = data::file(name, file) else {
            return;
        };
        for (server, list) in lists(file, &text) {
            for tool in list {
                tools += 1;
                let found = findings(&json!({"tools": [tool]}));
                let Some(worst) = worst(&found) else { continue };
                reviews += usize::from(worst.severity >= Severity::Medium);
                if worst.severity >= Severity::High {
                    alarms += 1;
                    println!(
                        "{server}: {} {} {} {:?}",
                        tool["name"],
                        worst.rule,
                        worst.severity.as_str(),
                        worst.after
                    );
                }
            }
        }
    }
    println!("{tools} tools, {alarms} alarms, {reviews} reviews");
    assert!(ratio(alarms, tools) <= 0.01, "{alarms} alarms on {tools} tools");
}

//! What changed between two manifests and how much it matters.
//!
//! Order, key order and page borders never matter; what moves by itself is masked first; only what is new in the step
//! is judged. Each finding says what it does to callers, and the gravest of those is the label of the whole step.

mod patch;
mod renames;
mod schema;
mod server;
mod text;
mod tool;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde::Serialize;

use crate::digest::Digest;
use crate::finding::{Finding, Label, Place, Severity};
use crate::limits::FINDINGS;
use crate::manifest::{Item, ItemKind, Manifest};
use crate::scan;

pub use patch::{Operation, apply, patch};

/// Name of the JSON form.
pub const SCHEMA: &str = "toolmark.diff/1";

/// The answer of a comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Diff {
    pub schema: &'static str,
    pub label: Label,
    /// The gravest finding's; none where there is none.
    pub severity: Option<Severity>,
    pub rule_set: Digest,
    /// Gravest first.
    pub findings: Vec<Finding>,
}

impl Diff {
    /// Adds findings of the same step that manifests do not show.
    pub fn add(&mut self, findings: Vec<Finding>) {
        self.findings.extend(findings);
        scan::sort(&mut self.findings);
        self.findings.truncate(FINDINGS);
        self.label = self.findings.iter().map(|f| f.effect).max().unwrap_or_default();
        self.severity = self.findings.iter().map(|f| f.severity).max();
    }
}

/// Compares two manifests of one target.
pub fn diff(old: &Manifest, new: &Manifest) -> Diff {
    let volatile: BTreeSet<&String> = old.volatile.iter().chain(&new.volatile).collect();
    let mut findings = if volatile.is_empty() {
        steps(old, new)
    } else {
        let pointers: Vec<String> = volatile.into_iter().cloned().collect();
        steps(&old.masked(&pointers), &new.masked(&pointers))
    };
    scan::sort(&mut findings);
    findings.truncate(FINDINGS);
    Diff {
        schema: SCHEMA,
        label: findings.iter().map(|f| f.effect).max().unwrap_or_default(),
        severity: findings.iter().map(|f| f.severity).max(),
        rule_set: crate::rules::rule_set(),
        findings,
    }
}

fn steps(old: &Manifest, new: &Manifest) -> Vec<Finding> {
    let mut findings = server::compare(old, new);
    for kind in ItemKind::ALL {
        lists(kind, old, new, &mut findings);
    }
    names(old, new, &mut findings);
    findings
}

/// Items of one kind by key; of several with one key the first counts, the others are told by [`names`].
fn by_key(kind: ItemKind, manifest: &Manifest) -> BTreeMap<&str, &Item> {
    let mut items = BTreeMap::new();
    for item in manifest.of(kind) {
        // Of equal keys the least digest, so that the order of the list does not matter.
        let kept = items.entry(item.key.as_str()).or_insert(item);
        if item.tool < kept.tool {
            *kept = item;
        }
    }
    items
}

fn lists(kind: ItemKind, old: &Manifest, new: &Manifest, findings: &mut Vec<Finding>) {
    let (before, after) = (by_key(kind, old), by_key(kind, new));
    let mut removed: Vec<&Item> = Vec::new();
    let mut added: Vec<&Item> = Vec::new();
    for (key, item) in &before {
        match after.get(key) {
            None => removed.push(item),
            Some(other) if other.tool != item.tool => changed(item, other, findings),
            Some(_) => {}
        }
    }
    added.extend(
        after
            .iter()
            .filter(|(key, _)| !before.contains_key(**key))
            .map(|(_, item)| *item),
    );
    let gone = removed.len();
    if kind == ItemKind::Tool {
        for (one, other) in renames::pairs(&mut removed, &mut added) {
            findings.push(renames::finding(one, other));
            changed(one, other, findings);
        }
    }
    for item in &removed {
        findings.push(taken_away(item));
    }
    for item in &added {
        findings.push(put_there(item));
        news(None, item, findings);
    }
    if kind == ItemKind::Tool {
        if after.is_empty() && !before.is_empty() {
            let said = format!("the list of tools is empty, it held {}", before.len());
            let found = Place::server().finding("T05", "/tools", said);
            findings.push(found.severity(Severity::High).effect(Label::Breaking));
        }
        indirection(&added, gone, before.len(), findings);
    }
}

fn taken_away(item: &Item) -> Finding {
    let rule = match item.kind {
        ItemKind::Tool => "T02",
        ItemKind::Prompt => "P01",
        ItemKind::Resource | ItemKind::Template => "R01",
    };
    let said = format!("{} removed", item.kind);
    let found = Place::of(item).finding(rule, "", said);
    found.before(Some(item.value.clone())).effect(Label::Breaking)
}

fn put_there(item: &Item) -> Finding {
    let rule = match item.kind {
        ItemKind::Tool => "T01",
        ItemKind::Prompt => "P01",
        ItemKind::Resource | ItemKind::Template => "R01",
    };
    let said = format!("{} added", item.kind);
    let mut found = Place::of(item).finding(rule, "", said);
    if item.kind == ItemKind::Tool && tool::runs_code(item) {
        found.severity = Severity::Medium;
        "tool added, and it runs code or commands".clone_into(&mut found.summary);
    }
    found.after(Some(item.value.clone())).effect(Label::Compatible)
}

/// One item with two bodies.
fn changed(old: &Item, new: &Item, findings: &mut Vec<Finding>) {
    if old.kind == ItemKind::Tool {
        tool::compare(old, new, findings);
    } else {
        tool::other(old, new, findings);
    }
    news(Some(old), new, findings);
}

/// What rules find in `new` and did not find in `old`.
fn news(old: Option<&Item>, new: &Item, findings: &mut Vec<Finding>) {
    // Most changes say nothing new to a model; then neither body has to be judged as a whole.
    let known = match old {
        Some(old) if !scan::says_more(old, new) => {
            let mut form = (Vec::new(), Vec::new());
            crate::rules::form::of_item(old, &mut form.0);
            crate::rules::form::of_item(new, &mut form.1);
            findings.extend(fresh(&form.0, form.1));
            return;
        }
        Some(old) => scan::item(old),
        None => Vec::new(),
    };
    findings.extend(fresh(&known, scan::item(new)));
}

/// Findings about one snapshot that its forerunner did not have, each with what it does to the label.
fn fresh(known: &[Finding], found: Vec<Finding>) -> Vec<Finding> {
    let standing: HashSet<(&str, String)> = known.iter().map(|f| (f.rule, said(f))).collect();
    let mut fresh: Vec<Finding> = found
        .into_iter()
        .filter(|f| !standing.contains(&(f.rule, said(f))))
        .collect();
    for finding in &mut fresh {
        finding.effect = match finding.severity {
            Severity::Critical | Severity::High => Label::Suspicious,
            _ => Label::None,
        };
    }
    fresh
}

/// What a finding concerns, without its place: a sentence that moved is not new.
fn said(finding: &Finding) -> String {
    let Some(after) = &finding.after else {
        return finding.pointer.clone();
    };
    let text = after.to_string().to_lowercase();
    // Other punctuation is no other sentence.
    let kept: String = text
        .chars()
        .filter(|c| c.is_alphanumeric() || *c == '⟨')
        .collect();
    kept
}

/// Look-alike and doubled names that were not there before.
fn names(old: &Manifest, new: &Manifest, findings: &mut Vec<Finding>) {
    let known = crate::rules::names::within(old);
    let same = |a: &Finding, b: &Finding| a.rule == b.rule && a.key == b.key && a.kind == b.kind;
    for mut finding in crate::rules::names::within(new) {
        if !known.iter().any(|other| same(other, &finding)) {
            finding.effect = Label::Suspicious;
            findings.push(finding);
        }
    }
    // A second body under a name that was double before.
    let digests = |manifest: &Manifest| {
        let mut all: Vec<(ItemKind, String, Digest)> = manifest
            .items
            .iter()
            .map(|i| (i.kind, i.key.clone(), i.tool))
            .collect();
        all.sort_unstable();
        all
    };
    if findings.is_empty() && digests(old) != digests(new) {
        let said = "an item that shares its name with another changed".to_owned();
        findings.push(Place::server().finding("T05", "", said).effect(Label::Semantic));
    }
}

/// Tools that run other tools appear while many tools vanish.
fn indirection(added: &[&Item], gone: usize, before: usize, findings: &mut Vec<Finding>) {
    const RUNS: [&str; 5] = ["execute", "call", "invoke", "run", "use"];
    if gone * 10 < before * 3 || before == 0 {
        return;
    }
    let runs = added.iter().find(|item| {
        let parts = crate::rules::parameters::parts(&item.key);
        parts.first().is_some_and(|first| RUNS.contains(&first.as_str()))
            && parts
                .iter()
                .any(|part| part == "tool" || part == "action" || part == "operation")
    });
    if let Some(item) = runs {
        let said = format!("{gone} of {before} tools vanished and `{}` runs others", item.key);
        findings.push(Place::of(item).finding("T07", "", said).effect(Label::Semantic));
    }
}

#[cfg(test)]
mod tests;

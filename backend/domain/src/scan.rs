//! Judging one snapshot: its form, and what its texts would do to a model that reads them.
//!
//! A finding of one item depends on that item alone, so that nothing found here can hide or change another.

use std::collections::HashSet;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::digest::Digest;
use crate::finding::{Finding, Place, Severity};
use crate::limits::FINDINGS;
use crate::manifest::{Item, ItemKind, Manifest};
use crate::rules::text::{Alarm, Spot, judge};
use crate::rules::{form, names, parameters};

/// Name of the JSON form.
pub const SCHEMA: &str = "toolmark.scan/1";

/// The answer of a scan.
#[derive(Clone, Debug, Serialize)]
pub struct Scan {
    pub schema: &'static str,
    pub rule_set: Digest,
    /// Gravest first.
    pub findings: Vec<Finding>,
}

/// Everything found in `manifest`.
pub fn scan(manifest: &Manifest) -> Scan {
    let mut findings = form::of_manifest(manifest);
    findings.extend(names::within(manifest));
    findings.extend(server(manifest));
    for item in &manifest.items {
        findings.extend(self::item(item));
    }
    sort(&mut findings);
    findings.truncate(FINDINGS);
    Scan {
        schema: SCHEMA,
        rule_set: crate::rules::rule_set(),
        findings,
    }
}

/// What is said of the form of `manifest` alone.
pub fn form(manifest: &Manifest) -> Vec<Finding> {
    let mut findings = form::of_manifest(manifest);
    for item in &manifest.items {
        form::of_item(item, &mut findings);
    }
    sort(&mut findings);
    findings.truncate(FINDINGS);
    findings
}

/// Gravest first, then by place.
pub(crate) fn sort(findings: &mut [Finding]) {
    findings.sort_by(|a, b| {
        let place = |f: &Finding| (f.kind, f.key.clone(), f.pointer.clone(), f.rule);
        b.severity.cmp(&a.severity).then_with(|| place(a).cmp(&place(b)))
    });
}

/// Everything found in one item.
pub(crate) fn item(item: &Item) -> Vec<Finding> {
    let mut findings = Vec::new();
    form::of_item(item, &mut findings);
    let place = Place::of(item);
    let mut texts = Texts::default();
    texts.item(item);
    for text in texts.found {
        for alarm in judge(text.said, text.spot) {
            findings.push(finding(&place, &text.pointer, alarm));
        }
    }
    if item.kind == ItemKind::Tool {
        tool(item, &place, &texts.names, &mut findings);
    }
    two_kinds(&mut findings);
    findings
}

/// Could `new` be found to do what `old` does not? Looks only at texts, names and hints that `old` does not have.
pub(crate) fn says_more(old: &Item, new: &Item) -> bool {
    let (mut before, mut after) = (Texts::default(), Texts::default());
    before.item(old);
    after.item(new);
    let known: HashSet<(&str, bool)> = before
        .found
        .iter()
        .map(|t| (t.said, t.spot == Spot::Odd))
        .collect();
    let new_text = |text: &Text<'_>| {
        !known.contains(&(text.said, text.spot == Spot::Odd)) && !judge(text.said, text.spot).is_empty()
    };
    if after.found.iter().any(new_text) {
        return true;
    }
    if new.kind != ItemKind::Tool {
        return false;
    }
    let own = |item: &Item, names: &[(String, &str)]| {
        let mut findings = Vec::new();
        tool(item, &Place::of(item), names, &mut findings);
        findings
    };
    own(old, &before.names) != own(new, &after.names)
}

fn finding(place: &Place, pointer: &str, alarm: Alarm) -> Finding {
    let excerpt = (!alarm.excerpt.is_empty()).then_some(Value::String(alarm.excerpt));
    place
        .finding(alarm.rule, pointer, alarm.summary)
        .severity(alarm.severity)
        .after(excerpt)
}

/// Intent of two kinds in two texts of one item weighs as much as in one text.
fn two_kinds(findings: &mut [Finding]) {
    let mut kinds: Vec<&str> = findings
        .iter()
        .filter(|f| f.severity >= Severity::Medium && matches!(f.rule.as_bytes(), [b'D', ..]))
        .map(|f| f.rule)
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    if kinds.len() < 2 || findings.iter().any(|f| f.severity >= Severity::High) {
        return;
    }
    if let Some(worst) = findings.iter_mut().max_by_key(|f| f.severity) {
        worst.severity = Severity::High;
    }
}

/// Everything found in what the server says of itself.
pub(crate) fn server(manifest: &Manifest) -> Vec<Finding> {
    let place = Place::server();
    let mut findings = Vec::new();
    let instructions = manifest.server.instructions();
    for alarm in judge(instructions, Spot::Prose) {
        findings.push(finding(&place, "/instructions", alarm));
    }
    let mut texts = Texts::default();
    for (member, value) in [
        ("/capabilities", manifest.server.capabilities.as_ref()),
        ("/serverInfo", manifest.server.info.as_ref()),
    ] {
        if let Some(value) = value {
            texts.values(value, member, Spot::Odd);
        }
    }
    for text in texts.found {
        for alarm in judge(text.said, text.spot) {
            findings.push(finding(&place, &text.pointer, alarm));
        }
    }
    findings
}

fn tool(item: &Item, place: &Place, parameter_names: &[(String, &str)], findings: &mut Vec<Finding>) {
    let mut own = item.key.to_lowercase();
    own.push(' ');
    own.push_str(&item.text("description").to_lowercase());
    for (pointer, name) in parameter_names {
        // What the description of the parameters list says of a name is no reason for it.
        if let Some(alarm) = parameters::judge(name, &own.replace(&name.to_lowercase(), " ")) {
            findings.push(finding(place, pointer, alarm));
        }
    }
    let all: Vec<&str> = parameter_names.iter().map(|(_, name)| *name).collect();
    if let Some(alarm) = parameters::loose(&all) {
        findings.push(finding(place, "/inputSchema/properties", alarm));
    }
    remote_references(item.value.get("inputSchema"), "/inputSchema", place, findings);
    remote_references(item.value.get("outputSchema"), "/outputSchema", place, findings);
    contradiction(item, &own, place, findings);
}

fn remote_references(schema: Option<&Value>, pointer: &str, place: &Place, findings: &mut Vec<Finding>) {
    match schema {
        Some(Value::Object(map)) => {
            for (key, value) in map {
                let pointer = format!("{pointer}/{}", crate::manifest::escaped(key));
                match value {
                    Value::String(target)
                        if matches!(key.as_str(), "$ref" | "$dynamicRef") && !target.starts_with('#') =>
                    {
                        let said = "the schema refers to an address outside itself".to_owned();
                        let found = place.finding("S12", pointer, said);
                        findings.push(found.after(Some(value.clone())));
                    }
                    Value::Object(_) | Value::Array(_) => {
                        remote_references(Some(value), &pointer, place, findings);
                    }
                    _ => {}
                }
            }
        }
        Some(Value::Array(list)) => {
            for (index, value) in list.iter().enumerate() {
                remote_references(Some(value), &format!("{pointer}/{index}"), place, findings);
            }
        }
        _ => {}
    }
}

/// Words at the head of a name that change things.
const WRITES: [&str; 18] = [
    "delete", "remove", "drop", "create", "update", "write", "send", "insert", "set", "edit", "move",
    "rename", "kill", "purge", "truncate", "publish", "deploy", "upload",
];

fn contradiction(item: &Item, own: &str, place: &Place, findings: &mut Vec<Finding>) {
    let hint = item.value.pointer("/annotations/readOnlyHint") == Some(&Value::Bool(true));
    let first = parameters::parts(&item.key)
        .into_iter()
        .next()
        .unwrap_or_default();
    if hint && WRITES.contains(&first.as_str()) {
        let said = format!("the hint says it only reads, the name says `{first}`");
        findings.push(place.finding("A04", "/annotations/readOnlyHint", said));
    }
    let reads_only = ["read-only", "readonly", "read only"]
        .iter()
        .any(|word| own.contains(word));
    let write_mode = [
        "write_mode",
        "write mode",
        "enables write",
        "enable writes",
        "allow_write",
    ];
    if reads_only && write_mode.iter().any(|word| own.contains(word)) {
        let said = "the text says it only reads, and names a mode that writes".to_owned();
        findings.push(
            place
                .finding("A04", "/description", said)
                .severity(Severity::Medium),
        );
    }
}

struct Text<'a> {
    pointer: String,
    said: &'a str,
    spot: Spot,
}

/// Every text of an item, with its place.
#[derive(Default)]
struct Texts<'a> {
    found: Vec<Text<'a>>,
    /// Names of parameters at any depth of the input.
    names: Vec<(String, &'a str)>,
}

impl<'a> Texts<'a> {
    fn push(&mut self, pointer: String, text: &'a str, spot: Spot) {
        if !text.is_empty() {
            self.found.push(Text {
                pointer,
                said: text,
                spot,
            });
        }
    }

    fn item(&mut self, item: &'a Item) {
        let Value::Object(members) = &item.value else {
            self.values(&item.value, "", Spot::Odd);
            return;
        };
        for (key, value) in members {
            let pointer = format!("/{}", crate::manifest::escaped(key));
            match (key.as_str(), value) {
                ("description", Value::String(text)) => self.push(pointer, text, Spot::Prose),
                ("inputSchema", schema) => self.schema(schema, &pointer, true, Spot::Prose),
                ("outputSchema", schema) => self.schema(schema, &pointer, false, Spot::Prose),
                ("arguments", Value::Array(_)) if item.kind == ItemKind::Prompt => {
                    self.values(value, &pointer, Spot::Prose);
                }
                _ => self.values(value, &pointer, Spot::Odd),
            }
        }
    }

    /// A schema: descriptions are prose, everything else is no place for it.
    fn schema(&mut self, schema: &'a Value, pointer: &str, input: bool, prose: Spot) {
        let Value::Object(members) = schema else {
            self.values(schema, pointer, Spot::Odd);
            return;
        };
        for (key, value) in members {
            let pointer = format!("{pointer}/{}", crate::manifest::escaped(key));
            match (key.as_str(), value) {
                ("description", Value::String(text)) => self.push(pointer, text, prose),
                (
                    "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
                    Value::Object(map),
                ) => {
                    self.members(map, &pointer, input && key == "properties", input, prose);
                }
                (
                    "items"
                    | "additionalProperties"
                    | "not"
                    | "if"
                    | "then"
                    | "else"
                    | "contains"
                    | "propertyNames"
                    | "unevaluatedProperties"
                    | "unevaluatedItems"
                    | "additionalItems",
                    Value::Object(_),
                ) => self.schema(value, &pointer, input, prose),
                ("allOf" | "anyOf" | "oneOf" | "prefixItems" | "items", Value::Array(list)) => {
                    for (index, part) in list.iter().enumerate() {
                        self.schema(part, &format!("{pointer}/{index}"), input, prose);
                    }
                }
                _ => self.values(value, &pointer, Spot::Odd),
            }
        }
    }

    fn members(&mut self, map: &'a Map<String, Value>, pointer: &str, named: bool, input: bool, prose: Spot) {
        for (name, schema) in map {
            let pointer = format!("{pointer}/{}", crate::manifest::escaped(name));
            if named {
                self.names.push((pointer.clone(), name));
            }
            self.push(pointer.clone(), name, Spot::Odd);
            self.schema(schema, &pointer, input, prose);
        }
    }

    /// Every text inside a value that is no schema.
    fn values(&mut self, value: &'a Value, pointer: &str, spot: Spot) {
        match value {
            Value::String(text) => self.push(pointer.to_owned(), text, spot),
            Value::Array(list) => {
                for (index, value) in list.iter().enumerate() {
                    self.values(value, &format!("{pointer}/{index}"), spot);
                }
            }
            Value::Object(map) => {
                for (key, value) in map {
                    let pointer = format!("{pointer}/{}", crate::manifest::escaped(key));
                    self.push(pointer.clone(), key, Spot::Odd);
                    self.values(value, &pointer, spot);
                }
            }
            _ => {}
        }
    }
}

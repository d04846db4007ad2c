//! One tool with two bodies.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{schema, text};
use crate::finding::{Finding, Label, Place, Severity};
use crate::manifest::{EFFECTIVE_HINTS, Item, ItemKind, escaped};

pub(super) fn compare(old: &Item, new: &Item, findings: &mut Vec<Finding>) {
    let place = Place::of(new);
    let (Value::Object(before), Value::Object(after)) = (&old.value, &new.value) else {
        let found = place.finding("F02", "", "the definition is no object".to_owned());
        findings.push(
            found
                .before(Some(old.value.clone()))
                .after(Some(new.value.clone()))
                .effect(Label::Breaking),
        );
        return;
    };
    let count = findings.len();
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for key in keys {
        let (one, other) = (before.get(key), after.get(key));
        if one == other || key == "name" {
            continue;
        }
        let pointer = format!("/{}", escaped(key));
        match key.as_str() {
            "description" => description(old, new, &place, findings),
            "title" => findings.extend(text::compare(&place, &pointer, one, other, false)),
            "inputSchema" => schema::input(&place, one, other, findings),
            "outputSchema" => schema::output(&place, one, other, findings),
            "annotations" => annotations(&place, one, other, findings),
            "_meta" | "icons" => metadata(&place, key, one, other, findings),
            _ => findings.push(beside(&place, &pointer, one, other)),
        }
    }
    if findings.len() == count && old.facts != new.facts {
        let said = "the bytes changed where there is no canonical form".to_owned();
        findings.push(place.finding("F01", "", said).effect(Label::Cosmetic));
    }
}

fn beside(place: &Place, pointer: &str, one: Option<&Value>, other: Option<&Value>) -> Finding {
    let said = format!("`{}` changed", pointer.trim_start_matches('/'));
    let found = place.finding("M02", pointer, said);
    found
        .before(one.cloned())
        .after(other.cloned())
        .effect(Label::Cosmetic)
}

fn description(old: &Item, new: &Item, place: &Place, findings: &mut Vec<Finding>) {
    let (one, other) = (old.value.get("description"), new.value.get("description"));
    findings.extend(text::compare(place, "/description", one, other, true));
    let (before, after) = (old.text("description"), new.text("description"));
    findings.extend(text::jump(place, "/description", before, after));
    findings.extend(text::environment(place, "/description", before, after));
}

fn annotations(place: &Place, one: Option<&Value>, other: Option<&Value>, findings: &mut Vec<Finding>) {
    let empty = Map::new();
    let map = |value: Option<&'_ Value>| {
        value
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_else(|| empty.clone())
    };
    let (before, after) = (map(one), map(other));
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for key in keys {
        let (one, other) = (before.get(key), after.get(key));
        if one == other {
            continue;
        }
        let pointer = format!("/annotations/{}", escaped(key));
        let hint = EFFECTIVE_HINTS.iter().find(|(hint, _)| hint == key);
        let found = if let Some((_, otherwise)) = hint {
            flip(place, &pointer, key, *otherwise, one, other)
        } else {
            let said = format!("annotation `{key}` changed");
            let effect = if key == "title" {
                Label::Cosmetic
            } else {
                Label::Compatible
            };
            place.finding("A03", pointer, said).effect(effect)
        };
        findings.push(found.before(one.cloned()).after(other.cloned()));
    }
    if before.is_empty() && after.is_empty() {
        let found = place.finding("A03", "/annotations", "annotations without a member".to_owned());
        findings.push(
            found
                .before(one.cloned())
                .after(other.cloned())
                .effect(Label::Cosmetic),
        );
    }
}

/// A hint by what is in force: `readOnlyHint` and `idempotentHint` calm when true, the others when false.
fn flip(
    place: &Place,
    pointer: &str,
    key: &str,
    otherwise: bool,
    one: Option<&Value>,
    other: Option<&Value>,
) -> Finding {
    let in_force = |value: Option<&Value>| value.and_then(Value::as_bool).unwrap_or(otherwise);
    let (was, is) = (in_force(one), in_force(other));
    if was == is {
        let said = format!("`{key}` is {is} as before, and spelled another way");
        return place.finding("A03", pointer, said).effect(Label::Compatible);
    }
    let calms = matches!(key, "readOnlyHint" | "idempotentHint") == is;
    let rule = if calms { "A02" } else { "A01" };
    let found = place.finding(rule, pointer, format!("`{key}` in force was {was} and is {is}"));
    if one.is_some() && key != "idempotentHint" && key != "openWorldHint" {
        return found.effect(Label::Semantic);
    }
    // A hint given for the first time tells more about the same tool.
    let effect = if one.is_some() {
        Label::Semantic
    } else {
        Label::Compatible
    };
    found.severity(Severity::Low).effect(effect)
}

fn metadata(
    place: &Place,
    key: &str,
    one: Option<&Value>,
    other: Option<&Value>,
    findings: &mut Vec<Finding>,
) {
    let pointer = format!("/{}", escaped(key));
    let binds = |value: Option<&Value>| {
        let text = value.map(Value::to_string).unwrap_or_default();
        ["ui://", "resourceUri", "outputTemplate", "\"widget"]
            .iter()
            .any(|word| text.contains(word))
    };
    if binds(other) && !binds(one) {
        let found = place.finding(
            "M01",
            pointer,
            "a resource that a client shows was bound to it".to_owned(),
        );
        findings.push(
            found
                .before(one.cloned())
                .after(other.cloned())
                .effect(Label::Semantic),
        );
    } else {
        findings.push(beside(place, &pointer, one, other));
    }
}

/// A prompt, resource or template with two bodies.
pub(super) fn other(old: &Item, new: &Item, findings: &mut Vec<Finding>) {
    let place = Place::of(new);
    let rule = if old.kind == ItemKind::Prompt {
        "P01"
    } else {
        "R01"
    };
    let members = |item: &Item| item.value.as_object().cloned().unwrap_or_default();
    let (before, after) = (members(old), members(new));
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for key in keys {
        let (one, other) = (before.get(key), after.get(key));
        if one == other {
            continue;
        }
        let pointer = format!("/{}", escaped(key));
        let text = matches!(key.as_str(), "description" | "title");
        let changed = text
            .then(|| text::compare(&place, &pointer, one, other, key == "description"))
            .flatten();
        let found = changed.unwrap_or_else(|| {
            let effect = match key.as_str() {
                "arguments" => arguments(one, other),
                "mimeType" => Label::Semantic,
                _ => Label::Cosmetic,
            };
            let found = place.finding(rule, pointer.clone(), format!("`{key}` changed"));
            found.before(one.cloned()).after(other.cloned()).effect(effect)
        });
        findings.push(found);
    }
}

/// What other arguments of a prompt do to those who use it.
fn arguments(one: Option<&Value>, other: Option<&Value>) -> Label {
    let named = |value: Option<&Value>| -> BTreeMap<String, bool> {
        let list = value.and_then(Value::as_array).cloned().unwrap_or_default();
        let each = list.iter().map(|argument| {
            let name = argument.get("name").and_then(Value::as_str).unwrap_or_default();
            (
                name.to_owned(),
                argument.get("required") == Some(&Value::Bool(true)),
            )
        });
        each.collect()
    };
    let (before, after) = (named(one), named(other));
    let gone = before.keys().any(|name| !after.contains_key(name));
    let needed = after
        .iter()
        .any(|(name, required)| *required && before.get(name) != Some(&true));
    match (gone || needed, before == after) {
        (true, _) => Label::Breaking,
        (false, true) => Label::Cosmetic,
        (false, false) => Label::Compatible,
    }
}

/// Does a tool by its name run what it is given?
pub(crate) fn runs_code(item: &Item) -> bool {
    const WORDS: [&str; 9] = [
        "execute", "exec", "eval", "evaluate", "shell", "terminal", "bash", "process", "script",
    ];
    let parts = crate::rules::parameters::parts(&item.key);
    let named = parts.iter().any(|part| WORDS.contains(&part.as_str()));
    named
        || (parts.iter().any(|p| p == "run")
            && parts
                .iter()
                .any(|p| matches!(p.as_str(), "code" | "command" | "sql")))
}

//! Two JSON Schemas of one thing: what is accepted no longer, what is accepted now, and what cannot be decided.
//!
//! Both are brought to their normal form first, so that spellings of the same are no change. References inside the
//! schema are followed, with an end; nothing is ever fetched.

mod keywords;
mod walk;

use serde_json::Value;

use self::walk::{Change, Turn, bare, changes};
use super::text;
use crate::finding::{Finding, Label, Place, Severity};
use crate::manifest::{escaped, plain};

pub(super) fn input(place: &Place, one: Option<&Value>, other: Option<&Value>, findings: &mut Vec<Finding>) {
    if !emptied(one) && emptied(other) {
        let said = "the schema named parameters and names none any more".to_owned();
        let found = place.finding("S11", "/inputSchema", said);
        findings.push(
            found
                .before(one.cloned())
                .after(other.cloned())
                .effect(Label::Breaking),
        );
        return;
    }
    let count = findings.len();
    for change in changes(one, other, "/inputSchema") {
        let (rule, effect) = match change.turn {
            Turn::Added => ("S01", Label::Compatible),
            Turn::AddedRequired | Turn::Required => ("S02", Label::Breaking),
            Turn::Removed => ("S03", Label::Breaking),
            Turn::Narrowed => ("S04", Label::Breaking),
            Turn::Widened | Turn::NotRequired => ("S05", Label::Compatible),
            Turn::Undecided => ("S13", Label::Compatible),
            Turn::Default => ("S06", Label::Semantic),
            Turn::Header => ("S09", Label::Semantic),
        };
        let effect = if opened(&change) { Label::Cosmetic } else { effect };
        let mut found = place.finding(rule, change.pointer, change.said);
        if change.turn == Turn::Default && !loosens(found.pointer.as_str(), change.after.as_ref()) {
            found.severity = Severity::Low;
        }
        findings.push(found.before(change.before).after(change.after).effect(effect));
    }
    texts(place, one, other, "/inputSchema", findings);
    if findings.len() == count {
        findings.push(rewritten(place, "/inputSchema", one, other));
    }
}

pub(super) fn output(place: &Place, one: Option<&Value>, other: Option<&Value>, findings: &mut Vec<Finding>) {
    let (Some(before), Some(after)) = (one, other) else {
        let (rule, said) = match other {
            Some(_) => ("O01", "what it answers is declared now"),
            None => ("O02", "what it answers is declared no longer"),
        };
        let found = place.finding(rule, "/outputSchema", said.to_owned());
        findings.push(
            found
                .before(one.cloned())
                .after(other.cloned())
                .effect(Label::Compatible),
        );
        return;
    };
    let count = findings.len();
    for change in changes(Some(before), Some(after), "/outputSchema") {
        // A reader wants to find what it found: the direction is the other way round. Calls do not fail by it.
        let typed = change.pointer.ends_with("/type");
        let (rule, effect) = match change.turn {
            Turn::Added | Turn::AddedRequired | Turn::Required | Turn::Header => ("O01", Label::Compatible),
            Turn::Default => ("O01", Label::Cosmetic),
            Turn::Narrowed if !typed => ("O01", Label::Cosmetic),
            _ => ("O02", Label::Compatible),
        };
        let effect = if opened(&change) { Label::Cosmetic } else { effect };
        let found = place.finding(rule, change.pointer, change.said);
        findings.push(found.before(change.before).after(change.after).effect(effect));
    }
    texts(place, Some(before), Some(after), "/outputSchema", findings);
    if findings.len() == count {
        findings.push(rewritten(place, "/outputSchema", one, other));
    }
}

/// Members that no schema names are let through now: nothing more can be asked for with them.
fn opened(change: &Change) -> bool {
    let closed = change.before == Some(Value::Bool(false)) && change.after.is_none();
    change.turn == Turn::Widened && closed && change.pointer.ends_with("/additionalProperties")
}

fn rewritten(place: &Place, pointer: &str, one: Option<&Value>, other: Option<&Value>) -> Finding {
    let same = one.map(bare) == other.map(bare);
    let said = if same {
        "the schema is spelled another way"
    } else {
        "remarks in the schema changed"
    };
    let found = place.finding("S10", pointer, said.to_owned());
    found
        .before(one.cloned())
        .after(other.cloned())
        .effect(Label::Cosmetic)
}

/// Names nothing: no properties and no other keyword that describes an object.
fn emptied(schema: Option<&Value>) -> bool {
    let Some(Value::Object(schema)) = schema else {
        return schema.is_none() || schema == Some(&Value::Bool(true));
    };
    !schema.keys().any(|key| {
        !matches!(
            key.as_str(),
            "$schema" | "title" | "description" | "$id" | "$comment"
        )
    })
}

/// A default that opens what was closed.
fn loosens(pointer: &str, after: Option<&Value>) -> bool {
    const OPENS: [&str; 7] = [
        "allow",
        "external",
        "force",
        "recursive",
        "overwrite",
        "unsafe",
        "public",
    ];
    let name = pointer
        .trim_end_matches("/default")
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .to_lowercase();
    after == Some(&Value::Bool(true)) && OPENS.iter().any(|word| name.contains(word))
}

/// Changes of the texts inside a schema, for schemas that are on both sides.
fn texts(
    place: &Place,
    one: Option<&Value>,
    other: Option<&Value>,
    pointer: &str,
    findings: &mut Vec<Finding>,
) {
    let (Some(Value::Object(before)), Some(Value::Object(after))) = (one, other) else {
        return;
    };
    for (key, old) in before {
        let Some(new) = after.get(key).filter(|new| *new != old) else {
            continue;
        };
        let pointer = format!("{pointer}/{}", escaped(key));
        match (key.as_str(), old, new) {
            ("description", Value::String(_), Value::String(_)) => {
                description(place, &pointer, old, new, findings);
            }
            ("enum" | "const" | "default" | "examples", _, _) => {}
            (_, Value::Array(ours), Value::Array(theirs)) => {
                for (index, (old, new)) in ours.iter().zip(theirs).enumerate() {
                    texts(
                        place,
                        Some(old),
                        Some(new),
                        &format!("{pointer}/{index}"),
                        findings,
                    );
                }
            }
            _ => texts(place, Some(old), Some(new), &pointer, findings),
        }
    }
    for (mine, its, side) in [(before, after, "went"), (after, before, "came")] {
        if let Some(text @ Value::String(_)) = mine
            .get("description")
            .filter(|_| !its.contains_key("description"))
        {
            let pointer = format!("{pointer}/description");
            let found = place.finding("D02", pointer, format!("a description {side}"));
            let found = found.effect(Label::Cosmetic);
            findings.push(if side == "went" {
                found.before(Some(text.clone()))
            } else {
                found.after(Some(text.clone()))
            });
        }
    }
}

fn description(place: &Place, pointer: &str, old: &Value, new: &Value, findings: &mut Vec<Finding>) {
    let Some(mut found) = text::compare(place, pointer, Some(old), Some(new), true) else {
        return;
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    // What is said of one value is advice for it; the tool does what it did, unless the value means something else.
    if found.effect > Label::Cosmetic && !text::turned(&text(old), &text(new)) {
        found.effect = Label::Cosmetic;
    }
    if plain(&text(old)) == plain(&text(new)) {
        found.rule = "D01";
        found.severity = Severity::Info;
    }
    findings.extend(text::environment(place, pointer, &text(old), &text(new)));
    findings.push(found);
}

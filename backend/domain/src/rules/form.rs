//! Form: what the protocol asks of a definition, and what has no canonical form.

use serde_json::Value;

use crate::finding::{Finding, Place};
use crate::manifest::{Fact, FactKind, Item, ItemKind, Manifest};

fn fact(place: &Place, fact: &Fact) -> Finding {
    let rule = match fact.kind {
        FactKind::Shape => "F02",
        FactKind::TooMany => "F03",
        _ => "F01",
    };
    let word = match fact.kind {
        FactKind::DuplicateKey => "a key given twice",
        FactKind::LoneSurrogate => "half of a surrogate pair",
        FactKind::InexactNumber => "a number that has no exact form",
        FactKind::TooDeep => "nesting",
        FactKind::Shape | FactKind::TooMany => "form",
    };
    place.finding(rule, fact.pointer.clone(), format!("{word}: {}", fact.what))
}

/// Facts of a whole manifest.
pub(crate) fn of_manifest(manifest: &Manifest) -> Vec<Finding> {
    let all = manifest.facts.iter().chain(&manifest.server.facts);
    let server = Place::server();
    all.map(|found| fact(&server, found)).collect()
}

/// Facts and form of one item.
pub(crate) fn of_item(item: &Item, findings: &mut Vec<Finding>) {
    let place = Place::of(item);
    findings.extend(item.facts.iter().map(|found| fact(&place, found)));
    let mut form = |pointer: &str, what: &str| findings.push(place.finding("F02", pointer, what.to_owned()));
    let Value::Object(members) = &item.value else {
        form("", "not an object");
        return;
    };
    if item.key.is_empty() {
        form(&format!("/{}", item.kind.key_member()), "no name that is text");
    }
    if item.kind != ItemKind::Tool {
        return;
    }
    if item.text("description").trim().is_empty() {
        form("/description", "no description");
    }
    match members.get("inputSchema") {
        None | Some(Value::Null) => form("/inputSchema", "no schema of its input"),
        Some(Value::Object(schema)) if schema.get("type").and_then(Value::as_str) == Some("object") => {}
        Some(Value::Object(_)) => form(
            "/inputSchema/type",
            "the schema of its input is not of type `object`",
        ),
        Some(_) => form("/inputSchema", "the schema of its input is not an object"),
    }
}

//! The normal form behind `contract/1`: what stays of a definition when spellings that mean the same are made one.
//! A change of what is done here needs a new name; the rules of version 1 never change.

use serde_json::{Map, Value, json};

use super::ItemKind;

/// The hints of a tool and what holds where they are not given.
pub const EFFECTIVE_HINTS: [(&str, bool); 4] = [
    ("readOnlyHint", false),
    ("destructiveHint", true),
    ("idempotentHint", false),
    ("openWorldHint", true),
];

/// The normal form of an item.
pub fn contract(kind: ItemKind, value: &Value) -> Value {
    let Value::Object(members) = value else {
        return value.clone();
    };
    let mut normal = Map::new();
    for (key, member) in members {
        let member = match (kind, key.as_str(), member) {
            (ItemKind::Tool, "inputSchema" | "outputSchema", schema) => schema_form(schema),
            (_, "description", Value::String(text)) => Value::String(plain(text)),
            (_, _, other) => other.clone(),
        };
        normal.insert(key.clone(), member);
    }
    if kind == ItemKind::Tool {
        let given = members.get("annotations").and_then(Value::as_object);
        normal.insert("annotations".to_owned(), annotations(given));
        if normal.get("title") == normal.get("name") {
            normal.remove("title");
        }
    }
    Value::Object(normal)
}

fn annotations(given: Option<&Map<String, Value>>) -> Value {
    let mut effective = given.cloned().unwrap_or_default();
    for (hint, otherwise) in EFFECTIVE_HINTS {
        if !effective.get(hint).is_some_and(Value::is_boolean) {
            effective.insert(hint.to_owned(), json!(otherwise));
        }
    }
    Value::Object(effective)
}

/// Runs of ASCII blanks as one blank, CRLF as LF, nothing at the ends.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut blank = false;
    let mut newline = false;
    for c in text.chars() {
        match c {
            ' ' | '\t' | '\r' => blank = true,
            '\n' => newline = true,
            _ => {
                if !out.is_empty() && (newline || blank) {
                    out.push(if newline { '\n' } else { ' ' });
                }
                (blank, newline) = (false, false);
                out.push(c);
            }
        }
    }
    out
}

/// Members that hold one schema, a list of schemas, a map from names to schemas.
pub(crate) const ONE: [&str; 12] = [
    "items",
    "additionalItems",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
];
pub(crate) const LIST: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
pub(crate) const MAP: [&str; 5] = [
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
];

/// The normal form of a JSON Schema.
pub(crate) fn schema_form(schema: &Value) -> Value {
    let Value::Object(members) = schema else {
        return schema.clone();
    };
    let mut normal = Map::new();
    for (key, member) in members {
        let name = key.as_str();
        let kept = match member {
            _ if name == "$schema" => continue,
            Value::String(_) if name == "title" => continue,
            Value::String(text) if name == "description" => Value::String(plain(text)),
            Value::Array(list) if LIST.contains(&name) => list.iter().map(schema_form).collect(),
            Value::Object(map) if MAP.contains(&name) => {
                let entries = map.iter().map(|(key, value)| (key.clone(), schema_form(value)));
                Value::Object(entries.collect())
            }
            _ if name == "additionalProperties" && open(member) => continue,
            _ if ONE.contains(&name) => schema_form(member),
            Value::Array(list) if matches!(name, "required" | "type" | "enum") => sorted(list),
            other => other.clone(),
        };
        normal.insert(key.clone(), kept);
    }
    if normal
        .get("required")
        .and_then(Value::as_array)
        .is_some_and(Vec::is_empty)
    {
        normal.remove("required");
    }
    bounds(&mut normal);
    alternatives(&mut normal);
    Value::Object(normal)
}

fn open(schema: &Value) -> bool {
    schema == &Value::Bool(true) || schema.as_object().is_some_and(Map::is_empty)
}

fn sorted(list: &[Value]) -> Value {
    let mut list = list.to_vec();
    list.sort_by_cached_key(super::canonical);
    list.dedup();
    Value::Array(list)
}

/// Exclusive bounds of integers become inclusive ones.
fn bounds(schema: &mut Map<String, Value>) {
    if schema.get("type") != Some(&json!("integer")) {
        return;
    }
    for (exclusive, inclusive, step) in [
        ("exclusiveMinimum", "minimum", 1),
        ("exclusiveMaximum", "maximum", -1),
    ] {
        let bound = schema.get(exclusive).and_then(Value::as_i64);
        let next = bound.and_then(|bound| bound.checked_add(step));
        if let Some(next) = next.filter(|_| !schema.contains_key(inclusive)) {
            schema.remove(exclusive);
            schema.insert(inclusive.to_owned(), json!(next));
        }
    }
}

/// `anyOf` of constants becomes an `enum`, `anyOf` of bare types and null a union of types.
fn alternatives(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = schema.get("type")
        && let [only] = types.as_slice()
    {
        let only = only.clone();
        schema.insert("type".to_owned(), only);
    }
    for keyword in ["anyOf", "oneOf"] {
        let Some(Value::Array(branches)) = schema.get(keyword) else {
            continue;
        };
        if let Some(merged) = constants(branches).or_else(|| nullable(branches))
            && !merged.keys().any(|key| schema.contains_key(key) && key != "type")
        {
            schema.remove(keyword);
            schema.extend(merged);
        }
    }
    if let Some(only) = schema.get("const").cloned()
        && !schema.contains_key("enum")
    {
        schema.remove("const");
        schema.insert("enum".to_owned(), json!([only]));
    }
    // The values of an `enum` say their type themselves.
    if let Some(Value::Array(values)) = schema.get("enum")
        && schema.get("type").is_some_and(|types| covers(types, values))
    {
        schema.remove("type");
    }
}

fn covers(types: &Value, values: &[Value]) -> bool {
    let listed = |name: &str| match types {
        Value::String(one) => one == name,
        Value::Array(all) => all.iter().any(|one| one == name),
        _ => false,
    };
    values.iter().all(|value| match value {
        Value::Null => listed("null"),
        Value::Bool(_) => listed("boolean"),
        Value::String(_) => listed("string"),
        Value::Number(n) => listed("number") || (listed("integer") && !n.is_f64()),
        Value::Array(_) => listed("array"),
        Value::Object(_) => listed("object"),
    })
}

/// `{enum: […]}` where every branch is a set of constants.
fn constants(branches: &[Value]) -> Option<Map<String, Value>> {
    let mut values = Vec::new();
    for branch in branches {
        let branch = branch.as_object()?;
        match (branch.get("enum"), branch.len()) {
            (Some(Value::Array(more)), 1) => values.extend(more.iter().cloned()),
            _ => return None,
        }
    }
    let merged = Map::from_iter([("enum".to_owned(), sorted(&values))]);
    Some(merged)
}

/// One branch and `null` become that branch with a wider type.
fn nullable(branches: &[Value]) -> Option<Map<String, Value>> {
    let null = json!({"type": "null"});
    let others: Vec<&Value> = branches.iter().filter(|branch| **branch != null).collect();
    let [only] = others.as_slice() else {
        return None;
    };
    if others.len() == branches.len() {
        return None;
    }
    let mut merged = only.as_object()?.clone();
    let types = match merged.get("type")? {
        Value::String(one) => vec![json!(one), json!("null")],
        Value::Array(all) => all.iter().cloned().chain([json!("null")]).collect(),
        _ => return None,
    };
    if merged.contains_key("enum") {
        return None;
    }
    merged.insert("type".to_owned(), sorted(&types));
    Some(merged)
}

//! `x-mcp-header`: which parameters of a tool are sent as HTTP headers. Clients drop a tool whose annotations break the
//! rules; a record keeps it and says so.

use std::collections::HashSet;

use serde_json::Value;
use toolmark_domain::limits::JSON_DEPTH;
use toolmark_domain::manifest::Manifest;

use crate::notes::{Conduct, Notes};
use crate::session::head;

const KEY: &str = "x-mcp-header";

pub(crate) fn check(manifest: &Manifest, notes: &mut Notes) {
    for tool in manifest.tools() {
        let Some(schema) = tool.value.get("inputSchema") else {
            continue;
        };
        let mut names = HashSet::new();
        if let Err(why) = walk(schema, Some(true), &mut names, 0) {
            let what = format!(
                "`{KEY}` of the tool `{}` {why}; clients drop the tool",
                head(&tool.key)
            );
            notes.add(Conduct::HeaderAnnotation, what);
        }
    }
}

/// `place`: the schema stands where annotations may be (`Some(true)` for the root itself, which may not have one).
fn walk(
    schema: &Value,
    place: Option<bool>,
    names: &mut HashSet<String>,
    depth: usize,
) -> Result<(), &'static str> {
    if depth > JSON_DEPTH {
        return Ok(());
    }
    match schema {
        Value::Object(members) => {
            if let Some(annotation) = members.get(KEY) {
                annotated(annotation, members.get("type"), place, names)?;
            }
            for (name, member) in members {
                match member {
                    Value::Object(properties) if name == "properties" => {
                        for property in properties.values() {
                            walk(property, place.map(|_| false), names, depth + 2)?;
                        }
                    }
                    // An example or a constant is no schema.
                    _ if matches!(name.as_str(), "const" | "default" | "enum" | "examples") => {}
                    _ => walk(member, None, names, depth + 1)?,
                }
            }
            Ok(())
        }
        Value::Array(entries) => {
            let mut each = entries.iter();
            each.try_for_each(|entry| walk(entry, None, names, depth + 1))
        }
        _ => Ok(()),
    }
}

fn annotated(
    annotation: &Value,
    kind: Option<&Value>,
    place: Option<bool>,
    names: &mut HashSet<String>,
) -> Result<(), &'static str> {
    if place != Some(false) {
        return Err("is not on a property reached through `properties`");
    }
    let name = annotation.as_str().unwrap_or_default();
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if name.is_empty() || !name.bytes().all(token) {
        return Err("is no name of a header");
    }
    if !matches!(
        kind.and_then(Value::as_str),
        Some("string" | "integer" | "boolean")
    ) {
        return Err("is on a property that is no text, integer or boolean");
    }
    if names.insert(name.to_ascii_lowercase()) {
        Ok(())
    } else {
        Err("names a header twice")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn annotations_that_break_the_rules_are_told() {
        let of = |schema: Value| walk(&schema, Some(true), &mut HashSet::new(), 0).err();
        let property = |name: &str, kind: &str| json!({"type": kind, KEY: name});
        assert_eq!(of(json!({"properties": {"a": property("X-A", "string")}})), None);
        let nested = json!({"properties": {"a": {"properties": {"b": property("B", "integer")}}}});
        assert_eq!(of(nested), None);
        let wrong = [
            json!({KEY: "X"}),
            json!({"properties": {"a": property("", "string")}}),
            json!({"properties": {"a": property("a b", "string")}}),
            json!({"properties": {"a": property("A", "number")}}),
            json!({"properties": {"a": property("A", "string"), "b": property("a", "string")}}),
            json!({"properties": {"a": {"items": property("A", "string")}}}),
            json!({"anyOf": [{"properties": {"a": property("A", "string")}}]}),
        ];
        for schema in wrong {
            assert!(of(schema.clone()).is_some(), "{schema}");
        }
        assert_eq!(of(json!({"examples": [{KEY: ""}]})), None);
    }
}

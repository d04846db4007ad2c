//! A tool in the forms model providers take.

use serde_json::{Map, Value, json};

use super::quoted;

/// The form a tool is wanted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportForm {
    /// As the server declares it.
    Mcp,
    /// A function of `OpenAI`'s chat completions.
    OpenAi,
    /// A tool of Anthropic's messages.
    Anthropic,
}

impl ExportForm {
    /// Reads the word of a URL.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "mcp" => Some(Self::Mcp),
            "openai" => Some(Self::OpenAi),
            "anthropic" => Some(Self::Anthropic),
            _ => None,
        }
    }

    /// The word of a URL.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
        }
    }
}

/// A tool made ready for a provider.
#[derive(Clone, Debug, PartialEq)]
pub struct Export {
    pub definition: Value,
    /// Whether the model is held to the schema; only `OpenAI` knows the difference.
    pub strict: Option<bool>,
    /// What was changed, and why it is not strict.
    pub notes: Vec<String>,
}

/// Longest name both providers take.
const NAME_CHARS: usize = 64;
/// Deepest nesting a strict schema may have.
const STRICT_DEPTH: usize = 10;
/// What a strict schema may say; anything else is refused by the provider.
const STRICT_KEYWORDS: [&str; 20] = [
    "type",
    "properties",
    "required",
    "items",
    "enum",
    "const",
    "anyOf",
    "description",
    "title",
    "additionalProperties",
    "$defs",
    "$ref",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "$schema",
];

/// The tool in a form.
pub fn export(tool: &Value, form: ExportForm) -> Export {
    if form == ExportForm::Mcp {
        return Export {
            definition: tool.clone(),
            strict: None,
            notes: Vec::new(),
        };
    }
    let mut notes = Vec::new();
    let text = |key: &str| tool.get(key).and_then(Value::as_str).unwrap_or_default();
    let name = name(text("name"), &mut notes);
    let description = quoted(text("description"), usize::MAX);
    if description != text("description") {
        notes.push("hidden characters of the description are shown as marks".to_owned());
    }
    let mut schema = if let Some(schema @ Value::Object(_)) = tool.get("inputSchema") {
        schema.clone()
    } else {
        notes.push("the tool declares no input schema; it is given an empty one".to_owned());
        json!({"type": "object", "properties": {}})
    };
    if form == ExportForm::Anthropic {
        return Export {
            definition: json!({"name": name, "description": description, "input_schema": schema}),
            strict: None,
            notes,
        };
    }
    let reason = not_strict(&schema, "", 0);
    if reason.is_none() {
        close(&mut schema);
    }
    let strict = reason.is_none();
    notes.extend(reason.map(|reason| format!("not strict: {reason}")));
    let function = json!({
        "name": name, "description": description, "parameters": schema, "strict": strict,
    });
    Export {
        definition: json!({"type": "function", "function": function}),
        strict: Some(strict),
        notes,
    }
}

/// A name both providers take.
fn name(given: &str, notes: &mut Vec<String>) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let plain: String = given
        .chars()
        .map(|c| if allowed(c) { c } else { '_' })
        .take(NAME_CHARS)
        .collect();
    if plain != given {
        notes.push(format!("the name is `{}` at the server", quoted(given, 128)));
    }
    if plain.is_empty() { "_".to_owned() } else { plain }
}

/// Why a schema cannot be strict; none when it can.
fn not_strict(schema: &Value, at: &str, depth: usize) -> Option<String> {
    let place = if at.is_empty() {
        "the schema".to_owned()
    } else {
        format!("`{at}`")
    };
    let Some(schema) = schema.as_object() else {
        return Some(format!("{place} is no object"));
    };
    if depth > STRICT_DEPTH {
        return Some(format!("{place} is nested deeper than {STRICT_DEPTH}"));
    }
    if let Some(other) = schema.keys().find(|key| !STRICT_KEYWORDS.contains(&key.as_str())) {
        return Some(format!("{place} uses `{}`", quoted(other, 40)));
    }
    if at.is_empty() && schema.contains_key("anyOf") {
        return Some("the schema is a choice of several".to_owned());
    }
    if schema
        .get("$ref")
        .and_then(Value::as_str)
        .is_some_and(|to| !to.starts_with('#'))
    {
        return Some(format!("{place} refers to another document"));
    }
    let is_object = schema.get("type").is_some_and(|kind| kind == "object");
    if is_object || schema.contains_key("properties") {
        match schema.get("additionalProperties") {
            None | Some(Value::Bool(false)) => {}
            Some(_) => return Some(format!("{place} allows members that are not named")),
        }
    }
    if !is_object
        && !["type", "enum", "const", "anyOf", "$ref"]
            .iter()
            .any(|key| schema.contains_key(*key))
    {
        return Some(format!("{place} does not say its type"));
    }
    below(schema, at, depth)
}

fn below(schema: &Map<String, Value>, at: &str, depth: usize) -> Option<String> {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let members = schema.get("properties").and_then(Value::as_object);
    for (name, member) in members.into_iter().flatten() {
        let at = format!("{at}/{}", quoted(name, 40));
        if !required.contains(&name.as_str()) {
            return Some(format!("`{at}` is optional"));
        }
        if let Some(reason) = not_strict(member, &at, depth + 1) {
            return Some(reason);
        }
    }
    let defs = schema.get("$defs").and_then(Value::as_object);
    let choices = schema.get("anyOf").and_then(Value::as_array);
    let others = defs
        .into_iter()
        .flat_map(Map::values)
        .chain(choices.into_iter().flatten())
        .chain(schema.get("items"));
    for other in others {
        if let Some(reason) = not_strict(other, &format!("{at}/…"), depth + 1) {
            return Some(reason);
        }
    }
    None
}

/// Says of every object that it has no other members, as strict schemas must.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            members.remove("$schema");
            let is_object = members.get("type").is_some_and(|kind| kind == "object");
            if is_object || members.get("properties").is_some_and(Value::is_object) {
                members.insert("additionalProperties".into(), json!(false));
                members.entry("properties").or_insert_with(|| json!({}));
                members.entry("required").or_insert_with(|| json!([]));
            }
            for (key, value) in members.iter_mut() {
                match key.as_str() {
                    "properties" | "$defs" => {
                        let below = value.as_object_mut().into_iter();
                        below.flat_map(Map::values_mut).for_each(close);
                    }
                    "items" | "anyOf" => close(value),
                    _ => {}
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(schema: &Value) -> Value {
        json!({"name": "a.b", "description": "Does\u{200b} it", "inputSchema": schema})
    }

    #[test]
    fn a_schema_whose_members_are_all_required_is_strict() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "object", "properties": {}}}, "required": ["a"]});
        let made = export(&tool(&schema), ExportForm::OpenAi);
        assert_eq!(made.strict, Some(true));
        let function = &made.definition["function"];
        assert_eq!(function["name"], "a_b");
        assert_eq!(function["description"], "Does[U+200B] it");
        assert_eq!(function["parameters"]["additionalProperties"], false);
        assert_eq!(
            function["parameters"]["properties"]["a"]["additionalProperties"],
            false
        );
        assert_eq!(made.notes.len(), 2);
    }

    #[test]
    fn what_is_in_the_way_of_strict_is_said() {
        for (schema, reason) in [
            (
                json!({"type": "object", "properties": {"a": {"type": "string"}}}),
                "`/a` is optional",
            ),
            (json!({"type": "object", "oneOf": []}), "the schema uses `oneOf`"),
            (
                json!({"type": "object", "additionalProperties": true}),
                "members that are not named",
            ),
            (
                json!({"type": "object", "properties": {"a": {}}, "required": ["a"]}),
                "does not say its type",
            ),
            (
                json!({"type": "object", "properties": {"a": {"$ref": "https://x/y"}}, "required": ["a"]}),
                "another document",
            ),
        ] {
            let made = export(&tool(&schema), ExportForm::OpenAi);
            assert_eq!(made.strict, Some(false), "{schema}");
            assert!(
                made.notes.iter().any(|note| note.contains(reason)),
                "{:?}",
                made.notes
            );
            assert_eq!(made.definition["function"]["parameters"], schema);
        }
    }

    #[test]
    fn mcp_is_the_definition_as_it_is_and_anthropic_has_its_own_names() {
        let schema = json!({"type": "object"});
        assert_eq!(export(&tool(&schema), ExportForm::Mcp).definition, tool(&schema));
        let made = export(&json!({"name": "é"}), ExportForm::Anthropic);
        assert_eq!(made.definition["name"], "_");
        assert_eq!(made.definition["input_schema"]["type"], "object");
        for word in ["mcp", "openai", "anthropic"] {
            assert_eq!(ExportForm::parse(word).unwrap().as_str(), word);
        }
        assert_eq!(ExportForm::parse("x"), None);
    }
}

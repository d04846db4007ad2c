//! A tool as the index takes it.

use serde_json::Value;

use crate::bounds;
use crate::labels::Labels;

/// One tool of the current version of a server.
#[derive(Clone, Debug, Default)]
pub struct ToolDocument {
    /// `ns/name#tool`; what a hit gives back.
    pub id: String,
    /// The server's name, `ns/name`; tools of one server share it.
    pub server: String,
    /// What a person calls the server.
    pub server_title: String,
    /// What the server says it is for.
    pub server_description: String,
    /// The tool's name.
    pub name: String,
    /// The tool's title.
    pub title: Option<String>,
    /// What the tool says it does.
    pub description: String,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// How well its origin is proved; more is better. Breaks ties, and decides which copy of a family is shown.
    pub trust: u8,
    /// When it was first seen, in any unit that grows; the older of two equal copies is the original.
    pub first_seen: u64,
    /// When it last changed, in the same unit.
    pub changed: u64,
    /// What it is filtered and counted by.
    pub labels: Labels,
}

/// A parameter of a tool.
#[derive(Clone, Debug, Default)]
pub struct Parameter {
    pub name: String,
    pub description: String,
    /// The JSON type, where one is named.
    pub kind: String,
    pub required: bool,
}

impl ToolDocument {
    /// The parameters of an input schema, as many as count. A schema that is none gives none.
    pub fn parameters_of(schema: &Value) -> Vec<Parameter> {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            return Vec::new();
        };
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .map(|names| names.iter().take(1000).filter_map(Value::as_str).collect())
            .unwrap_or_default();
        properties
            .iter()
            .take(bounds::PARAMETERS)
            .map(|(name, about)| Parameter {
                name: cut(name, bounds::NAME_CHARS),
                description: cut(text_of(about, "description"), bounds::PARAMETER_CHARS),
                kind: cut(text_of(about, "type"), 16),
                required: required.contains(&name.as_str()),
            })
            .collect()
    }
}

fn text_of<'a>(about: &'a Value, key: &str) -> &'a str {
    about.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn cut(text: &str, chars: usize) -> String {
    text.chars().take(chars).collect()
}

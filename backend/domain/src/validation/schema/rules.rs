//! What the published schemas say of each object, written once for all dates.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::super::findings::Findings;
use super::super::gate::{is_server_name, is_sha256};
use super::super::place::{Place, short};
use super::super::uri::is_uri;
use super::super::{IssueKind, Severity};
use super::{SCHEMA_BASE, Schema};
use crate::limits::{DESCRIPTION_CHARS, SERVER_NAME_CHARS, TITLE_CHARS, VERSION_CHARS};
use crate::record::{OFFICIAL_META, PUBLISHER_META};

/// Checks `document` against a schema.
pub(in crate::validation) fn check(schema: &'static Schema, document: &Value, out: &mut Findings) {
    Walk { schema, out }.server(document);
}

struct Walk<'a> {
    schema: &'static Schema,
    out: &'a mut Findings,
}

/// An object under check.
struct Object<'a> {
    place: &'a Place<'a>,
    map: &'a Map<String, Value>,
    definition: &'static str,
}

impl<'a> Object<'a> {
    fn get(&self, key: &'a str) -> Option<(Place<'a>, &'a Value)> {
        Some((self.place.field(key), self.map.get(key)?))
    }
}

impl Walk<'_> {
    fn add(&mut self, place: &Place<'_>, definition: &str, message: impl FnOnce() -> String) {
        let date = self.schema.date;
        let reference = || format!("{SCHEMA_BASE}{date}/server.schema.json#/definitions/{definition}");
        self.out
            .add(IssueKind::Schema, Severity::Error, place, reference, message);
    }

    /// The name a field has in this schema.
    fn key(&self, name: &'static str) -> Cow<'static, str> {
        if !self.schema.snake_case || name.starts_with('_') {
            return Cow::Borrowed(name);
        }
        let mut snake = String::with_capacity(name.len() + 2);
        for c in name.chars() {
            if c.is_ascii_uppercase() {
                snake.push('_');
            }
            snake.push(c.to_ascii_lowercase());
        }
        Cow::Owned(snake)
    }

    fn open<'a>(
        &mut self,
        place: &'a Place<'a>,
        value: &'a Value,
        definition: &'static str,
        required: &[&'static str],
    ) -> Option<Object<'a>> {
        let Value::Object(map) = value else {
            self.mistyped(place, definition, value, "object");
            return None;
        };
        let missing: Vec<_> = required
            .iter()
            .map(|name| self.key(name))
            .filter(|key| !map.contains_key(key.as_ref()))
            .map(|key| format!("'{key}'"))
            .collect();
        if !missing.is_empty() {
            self.add(place, definition, || {
                format!("missing required fields: {}", missing.join(", "))
            });
        }
        Some(Object {
            place,
            map,
            definition,
        })
    }

    fn mistyped(&mut self, place: &Place<'_>, definition: &str, value: &Value, expected: &str) {
        let got = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        self.add(place, definition, || {
            format!("expected {expected}, but got {got}")
        });
    }

    fn text(&mut self, object: &Object<'_>, name: &'static str) {
        self.text_that(object, name, |_| None);
    }

    /// A text field and what else is wanted of it.
    fn text_that(
        &mut self,
        object: &Object<'_>,
        name: &'static str,
        wrong: impl FnOnce(&str) -> Option<String>,
    ) {
        let key = self.key(name);
        let Some((place, value)) = object.get(&key) else {
            return;
        };
        let Value::String(text) = value else {
            self.mistyped(&place, object.definition, value, "string");
            return;
        };
        if let Some(message) = wrong(text) {
            self.add(&place, object.definition, || message);
        }
    }

    fn flag(&mut self, object: &Object<'_>, name: &'static str) {
        let key = self.key(name);
        if let Some((place, value)) = object.get(&key)
            && !value.is_boolean()
        {
            self.mistyped(&place, object.definition, value, "boolean");
        }
    }

    fn list(
        &mut self,
        object: &Object<'_>,
        name: &'static str,
        mut item: impl FnMut(&mut Self, &Place<'_>, &Value),
    ) {
        let key = self.key(name);
        let Some((place, value)) = object.get(&key) else {
            return;
        };
        let Value::Array(items) = value else {
            self.mistyped(&place, object.definition, value, "array");
            return;
        };
        for (index, value) in items.iter().enumerate() {
            item(self, &place.item(index), value);
        }
    }

    fn server(&mut self, document: &Value) {
        let root = Place::Root;
        let required = ["name", "description", "version"];
        let Some(server) = self.open(&root, document, "ServerDetail", &required) else {
            return;
        };
        self.text_that(&server, "$schema", uri);
        self.meta(&server);
        self.text_that(&server, "name", |text| {
            length(text, SERVER_NAME_CHARS.0, SERVER_NAME_CHARS.1)
                .or_else(|| pattern(is_server_name(text), "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$"))
        });
        self.text_that(&server, "description", |text| length(text, 1, DESCRIPTION_CHARS));
        self.text_that(&server, "version", |text| length(text, 0, VERSION_CHARS));
        self.text_that(&server, "websiteUrl", uri);
        if self.schema.registry_fields {
            self.text_that(&server, "status", |text| {
                one_of(text, &["active", "deprecated", "deleted"])
            });
        }
        if let Some((place, value)) = server.get("repository") {
            self.repository(&place, value);
        }
        if self.schema.presentation {
            self.text_that(&server, "title", |text| length(text, 1, TITLE_CHARS));
            self.list(&server, "icons", Self::icon);
        }
        self.list(&server, "packages", Self::package);
        self.list(&server, "remotes", Self::remote);
    }

    fn meta(&mut self, server: &Object<'_>) {
        let Some((place, value)) = server.get("_meta") else {
            return;
        };
        let Some(meta) = self.open(&place, value, "ServerDetail", &[]) else {
            return;
        };
        let official = self.schema.registry_fields.then_some(OFFICIAL_META);
        for key in [PUBLISHER_META].into_iter().chain(official) {
            if let Some((place, value)) = meta.get(key) {
                self.open(&place, value, "ServerDetail", &[]);
            }
        }
    }

    fn repository(&mut self, place: &Place<'_>, value: &Value) {
        let Some(repository) = self.open(place, value, "Repository", &["url", "source"]) else {
            return;
        };
        self.text_that(&repository, "url", uri);
        for name in ["source", "id", "subfolder"] {
            self.text(&repository, name);
        }
    }

    fn icon(&mut self, place: &Place<'_>, value: &Value) {
        let Some(icon) = self.open(place, value, "Icon", &["src"]) else {
            return;
        };
        self.text_that(&icon, "src", |text| length(text, 0, 255).or_else(|| uri(text)));
        self.text_that(&icon, "mimeType", |text| {
            let types = [
                "image/png",
                "image/jpeg",
                "image/jpg",
                "image/svg+xml",
                "image/webp",
            ];
            one_of(text, &types)
        });
        self.text_that(&icon, "theme", |text| one_of(text, &["light", "dark"]));
        self.list(&icon, "sizes", |walk, place, value| match value {
            Value::String(text) if is_size(text) => {}
            Value::String(_) => walk.add(place, "Icon", || {
                "does not match pattern '^(\\d+x\\d+|any)$'".to_owned()
            }),
            _ => walk.mistyped(place, "Icon", value, "string"),
        });
    }

    fn package(&mut self, place: &Place<'_>, value: &Value) {
        let required: &[_] = if self.schema.closed_packages {
            &["registryType", "identifier", "version", "transport"]
        } else {
            &["registryType", "identifier", "transport"]
        };
        let Some(package) = self.open(place, value, "Package", required) else {
            return;
        };
        if self.schema.closed_packages {
            self.no_other_fields(&package);
        }
        for name in ["registryType", "identifier", "runtimeHint"] {
            self.text(&package, name);
        }
        self.text_that(&package, "registryBaseUrl", uri);
        self.text_that(&package, "version", |text| {
            let reserved = || (text == "latest").then(|| "must not be 'latest'".to_owned());
            length(text, 1, usize::MAX).or_else(reserved)
        });
        self.text_that(&package, "fileSha256", |text| {
            pattern(is_sha256(text), "^[a-f0-9]{64}$")
        });
        if let Some((place, value)) = package.get("transport") {
            let kinds = ["stdio", "streamable-http", "sse"];
            self.transport(&place, value, "Package", &kinds);
        }
        self.list(&package, "runtimeArguments", Self::argument);
        self.list(&package, "packageArguments", Self::argument);
        self.list(&package, "environmentVariables", Self::key_value);
    }

    fn no_other_fields(&mut self, package: &Object<'_>) {
        const FIELDS: [&str; 10] = [
            "registryType",
            "registryBaseUrl",
            "identifier",
            "version",
            "fileSha256",
            "runtimeHint",
            "transport",
            "runtimeArguments",
            "packageArguments",
            "environmentVariables",
        ];
        let fields = FIELDS.map(|name| self.key(name));
        for key in package.map.keys() {
            if !fields.iter().any(|field| field == key) {
                self.add(&package.place.field(key), "Package", || {
                    "additional field is not allowed".to_owned()
                });
            }
        }
    }

    /// A transport is one of several kinds, told apart by `type`.
    fn transport(&mut self, place: &Place<'_>, value: &Value, parent: &'static str, kinds: &[&'static str]) {
        let Some(any) = self.open(place, value, parent, &["type"]) else {
            return;
        };
        let kind = any.map.get("type").and_then(Value::as_str).unwrap_or_default();
        let definition = match kind {
            _ if !kinds.contains(&kind) => {
                return self.text_that(&any, "type", |text| one_of(text, kinds));
            }
            "stdio" => return,
            "sse" => "SseTransport",
            _ => "StreamableHttpTransport",
        };
        let Some(transport) = self.open(place, value, definition, &["url"]) else {
            return;
        };
        if self.schema.url_templates {
            self.text_that(&transport, "url", |text| {
                pattern(is_web_template(text), "^https?://[^\\s]+$")
            });
        } else if kind == "sse" {
            self.text_that(&transport, "url", uri);
        } else {
            self.text(&transport, "url");
        }
        self.list(&transport, "headers", Self::key_value);
    }

    fn remote(&mut self, place: &Place<'_>, value: &Value) {
        self.transport(place, value, "ServerDetail", &["streamable-http", "sse"]);
        if self.schema.url_templates
            && let Value::Object(map) = value
        {
            let definition = "RemoteTransport";
            self.variables(&Object {
                place,
                map,
                definition,
            });
        }
    }

    fn argument(&mut self, place: &Place<'_>, value: &Value) {
        let Some(any) = self.open(place, value, "Argument", &["type"]) else {
            return;
        };
        let kind = any.map.get("type").and_then(Value::as_str).unwrap_or_default();
        let (definition, required): (_, &[_]) = match kind {
            "named" => ("NamedArgument", &["name"]),
            "positional" => ("PositionalArgument", &[]),
            _ => return self.text_that(&any, "type", |text| one_of(text, &["positional", "named"])),
        };
        let Some(argument) = self.open(place, value, definition, required) else {
            return;
        };
        self.flag(&argument, "isRepeated");
        if kind == "named" {
            self.text(&argument, "name");
        } else {
            let hint = self.key("valueHint");
            if !argument.map.contains_key(hint.as_ref()) && !argument.map.contains_key("value") {
                self.add(place, definition, || {
                    format!("missing required fields: '{hint}' or 'value'")
                });
            }
            self.text(&argument, "valueHint");
        }
        self.input(&argument);
        self.variables(&argument);
    }

    fn key_value(&mut self, place: &Place<'_>, value: &Value) {
        if let Some(input) = self.open(place, value, "KeyValueInput", &["name"]) {
            self.text(&input, "name");
            self.input(&input);
            self.variables(&input);
        }
    }

    fn variables(&mut self, object: &Object<'_>) {
        let Some((place, value)) = object.get("variables") else {
            return;
        };
        let Some(variables) = self.open(&place, value, object.definition, &[]) else {
            return;
        };
        for (key, value) in variables.map {
            if let Some(input) = self.open(&place.field(key), value, "Input", &[]) {
                self.input(&input);
            }
        }
    }

    fn input(&mut self, input: &Object<'_>) {
        for name in ["description", "value", "default"] {
            self.text(input, name);
        }
        if self.schema.presentation {
            self.text(input, "placeholder");
        }
        for name in ["isRequired", "isSecret"] {
            self.flag(input, name);
        }
        self.text_that(input, "format", |text| {
            one_of(text, &["string", "number", "boolean", "filepath"])
        });
        let definition = input.definition;
        self.list(input, "choices", |walk, place, value| {
            if !value.is_string() {
                walk.mistyped(place, definition, value, "string");
            }
        });
    }
}

fn length(text: &str, least: usize, most: usize) -> Option<String> {
    let chars = text.chars().count();
    if chars < least {
        return Some(format!("length must be >= {least}, but got {chars}"));
    }
    (chars > most).then(|| format!("length must be <= {most}, but got {chars}"))
}

fn pattern(matches: bool, pattern: &str) -> Option<String> {
    (!matches).then(|| format!("does not match pattern '{pattern}'"))
}

fn uri(text: &str) -> Option<String> {
    (!is_uri(text)).then(|| format!("'{}' has invalid format 'uri'", short(text)))
}

fn one_of(text: &str, words: &[&str]) -> Option<String> {
    (!words.contains(&text)).then(|| format!("value must be one of '{}'", words.join("', '")))
}

fn is_size(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    text == "any"
        || text
            .split_once('x')
            .is_some_and(|(width, height)| digits(width) && digits(height))
}

fn is_web_template(text: &str) -> bool {
    text.strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"))
        .is_some_and(|rest| !rest.is_empty() && !rest.contains([' ', '\t', '\n', '\r', '\x0c']))
}

#[cfg(test)]
mod tests {
    use super::super::KNOWN;
    use super::*;

    #[test]
    fn old_names_are_derived() {
        let mut findings = Findings::default();
        let walk = Walk {
            schema: &KNOWN[0],
            out: &mut findings,
        };
        for (name, old) in [
            ("isRequired", "is_required"),
            ("fileSha256", "file_sha256"),
            ("registryBaseUrl", "registry_base_url"),
            ("websiteUrl", "website_url"),
            ("name", "name"),
            ("$schema", "$schema"),
            ("_meta", "_meta"),
        ] {
            assert_eq!(walk.key(name), old);
        }
    }
}

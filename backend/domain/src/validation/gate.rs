//! The HTTP gate: what a body must be before anything else is looked at. Words, order and verdicts are upstream's;
//! where they leave the reader alone (lengths, old key names) the message goes on.

use serde_json::{Map, Value};

use super::FieldError;
use super::place::{Place, short};
use super::shape::{Field, Form, Kind, Need, Object, SERVER, Text};
use super::uri::Url;
use crate::limits::VALIDATION_ISSUES;
use crate::record::PUBLISHER_META;

/// Everything the gate has against `document`.
pub(super) fn gate(document: &Value) -> Vec<FieldError> {
    let mut gate = Gate::default();
    gate.object(&Place::Field(&Place::Root, "body"), document, &SERVER);
    gate.finish()
}

const MISSING: &str = "expected required property ";
const TO_BE_PRESENT: &str = " to be present";

/// The key an error says is missing. Its location is the object around it, as upstream's.
pub(super) fn missing(message: &str) -> Option<&str> {
    message.strip_prefix(MISSING)?.strip_suffix(TO_BE_PRESENT)
}

#[derive(Default)]
struct Gate {
    errors: Vec<FieldError>,
    left_out: usize,
}

impl Gate {
    fn add(&mut self, place: &Place<'_>, value: Option<&Value>, message: impl Into<String>) {
        if self.errors.len() == VALIDATION_ISSUES {
            self.left_out += 1;
            return;
        }
        self.errors.push(FieldError {
            message: message.into(),
            location: place.to_string(),
            value: value.and_then(shown),
        });
    }

    fn finish(mut self) -> Vec<FieldError> {
        if self.left_out > 0 {
            self.errors.push(FieldError {
                message: format!("{} more errors are not shown", self.left_out),
                location: "body".to_owned(),
                value: None,
            });
        }
        self.errors
    }

    fn check(&mut self, place: &Place<'_>, value: &Value, kind: &'static Kind) {
        match kind {
            Kind::Text(rule) => match value {
                Value::String(text) => self.text(place, value, text, rule),
                _ => self.add(place, Some(value), "expected string"),
            },
            Kind::Flag if value.is_boolean() => {}
            Kind::Flag => self.add(place, Some(value), "expected boolean"),
            Kind::List(kind) => match value {
                Value::Array(items) => {
                    for (index, item) in items.iter().enumerate() {
                        self.check(&place.item(index), item, kind);
                    }
                }
                _ => self.add(place, Some(value), "expected array"),
            },
            Kind::Object(object) => self.object(place, value, object),
            Kind::Map(object) => match value {
                Value::Object(map) => {
                    for (key, value) in map {
                        self.object(&place.field(key), value, object);
                    }
                }
                _ => self.add(place, Some(value), "expected object"),
            },
            Kind::Free if value.is_object() => {}
            Kind::Free => self.add(place, Some(value), "expected object"),
        }
    }

    fn object(&mut self, place: &Place<'_>, value: &Value, object: &'static Object) {
        let Value::Object(map) = value else {
            self.add(place, Some(value), "expected object");
            return;
        };
        let keys = Keys::of(map, object);
        for (field, value) in object.fields.iter().zip(&keys.known) {
            match value {
                None if field.need == Need::Required => {
                    let message = format!("{MISSING}{}{TO_BE_PRESENT}", field.key);
                    self.add(place, None, message);
                }
                None => {}
                Some(Value::Null) if field.need != Need::Required => {}
                Some(value) => self.check(&place.field(field.key), value, &field.kind),
            }
        }
        for key in keys.unexpected {
            self.add(&place.field(key), map.get(key), unexpected(key, map, object));
        }
    }

    fn text(&mut self, place: &Place<'_>, value: &Value, text: &str, rule: &Text) {
        let bounded = rule.least > 0 || rule.most < usize::MAX;
        let chars = if bounded { text.chars().count() } else { 0 };
        if bounded && chars < rule.least {
            let message = format!("expected length >= {}, got {chars}", rule.least);
            self.add(place, Some(value), message);
        }
        if bounded && chars > rule.most {
            let message = format!("expected length <= {}, got {chars}", rule.most);
            self.add(place, Some(value), message);
        }
        match rule.form {
            Form::Any => {}
            Form::ServerName if is_server_name(text) => {}
            Form::ServerName => self.add(
                place,
                Some(value),
                "expected string to match pattern ^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$",
            ),
            Form::Sha256 if is_sha256(text) => {}
            Form::Sha256 => self.add(
                place,
                Some(value),
                "expected string to match pattern ^[a-f0-9]{64}$",
            ),
            Form::Uri => {
                if let Err(error) = Url::parse(text) {
                    let text = short(text);
                    let message = format!("expected string to be RFC 3986 uri: parse {text:?}: {error}");
                    self.add(place, Some(value), message);
                }
            }
            Form::OneOf(words) if words.contains(&text) => {}
            Form::OneOf(words) => {
                let message = format!("expected value to be one of \"{}\"", words.join(", "));
                self.add(place, Some(value), message);
            }
        }
    }
}

/// An object's keys, sorted out: the value of each known field, and what has no business there.
struct Keys<'a> {
    known: Vec<Option<&'a Value>>,
    unexpected: Vec<&'a str>,
}

impl<'a> Keys<'a> {
    fn of(map: &'a Map<String, Value>, object: &'static Object) -> Self {
        let mut known = vec![None; object.fields.len()];
        let mut unexpected = Vec::new();
        for (key, value) in map {
            match object.index_of(key) {
                Some(index) if stands_for(&object.fields[index], key, map) && known[index].is_none() => {
                    known[index] = Some(value);
                }
                _ => unexpected.push(key.as_str()),
            }
        }
        Self { known, unexpected }
    }
}

/// A key in another letter case stands for a field only where the field itself is absent: two keys for one field
/// would be read differently by different readers.
fn stands_for(field: &Field, key: &str, map: &Map<String, Value>) -> bool {
    key == field.key || !map.contains_key(field.key)
}

/// `unexpected property`, and what may have been meant.
fn unexpected(key: &str, map: &Map<String, Value>, object: &'static Object) -> String {
    let meta = object.fields.iter().any(|field| field.key == PUBLISHER_META);
    if meta {
        return format!("unexpected property, only `{PUBLISHER_META}` can be published");
    }
    match nearest(key, object) {
        Some(field) if object.index_of(key).is_some() && map.len() > 1 => {
            format!("unexpected property, `{field}` is given already")
        }
        Some(field) => format!("unexpected property, did you mean `{field}`?"),
        None => "unexpected property".to_owned(),
    }
}

/// Longest key worth comparing.
const KEY_BYTES: usize = 64;

fn nearest(key: &str, object: &'static Object) -> Option<&'static str> {
    if key.len() > KEY_BYTES {
        return None;
    }
    let plain = key.replace(['_', '-'], "");
    let keys = || object.fields.iter().map(|field| field.key);
    keys()
        .find(|field| field.eq_ignore_ascii_case(&plain))
        .or_else(|| keys().find(|field| strsim::normalized_levenshtein(field, &plain) >= 0.75))
}

/// The pattern of a name; its length is checked apart.
pub(super) fn is_server_name(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-');
    text.split_once('/').is_some_and(|(namespace, name)| {
        !namespace.is_empty()
            && !name.is_empty()
            && namespace.bytes().all(plain)
            && name.bytes().all(|b| plain(b) || b == b'_')
    })
}

pub(super) fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// The value as an error repeats it: small ones only.
fn shown(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) => Some(Value::String(short(text))),
        Value::Array(_) | Value::Object(_) => None,
        _ => Some(value.clone()),
    }
}

//! The settings file: bounded, strict TOML, each value with its line.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use serde_json::{Map, Number, Value};
use toml_edit::{Document, Item, TableLike};
use toolmark_domain::limits::SETTINGS_BYTES;

use super::sections::Settings;
use super::sources::Problem;

/// A value found in the file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    /// `section.key` as far as the file goes; a lone word when a value stands outside every section.
    pub(super) name: String,
    pub(super) value: Value,
    pub(super) line: usize,
}

/// Reads the text of the file at `path`.
pub(super) fn read(path: &Path) -> Result<String, Problem> {
    let shown = path.display();
    let unreadable = |error: std::io::Error| Problem::new(format!("cannot read `{shown}`: {error}"));
    let mut text = String::new();
    File::open(path)
        .map_err(unreadable)?
        .take(SETTINGS_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    if text.len() as u64 > SETTINGS_BYTES {
        return Err(Problem::new(format!(
            "`{shown}` is larger than {SETTINGS_BYTES} bytes"
        )));
    }
    Ok(text)
}

/// The values of the file, in its order.
pub(super) fn entries(path: &Path, text: &str) -> Result<Vec<Entry>, Problem> {
    let document = Document::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(text, span.start));
        Problem::new(format!("{}:{line}: {}", path.display(), error.message()))
    })?;
    let mut entries = Vec::new();
    for (section, item) in document.iter() {
        match item.as_table_like() {
            Some(table) if !table.is_empty() => collect(text, section, table, &mut entries),
            Some(_) if is_section(section) => {}
            _ => entries.push(Entry {
                name: section.to_owned(),
                value: json(item),
                line: line_in(text, document.as_table(), section),
            }),
        }
    }
    Ok(entries)
}

/// An empty table is no mistake unless it has the name of none of ours.
fn is_section(name: &str) -> bool {
    Settings::default()
        .sections()
        .iter()
        .any(|section| section.name() == name)
}

fn collect(text: &str, section: &str, table: &dyn TableLike, entries: &mut Vec<Entry>) {
    for (key, item) in table.iter() {
        entries.push(Entry {
            name: format!("{section}.{key}"),
            value: json(item),
            line: line_in(text, table, key),
        });
    }
}

fn line_in(text: &str, table: &dyn TableLike, key: &str) -> usize {
    let found = table.get_key_value(key);
    let span = found.and_then(|(key, item)| key.span().or_else(|| item.span()));
    span.map_or(1, |span| line_of(text, span.start))
}

fn line_of(text: &str, offset: usize) -> usize {
    text.get(..offset).unwrap_or_default().matches('\n').count() + 1
}

/// A TOML value as JSON. Dates become text, which no setting takes for anything else.
fn json(item: &Item) -> Value {
    if let Some(table) = item.as_table_like() {
        let fields = table.iter().map(|(key, item)| (key.to_owned(), json(item)));
        return Value::Object(fields.collect::<Map<_, _>>());
    }
    item.as_value().map_or(Value::Null, json_value)
}

fn json_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => Value::from(text.value().as_str()),
        toml_edit::Value::Integer(number) => Value::from(*number.value()),
        toml_edit::Value::Float(number) => {
            Number::from_f64(*number.value()).map_or(Value::Null, Value::Number)
        }
        toml_edit::Value::Boolean(truth) => Value::from(*truth.value()),
        toml_edit::Value::Datetime(date) => Value::from(date.value().to_string()),
        toml_edit::Value::Array(items) => items.iter().map(json_value).collect(),
        toml_edit::Value::InlineTable(table) => {
            let fields = table
                .iter()
                .map(|(key, value)| (key.to_owned(), json_value(value)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
    }
}

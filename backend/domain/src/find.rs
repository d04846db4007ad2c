//! `find_tools`: what is asked, what a found tool is, and the answer packed to a budget of model tokens.

mod ask;
mod export;
mod pack;

use std::fmt::Write as _;

use serde_json::Value;

use crate::digest::Digest;
use crate::rules::characters;
use crate::status::Status;
use crate::timestamp::Timestamp;

pub use ask::{AskError, Detail, FindAsk, FindFilters};
pub use export::{Export, ExportForm, export};
pub use pack::{Answer, Need, NoteFacts, pack};

/// Name of the answer's form.
pub const SCHEMA: &str = "toolmark.find/1";

/// A tool of the current version of a server, with what is known of it.
#[derive(Clone, Debug, Default)]
pub struct FoundTool {
    /// `ns/name#tool`.
    pub id: String,
    pub server: String,
    pub name: String,
    pub title: Option<String>,
    pub description: String,
    /// The definition as received.
    pub definition: Value,
    /// `exact`, `strong` or `weak`.
    pub strength: &'static str,
    /// Words of the request the tool has, heaviest first, and in which fields.
    pub why: Vec<(String, Vec<&'static str>)>,
    pub version: String,
    pub status: Option<Status>,
    /// `npm:NAME@V` and the like, or the URL of a remote.
    pub run: Option<Run>,
    /// `verified`, `unsigned`, …; none while it was not checked.
    pub verdict: Option<String>,
    pub manifest: Option<Digest>,
    pub digest: Option<Digest>,
    pub first_seen: Option<Timestamp>,
    pub changed: Option<Timestamp>,
    /// Open findings of high or critical severity.
    pub high_findings: usize,
    /// Copies folded under this one.
    pub also_in: Vec<String>,
    /// What the definition costs a model.
    pub tokens: usize,
}

/// How a server is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    pub target: String,
    pub transport: String,
}

/// Foreign text for a reader that may be a model: one line where asked, hidden characters as marks `[U+200B]`, cut.
pub fn quoted(text: &str, most_chars: usize) -> String {
    let mut out = String::new();
    for (count, c) in text.chars().enumerate() {
        if count >= most_chars {
            out.push('…');
            break;
        }
        if characters::unseen(c) {
            let _ = write!(out, "[U+{:04X}]", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// The first sentence or line of a description, as far as it says what the tool does.
pub fn summary(description: &str, most_chars: usize) -> String {
    let flat: Vec<&str> = description.split_whitespace().collect();
    let flat = flat.join(" ");
    let end = flat
        .match_indices(". ")
        .map(|(at, _)| at + 1)
        .find(|at| *at >= 24);
    quoted(&flat[..end.unwrap_or(flat.len())], most_chars)
}

/// The same value with the hidden characters of every text and key as marks.
pub(crate) fn without_hidden(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(quoted(text, usize::MAX)),
        Value::Array(items) => items.iter().map(without_hidden).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| (quoted(key, usize::MAX), without_hidden(value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_become_marks_and_long_text_is_cut() {
        assert_eq!(
            quoted("a\u{200b}b\u{202e}c\u{e0041}", 9),
            "a[U+200B]b[U+202E]c[U+E0041]"
        );
        assert_eq!(quoted("abcdef", 3), "abc…");
        assert_eq!(quoted("abc", 3), "abc");
        let schema = serde_json::json!({"p\u{200b}": ["x\u{feff}"]});
        assert_eq!(
            without_hidden(&schema),
            serde_json::json!({"p[U+200B]": ["x[U+FEFF]"]})
        );
    }

    #[test]
    fn a_summary_is_the_first_sentence() {
        assert_eq!(
            summary("Reads a file from the disk.  Use it often.", 100),
            "Reads a file from the disk."
        );
        assert_eq!(
            summary("E.g. a tool that reads. More", 100),
            "E.g. a tool that reads. More"
        );
        assert_eq!(summary("Reads\n\n  it", 100), "Reads it");
        assert_eq!(summary("", 10), "");
    }
}

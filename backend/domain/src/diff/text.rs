//! How two texts differ: in spelling, in a few words, or in what they say.

use std::collections::HashMap;

use serde_json::Value;

use crate::finding::{Finding, Label, Place};
use crate::manifest::plain;

/// How far apart two texts are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Distance {
    /// White space, case, punctuation.
    Spelling,
    /// A few words, none of which turns the sense.
    Words,
    /// Sentences were added and none was taken away.
    More,
    /// Anything else.
    Sense,
}

fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// Words whose coming or going turns the sense of a sentence.
const TURNING: [&str; 22] = [
    "not",
    "no",
    "never",
    "only",
    "always",
    "must",
    "all",
    "any",
    "without",
    "except",
    "deprecated",
    "delete",
    "write",
    "read",
    "required",
    "optional",
    "absolute",
    "relative",
    "default",
    "true",
    "false",
    "instead",
];

/// Headings of parts that repeat what the schema says or tell how calls fail.
const REPEATING: [&str; 6] = [
    "args:",
    "arguments:",
    "parameters:",
    "raises:",
    "returns:",
    "error responses:",
];

/// The part of a description before such headings.
fn sense(text: &str) -> &str {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if REPEATING.contains(&line.trim().to_lowercase().as_str()) {
            return &text[..at];
        }
        at += line.len();
    }
    text
}

pub(super) fn distance(old: &str, new: &str) -> Distance {
    if words(old) == words(new) {
        return Distance::Spelling;
    }
    let (before, after) = (words(sense(old)), words(sense(new)));
    if before == after {
        return Distance::Words;
    }
    let mut counts: HashMap<&str, i64> = HashMap::new();
    for word in &before {
        *counts.entry(word).or_default() += 1;
    }
    for word in &after {
        *counts.entry(word).or_default() -= 1;
    }
    let gone: i64 = counts.values().filter(|n| **n > 0).sum();
    let come: i64 = -counts.values().filter(|n| **n < 0).sum::<i64>();
    let edits = gone.max(come);
    let turning = TURNING
        .iter()
        .any(|word| counts.get(word).is_some_and(|n| *n != 0));
    let length = i64::try_from(before.len().max(after.len())).unwrap_or(i64::MAX);
    let numbers = counts
        .iter()
        .any(|(word, n)| *n != 0 && word.chars().any(|c| c.is_ascii_digit()));
    if edits <= 3 && !turning && !numbers && edits * 4 <= length.max(8) {
        return Distance::Words;
    }
    if gone == 0 || (gone <= 2 && !turning && come > gone * 3) {
        return Distance::More;
    }
    Distance::Sense
}

/// Has a word come or gone that makes a value mean something else?
pub(super) fn turned(old: &str, new: &str) -> bool {
    const WORDS: [&str; 6] = [
        "absolute",
        "relative",
        "deprecated",
        "delete",
        "default",
        "required",
    ];
    let (before, after) = (words(old), words(new));
    let count = |words: &[String], wanted: &str| words.iter().filter(|word| *word == wanted).count();
    WORDS
        .iter()
        .any(|word| count(&before, word) != count(&after, word))
}

/// A finding for a changed text, if it changed. `prose` is false for a title.
pub(super) fn compare(
    place: &Place,
    pointer: &str,
    old: Option<&Value>,
    new: Option<&Value>,
    prose: bool,
) -> Option<Finding> {
    if old == new {
        return None;
    }
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let (before, after) = (text(old), text(new));
    let (rule, said, effect) = match distance(&before, &after) {
        _ if before.is_empty() => ("D03", "a text was added", Label::Cosmetic),
        _ if after.is_empty() => ("D03", "a text was taken away", Label::Cosmetic),
        Distance::Spelling => ("D01", "spelled another way", Label::Cosmetic),
        Distance::Words => ("D02", "a few words changed", Label::Cosmetic),
        _ if !prose => ("D03", "a title changed", Label::Cosmetic),
        Distance::More => ("D03", "the text says more", Label::Compatible),
        Distance::Sense => ("D03", "the text says something else", Label::Semantic),
    };
    let said = if plain(&before) == plain(&after) {
        "only blanks changed"
    } else {
        said
    };
    let found = place.finding(rule, pointer, said.to_owned());
    Some(found.before(old.cloned()).after(new.cloned()).effect(effect))
}

/// A text that grew out of proportion.
pub(super) fn jump(place: &Place, pointer: &str, old: &str, new: &str) -> Option<Finding> {
    let grown = new.len() > 2000 && new.len() > old.len().saturating_mul(4) && !old.is_empty();
    let said = format!("the text grew from {} to {} bytes", old.len(), new.len());
    grown.then(|| place.finding("D20", pointer, said).effect(Label::Cosmetic))
}

/// A place on a machine that a text names.
pub(super) fn environment(place: &Place, pointer: &str, old: &str, new: &str) -> Option<Finding> {
    const ROOTS: [&str; 7] = [
        "/home/",
        "/users/",
        "/srv/",
        "/root/",
        "/tmp/",
        "c:\\users\\",
        "/var/folders/",
    ];
    let names = |text: &str| {
        let lower = text.to_lowercase();
        ROOTS.iter().find_map(|root| lower.find(root))
    };
    let at = names(new).filter(|_| names(old).is_none())?;
    let path: String = new
        .get(at..)?
        .chars()
        .take_while(|c| !c.is_whitespace())
        .take(80)
        .collect();
    let example = [
        "user", "username", "you", "name", "project", "path", "example", "me",
    ];
    if path
        .split(['/', '\\'])
        .nth(2)
        .is_some_and(|part| example.contains(&part.to_lowercase().as_str()))
    {
        return None;
    }
    let found = place.finding("D22", pointer, "the text names a place on a machine".to_owned());
    Some(found.after(Some(Value::String(path))).effect(Label::Cosmetic))
}

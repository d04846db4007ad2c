//! One graded statement of a rule, about a snapshot or about a step between two.

pub mod report;

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use crate::event::Severity;
use crate::limits::FINDING_TEXT_CHARS;
use crate::manifest::{Item, ItemKind};

/// One word for a whole step; the greater one wins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Label {
    /// Nothing that is pinned changed.
    #[default]
    None,
    /// Other words for the same.
    Cosmetic,
    /// More than before; every call that was right still is.
    Compatible,
    /// The same calls mean or do something else.
    Semantic,
    /// A call that was right can fail.
    Breaking,
    /// Text that a person should read before the next use.
    Suspicious,
}

impl Label {
    /// Every label, least first.
    pub const ALL: [Self; 6] = [
        Self::None,
        Self::Cosmetic,
        Self::Compatible,
        Self::Semantic,
        Self::Breaking,
        Self::Suspicious,
    ];

    /// The word in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Cosmetic => "cosmetic",
            Self::Compatible => "compatible",
            Self::Semantic => "semantic",
            Self::Breaking => "breaking",
            Self::Suspicious => "suspicious",
        }
    }
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Subject {
    Server,
    Tool,
    Prompt,
    Resource,
    Template,
    Launch,
    Builder,
}

impl From<ItemKind> for Subject {
    fn from(kind: ItemKind) -> Self {
        match kind {
            ItemKind::Tool => Self::Tool,
            ItemKind::Prompt => Self::Prompt,
            ItemKind::Resource => Self::Resource,
            ItemKind::Template => Self::Template,
        }
    }
}

impl Subject {
    /// The word in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Resource => "resource",
            Self::Template => "template",
            Self::Launch => "launch",
            Self::Builder => "builder",
        }
    }
}

/// A statement of a rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    pub rule: &'static str,
    pub severity: Severity,
    pub kind: Subject,
    /// Name, URI or template of the item; none for the server itself.
    pub key: Option<String>,
    /// The key again where it is a tool's.
    pub tool: Option<String>,
    /// JSON pointer inside the item, or inside the server record.
    pub pointer: String,
    /// What happened, in words a person accepts.
    pub summary: String,
    /// The text or value concerned, as it was.
    pub before: Option<Value>,
    /// The text or value concerned, as it is; hidden characters are written as marks.
    pub after: Option<Value>,
    /// What a change does to callers; `none` for a finding about one snapshot.
    pub effect: Label,
}

/// Where a finding is.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) kind: Subject,
    pub(crate) key: Option<String>,
}

impl Place {
    pub(crate) fn server() -> Self {
        Self {
            kind: Subject::Server,
            key: None,
        }
    }

    pub(crate) fn of(item: &Item) -> Self {
        Self {
            kind: item.kind.into(),
            key: Some(item.key.clone()),
        }
    }

    /// A finding here, with the severity of its rule.
    pub(crate) fn finding(&self, rule: &'static str, pointer: impl Into<String>, summary: String) -> Finding {
        Finding {
            rule,
            severity: crate::rules::rule(rule).severity,
            kind: self.kind,
            key: self.key.clone(),
            tool: self.key.clone().filter(|_| self.kind == Subject::Tool),
            pointer: pointer.into(),
            summary,
            before: None,
            after: None,
            effect: Label::None,
        }
    }
}

impl Finding {
    pub(crate) fn before(mut self, value: Option<Value>) -> Self {
        self.before = value.map(shown);
        self
    }

    pub(crate) fn after(mut self, value: Option<Value>) -> Self {
        self.after = value.map(shown);
        self
    }

    pub(crate) fn effect(mut self, effect: Label) -> Self {
        self.effect = effect;
        self
    }

    pub(crate) fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }
}

/// A value short enough for a finding, texts with marks for what cannot be seen.
fn shown(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(excerpt(&text)),
        Value::Array(_) | Value::Object(_) => {
            let text = value.to_string();
            if text.len() <= FINDING_TEXT_CHARS {
                value
            } else {
                Value::String(excerpt(&text))
            }
        }
        other => other,
    }
}

/// The head of a text, with characters that cannot be seen written as `⟨U+202E⟩`.
pub fn excerpt(text: &str) -> String {
    let mut out = String::new();
    for (count, c) in text.chars().enumerate() {
        if count == FINDING_TEXT_CHARS {
            out.push('…');
            break;
        }
        if crate::rules::characters::unseen(c) {
            let _ = write!(out, "⟨U+{:04X}⟩", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// One step up, critical stays.
pub(crate) fn raised(severity: Severity) -> Severity {
    let all = Severity::ALL;
    let next = all.iter().copied().find(|other| *other > severity);
    next.unwrap_or(Severity::Critical)
}

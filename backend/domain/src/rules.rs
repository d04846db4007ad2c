//! What is judged and how gravely: the entry of every rule. The longer logic is beside this file.
//!
//! An id never changes its meaning. Grades follow what a model or a caller would do differently; `high` and above are
//! rare, because they call a person.

pub(crate) mod characters;
mod classes;
pub(crate) mod copies;
pub(crate) mod form;
pub(crate) mod names;
pub(crate) mod parameters;
pub(crate) mod phrases;
mod table;
pub(crate) mod text;
mod tongues;
pub(crate) mod words;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use serde_json::json;

pub use crate::event::Severity;
pub use names::{KnownNames, skeleton};
pub use table::RULES;

use crate::digest::Digest;

/// One rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Stable for ever.
    pub id: &'static str,
    /// The same in a word.
    pub name: &'static str,
    /// What it weighs where nothing else is said.
    pub severity: Severity,
    /// What it says to people.
    pub says: &'static str,
    /// A snapshot that does not break it.
    pub before: &'static str,
    /// The next one, which does; empty where an example would be too long to show.
    pub after: &'static str,
}

/// The entry of a rule.
pub fn rule(id: &str) -> &'static Rule {
    static BY_ID: LazyLock<HashMap<&str, &Rule>> =
        LazyLock::new(|| RULES.iter().map(|rule| (rule.id, rule)).collect());
    BY_ID.get(id).expect("every finding names a rule of the table")
}

/// Digest of all that decides findings: the table, the phrases and the words. It says whether two findings were made
/// by the same rules, so that a change of ours never looks like a change of a server.
pub fn rule_set() -> Digest {
    static DIGEST: LazyLock<Digest> = LazyLock::new(|| {
        let entries = RULES
            .iter()
            .map(|rule| json!([rule.id, rule.severity, rule.says]));
        let phrases = phrases::PHRASES
            .iter()
            .map(|p| json!([p.rule, p.severity, p.negatable, p.patterns]));
        let all = json!({
            "entries": entries.collect::<Vec<_>>(),
            "phrases": phrases.collect::<Vec<_>>(),
            "classes": classes::CLASSES,
            "revision": REVISION,
        });
        Digest::of(all.to_string().as_bytes())
    });
    *DIGEST
}

/// Raised by hand when logic beside the tables changes what is found.
const REVISION: u32 = 1;

/// The page of all rules, as Markdown.
pub fn markdown() -> String {
    let mut page = String::from("# Rules\n\n");
    let _ = writeln!(
        page,
        "Every finding names one of these rules. Rule set `{}`.\n\n| Rule | Severity | What it says |\n|---|---|---|",
        rule_set()
    );
    for rule in RULES {
        let id = rule.id.to_lowercase();
        let severity = rule.severity.as_str();
        let _ = writeln!(page, "| [{}](#{id}) | {severity} | {} |", rule.id, rule.says);
    }
    for rule in RULES {
        let id = rule.id;
        let _ = writeln!(
            page,
            "\n## {id}\n\n`{}`, {}. {}",
            rule.name,
            rule.severity.as_str(),
            rule.says
        );
        if !rule.after.is_empty() {
            let shown = |text: &str| crate::finding::excerpt(text);
            let _ = writeln!(
                page,
                "\nBefore:\n\n```json\n{}\n```\n\nAfter:\n\n```json\n{}\n```",
                shown(rule.before),
                shown(rule.after)
            );
        }
    }
    page
}

//! What one text says to a model: its characters, its sentences in every reading, its wrappers.

use std::sync::LazyLock;

use super::characters::{self, Hidden};
use super::classes::CLASSES;
use super::copies::{Reading, readings};
use super::phrases::{PHRASES, QUOTING};
use super::words::{Hit, Patterns, Word};
use super::{Severity, tongues};
use crate::finding::{excerpt, raised};
use crate::limits::RULE_TEXT_BYTES;

/// Where a text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spot {
    /// A description or instructions: the place for prose.
    Prose,
    /// A value, a title, a remark: no place for orders.
    Odd,
}

/// What a text was found to do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Alarm {
    pub(crate) rule: &'static str,
    pub(crate) severity: Severity,
    pub(crate) summary: String,
    /// The sentence concerned, hidden characters as marks.
    pub(crate) excerpt: String,
}

struct Engine {
    patterns: Patterns,
    /// For each pattern, its place in [`PHRASES`].
    phrase: Vec<usize>,
    negations: Patterns,
    quoting: Patterns,
}

static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
    let all = PHRASES.iter().enumerate();
    let (phrase, patterns): (Vec<usize>, Vec<&str>) = all
        .flat_map(|(at, phrases)| phrases.patterns.iter().map(move |pattern| (at, *pattern)))
        .unzip();
    let quoting: Vec<&str> = QUOTING.split('|').map(str::trim).collect();
    Engine {
        patterns: Patterns::new(CLASSES, &patterns),
        phrase,
        negations: Patterns::new(CLASSES, &["@neg"]),
        quoting: Patterns::new(CLASSES, &quoting),
    }
});

/// Everything `text` was found to do.
pub(crate) fn judge(text: &str, spot: Spot) -> Vec<Alarm> {
    let mut alarms = Vec::new();
    // A short word without blanks can only be wrong by its characters; most strings of a schema are such.
    let word = !text.bytes().any(|b| b.is_ascii_whitespace()) && text.is_ascii();
    if word && text.len() < 24 && !text.bytes().any(|b| b.is_ascii_control()) {
        return alarms;
    }
    let head = head(text);
    if head.len() < text.len() {
        alarms.push(Alarm {
            rule: "F03",
            severity: super::rule("F03").severity,
            summary: format!(
                "a text of {} bytes was judged up to {RULE_TEXT_BYTES}",
                text.len()
            ),
            excerpt: String::new(),
        });
    }
    hidden(head, &mut alarms);
    // What is hidden weighs more; a reading of an honest text does not.
    let disguised = !alarms.is_empty();
    let mut found = Vec::new();
    sentences(head, false, &mut found);
    for (reading, copy) in readings(head) {
        if reading == Reading::Decoded {
            alarms.push(Alarm {
                rule: "D17",
                severity: super::rule("D17").severity,
                summary: "holds encoded sentences".to_owned(),
                excerpt: excerpt(&copy),
            });
        } else if reading == Reading::Plain && copy.is_ascii() && head.is_ascii() {
            alarms.push(Alarm {
                rule: "D16",
                severity: Severity::High,
                summary: "words are written letter by letter".to_owned(),
                excerpt: excerpt(&copy),
            });
        }
        sentences(&copy, disguised || reading == Reading::Decoded, &mut found);
    }
    wrappers(head, !found.is_empty(), &mut found);
    combine(&mut found);
    for alarm in &mut found {
        if spot == Spot::Odd && alarm.severity >= Severity::Medium && alarm.severity < Severity::High {
            alarm.severity = raised(alarm.severity);
        }
    }
    if spot == Spot::Odd
        && let Some(worst) = found.iter().max_by_key(|alarm| alarm.severity)
        && worst.severity >= Severity::Medium
    {
        let odd = Alarm {
            rule: "S08",
            severity: worst.severity,
            summary: format!("{} where a value, a title or a remark belongs", worst.summary),
            excerpt: worst.excerpt.clone(),
        };
        alarms.push(odd);
    }
    alarms.append(&mut found);
    alarms
}

fn head(text: &str) -> &str {
    let mut end = text.len().min(RULE_TEXT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The part of `text` around a place.
fn around(text: &str, at: usize) -> String {
    let mut start = at.saturating_sub(60);
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let shown: String = text[start..].chars().take(200).collect();
    excerpt(&shown)
}

fn hidden(text: &str, alarms: &mut Vec<Alarm>) {
    for mark in characters::hidden(text) {
        let rule = if mark.class == Hidden::Escape {
            "D18"
        } else {
            "D15"
        };
        let severity = super::rule(rule).severity;
        alarms.push(Alarm {
            rule,
            severity,
            summary: mark.class.words(mark.count),
            excerpt: around(text, mark.at),
        });
    }
    let disguised = characters::mixed_word(text).or_else(|| characters::styled_word(text));
    if let Some(word) = disguised {
        alarms.push(Alarm {
            rule: "D16",
            severity: Severity::High,
            summary: format!("`{}` is not written in the letters it seems to be", excerpt(word)),
            excerpt: excerpt(word),
        });
    }
    if let Some(at) = characters::pushed_away(text) {
        alarms.push(Alarm {
            rule: "D19",
            severity: Severity::High,
            summary: "text stands behind a long row of blanks or empty lines".to_owned(),
            excerpt: excerpt(&text[at..].chars().take(200).collect::<String>()),
        });
    }
}

fn sentences(text: &str, disguised: bool, found: &mut Vec<Alarm>) {
    let engine = &*ENGINE;
    let words = engine.patterns.words(text);
    for hit in engine.patterns.hits(&words) {
        let phrases = &PHRASES[engine.phrase[hit.pattern]];
        let span = sentence(&words, hit.first);
        let whole = &text[span.clone()];
        if (phrases.negatable && negated(engine, text, &words, hit)) || stated(engine, text, &words, hit) {
            continue;
        }
        if phrases.rule == "D06" && about_secrets(text, &words, hit) {
            continue;
        }
        let mut severity = phrases.severity;
        if phrases.rule == "D08" && claims(text, &words, hit) {
            severity = Severity::Medium;
        }
        let quoted = words[hit.first].quoted && words[hit.last].quoted && quotes(engine, whole);
        if quoted || speaks_of_attackers(whole) {
            severity = Severity::Low;
        } else if disguised && severity >= Severity::Medium {
            severity = raised(severity);
        }
        add(
            found,
            Alarm {
                rule: phrases.rule,
                severity,
                summary: super::rule(phrases.rule).says.trim_end_matches('.').to_owned(),
                excerpt: excerpt(whole.trim()),
            },
        );
    }
    if text.chars().any(tongues::foreign) {
        for part in text.split(['。', '！', '？', '\n', '；']) {
            for rule in tongues::senses(part) {
                add(
                    found,
                    Alarm {
                        rule,
                        severity: Severity::High,
                        summary: super::rule(rule).says.trim_end_matches('.').to_owned(),
                        excerpt: excerpt(part.trim()),
                    },
                );
            }
        }
    }
    markers(text, found);
}

/// Keeps one alarm for each rule: the gravest, the first of equals.
fn add(found: &mut Vec<Alarm>, alarm: Alarm) {
    match found.iter_mut().find(|other| other.rule == alarm.rule) {
        Some(other) if other.severity < alarm.severity => *other = alarm,
        Some(_) => {}
        None => found.push(alarm),
    }
}

fn sentence(words: &[Word], at: usize) -> std::ops::Range<usize> {
    let number = words[at].sentence;
    let mut first = at;
    while first > 0 && words[first - 1].sentence == number && at - first < 60 {
        first -= 1;
    }
    let mut last = at;
    while last + 1 < words.len() && words[last + 1].sentence == number && last - at < 120 {
        last += 1;
    }
    words[first].start..words[last].end
}

/// Is the secret only spoken of: a token's name, a limit of tokens?
fn about_secrets(text: &str, words: &[Word], hit: Hit) -> bool {
    const ABOUT: [&str; 12] = [
        "name", "names", "type", "types", "id", "ids", "count", "limit", "limits", "usage", "budget",
        "scanning",
    ];
    const SECRETS: [&str; 6] = ["token", "tokens", "secret", "secrets", "credential", "key"];
    let lower = |word: &Word| text[word.start..word.end].to_lowercase();
    let end = words.len().min(hit.last + 2);
    words[hit.first..end].windows(2).any(|two| {
        let next = lower(&two[1]);
        let next = if next == "s" { "name" } else { next.as_str() };
        SECRETS.contains(&lower(&two[0]).as_str()) && ABOUT.contains(&next)
    })
}

/// Is what must not be told a claim that would be wrong ("never tell a user a message was sent"), and no step?
fn claims(text: &str, words: &[Word], hit: Hit) -> bool {
    let number = words[hit.last].sentence;
    let following = words[hit.last + 1..]
        .iter()
        .take_while(|word| word.sentence == number);
    let following: Vec<&str> = following
        .take(5)
        .map(|word| &text[word.start..word.end])
        .collect();
    let indefinite = following.first().is_some_and(|word| matches!(*word, "a" | "an"));
    indefinite
        && following
            .iter()
            .any(|word| matches!(*word, "was" | "were" | "is" | "has"))
}

/// Does the pattern start with a negation that states ("is not", "you're not") and does not forbid?
fn stated(engine: &Engine, text: &str, words: &[Word], hit: Hit) -> bool {
    const STATES: [&str; 15] = [
        "is", "are", "was", "were", "be", "been", "you're", "it's", "they're", "has", "have", "had", "does",
        "did", "if",
    ];
    let first = &text[words[hit.first].start..words[hit.first].end];
    let Some(before) = hit.first.checked_sub(1).map(|at| words[at]) else {
        return false;
    };
    !first.eq_ignore_ascii_case("no")
        && before.sentence == words[hit.first].sentence
        && STATES.contains(&text[before.start..before.end].to_lowercase().as_str())
        && !engine.negations.hits(&engine.negations.words(first)).is_empty()
}

/// Is one of the words just before the pattern, or its second, a negation?
fn negated(engine: &Engine, text: &str, words: &[Word], hit: Hit) -> bool {
    let number = words[hit.first].sentence;
    let from = (hit.first.saturating_sub(4)..hit.first)
        .find(|at| words[*at].sentence == number)
        .unwrap_or(hit.first);
    let to = words[hit.last].start;
    let part = &text[words[from].start..to.max(words[hit.first].end)];
    let near = engine.negations.words(part);
    !engine.negations.hits(&near).is_empty()
}

/// Does the sentence tell what others do wrong?
fn speaks_of_attackers(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    ["attackers", "adversar", "malicious actors", "abuse", "mitigates"]
        .iter()
        .any(|word| lower.contains(word))
}

fn quotes(engine: &Engine, sentence: &str) -> bool {
    let words = engine.quoting.words(sentence);
    engine
        .quoting
        .hits(&words)
        .iter()
        .any(|hit| !words[hit.first].quoted)
}

/// Marks that only the programs around a model write.
const MARKERS: [&str; 16] = [
    "<|im_start|>",
    "<|im_end|>",
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
    "<|endoftext|>",
    "[inst]",
    "[/inst]",
    "<<sys>>",
    "<</sys>>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<|start_header_id|>",
    "<|eot_id|>",
    "[system]",
    "<|begin_of_text|>",
];

fn markers(text: &str, found: &mut Vec<Alarm>) {
    if !text.contains(['<', '[', ':']) {
        return;
    }
    let lower = text.to_lowercase();
    let marker = MARKERS.iter().find_map(|marker| lower.find(marker));
    let role = || {
        let roles = [
            "system:",
            "assistant:",
            "human:",
            "user:",
            "### system",
            "### instruction",
        ];
        lower.lines().find_map(|line| {
            let line = line.trim_start();
            let role = roles.iter().find(|role| line.starts_with(**role))?;
            let said = line[role.len()..].split_whitespace().count();
            // One word behind it is the documentation of a parameter called like a role.
            (said >= 4 && !role.starts_with("user")).then(|| lower.find(line).unwrap_or(0))
        })
    };
    let inside = || {
        let at = lower.find(". system: ")?;
        Some(at)
    };
    let (at, severity) = match (marker, role().or_else(inside)) {
        (Some(at), _) => (at, Severity::Critical),
        (None, Some(at)) => (at, Severity::High),
        _ => return,
    };
    let mut start = at.min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    add(
        found,
        Alarm {
            rule: "D12",
            severity,
            summary: "holds marks that only the program around a model writes".to_owned(),
            excerpt: around(text, start),
        },
    );
}

const TAGS: [&str; 14] = [
    "important",
    "hidden",
    "system",
    "secret",
    "information",
    "instruction",
    "instructions",
    "critical",
    "admin",
    "override",
    "urgent",
    "mandatory",
    "developer",
    "prompt",
];

/// Comments, and tags that make text look important.
fn wrappers(text: &str, aimed: bool, found: &mut Vec<Alarm>) {
    let lower = if text.contains('<') {
        text.to_ascii_lowercase()
    } else {
        String::new()
    };
    for (at, _) in lower.match_indices('<').take(200) {
        let rest = &lower[at + 1..];
        let Some(tag) = TAGS
            .iter()
            .find(|tag| rest.starts_with(**tag) && rest[tag.len()..].starts_with('>'))
        else {
            continue;
        };
        let inner = &rest[tag.len() + 1..];
        let inner = &inner[..inner.find("</").unwrap_or(inner.len())];
        if inner.split_whitespace().count() < 4
            || inner.trim_start_matches(['`', '"', ' ']).starts_with("is ")
        {
            continue;
        }
        let severity = if aimed { Severity::High } else { Severity::Medium };
        let summary = format!("text stands in a tag `<{tag}>`");
        add(
            found,
            Alarm {
                rule: "D13",
                severity,
                summary,
                excerpt: around(text, at),
            },
        );
        break;
    }
    let comment = ["<!--", "[//]: #", "[comment]: #"]
        .iter()
        .find_map(|mark| text.find(mark));
    if let Some(at) = comment {
        let words = text[at..].split_whitespace().take(12).count();
        let severity = match (aimed, words >= 6) {
            (true, _) => Severity::High,
            (false, true) => Severity::Medium,
            (false, false) => Severity::Low,
        };
        add(
            found,
            Alarm {
                rule: "D14",
                severity,
                summary: "text stands in a comment".to_owned(),
                excerpt: around(text, at),
            },
        );
    }
}

/// Two kinds of intent in one text weigh more than each alone.
fn combine(found: &mut [Alarm]) {
    let kinds = found
        .iter()
        .filter(|alarm| alarm.severity >= Severity::Medium && alarm.rule.starts_with('D'))
        .count();
    if kinds < 2 {
        return;
    }
    if let Some(worst) = found.iter_mut().max_by_key(|alarm| alarm.severity)
        && worst.severity < Severity::High
    {
        worst.severity = Severity::High;
    }
}

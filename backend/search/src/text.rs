//! What of a tool's text counts, as words by field.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::analysis::{self, Weight, Word};
use crate::bounds;
use crate::document::ToolDocument;
use crate::meaning;
use crate::schema::{DESCRIPTION, FIELDS, NAME, PARAMETER_TEXT, PARAMETERS, SERVER, SERVER_DESCRIPTION};

/// The words of a tool.
#[derive(Debug, Default)]
pub(crate) struct ToolText {
    pub(crate) words: [Vec<String>; FIELDS],
    pub(crate) pairs: Vec<String>,
    pub(crate) keys: Vec<String>,
    pub(crate) name_key: String,
    /// Words of name, title and server as written.
    pub(crate) surfaces: Vec<String>,
    /// The distinct words of the description, for the sketch.
    pub(crate) described: Vec<String>,
    /// Directions of the whole tool and of its name.
    pub(crate) meaning: Vec<[i8; meaning::WIDTH]>,
}

impl ToolText {
    pub(crate) fn of(tool: &ToolDocument) -> Self {
        let name = words_within(&tool.name, bounds::NAME_CHARS, bounds::NAME_WORDS);
        let title = words_within(
            tool.title.as_deref().unwrap_or_default(),
            bounds::NAME_CHARS,
            bounds::NAME_WORDS,
        );
        let server = words_within(server_name(tool), bounds::NAME_CHARS, bounds::NAME_WORDS);
        let description = described(
            &tool.description,
            bounds::DESCRIPTION_CHARS,
            bounds::DESCRIPTION_WORDS,
        );
        let server_text = described(
            &tool.server_description,
            bounds::SERVER_DESCRIPTION_CHARS,
            bounds::DESCRIPTION_WORDS,
        );
        let mut out = Self {
            name_key: analysis::key(&tool.name),
            ..Self::default()
        };
        let whole = [(1.0, &name[..]), (0.7, &server[..]), (1.0, &description[..])];
        let named = [(1.0, &name[..]), (0.3, &server[..])];
        out.meaning = [&whole[..], &named[..]]
            .map(|texts| meaning::packed(&meaning::direction(texts)))
            .to_vec();
        out.pairs = pairs(&name);
        out.pairs.extend(pairs(&description));
        out.pairs.sort_unstable();
        out.pairs.dedup();
        out.words[NAME] = stems(&name);
        for word in stems(&title) {
            if !out.words[NAME].contains(&word) {
                out.words[NAME].push(word);
            }
        }
        out.words[SERVER] = stems(&server);
        out.surfaces = surfaces(&[&name, &title, &server]);
        out.words[DESCRIPTION] = stems(&description);
        out.described.clone_from(&out.words[DESCRIPTION]);
        out.described.sort_unstable();
        out.described.dedup();
        out.words[SERVER_DESCRIPTION] = stems(&server_text);
        out.add_parameters(tool);
        for words in &mut out.words {
            cap_repeats(words);
        }
        out.keys = keys(tool, &out.name_key);
        out
    }

    fn add_parameters(&mut self, tool: &ToolDocument) {
        for parameter in tool.parameters.iter().take(bounds::PARAMETERS) {
            let name = words_within(&parameter.name, bounds::NAME_CHARS, bounds::NAME_WORDS);
            self.words[PARAMETERS].extend(stems(&name));
            let left = bounds::PARAMETER_WORDS.saturating_sub(self.words[PARAMETER_TEXT].len());
            let text = words_within(&parameter.description, bounds::PARAMETER_CHARS, left);
            self.words[PARAMETER_TEXT].extend(stems(&text));
        }
    }
}

/// What the server is called; the last part of its name where nobody gave it a title.
pub(crate) fn server_name(tool: &ToolDocument) -> &str {
    if tool.server_title.is_empty() {
        &tool.server
    } else {
        &tool.server_title
    }
}

fn words_within(text: &str, chars: usize, most: usize) -> Vec<Word> {
    let text: String = text.chars().take(chars).collect();
    let mut words = analysis::words(&text);
    words.truncate(most);
    words
}

/// As [`words_within`], ending where the text has had as many distinct words as count.
fn described(text: &str, chars: usize, distinct: usize) -> Vec<Word> {
    let words = words_within(text, chars, usize::MAX);
    let mut seen = std::collections::HashSet::new();
    let keep = |word: &Word| {
        seen.insert(word.stem.clone());
        seen.len() <= distinct
    };
    words.into_iter().take_while(keep).collect()
}

fn surfaces(texts: &[&[Word]]) -> Vec<String> {
    let words = texts.iter().flat_map(|words| words.iter());
    let mut words: Vec<String> = words.map(|word| word.surface.clone()).collect();
    words.sort_unstable();
    words.dedup();
    words
}

fn stems(words: &[Word]) -> Vec<String> {
    words.iter().map(|word| word.stem.clone()).collect()
}

/// A word repeated past the bound is not counted, so that saying it again gains nothing.
fn cap_repeats(words: &mut Vec<String>) {
    let mut counts: HashMap<String, u32> = HashMap::new();
    words.retain(|word| match counts.entry(word.clone()) {
        Entry::Occupied(mut count) => {
            *count.get_mut() += 1;
            *count.get() <= bounds::REPEATS
        }
        Entry::Vacant(count) => {
            count.insert(1);
            true
        }
    });
}

/// Neighbours, grammar between them left out.
pub(crate) fn pairs(words: &[Word]) -> Vec<String> {
    let plain: Vec<&Word> = words
        .iter()
        .filter(|word| !word.joined && analysis::weight_of(&word.surface) != Weight::None)
        .collect();
    let pair = |two: &[&Word]| format!("{} {}", two[0].stem, two[1].stem);
    plain.windows(2).map(pair).collect()
}

/// Words of server names that tell no server from another.
pub(crate) const GENERIC: [&str; 5] = ["mcp", "server", "servers", "api", "the"];

fn keys(tool: &ToolDocument, name_key: &str) -> Vec<String> {
    let mut keys = vec![name_key.to_owned()];
    let called = server_name(tool);
    let last = called.rsplit('/').next().unwrap_or(called);
    for server in [called, last] {
        keys.push(analysis::key(&format!("{server} {}", tool.name)));
        let own: Vec<String> = plain(server)
            .filter(|word| !GENERIC.contains(&word.as_str()))
            .collect();
        keys.push(analysis::key(&format!("{} {}", own.concat(), tool.name)));
        // `stripe search documentation` for `search_stripe_documentation` of `stripe`: nobody says it twice.
        let rest: String = plain(&tool.name).filter(|word| !own.contains(word)).collect();
        keys.push(analysis::key(&format!("{} {rest}", own.concat())));
    }
    keys.push(analysis::key(&tool.id));
    keys.retain(|key| !key.is_empty());
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// The words of a name as written.
fn plain(name: &str) -> impl Iterator<Item = String> {
    let words = analysis::words(name).into_iter().filter(|word| !word.joined);
    words.map(|word| word.surface)
}

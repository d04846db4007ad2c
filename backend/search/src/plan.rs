//! A query read: which words are looked up, how much each weighs, which of them belong together.

use std::collections::HashMap;

use crate::analysis::{self, Weight, Word};
use crate::bounds;
use crate::error::SearchError;
use crate::index::{ToolIndex, rarity};
use crate::meaning::{self, Direction};
use crate::num::real;
use crate::schema::FIELDS;
use crate::shape;
use crate::text;

/// Weight of the talk around a request.
const TALK: f32 = 0.3;
/// Weight of a word that stands for another.
const NEAR: f32 = 0.8;

/// A word that is scored.
#[derive(Clone, Debug)]
pub(crate) struct Term {
    pub(crate) stem: String,
    pub(crate) surface: String,
    /// Rarity, talk and repetition in one.
    pub(crate) weight: f32,
    pub(crate) rarity: f32,
    /// Which parts of the query have it, a bit each.
    pub(crate) parts: u16,
    /// In which fields any tool has it.
    pub(crate) fields: [bool; FIELDS],
}

/// A word of the query that a tool should have.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) word: String,
    /// Stems that stand for it.
    stems: Vec<String>,
    pub(crate) bits: u32,
}

/// A query, ready to be scored.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// At most [`bounds::QUERY_TERMS`], heaviest first.
    pub(crate) terms: Vec<Term>,
    /// Pairs of neighbours, with rarity, and the two words' places in `terms`.
    pub(crate) pairs: Vec<(String, f32)>,
    pub(crate) parts: usize,
    /// Words of the query, grammar apart.
    pub(crate) words: usize,
    /// Words of it that no tool has.
    pub(crate) unknown: Vec<String>,
    /// For each weighty word of the query, the bits of the terms that stand for it.
    pub(crate) sources: Vec<Source>,
    /// Words that were looked for in place of others.
    pub(crate) instead: Vec<(String, String)>,
    /// Kinds of values the query brings.
    pub(crate) kinds: u16,
    /// Where the whole query and each of its parts point.
    pub(crate) whole: Option<Box<Direction>>,
    pub(crate) directions: Vec<Direction>,
    /// Kinds of acts the query names, a bit each.
    pub(crate) acts: u16,
}

/// The query as it is read: folded and cut to its bound.
pub(crate) fn readable(query: &str) -> String {
    analysis::fold(&query.chars().take(bounds::QUERY_CHARS).collect::<String>())
}

#[derive(Clone, Default)]
struct Seen {
    surface: String,
    joined: bool,
    count: usize,
    parts: u16,
    weight: f32,
    order: usize,
}

/// Reads a folded query.
pub(crate) fn plan(index: &ToolIndex, folded: &str) -> Result<Plan, SearchError> {
    let parts = parts(folded);
    let mut seen: HashMap<String, Seen> = HashMap::new();
    let mut pairs = Vec::new();
    let mut all = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        pairs.extend(text::pairs(part));
        for word in part {
            note(word, number, &mut seen);
        }
        all.extend(part.iter().cloned());
    }
    let typed = words_typed(folded);
    let only_grammar = seen.values().all(|word| word.weight <= 0.0);
    let mut words: Vec<(String, Seen)> = seen.into_iter().collect();
    words.sort_unstable_by_key(|(_, word)| word.order);
    let mut plan = Plan {
        parts: parts.len(),
        words: words.iter().filter(|(_, word)| word.weight > 0.0).count(),
        kinds: shape::kinds_of_query(folded, &all),
        whole: Some(Box::new(meaning::direction(&[(1.0, &all)]))),
        directions: parts
            .iter()
            .map(|part| meaning::direction(&[(1.0, part)]))
            .collect(),
        ..Plan::default()
    };
    for (stem, word) in words {
        let weight = if only_grammar { TALK } else { word.weight };
        if weight > 0.0 {
            plan.add(index, stem, word, weight, &typed)?;
        }
    }
    plan.terms
        .sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| a.stem.cmp(&b.stem)));
    plan.terms.truncate(bounds::QUERY_TERMS);
    plan.add_pairs(index, pairs)?;
    plan.mark_sources();
    Ok(plan)
}

impl Plan {
    fn add(
        &mut self,
        index: &ToolIndex,
        stem: String,
        word: Seen,
        weight: f32,
        typed: &Typing,
    ) -> Result<(), SearchError> {
        let weighty = weight > TALK;
        let source = |word: String, stems: Vec<String>| Source { word, stems, bits: 0 };
        if self.add_term(index, &stem, &word, weight)? {
            if weighty && !word.joined {
                self.sources.push(source(word.surface, vec![stem]));
            }
            return Ok(());
        }
        let others = typed.instead_of(index, &word)?;
        let mut stems = Vec::new();
        for other in &others {
            let stem = analysis::stem(other);
            let known = self.terms.iter().any(|term| term.stem == stem);
            let near = Seen {
                surface: other.clone(),
                ..word.clone()
            };
            if known || self.add_term(index, &stem, &near, weight * NEAR)? {
                stems.push(stem);
            }
        }
        if stems.is_empty() {
            self.unknown.push(word.surface);
            return Ok(());
        }
        // What was begun is not respelt; the words that begin so are what was asked for.
        if !others[0].starts_with(&word.surface) {
            self.instead.push((word.surface.clone(), others[0].clone()));
        }
        if weighty {
            self.sources.push(source(word.surface, stems));
        }
        Ok(())
    }

    fn add_term(
        &mut self,
        index: &ToolIndex,
        stem: &str,
        word: &Seen,
        weight: f32,
    ) -> Result<bool, SearchError> {
        let counts = index.having(stem)?;
        let most = counts.into_iter().max().unwrap_or_default();
        if most == 0 {
            return Ok(false);
        }
        let rarity = rarity(index.tools, most);
        self.acts |= 1 << shape::act_of(stem);
        self.terms.push(Term {
            weight: weight * rarity * real(word.count).sqrt(),
            rarity,
            parts: word.parts,
            fields: counts.map(|count| count > 0),
            surface: word.surface.clone(),
            stem: stem.to_owned(),
        });
        Ok(true)
    }

    fn mark_sources(&mut self) {
        for source in &mut self.sources {
            let terms = self.terms.iter().enumerate();
            let of_source = terms.filter(|(_, term)| source.stems.contains(&term.stem));
            source.bits = of_source.fold(0, |bits, (bit, _)| bits | 1 << bit);
        }
        // A word beyond the heaviest is not looked for, so no tool is asked to have it.
        self.sources.retain(|source| source.bits != 0);
    }

    fn add_pairs(&mut self, index: &ToolIndex, mut pairs: Vec<String>) -> Result<(), SearchError> {
        pairs.sort_unstable();
        pairs.dedup();
        for pair in pairs {
            let Some((first, second)) = pair.split_once(' ') else {
                continue;
            };
            // A pair is worth looking up only where both words are.
            let scored = |stem: &str| self.terms.iter().any(|term| term.stem == stem);
            if !scored(first) || !scored(second) {
                continue;
            }
            let having = index.having_pair(&pair)?;
            if having > 0 {
                self.pairs.push((pair, rarity(index.tools, having)));
            }
        }
        self.pairs
            .sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        self.pairs.truncate(bounds::QUERY_TERMS);
        Ok(())
    }
}

/// What is known of how the query was typed.
struct Typing {
    /// Whether it is short enough to be typed by hand.
    short: bool,
    /// The word it ends in the middle of.
    unfinished: Option<String>,
}

fn words_typed(folded: &str) -> Typing {
    let words = analysis::words_of_folded(folded);
    let ends = folded.ends_with(char::is_alphanumeric);
    Typing {
        short: words.len() <= bounds::TYPED_WORDS,
        unfinished: words.last().filter(|_| ends).map(|word| word.surface.clone()),
    }
}

impl Typing {
    /// Words to look for in place of one that no tool has.
    fn instead_of(&self, index: &ToolIndex, word: &Seen) -> Result<Vec<String>, SearchError> {
        if !self.short || word.joined {
            return Ok(Vec::new());
        }
        if self.unfinished.as_deref() == Some(&word.surface) {
            let completed = index.completions_of(&word.surface)?;
            if !completed.is_empty() {
                return Ok(completed);
            }
        }
        Ok(index.respelt(&word.surface)?.into_iter().collect())
    }
}

fn note(word: &Word, part: usize, seen: &mut HashMap<String, Seen>) {
    let order = seen.len();
    if order >= bounds::QUERY_WORDS && !seen.contains_key(&word.stem) {
        return;
    }
    let weight = match analysis::weight_of(&word.surface) {
        Weight::None => 0.0,
        Weight::Little => TALK,
        Weight::Full => 1.0,
    };
    let entry = seen.entry(word.stem.clone()).or_insert_with(|| Seen {
        surface: word.surface.clone(),
        joined: word.joined,
        order,
        ..Seen::default()
    });
    entry.count += 1;
    entry.parts |= 1 << part;
    entry.weight = entry.weight.max(weight);
}

/// The query cut at sentence ends, line breaks, `and`, `then`: several needs in one query are each looked for.
fn parts(folded: &str) -> Vec<Vec<Word>> {
    let mut parts = Vec::new();
    let mut part: Vec<Word> = Vec::new();
    let (mut end, mut weighty) = (0, 0);
    for word in analysis::words_of_folded(folded) {
        let gap = folded.get(end..word.at).unwrap_or_default();
        let ends = gap.contains(['\n', ';', '!', '?']) || gap.contains(". ") || gap.contains(".\t");
        let joins = matches!(
            word.surface.as_str(),
            "and" | "then" | "also" | "additionally" | "finally"
        );
        if (ends || joins) && weighty >= 2 && parts.len() + 1 < bounds::QUERY_PARTS {
            parts.push(std::mem::take(&mut part));
            weighty = 0;
        }
        end = word.at + 1;
        weighty += usize::from(analysis::weight_of(&word.surface) == Weight::Full);
        part.push(word);
    }
    parts.push(part);
    parts
}

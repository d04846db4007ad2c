//! What must hold beside the words: a server, a namespace, labels, times, words that must or must not be there.

use tantivy::InvertedIndexReader;
use tantivy::schema::IndexRecordOption;

use crate::analysis::{self, Weight, Word};
use crate::error::SearchError;
use crate::index::{Place, Segment, ToolIndex};
use crate::labels::{GROUPS, Labels, Wanted, masks};
use crate::schema::{FIELDS, NAME, SERVER};
use crate::score::postings;
use crate::text;

/// Conditions; all of them hold together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only this server, by its exact name.
    pub server: Option<String>,
    /// Only this namespace and those below it.
    pub namespace: Option<String>,
    /// Values asked for.
    pub wanted: Wanted,
    /// Changed at this time or later.
    pub changed_since: Option<u64>,
    /// Known at this time or earlier.
    pub seen_before: Option<u64>,
    /// Conditions on words.
    pub clauses: Vec<Clause>,
}

/// A condition on words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Clause {
    /// These words in this order, grammar between them apart.
    Phrase(String),
    /// None of these words together.
    Not(String),
    /// All of these words in the tool's name.
    Name(String),
    /// The server of this name, or all of these words in what it is called.
    Server(String),
}

/// A filter made ready for one index.
pub(crate) struct Scope {
    /// By segment, a bit for each tool; none when everything passes.
    allowed: Option<Vec<Vec<u64>>>,
    wanted: Wanted,
}

impl Scope {
    pub(crate) fn of(index: &ToolIndex, filter: &Filter) -> Result<Self, SearchError> {
        let plain = Filter {
            wanted: filter.wanted,
            ..Filter::default()
        };
        let allowed = if *filter == plain {
            None
        } else {
            let segments = index.segments.iter();
            Some(
                segments
                    .map(|segment| allowed(segment, filter))
                    .collect::<Result<_, _>>()?,
            )
        };
        Ok(Self {
            allowed,
            wanted: filter.wanted,
        })
    }

    pub(crate) fn has(&self, index: &ToolIndex, place: Place) -> bool {
        self.has_apart_from_labels(index, place)
            && (self.wanted.is_empty() || self.unmet(index.facts(place).labels) == 0)
    }

    pub(crate) fn has_apart_from_labels(&self, index: &ToolIndex, place: Place) -> bool {
        let allowed = |allowed: &Vec<Vec<u64>>| get(&allowed[place.segment], place.doc);
        index.segments[place.segment].is_alive(place.doc) && self.allowed.as_ref().is_none_or(allowed)
    }

    pub(crate) fn unmet(&self, labels: Labels) -> u16 {
        self.wanted.unmet(labels)
    }
}

/// How often each value stands among some tools; of a group that is asked about, as if it were not.
#[derive(Clone, Debug)]
pub(crate) struct Counts([u32; 64]);

impl Default for Counts {
    fn default() -> Self {
        Self([0; 64])
    }
}

impl Counts {
    pub(crate) fn see(&mut self, labels: Labels, unmet: u16) {
        if unmet.count_ones() > 1 {
            return;
        }
        let mut bits = labels.bits();
        if unmet != 0 {
            bits &= masks()[unmet.trailing_zeros() as usize];
        }
        while bits != 0 {
            self.0[bits.trailing_zeros() as usize] += 1;
            bits &= bits - 1;
        }
    }

    /// Groups with their values and counts, values that nothing has left out.
    pub(crate) fn facets(&self) -> Vec<Facet> {
        let mut counts = self.0.iter();
        let group = |(group, values): &(&'static str, &[&'static str])| Facet {
            group,
            values: values
                .iter()
                .map(|value| (*value, counts.next().copied().unwrap_or_default()))
                .filter(|(_, count)| *count > 0)
                .collect(),
        };
        GROUPS.iter().map(group).collect()
    }
}

/// A group and how many tools have each of its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facet {
    pub group: &'static str,
    pub values: Vec<(&'static str, u32)>,
}

fn get(bits: &[u64], doc: u32) -> bool {
    bits.get(doc as usize / 64)
        .is_some_and(|word| word & (1 << (doc % 64)) != 0)
}

fn set(bits: &mut [u64], doc: u32) {
    if let Some(word) = bits.get_mut(doc as usize / 64) {
        *word |= 1 << (doc % 64);
    }
}

fn allowed(segment: &Segment, filter: &Filter) -> Result<Vec<u64>, SearchError> {
    let count = segment.reader.max_doc();
    let mut bits = vec![0; count as usize / 64 + 1];
    for doc in 0..count {
        if passes(segment, doc, filter) {
            set(&mut bits, doc);
        }
    }
    for clause in &filter.clauses {
        let (found, wanted) = match clause {
            Clause::Not(text) => (with_phrase(segment, text, bits.len())?, false),
            Clause::Phrase(text) => (with_phrase(segment, text, bits.len())?, true),
            Clause::Name(text) => (with_words(segment, text, &[NAME], bits.len())?, true),
            Clause::Server(text) if text.contains('/') => (of_server(segment, text, bits.len()), true),
            Clause::Server(text) => (with_words(segment, text, &[SERVER], bits.len())?, true),
        };
        for (bits, found) in bits.iter_mut().zip(found) {
            *bits &= if wanted { found } else { !found };
        }
    }
    Ok(bits)
}

fn passes(segment: &Segment, doc: u32, filter: &Filter) -> bool {
    let facts = &segment.facts[doc as usize];
    let id = segment.id(doc);
    let server = id.split('#').next().unwrap_or(id);
    filter.changed_since.is_none_or(|since| facts.changed >= since)
        && filter.seen_before.is_none_or(|before| facts.seen <= before)
        && filter.server.as_deref().is_none_or(|wanted| wanted == server)
        && filter.namespace.as_deref().is_none_or(|wanted| {
            let namespace = server.split('/').next().unwrap_or(server);
            let rest = namespace.strip_prefix(wanted.trim_end_matches(['*', '.', '/']));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
}

fn of_server(segment: &Segment, wanted: &str, length: usize) -> Vec<u64> {
    let mut bits = vec![0; length];
    for doc in 0..segment.reader.max_doc() {
        if segment.id(doc).split('#').next() == Some(wanted) {
            set(&mut bits, doc);
        }
    }
    bits
}

/// Tools that have all the words in some of the fields.
fn with_words(
    segment: &Segment,
    text: &str,
    fields: &[usize],
    length: usize,
) -> Result<Vec<u64>, SearchError> {
    let words = plain(text);
    let mut all = vec![if words.is_empty() { 0 } else { u64::MAX }; length];
    for word in words {
        let mut found = vec![0; length];
        for &field in fields {
            mark(&segment.text[field], &word.stem, &mut found)?;
        }
        for (all, found) in all.iter_mut().zip(found) {
            *all &= found;
        }
    }
    Ok(all)
}

/// Tools that have the words one after the other in name or description; one word anywhere.
fn with_phrase(segment: &Segment, text: &str, length: usize) -> Result<Vec<u64>, SearchError> {
    let fields: Vec<usize> = (0..FIELDS).collect();
    let words = plain(text);
    let mut all = with_words(segment, text, &fields, length)?;
    for pair in text::pairs(&words) {
        let mut found = vec![0; length];
        mark(&segment.pairs, &pair, &mut found)?;
        for (all, found) in all.iter_mut().zip(found) {
            *all &= found;
        }
    }
    Ok(all)
}

fn plain(text: &str) -> Vec<Word> {
    let words = analysis::words(text).into_iter().filter(|word| !word.joined);
    let words: Vec<Word> = words.collect();
    let weighty: Vec<Word> = words
        .iter()
        .filter(|word| analysis::weight_of(&word.surface) != Weight::None)
        .cloned()
        .collect();
    if weighty.is_empty() { words } else { weighty }
}

fn mark(reader: &InvertedIndexReader, word: &str, bits: &mut [u64]) -> Result<(), SearchError> {
    if let Some(mut list) = postings(reader, word, IndexRecordOption::Basic)? {
        while list.block_len() > 0 {
            for &doc in list.docs() {
                set(bits, doc);
            }
            list.advance();
        }
    }
    Ok(())
}

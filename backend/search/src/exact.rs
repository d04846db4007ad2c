//! Tools the query names: by identifier or name, in any spelling, several in one query; and, for a short query that is
//! no name, names it begins or misses by one letter.

use std::collections::BTreeSet;

use tantivy::InvertedIndexReader;
use tantivy::schema::IndexRecordOption;

use crate::analysis;
use crate::bounds;
use crate::error::SearchError;
use crate::family;
use crate::filter::Scope;
use crate::index::{Place, Segment, ToolIndex};
use crate::score::postings;

/// What a query names.
#[derive(Debug, Default)]
pub(crate) struct Named {
    /// One entry for each name, in the order of the query: every tool of that name, and whether the query says more
    /// than the name, so that it is this tool and no other of its name.
    pub(crate) exact: Vec<Vec<(Place, bool)>>,
    /// Whether the names are all there is in the query.
    pub(crate) only: bool,
    /// Tools whose name the query begins or nearly spells, by name, the shortest first.
    pub(crate) near: Vec<Vec<(Place, bool)>>,
}

/// Fewest letters of a query that is completed or repaired.
const REPAIRED_CHARS: usize = 6;
/// Most words of a query that is completed or repaired.
const REPAIRED_WORDS: usize = 9;
/// Most letters a completion adds.
const COMPLETED_CHARS: usize = 20;

impl ToolIndex {
    /// Tools that a folded query names.
    pub(crate) fn named(&self, folded: &str, scope: &Scope) -> Result<Named, SearchError> {
        let words: Vec<&str> = folded.split_whitespace().take(bounds::QUERY_WORDS).collect();
        let whole = analysis::key(folded);
        if !whole.is_empty() && words.len() <= bounds::NAME_WORDS * 2 {
            let found = self.with_key(&whole, scope)?;
            if !found.is_empty() {
                return Ok(Named {
                    exact: vec![found],
                    only: true,
                    ..Named::default()
                });
            }
        }
        let named = self.several(&words, scope)?;
        if !named.exact.is_empty() || words.len() > REPAIRED_WORDS || whole.chars().count() < REPAIRED_CHARS {
            return Ok(named);
        }
        self.near(&whole, scope)
    }

    /// Names among the words: all of them where every word is one, else those that can be nothing else.
    fn several(&self, words: &[&str], scope: &Scope) -> Result<Named, SearchError> {
        let mut out = Named {
            only: words.len() > 1,
            ..Named::default()
        };
        let mut sure = Vec::new();
        let mut seen = BTreeSet::new();
        for word in words.iter().take(bounds::QUERY_WORDS) {
            let name = word.trim_matches(|c: char| !c.is_alphanumeric());
            let key = analysis::key(name);
            if key.is_empty() || !seen.insert(key.clone()) {
                continue;
            }
            let sets_value = word.ends_with(':') || word.contains('=');
            let found = if sets_value {
                Vec::new()
            } else {
                self.with_key(&key, scope)?
            };
            if found.is_empty() {
                out.only = false;
            } else {
                sure.push(is_identifier(name));
                out.exact.push(found);
            }
            if out.exact.len() >= bounds::QUERY_NAMES {
                break;
            }
        }
        if !out.only || out.exact.len() < 2 {
            out.only = false;
            let mut sure = sure.into_iter();
            out.exact.retain(|_| sure.next().unwrap_or_default());
        }
        Ok(out)
    }

    /// Every tool with the key, and whether the key is more than its name.
    pub(crate) fn with_key(&self, key: &str, scope: &Scope) -> Result<Vec<(Place, bool)>, SearchError> {
        let hash = family::hash(key);
        let mut out = Vec::new();
        for (number, segment) in self.segments.iter().enumerate() {
            let Some(mut list) = postings(&segment.keys, key, IndexRecordOption::Basic)? else {
                continue;
            };
            while list.block_len() > 0 {
                let places = list.docs().iter().map(|&doc| Place { segment: number, doc });
                let inside = places.filter(|&place| scope.has(self, place));
                out.extend(inside.map(|place| {
                    let is_more = segment.facts[place.doc as usize].name != hash;
                    (place, is_more)
                }));
                list.advance();
            }
        }
        Ok(out)
    }

    fn near(&self, whole: &str, scope: &Scope) -> Result<Named, SearchError> {
        let length = whole.chars().count();
        let completes = |key: &str| key.starts_with(whole) && key.chars().count() <= length + COMPLETED_CHARS;
        let longer = self.keys(whole, |segment| &segment.keys, completes)?;
        let mut out = Named::default();
        if !longer.is_empty() {
            out.near = self.with_keys(longer, scope)?;
            return Ok(out);
        }
        let half = length / 2;
        let start: String = whole.chars().take(half).collect();
        let end: String = whole.chars().rev().take(length - half - 1).collect();
        let mut spelled = self.keys(&start, |segment| &segment.keys, |key| one_edit(whole, key))?;
        let turned: String = whole.chars().rev().collect();
        let back = self.keys(
            &end,
            |segment| &segment.keys_reversed,
            |key| one_edit(&turned, key),
        )?;
        spelled.extend(back.iter().map(|key| key.chars().rev().collect::<String>()));
        out.near = self.with_keys(spelled, scope)?;
        Ok(out)
    }

    fn with_keys(
        &self,
        keys: BTreeSet<String>,
        scope: &Scope,
    ) -> Result<Vec<Vec<(Place, bool)>>, SearchError> {
        let mut keys: Vec<String> = keys.into_iter().collect();
        keys.sort_by_key(|key| key.chars().count());
        keys.iter().map(|key| self.with_key(key, scope)).collect()
    }

    /// Keys that start with a text and pass a test, from a bounded stretch of the dictionary.
    pub(crate) fn keys(
        &self,
        start: &str,
        of: impl Fn(&Segment) -> &InvertedIndexReader,
        passes: impl Fn(&str) -> bool,
    ) -> Result<BTreeSet<String>, SearchError> {
        let mut stretch = BTreeSet::new();
        for segment in &self.segments {
            let mut terms = of(segment).terms().range().ge(start.as_bytes()).into_stream()?;
            let mut looked = 0;
            while terms.advance() && looked < bounds::REPAIR_SCAN && terms.key().starts_with(start.as_bytes())
            {
                looked += 1;
                if let Ok(key) = std::str::from_utf8(terms.key()) {
                    stretch.insert(key.to_owned());
                }
            }
        }
        // The bound is over all segments together: how they are cut must not decide what is looked at.
        let stretch = stretch.into_iter().take(bounds::REPAIR_SCAN);
        Ok(stretch.filter(|key| passes(key)).collect())
    }
}

/// Whether nobody writes this but to name something: `a_b`, `aB`, `a/b#c`.
fn is_identifier(word: &str) -> bool {
    let inner = word.trim_matches(|c: char| !c.is_alphanumeric());
    let rises = inner
        .chars()
        .zip(inner.chars().skip(1))
        .any(|(a, b)| a.is_ascii_lowercase() && b.is_ascii_uppercase());
    let starts_low = inner.starts_with(|c: char| c.is_ascii_lowercase());
    inner.contains(['_', '#']) || (rises && starts_low)
}

/// Whether one letter more, less, other, or two swapped make one text the other.
fn one_edit(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > 1 {
        return false;
    }
    let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[same..], &b[same..]);
    match (a, b) {
        ([], []) => true,
        ([_, rest @ ..], other) | (other, [_, rest @ ..]) if rest == other => true,
        ([_, a @ ..], [_, b @ ..]) if a == b => true,
        (a, b) => a.len() == b.len() && a.len() >= 2 && a[0] == b[1] && a[1] == b[0] && a[2..] == b[2..],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_edit_is_one_slip_of_a_key() {
        for (a, b) in [
            ("abc", "abc"),
            ("abc", "ab"),
            ("ac", "abc"),
            ("abc", "axc"),
            ("abcd", "abdc"),
        ] {
            assert!(one_edit(a, b) && one_edit(b, a), "{a} {b}");
        }
        for (a, b) in [("abc", "cba"), ("abc", "a"), ("abcd", "badc"), ("abc", "xyc")] {
            assert!(!one_edit(a, b) && !one_edit(b, a), "{a} {b}");
        }
    }

    #[test]
    fn an_identifier_is_told_from_a_word() {
        assert!(is_identifier("get_user") && is_identifier("getUser") && is_identifier("io.x/y#z"));
        assert!(!is_identifier("GitHub") && !is_identifier("weather") && !is_identifier("well-known"));
    }
}

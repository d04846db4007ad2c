//! Words nobody wrote: the last one may be the beginning of a word that is still being typed, the others may be
//! misspelt. Only words of names are offered, and only for what a person types, not for a paragraph.

use std::collections::BTreeSet;

use tantivy::Term;
use tantivy::query::FuzzyTermQuery;
use tantivy::schema::Field;

use crate::analysis;
use crate::bounds;
use crate::error::SearchError;
use crate::index::ToolIndex;
use crate::schema::{NAME, SERVER};

/// Fewest letters of a word that is completed.
const COMPLETED_CHARS: usize = 2;
/// Fewest letters of a word that is respelt, by one slip and by two.
const RESPELT_CHARS: [usize; 2] = [4, 8];
/// Most words one beginning stands for.
const COMPLETIONS: usize = 8;
/// Most words whose use is counted.
const LOOKED_AT: usize = 200;

impl ToolIndex {
    /// Words of names that begin so, the most used first.
    pub(crate) fn words_from(&self, start: &str, most: usize) -> Result<Vec<String>, SearchError> {
        if start.chars().count() < COMPLETED_CHARS {
            return Ok(Vec::new());
        }
        let mut found = BTreeSet::new();
        for segment in &self.segments {
            let range = segment.surfaces.terms().range().ge(start.as_bytes());
            let mut terms = range.into_stream()?;
            let mut looked = 0;
            while terms.advance() && looked < bounds::REPAIR_SCAN && terms.key().starts_with(start.as_bytes())
            {
                looked += 1;
                if let Ok(word) = std::str::from_utf8(terms.key()) {
                    found.insert(word.to_owned());
                }
            }
        }
        self.most_used(found, most)
    }

    /// What a word that begins a name stands for.
    pub(crate) fn completions_of(&self, start: &str) -> Result<Vec<String>, SearchError> {
        self.words_from(start, COMPLETIONS)
    }

    /// The word of a name that was probably meant.
    pub(crate) fn respelt(&self, word: &str) -> Result<Option<String>, SearchError> {
        let length = word.chars().count();
        if length > bounds::WORD_BYTES || word.bytes().any(|b| b.is_ascii_digit()) {
            return Ok(None);
        }
        for (slips, least) in (1_u8..).zip(RESPELT_CHARS) {
            if length < least {
                break;
            }
            let mut found = BTreeSet::new();
            let term = Term::from_field_text(Field::from_field_id(0), word);
            let automaton = FuzzyTermQuery::new(term, slips, true).automaton()?;
            for segment in &self.segments {
                let mut terms = segment.surfaces.terms().search(&automaton).into_stream()?;
                let mut looked = 0;
                while terms.advance() && looked < bounds::REPAIR_SCAN {
                    looked += 1;
                    if let Ok(word) = std::str::from_utf8(terms.key()) {
                        found.insert(word.to_owned());
                    }
                }
            }
            // People get the first letter right.
            let start = word.chars().next();
            found.retain(|found| found.chars().next() == start || slips == 1);
            if let Some(best) = self.most_used(found, 1)?.pop() {
                return Ok(Some(best));
            }
        }
        Ok(None)
    }

    /// In the order of how many tools have the word, deleted ones apart. The bound is over all segments together.
    fn most_used(&self, words: BTreeSet<String>, most: usize) -> Result<Vec<String>, SearchError> {
        let mut used = Vec::new();
        for word in words.into_iter().take(LOOKED_AT) {
            let having = self.having(&analysis::stem(&word))?;
            let count = having[NAME] + having[SERVER];
            if count > 0 {
                used.push((word, count));
            }
        }
        used.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        used.truncate(most);
        Ok(used.into_iter().map(|(word, _)| word).collect())
    }
}

//! One score over all fields (BM25F), word by word over the engine's postings.
//!
//! Every list of every word is read to its end. For the long queries that come here this is several times faster than
//! skipping by block maxima, and each sum has one order, whatever the segments: so the same score to the last bit.

use tantivy::postings::BlockSegmentPostings;
use tantivy::schema::IndexRecordOption;
use tantivy::termdict::TermDictionary;
use tantivy::{DocId, InvertedIndexReader};

use crate::bounds;
use crate::error::SearchError;
use crate::filter::Scope;
use crate::index::{Place, Segment, ToolIndex};
use crate::num::real_u32;
use crate::plan::Plan;
use crate::schema::FIELDS;
use crate::tally::Tally;

/// Weight of each field, and how much its length is held against it.
const WEIGHT: [f32; FIELDS] = [3.0, 2.1, 1.1, 1.0, 0.5, 0.45];
const LENGTH: [f32; FIELDS] = [0.8, 0.25, 0.75, 0.5, 0.55, 0.25];
/// Where a word's score bends.
const BEND: f32 = 1.0;
/// What a pair of neighbours adds, as a share of its rarity.
const PAIR: f32 = 0.3;
/// What the best part of the query adds to the whole.
const PART: f32 = 0.35;
/// What the best tool of a server lends to the others.
const SERVER: f32 = 0.25;

/// One tool that shares words with the query.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) place: Place,
    /// The lexical score, 1 at the best whole-query score.
    pub(crate) lexical: f32,
    /// Of the whole query, of its best part and of its second best part, each as a share of the best there.
    pub(crate) whole: f32,
    pub(crate) part: f32,
    pub(crate) second_part: f32,
    /// From pairs of neighbours.
    pub(crate) pairs: f32,
    /// By field, which terms of the plan it has, a bit each.
    pub(crate) has: [u32; FIELDS],
}

/// Memory of one query, kept for the next.
#[derive(Default)]
pub(crate) struct Scratch {
    field_sum: Vec<f32>,
    whole: Vec<f32>,
    pairs: Vec<f32>,
    parts: Vec<f32>,
    has: Vec<[u32; FIELDS]>,
    of_term: Vec<DocId>,
    touched: Vec<DocId>,
}

impl Scratch {
    fn fit(&mut self, tools: usize, parts: usize) {
        if self.whole.len() < tools {
            self.field_sum.resize(tools, 0.0);
            self.whole.resize(tools, 0.0);
            self.pairs.resize(tools, 0.0);
            self.has.resize(tools, [0; FIELDS]);
        }
        if self.parts.len() < tools * parts {
            self.parts.resize(tools * parts, 0.0);
        }
    }

    fn parts_of(&self, at: usize, parts: usize) -> &[f32] {
        &self.parts[at * parts..(at + 1) * parts]
    }

    fn clear(&mut self, parts: usize) {
        for &doc in &self.touched {
            let doc = doc as usize;
            self.whole[doc] = 0.0;
            self.pairs[doc] = 0.0;
            self.has[doc] = [0; FIELDS];
            self.parts[doc * parts..(doc + 1) * parts].fill(0.0);
        }
        self.touched.clear();
    }
}

impl ToolIndex {
    /// In how many tools each field has the word.
    pub(crate) fn having(&self, stem: &str) -> Result<[u32; FIELDS], SearchError> {
        let mut counts = [0; FIELDS];
        for segment in &self.segments {
            for (reader, count) in segment.text.iter().zip(&mut counts) {
                *count += having(segment, reader, stem)?;
            }
        }
        Ok(counts)
    }

    /// In how many tools the two words are neighbours.
    pub(crate) fn having_pair(&self, pair: &str) -> Result<u32, SearchError> {
        let counts = self
            .segments
            .iter()
            .map(|segment| having(segment, &segment.pairs, pair));
        counts.sum()
    }

    /// The best tools by words, best first, at most so many; all that share a word are seen by the tally.
    pub(crate) fn candidates(
        &self,
        plan: &Plan,
        scope: &Scope,
        most: usize,
        tally: Option<&mut Tally>,
    ) -> Result<Vec<Candidate>, SearchError> {
        let parts = plan.parts.max(1);
        let mut scored = Vec::with_capacity(self.segments.len());
        for segment in &self.segments {
            let pooled = self.scratch.lock().ok().and_then(|mut pool| pool.pop());
            let mut scratch = pooled.unwrap_or_default();
            scratch.fit(segment.facts.len(), parts);
            for bit in 0..plan.terms.len() {
                self.score_term(segment, plan, bit, &mut scratch)?;
            }
            score_pairs(segment, plan, &mut scratch)?;
            scored.push(scratch);
        }
        if let Some(tally) = tally {
            for ((number, _), scratch) in self.segments.iter().enumerate().zip(&scored) {
                for &doc in &scratch.touched {
                    let place = Place { segment: number, doc };
                    tally.see(self, scope, place, &scratch.has[doc as usize]);
                }
            }
        }
        let candidates = self.best(parts, &scored, scope, most);
        for mut scratch in scored {
            scratch.clear(parts);
            if let Ok(mut pool) = self.scratch.lock() {
                pool.push(scratch);
            }
        }
        Ok(candidates)
    }

    fn score_term(
        &self,
        segment: &Segment,
        plan: &Plan,
        bit: usize,
        scratch: &mut Scratch,
    ) -> Result<(), SearchError> {
        let term = &plan.terms[bit];
        let parts = plan.parts.max(1);
        for field in (0..FIELDS).filter(|&field| term.fields[field]) {
            let Some(mut list) = postings(&segment.text[field], &term.stem, IndexRecordOption::WithFreqs)?
            else {
                continue;
            };
            let norms = &segment.norms[field];
            while list.block_len() > 0 {
                for (&doc, &count) in list.docs().iter().zip(list.freqs()) {
                    let length = real_u32(norms.fieldnorm(doc)) / self.mean[field];
                    let gain = WEIGHT[field] * real_u32(count.min(bounds::REPEATS))
                        / (1.0 - LENGTH[field] + LENGTH[field] * length);
                    let at = doc as usize;
                    if scratch.field_sum[at] <= 0.0 {
                        scratch.of_term.push(doc);
                    }
                    scratch.field_sum[at] += gain;
                    scratch.has[at][field] |= 1 << bit;
                }
                list.advance();
            }
        }
        while let Some(doc) = scratch.of_term.pop() {
            let at = doc as usize;
            let sum = std::mem::take(&mut scratch.field_sum[at]);
            let gain = term.weight * sum / (BEND + sum);
            if scratch.whole[at] <= 0.0 {
                scratch.touched.push(doc);
            }
            scratch.whole[at] += gain;
            for part in (0..parts).filter(|part| term.parts & (1 << part) != 0) {
                scratch.parts[at * parts + part] += gain;
            }
        }
        Ok(())
    }

    /// Joins what the segments gave: the same numbers, however they are cut.
    fn best(&self, parts: usize, scored: &[Scratch], scope: &Scope, count: usize) -> Vec<Candidate> {
        let mut most = Most::default();
        for (number, scratch) in scored.iter().enumerate() {
            let places = scratch.touched.iter().map(|&doc| Place { segment: number, doc });
            for place in places.filter(|&place| scope.has(self, place)) {
                most.see(scratch, place.doc, parts);
            }
        }
        let mut found = Vec::new();
        for (number, scratch) in scored.iter().enumerate() {
            let places = scratch.touched.iter().map(|&doc| Place { segment: number, doc });
            let inside = places.filter(|&place| scope.has(self, place));
            found.extend(inside.map(|place| (most.lexical(scratch, place.doc, parts), place)));
        }
        let order = |a: &(f32, Place), b: &(f32, Place)| self.order(a.0, a.1, b.0, b.1);
        if found.len() > count {
            found.select_nth_unstable_by(count, order);
            found.truncate(count);
        }
        found.sort_unstable_by(order);
        let candidate =
            |(lexical, place): (f32, Place)| most.candidate(&scored[place.segment], place, lexical, parts);
        let mut candidates: Vec<Candidate> = found.into_iter().map(candidate).collect();
        self.lend_by_server(&mut candidates);
        candidates
    }

    fn lend_by_server(&self, candidates: &mut [Candidate]) {
        let mut best: std::collections::HashMap<u64, f32> = std::collections::HashMap::new();
        for candidate in candidates.iter() {
            let server = self.facts(candidate.place).server;
            best.entry(server).or_insert(candidate.lexical);
        }
        for candidate in candidates.iter_mut() {
            candidate.lexical += SERVER * best[&self.facts(candidate.place).server];
        }
        candidates.sort_by(|a, b| self.order(a.lexical, a.place, b.lexical, b.place));
    }
}

/// The greatest scores of all tools, of the whole query and of each part.
struct Most {
    whole: f32,
    parts: [f32; bounds::QUERY_PARTS],
}

impl Default for Most {
    fn default() -> Self {
        Self {
            whole: f32::MIN_POSITIVE,
            parts: [f32::MIN_POSITIVE; bounds::QUERY_PARTS],
        }
    }
}

impl Most {
    fn see(&mut self, scratch: &Scratch, doc: DocId, parts: usize) {
        let at = doc as usize;
        self.whole = self.whole.max(scratch.whole[at] + scratch.pairs[at]);
        for (most, part) in self.parts.iter_mut().zip(scratch.parts_of(at, parts)) {
            *most = most.max(*part);
        }
    }

    fn whole(&self, scratch: &Scratch, at: usize) -> f32 {
        (scratch.whole[at] + scratch.pairs[at]) / self.whole
    }

    fn lexical(&self, scratch: &Scratch, doc: DocId, parts: usize) -> f32 {
        let at = doc as usize;
        let whole = self.whole(scratch, at);
        if parts < 2 {
            return whole;
        }
        let shares = scratch.parts_of(at, parts).iter().zip(self.parts);
        whole + PART * shares.map(|(part, most)| part / most).fold(0.0, f32::max)
    }

    fn candidate(&self, scratch: &Scratch, place: Place, lexical: f32, parts: usize) -> Candidate {
        let at = place.doc as usize;
        let shares = scratch.parts_of(at, parts).iter().zip(self.parts);
        let mut shares: Vec<f32> = shares.map(|(part, most)| part / most).collect();
        shares.sort_unstable_by(|a, b| b.total_cmp(a));
        let whole = self.whole(scratch, at);
        let several = parts > 1;
        Candidate {
            place,
            lexical,
            whole,
            part: if several { shares[0] } else { whole },
            second_part: if several { shares[1] } else { 0.0 },
            pairs: scratch.pairs[at] / self.whole,
            has: scratch.has[at],
        }
    }
}

/// What pairs of neighbours add; only to tools that have the words, which all tools with the pair do.
fn score_pairs(segment: &Segment, plan: &Plan, scratch: &mut Scratch) -> Result<(), SearchError> {
    for (pair, rarity) in &plan.pairs {
        let Some(mut list) = postings(&segment.pairs, pair, IndexRecordOption::Basic)? else {
            continue;
        };
        while list.block_len() > 0 {
            for &doc in list.docs() {
                scratch.pairs[doc as usize] += PAIR * rarity;
            }
            list.advance();
        }
    }
    Ok(())
}

pub(crate) fn postings(
    reader: &InvertedIndexReader,
    word: &str,
    option: IndexRecordOption,
) -> Result<Option<BlockSegmentPostings>, SearchError> {
    let terms: &TermDictionary = reader.terms();
    let Some(info) = terms.get(word.as_bytes())? else {
        return Ok(None);
    };
    Ok(Some(reader.read_block_postings_from_terminfo(&info, option)?))
}

/// Tools with the word that are not deleted.
fn having(segment: &Segment, reader: &InvertedIndexReader, word: &str) -> Result<u32, SearchError> {
    let terms: &TermDictionary = reader.terms();
    let Some(info) = terms.get(word.as_bytes())? else {
        return Ok(0);
    };
    let Some(alive) = segment.reader.alive_bitset() else {
        return Ok(info.doc_freq);
    };
    let list = reader.read_postings_from_terminfo(&info, IndexRecordOption::Basic)?;
    Ok(list.doc_freq_given_deletes(alive))
}

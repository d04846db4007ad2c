//! What the second stage looks at. Nothing here knows a word or an identifier: only how a query and a tool meet.

use std::collections::HashMap;

use crate::index::ToolIndex;
use crate::meaning;
use crate::num::{real, real_u32};
use crate::plan::Plan;
use crate::rank::{Ranked, any};
use crate::schema::{DESCRIPTION, Facts, NAME, PARAMETER_TEXT, PARAMETERS, SERVER, SERVER_DESCRIPTION};
use crate::score::Candidate;

/// Numbers of one candidate.
pub(crate) const COUNT: usize = 49;
/// Of them, those that know words only; they come first.
pub(crate) const LEXICAL: usize = 44;

/// How a server stands among the candidates.
#[derive(Default)]
struct Standing {
    best_rank: usize,
    in_ten: usize,
    in_all: usize,
    sum: f32,
}

/// One row for each candidate, in their order.
pub(crate) fn rows(index: &ToolIndex, plan: &Plan, ranked: &[Ranked]) -> Vec<[f32; COUNT]> {
    let mut servers: HashMap<u64, Standing> = HashMap::new();
    let mut names: HashMap<u64, usize> = HashMap::new();
    for (rank, next) in ranked.iter().enumerate() {
        let facts = index.facts(next.candidate.place);
        *names.entry(facts.name).or_default() += 1;
        let standing = servers.entry(facts.server).or_insert_with(|| Standing {
            best_rank: rank,
            ..Standing::default()
        });
        standing.in_ten += usize::from(rank < 10);
        standing.in_all += 1;
        standing.sum += next.candidate.lexical;
    }
    let top = ranked
        .first()
        .map_or(1.0, |ranked| ranked.candidate.lexical.max(f32::MIN_POSITIVE));
    let tenth = ranked.get(9).map_or(0.0, |ranked| ranked.candidate.lexical) / top;
    let total: f32 = ranked
        .iter()
        .map(|ranked| ranked.candidate.lexical)
        .sum::<f32>()
        .max(f32::MIN_POSITIVE);
    let mut within: HashMap<u64, usize> = HashMap::new();
    let meanings = meanings(index, plan, ranked);
    let rows = ranked.iter().enumerate().map(|(rank, next)| {
        let facts = index.facts(next.candidate.place);
        let before = within.entry(facts.server).or_default();
        let mut row = Row::default();
        row.lexical(&next.candidate, rank, top, tenth);
        row.meeting(plan, &next.candidate, facts);
        row.query(plan);
        row.form(facts, next.copies.len(), names[&facts.name]);
        row.server(&servers[&facts.server], *before, total);
        row.acts(plan, facts);
        row.put(&meanings[rank]);
        *before += 1;
        row.values
    });
    rows.collect()
}

/// How each candidate agrees in meaning with the whole query and with its parts, also against the best of all.
fn meanings(index: &ToolIndex, plan: &Plan, ranked: &[Ranked]) -> Vec<[f32; COUNT - LEXICAL]> {
    let nothing = [0.0; meaning::WIDTH];
    let whole = plan.whole.as_deref().unwrap_or(&nothing);
    let places = ranked.iter().map(|ranked| ranked.candidate.place);
    let agreements: Vec<(f32, f32, Vec<f32>)> = places
        .map(|place| {
            let (tool, name) = index.segments[place.segment].meaning(place.doc);
            let parts = plan.directions.iter().map(|part| meaning::agreement(part, tool));
            (
                meaning::agreement(whole, tool),
                meaning::agreement(whole, name),
                parts.collect(),
            )
        })
        .collect();
    let most = agreements.iter().map(|(whole, ..)| *whole).fold(-1.0, f32::max);
    let most_of = |part: usize| {
        agreements
            .iter()
            .map(|(.., parts)| parts[part])
            .fold(-1.0, f32::max)
    };
    let most_of: Vec<f32> = (0..plan.directions.len()).map(most_of).collect();
    let row = |(whole, name, parts): &(f32, f32, Vec<f32>)| {
        let best = parts.iter().copied().fold(-1.0, f32::max);
        let behind = parts
            .iter()
            .zip(&most_of)
            .map(|(part, most)| part - most)
            .fold(-2.0, f32::max);
        [*whole, best, whole - most, behind, *name]
    };
    agreements.iter().map(row).collect()
}

/// The share of the query's weight that some terms carry.
pub(crate) fn covered(plan: &Plan, has: u32) -> f32 {
    let total: f32 = plan.terms.iter().map(|term| term.weight).sum();
    let terms = plan.terms.iter().enumerate();
    let having: f32 = terms
        .filter(|(bit, _)| has & (1 << bit) != 0)
        .map(|(_, term)| term.weight)
        .sum();
    having / total.max(f32::MIN_POSITIVE)
}

struct Row {
    values: [f32; COUNT],
    filled: usize,
}

impl Default for Row {
    fn default() -> Self {
        Self {
            values: [0.0; COUNT],
            filled: 0,
        }
    }
}

impl Row {
    fn put(&mut self, values: &[f32]) {
        for &value in values {
            if let Some(place) = self.values.get_mut(self.filled) {
                *place = value;
            }
            self.filled += 1;
        }
    }

    fn lexical(&mut self, candidate: &Candidate, rank: usize, top: f32, tenth: f32) {
        let share = candidate.lexical / top;
        self.put(&[
            share,
            1.0 / (1.0 + real(rank)),
            candidate.whole,
            candidate.part,
            candidate.second_part,
            candidate.pairs,
            share - tenth,
            candidate.part - candidate.whole,
        ]);
    }

    fn meeting(&mut self, plan: &Plan, candidate: &Candidate, facts: &Facts) {
        let has = &candidate.has;
        let all = any(candidate);
        let wanted = has[PARAMETERS] | has[PARAMETER_TEXT];
        self.put(&[
            covered(plan, all),
            covered(plan, has[NAME]),
            covered(plan, has[DESCRIPTION]),
            covered(plan, has[SERVER]),
            covered(plan, wanted),
            covered(plan, has[SERVER_DESCRIPTION]),
            covered(plan, has[NAME] | has[SERVER]),
            covered(plan, has[NAME] & has[DESCRIPTION]),
            share(has[NAME].count_ones(), facts.shape.name_words()),
            share(has[SERVER].count_ones(), facts.shape.server_words()),
            share(has[DESCRIPTION].count_ones(), facts.shape.description_words()),
            share(wanted.count_ones(), facts.shape.parameters()),
            real_u32(all.count_ones()),
            real_u32(has[NAME].count_ones()),
            // Terms are sorted by weight: the first is the heaviest.
            real_u32(all & 1),
            real_u32((has[NAME] | has[SERVER]) & 1),
            covered(plan, all & 0b111),
            rarest(plan, has[NAME]),
            rarest(plan, has[SERVER]),
            rarest(plan, all),
        ]);
    }

    fn query(&mut self, plan: &Plan) {
        let unknown = real(plan.unknown.len());
        self.put(&[
            real(plan.words),
            real(plan.parts),
            unknown / real(plan.words.max(1)),
        ]);
    }

    fn form(&mut self, facts: &Facts, copies: usize, same_name: usize) {
        let shape = facts.shape;
        self.put(&[
            shape.name_words(),
            shape.description_words(),
            shape.parameters(),
            shape.required(),
            real(copies),
            real(same_name),
        ]);
    }

    fn server(&mut self, standing: &Standing, before: usize, total: f32) {
        self.put(&[
            1.0 / (1.0 + real(standing.best_rank)),
            real(standing.in_ten),
            real(standing.in_all),
            standing.sum / total,
            real(before),
        ]);
    }

    fn acts(&mut self, plan: &Plan, facts: &Facts) {
        let act = facts.shape.act();
        let meets = match (act, plan.acts & (1 << act) != 0) {
            (0, _) => 0.0,
            (_, true) => 1.0,
            (_, false) => -1.0,
        };
        let shared = plan.kinds & facts.shape.kinds();
        self.put(&[meets, real_u32(shared.count_ones())]);
    }
}

fn share(part: u32, whole: f32) -> f32 {
    real_u32(part) / whole.max(1.0)
}

/// Rarity of the rarest term among some.
fn rarest(plan: &Plan, has: u32) -> f32 {
    let terms = plan.terms.iter().enumerate();
    let having = terms.filter(|(bit, _)| has & (1 << bit) != 0);
    having.map(|(_, term)| term.rarity).fold(0.0, f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::ToolDocument;
    use crate::index::IndexOptions;
    use crate::plan;

    #[test]
    fn a_row_is_filled_to_its_end_and_not_past_it() {
        let tool = ToolDocument {
            id: "a".to_owned(),
            name: "read_file".to_owned(),
            ..ToolDocument::default()
        };
        let index = ToolIndex::in_memory([tool], &IndexOptions::default()).unwrap();
        let plan = plan::plan(&index, "read a file").unwrap();
        let scope = crate::filter::Scope::of(&index, &crate::filter::Filter::default()).unwrap();
        let candidate = index.candidates(&plan, &scope, 10, None).unwrap().remove(0);
        let facts = *index.facts(candidate.place);
        let mut row = Row::default();
        row.lexical(&candidate, 0, 1.0, 0.0);
        row.meeting(&plan, &candidate, &facts);
        row.query(&plan);
        row.form(&facts, 0, 1);
        row.server(&Standing::default(), 0, 1.0);
        row.acts(&plan, &facts);
        assert_eq!(row.filled, LEXICAL);
        row.put(&[0.0; COUNT - LEXICAL]);
        assert_eq!(row.filled, COUNT);
    }
}

//! The order of an answer: what the query names, then what fits it best, copies folded, no server crowding the others
//! out.

use std::cmp::{Ordering, Reverse};
use std::collections::{HashMap, HashSet, VecDeque};

use crate::error::SearchError;
use crate::exact::Named;
use crate::family;
use crate::features;
use crate::filter::{Filter, Scope};
use crate::hits::{Found, Hit, Match, Strength};
use crate::index::{Place, ToolIndex};
use crate::num::grid;
use crate::plan::{self, Plan};
use crate::rerank;
use crate::schema::{FIELDS, Facts, NAMES, SERVER};
use crate::score::Candidate;
use crate::tally::Tally;
use crate::{bounds, text};

/// How tools are ranked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// By the first stage alone: for what the second was not trained on.
    FirstStage,
    /// By words alone, with no table of meanings; the reference.
    Lexical,
    /// The best by words, put in order with what words mean.
    #[default]
    Default,
}

/// How far behind a lexical score is still nearly as good.
const NEARLY: f32 = 0.1;

/// What a search may be told.
#[derive(Clone, Copy, Debug)]
pub struct SearchOptions {
    pub limit: usize,
    pub mode: Mode,
    /// Most tools of one server among the first [`Self::window`], unless the query names the server or no other server
    /// comes near.
    pub per_server: usize,
    /// How many first hits that holds for.
    pub window: usize,
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self {
            limit: 7,
            mode: Mode::Default,
            per_server: 3,
            window: 7,
        }
    }
}

/// A tool on its way into the answer.
#[derive(Clone, Debug)]
pub(crate) struct Ranked {
    pub(crate) candidate: Candidate,
    pub(crate) score: f32,
    pub(crate) exact: bool,
    /// The query names it, or nearly does.
    pub(crate) named: bool,
    /// The query names this very tool, not only its name: no copy takes its place.
    pub(crate) pinned: bool,
    pub(crate) copies: Vec<Place>,
}

impl ToolIndex {
    /// The tools that fit a query, best first.
    pub fn search(&self, query: &str, options: &SearchOptions) -> Result<Vec<Hit>, SearchError> {
        Ok(self.find(query, &Filter::default(), options)?.hits)
    }

    /// The same among the tools a filter lets pass, with what can be said of the whole.
    pub fn find(&self, query: &str, filter: &Filter, options: &SearchOptions) -> Result<Found, SearchError> {
        let scope = Scope::of(self, filter)?;
        let (plan, ranked, tally) = self.ranking(query, &scope, options.mode, bounds::CANDIDATES, false)?;
        let ranked = self.spread(&plan, ranked, options);
        let hits = ranked.iter().take(options.limit);
        Ok(Found {
            hits: hits.map(|ranked| self.hit(&plan, ranked)).collect(),
            matched: tally.any,
            instead: plan.instead,
            unknown: plan.unknown,
        })
    }

    /// Everything that fits, in order, copies folded.
    pub(crate) fn ranking(
        &self,
        query: &str,
        scope: &Scope,
        mode: Mode,
        most: usize,
        detailed: bool,
    ) -> Result<(Plan, Vec<Ranked>, Tally), SearchError> {
        let folded = plan::readable(query);
        let plan = plan::plan(self, &folded)?;
        let named = self.named(&folded, scope)?;
        let mut tally = Tally::of(&plan, &named);
        tally.detailed = detailed;
        let candidates = self.candidates(&plan, scope, most, Some(&mut tally))?;
        tally.add_named(self);
        let tier = self.first_tier(&named, &candidates);
        let mut ranked = self.fold(
            candidates
                .into_iter()
                .map(|candidate| Ranked::of(candidate, false)),
        );
        self.rerank(mode, &plan, &mut ranked);
        let ranked = self.fold(tier.into_iter().chain(ranked));
        Ok((plan, ranked, tally))
    }

    /// What the second stage sees of a query's candidates, for training it.
    pub fn training_rows(&self, query: &str) -> Result<Vec<(String, Vec<f32>)>, SearchError> {
        let folded = plan::readable(query);
        let plan = plan::plan(self, &folded)?;
        let scope = Scope::of(self, &Filter::default())?;
        let candidates = self.candidates(&plan, &scope, bounds::CANDIDATES, None)?;
        let mut ranked = self.fold(
            candidates
                .into_iter()
                .map(|candidate| Ranked::of(candidate, false)),
        );
        ranked.truncate(bounds::RERANKED);
        let rows = features::rows(self, &plan, &ranked);
        let ids = ranked
            .iter()
            .map(|ranked| self.id(ranked.candidate.place).to_owned());
        Ok(ids.zip(rows.into_iter().map(Vec::from)).collect())
    }

    fn rerank(&self, mode: Mode, plan: &Plan, ranked: &mut [Ranked]) {
        if mode == Mode::FirstStage {
            return;
        }
        let head = ranked.len().min(bounds::RERANKED);
        let rows = features::rows(self, plan, &ranked[..head]);
        for (ranked, row) in ranked[..head].iter_mut().zip(&rows) {
            ranked.score = rerank::score(mode, row);
        }
        let order =
            |a: &Ranked, b: &Ranked| self.order(a.score, a.candidate.place, b.score, b.candidate.place);
        ranked[..head].sort_by(order);
    }

    pub(crate) fn facts(&self, place: Place) -> &Facts {
        &self.segments[place.segment].facts[place.doc as usize]
    }

    pub(crate) fn id(&self, place: Place) -> &str {
        self.segments[place.segment].id(place.doc)
    }

    /// Better score first; where the grid cannot tell them apart, the better proved, then the identifier.
    pub(crate) fn order(&self, a_score: f32, a: Place, b_score: f32, b: Place) -> Ordering {
        // What is written for the ranking stands behind everything that is not.
        let flagged = |place| self.facts(place).shape.flagged();
        let scores = flagged(a)
            .cmp(&flagged(b))
            .then_with(|| grid(b_score).cmp(&grid(a_score)));
        scores
            .then_with(|| self.facts(b).trust.cmp(&self.facts(a).trust))
            .then_with(|| self.id(a).cmp(self.id(b)))
    }

    /// Tools the query names: one of each name, then the rest, then names it nearly spells.
    fn first_tier(&self, named: &Named, candidates: &[Candidate]) -> Vec<Ranked> {
        let by_place: HashMap<Place, &Candidate> = candidates.iter().map(|c| (c.place, c)).collect();
        let mut votes: HashMap<u64, usize> = HashMap::new();
        for group in &named.exact {
            let servers: HashSet<u64> = group.iter().map(|&(place, _)| self.facts(place).server).collect();
            for server in servers {
                *votes.entry(server).or_default() += 1;
            }
        }
        let ranked = |&(place, pinned): &(Place, bool), exact: bool| {
            let known = by_place.get(&place).map(|candidate| (*candidate).clone());
            let candidate = known.unwrap_or_else(|| Candidate::unscored(place));
            Ranked {
                pinned,
                named: true,
                ..Ranked::of(candidate, exact)
            }
        };
        let sorted = |named: &[(Place, bool)], exact: bool| {
            let mut group: Vec<Ranked> = named.iter().map(|named| ranked(named, exact)).collect();
            group.sort_by_cached_key(|ranked| {
                let facts = self.facts(ranked.candidate.place);
                let votes = votes.get(&facts.server).copied().unwrap_or_default();
                let lexical = grid(ranked.candidate.lexical);
                (
                    facts.shape.flagged(),
                    Reverse((votes, facts.trust, lexical)),
                    self.id(ranked.candidate.place).to_owned(),
                )
            });
            group
        };
        let mut firsts = Vec::new();
        let mut others = Vec::new();
        for group in &named.exact {
            let mut group = sorted(group, true).into_iter();
            firsts.extend(group.next());
            others.extend(group);
        }
        firsts.append(&mut others);
        for group in &named.near {
            firsts.extend(sorted(group, false));
        }
        firsts
    }

    /// Copies under the best proved of them, at the place of the best ranked.
    fn fold(&self, ranked: impl Iterator<Item = Ranked>) -> Vec<Ranked> {
        let mut kept: Vec<Ranked> = Vec::new();
        let mut by_name: HashMap<u64, Vec<usize>> = HashMap::new();
        let mut seen: HashSet<Place> = HashSet::new();
        for next in ranked {
            if !seen.insert(next.candidate.place) {
                continue;
            }
            let facts = self.facts(next.candidate.place);
            let same_name = by_name.entry(facts.name).or_default();
            let copy_of = |&at: &usize| family::are_copies(self.facts(kept[at].candidate.place), facts);
            let copy_of = same_name.iter().copied().find(copy_of);
            seen.extend(next.copies.iter().copied());
            if let Some(at) = copy_of {
                self.join(&mut kept[at], next);
            } else {
                same_name.push(kept.len());
                kept.push(next);
            }
        }
        kept
    }

    fn join(&self, kept: &mut Ranked, copy: Ranked) {
        let proof = |place: Place| {
            let facts = self.facts(place);
            (
                facts.shape.flagged(),
                Reverse(facts.trust),
                facts.seen,
                self.id(place),
            )
        };
        let mut copies = copy.copies;
        if !kept.pinned && proof(copy.candidate.place) < proof(kept.candidate.place) {
            copies.push(kept.candidate.place);
            kept.candidate.place = copy.candidate.place;
        } else {
            copies.push(copy.candidate.place);
        }
        kept.copies.append(&mut copies);
        kept.copies.sort_by(|&a, &b| proof(a).cmp(&proof(b)));
        kept.copies.dedup();
    }

    /// Puts off what one server has too much of, as long as another server has something nearly as good.
    pub(crate) fn spread(&self, plan: &Plan, ranked: Vec<Ranked>, options: &SearchOptions) -> Vec<Ranked> {
        let mut counts: HashMap<u64, usize> = HashMap::new();
        let mut left: VecDeque<Ranked> = ranked.into();
        let mut first = Vec::new();
        while first.len() < options.window {
            let crowds = |next: &Ranked| {
                let facts = self.facts(next.candidate.place);
                let count = counts.get(&facts.server).copied().unwrap_or_default();
                count >= options.per_server && !next.exact && !names_server(plan, &next.candidate, facts)
            };
            let Some(best) = left.front() else { break };
            let least = best.candidate.lexical - NEARLY;
            let rival = left.iter().position(|next| !crowds(next));
            let rival = rival.filter(|&at| left[at].candidate.lexical >= least);
            let Some(next) = left.remove(rival.unwrap_or_default()) else {
                break;
            };
            *counts.entry(self.facts(next.candidate.place).server).or_default() += 1;
            first.push(next);
        }
        first.extend(left);
        first
    }

    pub(crate) fn hit(&self, plan: &Plan, ranked: &Ranked) -> Hit {
        let candidate = &ranked.candidate;
        let covered = features::covered(plan, any(candidate));
        let strength = match (ranked.exact, covered >= 0.5) {
            (true, _) => Strength::Exact,
            (false, true) => Strength::Strong,
            (false, false) => Strength::Weak,
        };
        Hit {
            id: self.id(candidate.place).to_owned(),
            strength,
            why: why(plan, candidate),
            also_in: ranked
                .copies
                .iter()
                .map(|&place| self.id(place).to_owned())
                .collect(),
            score: grid(ranked.score),
            parts: [candidate.whole, candidate.part, candidate.pairs].map(grid),
            first_seen: self.facts(candidate.place).seen,
            changed: self.facts(candidate.place).changed,
        }
    }
}

impl Ranked {
    /// A tool that is listed for no word.
    pub(crate) fn unscored(place: Place) -> Self {
        Self::of(Candidate::unscored(place), false)
    }

    fn of(candidate: Candidate, exact: bool) -> Self {
        Self {
            score: candidate.lexical,
            candidate,
            exact,
            named: false,
            pinned: false,
            copies: Vec::new(),
        }
    }
}

impl Candidate {
    /// A tool that is known by its name alone.
    fn unscored(place: Place) -> Self {
        Self {
            place,
            lexical: 0.0,
            whole: 0.0,
            part: 0.0,
            second_part: 0.0,
            pairs: 0.0,
            has: [0; FIELDS],
        }
    }
}

/// The terms a tool has in any field.
pub(crate) fn any(candidate: &Candidate) -> u32 {
    candidate.has.iter().fold(0, |any, has| any | has)
}

/// Whether the query says at least half of what the server is called.
fn names_server(plan: &Plan, candidate: &Candidate, facts: &Facts) -> bool {
    let said = plan.terms.iter().enumerate().filter(|(bit, term)| {
        candidate.has[SERVER] & (1 << bit) != 0 && !text::GENERIC.contains(&term.surface.as_str())
    });
    let said = said.count();
    said > 0 && crate::num::real(said) * 2.0 >= facts.shape.server_words()
}

fn why(plan: &Plan, candidate: &Candidate) -> Vec<Match> {
    let terms = plan.terms.iter().enumerate();
    terms
        .filter(|(bit, _)| any(candidate) & (1 << bit) != 0)
        .map(|(bit, term)| Match {
            word: term.surface.clone(),
            fields: (0..FIELDS)
                .filter(|&field| candidate.has[field] & (1 << bit) != 0)
                .map(|field| NAMES[field])
                .collect(),
        })
        .collect()
}

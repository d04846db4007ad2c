//! What can be said of everything a query met, not only of what is shown: how many, how many with all its words, and
//! how they divide.

use std::collections::HashMap;

use crate::exact::Named;
use crate::filter::{Counts, Scope};
use crate::index::{Place, ToolIndex};
use crate::plan::Plan;
use crate::schema::FIELDS;

/// Counts over everything met.
#[derive(Default)]
pub(crate) struct Tally {
    /// Tools with a weighty word of the query, or named by it.
    pub(crate) any: usize,
    /// Tools with all of them.
    pub(crate) all: usize,
    /// Among `any`, tools with each weighty word.
    pub(crate) having: Vec<usize>,
    pub(crate) facets: [Counts; 2],
    /// By server, tools among `any` and among `all`; only where asked for.
    pub(crate) servers: HashMap<u64, [usize; 2]>,
    /// Whether more than the numbers is wanted.
    pub(crate) detailed: bool,
    sources: Vec<u32>,
    named: HashMap<Place, bool>,
}

impl Tally {
    pub(crate) fn of(plan: &Plan, named: &Named) -> Self {
        let places = named.exact.iter().chain(&named.near).flatten();
        Self {
            sources: plan.sources.iter().map(|source| source.bits).collect(),
            having: vec![0; plan.sources.len()],
            named: places.map(|&(place, _)| (place, false)).collect(),
            ..Self::default()
        }
    }

    /// Sees a tool that shares a word with the query.
    pub(crate) fn see(&mut self, index: &ToolIndex, scope: &Scope, place: Place, has: &[u32; FIELDS]) {
        let bits = has.iter().fold(0, |all, bits| all | bits);
        let weighty = self.sources.is_empty() || self.sources.iter().any(|source| source & bits != 0);
        let named = self.named.contains_key(&place);
        if !(weighty || named) || !scope.has_apart_from_labels(index, place) {
            return;
        }
        if let Some(seen) = self.named.get_mut(&place) {
            *seen = true;
        }
        let complete = named || self.sources.iter().all(|source| source & bits != 0);
        self.count(index, scope, place, complete);
        if scope.unmet(index.facts(place).labels) == 0 {
            for (having, source) in self.having.iter_mut().zip(&self.sources) {
                *having += usize::from(source & bits != 0);
            }
        }
    }

    /// Sees the tools that are named and share no word.
    pub(crate) fn add_named(&mut self, index: &ToolIndex) {
        let unseen: Vec<Place> = self
            .named
            .iter()
            .filter(|(_, seen)| !**seen)
            .map(|(place, _)| *place)
            .collect();
        for place in unseen {
            self.any += 1;
            self.all += 1;
            let facts = index.facts(place);
            if self.detailed {
                self.facets
                    .iter_mut()
                    .for_each(|counts| counts.see(facts.labels, 0));
                let servers = self.servers.entry(facts.server).or_default();
                for count in servers.iter_mut() {
                    *count += 1;
                }
            }
        }
    }

    /// Counts a tool of the scope, labels apart.
    pub(crate) fn count(&mut self, index: &ToolIndex, scope: &Scope, place: Place, complete: bool) {
        let facts = index.facts(place);
        let unmet = scope.unmet(facts.labels);
        if unmet == 0 {
            self.any += 1;
            self.all += usize::from(complete);
        }
        if !self.detailed {
            return;
        }
        self.facets[0].see(facts.labels, unmet);
        if complete {
            self.facets[1].see(facts.labels, unmet);
        }
        if unmet == 0 {
            let servers = self.servers.entry(facts.server).or_default();
            servers[0] += 1;
            servers[1] += usize::from(complete);
        }
    }
}

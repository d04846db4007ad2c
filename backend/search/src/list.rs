//! Lists for people: page by page, with counts of everything that was found, not only of what is shown.

use std::collections::HashMap;

use crate::bounds;
use crate::error::SearchError;
use crate::filter::{Facet, Filter, Scope};
use crate::hits::Hit;
use crate::index::{Place, ToolIndex};
use crate::plan::Plan;
use crate::rank::{Mode, Ranked, any};
use crate::tally::Tally;

/// Where a page starts: after this hit, which stood at this place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct After {
    pub id: String,
    pub place: usize,
}

/// What a list may be told.
#[derive(Clone, Debug)]
pub struct ListOptions {
    pub mode: Mode,
    pub limit: usize,
    pub after: Option<After>,
    pub filter: Filter,
    /// Most tools shown of one server; the rest is counted.
    pub per_server: usize,
}

/// A hit of a list.
#[derive(Clone, Debug)]
pub struct Listed {
    pub hit: Hit,
    /// Its place in the whole list, from 0.
    pub place: usize,
    /// How many tools of its server were found.
    pub of_server: usize,
}

/// A page of a list.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    pub hits: Vec<Listed>,
    /// How many were found; copies count.
    pub total: usize,
    /// Whether there are hits after these.
    pub more: bool,
    pub facets: Vec<Facet>,
    /// Words of the query that not every hit has.
    pub relaxed: Vec<String>,
    /// Words that were looked for in place of others.
    pub instead: Vec<(String, String)>,
    /// Words of the query with what each weighs, heaviest first.
    pub weights: Vec<(String, i64)>,
}

/// With fewer hits that have every word, those that have some follow.
const FEW: usize = 7;

impl ToolIndex {
    /// A page of what fits; without words, of everything the filter lets pass.
    pub fn list(&self, query: &str, options: &ListOptions) -> Result<Listing, SearchError> {
        let scope = Scope::of(self, &options.filter)?;
        if query.trim().is_empty() {
            return Ok(self.list_all(&scope, options));
        }
        let (plan, ranked, tally) = self.ranking(query, &scope, options.mode, bounds::LISTED, true)?;
        let strict = tally.all >= FEW || tally.all == tally.any;
        let complete = |next: &Ranked| {
            let has = any(&next.candidate);
            next.named || plan.sources.iter().all(|source| source.bits & has != 0)
        };
        let ranked: Vec<Ranked> = if strict {
            ranked.into_iter().filter(complete).collect()
        } else {
            ranked
        };
        let mut page = self.page(&plan, &ranked, &tally, usize::from(strict), options);
        page.relaxed.clone_from(&plan.unknown);
        if !strict {
            let words = plan.sources.iter().zip(&tally.having);
            let missing = words.filter(|(_, having)| **having < tally.any);
            page.relaxed
                .extend(missing.map(|(source, _)| source.word.clone()));
        }
        let weight = |weight: f32| crate::num::grid(weight);
        let terms = plan.terms.iter();
        page.weights = terms
            .map(|term| (term.surface.clone(), weight(term.weight)))
            .collect();
        page.instead = plan.instead;
        Ok(page)
    }

    /// Everything, the best proved first, then by identifier.
    fn list_all(&self, scope: &Scope, options: &ListOptions) -> Listing {
        let mut tally = Tally::default();
        tally.detailed = true;
        let mut places = Vec::new();
        for (number, segment) in self.segments.iter().enumerate() {
            for doc in 0..segment.reader.max_doc() {
                let place = Place { segment: number, doc };
                if scope.has_apart_from_labels(self, place) {
                    tally.count(self, scope, place, true);
                    if scope.has(self, place) {
                        places.push(place);
                    }
                }
            }
        }
        let order = |a: &Place, b: &Place| self.order(0.0, *a, 0.0, *b);
        if places.len() > bounds::LISTED {
            places.select_nth_unstable_by(bounds::LISTED, order);
            places.truncate(bounds::LISTED);
        }
        places.sort_unstable_by(order);
        let ranked: Vec<Ranked> = places.into_iter().map(Ranked::unscored).collect();
        self.page(&Plan::default(), &ranked, &tally, 1, options)
    }

    fn page(
        &self,
        plan: &Plan,
        ranked: &[Ranked],
        tally: &Tally,
        which: usize,
        options: &ListOptions,
    ) -> Listing {
        let mut shown: HashMap<u64, usize> = HashMap::new();
        let kept: Vec<&Ranked> = ranked
            .iter()
            .filter(|next| {
                let count = shown.entry(self.facts(next.candidate.place).server).or_default();
                *count += 1;
                *count <= options.per_server
            })
            .collect();
        let start = options.after.as_ref().map_or(0, |after| {
            let same = |next: &&Ranked| self.id(next.candidate.place) == after.id;
            kept.iter().position(same).unwrap_or(after.place) + 1
        });
        let hits: Vec<Listed> = kept
            .iter()
            .enumerate()
            .skip(start)
            .take(options.limit)
            .map(|(place, next)| {
                let server = self.facts(next.candidate.place).server;
                Listed {
                    hit: self.hit(plan, next),
                    place,
                    of_server: tally.servers.get(&server).map_or(1, |counts| counts[which]),
                }
            })
            .collect();
        Listing {
            more: kept.len() > start + hits.len(),
            hits,
            total: if which == 1 { tally.all } else { tally.any },
            facets: tally.facets[which].facets(),
            ..Listing::default()
        }
    }
}

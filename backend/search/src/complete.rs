//! What a name that is being typed may become.

use std::collections::BTreeMap;

use crate::analysis;
use crate::error::SearchError;
use crate::filter::{Filter, Scope};
use crate::index::ToolIndex;
use crate::plan;

/// A way to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The tool or server that would be first.
    pub id: String,
    /// How many go by this name.
    pub count: usize,
}

/// Fewest letters that are completed.
const LEAST_CHARS: usize = 2;
/// Most names looked at.
const LOOKED_AT: usize = 400;

impl ToolIndex {
    /// Names that begin so, in any spelling; the shortest and most used first. Nothing for a single letter.
    pub fn complete(&self, typed: &str, most: usize) -> Result<Vec<Completion>, SearchError> {
        let key = analysis::key(&plan::readable(typed));
        if key.chars().count() < LEAST_CHARS {
            return Ok(Vec::new());
        }
        let scope = Scope::of(self, &Filter::default())?;
        let keys = self.keys(&key, |segment| &segment.keys, |_| true)?;
        // By name: of each the shortest way to say it, and who goes by it.
        let mut names: BTreeMap<u64, (usize, usize, String)> = BTreeMap::new();
        for key in keys.into_iter().take(LOOKED_AT) {
            let length = key.chars().count();
            for (place, _) in self.with_key(&key, &scope)? {
                let facts = self.facts(place);
                if facts.shape.flagged() {
                    continue;
                }
                let id = self.id(place);
                let entry = names
                    .entry(facts.name)
                    .or_insert_with(|| (length, 0, id.to_owned()));
                entry.0 = entry.0.min(length);
                entry.1 += 1;
                if id < entry.2.as_str() {
                    id.clone_into(&mut entry.2);
                }
            }
        }
        let mut found: Vec<(usize, usize, String)> = names.into_values().collect();
        found.sort_by(|a, b| (a.0, b.1, &a.2).cmp(&(b.0, a.1, &b.2)));
        found.truncate(most);
        Ok(found
            .into_iter()
            .map(|(_, count, id)| Completion { id, count })
            .collect())
    }

    /// The last word respelt, when no name begins so and none has it.
    pub fn respell(&self, typed: &str) -> Result<Option<(String, String)>, SearchError> {
        let plan = plan::plan(self, &plan::readable(typed))?;
        Ok(plan.instead.into_iter().next())
    }
}

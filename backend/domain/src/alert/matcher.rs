//! All filters at once against one event: looked up by server and namespace, so that ten thousand that are about other
//! servers cost nothing.

use std::collections::HashMap;

use super::filter::{Facts, Filter};
use super::glob;

/// Filters, each with what the caller knows it by.
#[derive(Debug, Default)]
pub struct Matcher<T> {
    entries: Vec<(T, Filter)>,
    /// Indices by whole name.
    by_server: HashMap<String, Vec<usize>>,
    /// Indices by what a namespace pattern begins with.
    by_head: HashMap<String, Vec<usize>>,
    /// Indices by what a namespace pattern ends with, where it begins with a star.
    by_tail: HashMap<String, Vec<usize>>,
    /// Indices of those about every server.
    any: Vec<usize>,
}

impl<T> Matcher<T> {
    /// Prepares the filters.
    pub fn new(entries: Vec<(T, Filter)>) -> Self {
        let mut matcher = Self {
            entries: Vec::new(),
            by_server: HashMap::new(),
            by_head: HashMap::new(),
            by_tail: HashMap::new(),
            any: Vec::new(),
        };
        for (index, (_, filter)) in entries.iter().enumerate() {
            if !filter.names_servers() {
                matcher.any.push(index);
            }
            for name in filter.servers.iter().chain(&filter.lock) {
                matcher.by_server.entry(name.clone()).or_default().push(index);
            }
            for pattern in &filter.namespaces {
                let head = glob::head(pattern);
                let (map, key) = if head.is_empty() {
                    (&mut matcher.by_tail, glob::tail(pattern))
                } else {
                    (&mut matcher.by_head, head)
                };
                map.entry(key.to_owned()).or_default().push(index);
            }
        }
        matcher.entries = entries;
        matcher
    }

    /// Those the event fits, in the order they were given, each once.
    pub fn matches(&self, facts: &Facts) -> Vec<&T> {
        let mut found: Vec<usize> = Vec::new();
        let fits = |index: &&usize| self.entries[**index].1.fits_rest(facts);
        found.extend(self.any.iter().filter(fits));
        if let Some(indices) = self.by_server.get(&facts.server) {
            found.extend(indices.iter().filter(fits));
        }
        let namespace = facts.namespace.as_str();
        let ends = namespace
            .char_indices()
            .map(|(at, _)| at)
            .chain([namespace.len()]);
        for end in ends {
            let parts = [
                self.by_head.get(&namespace[..end]),
                self.by_tail.get(&namespace[end..]),
            ];
            for indices in parts.into_iter().flatten() {
                let whole = |index: &&usize| self.entries[**index].1.fits(facts);
                found.extend(indices.iter().filter(whole));
            }
        }
        found.sort_unstable();
        found.dedup();
        found.into_iter().map(|index| &self.entries[index].0).collect()
    }

    /// How many filters there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::event::{EventKind, Severity};

    fn name() -> impl Strategy<Value = String> {
        "(a|b|a\\.b|a\\.c)/[xy]"
    }

    fn pattern() -> impl Strategy<Value = String> {
        "(\\*|a|a\\*|a\\.\\*|\\*b|b)"
    }

    fn filter() -> impl Strategy<Value = Filter> {
        let list = |strategy: BoxedStrategy<String>| prop::collection::vec(strategy, 0..3);
        (
            list(name().boxed()),
            list(pattern().boxed()),
            list(name().boxed()),
            prop::sample::select(Severity::ALL.to_vec()),
            list("(D08|D15)".boxed()),
            list("(get|set)_\\*".boxed()),
        )
            .prop_map(|(servers, namespaces, lock, severity, rules, tools)| Filter {
                servers,
                namespaces,
                lock,
                kinds: Vec::new(),
                rules,
                tools,
                severity,
            })
    }

    proptest! {
        #[test]
        fn the_index_finds_what_asking_each_filter_finds(filters in prop::collection::vec(filter(), 0..20), server in name(),
            severity in prop::sample::select(Severity::ALL.to_vec())) {
            let facts = Facts {
                seq: 1, kind: EventKind::VersionPublished, namespace: server.split('/').next().unwrap().into(),
                server, severity, rules: vec!["D08".into()], tools: vec!["get_a".into()],
            };
            let slow: Vec<usize> = (0..filters.len()).filter(|index| filters[*index].fits(&facts)).collect();
            let matcher = Matcher::new(filters.into_iter().enumerate().collect());
            let fast: Vec<usize> = matcher.matches(&facts).into_iter().copied().collect();
            prop_assert_eq!(slow, fast);
        }
    }
}

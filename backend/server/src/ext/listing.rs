//! What the lists of tools and servers have in common: the parameters that narrow them, and their cursors.

use toolmark_domain::limits::{CURSOR_BYTES, PAGE_DEFAULT, PAGE_MAX, SEARCH_CHARS, SERVER_NAME_CHARS};
use toolmark_domain::timestamp::Timestamp;
use toolmark_registry::search::{After, Filter, GROUPS, ListOptions, Mode, Typed};

use super::invalid_cursor;
use crate::cursor;
use crate::extract::Own;
use crate::problem::Problem;

/// Parameters of a list of tools.
pub(crate) const KNOWN: &[&str] = &[
    "q",
    "namespace",
    "server",
    "registry_type",
    "transport",
    "era",
    "verdict",
    "read_only",
    "destructive",
    "output_schema",
    "auth",
    "severity",
    "status",
    "changed_since",
    "minimum_age_days",
    "limit",
    "cursor",
    "explain",
];

/// A list as it is asked for.
#[derive(Debug, Default)]
pub(crate) struct Narrowed {
    /// As typed.
    pub(crate) query: String,
    /// The parameters that narrow it, as given, in the order of [`KNOWN`].
    pub(crate) narrow: Vec<(&'static str, String)>,
    pub(crate) limit: u32,
    pub(crate) after: Option<After>,
    pub(crate) explain: bool,
}

impl Narrowed {
    /// Reads the parameters; `cursor` is the first part of this list's cursors.
    pub(crate) fn read(query: Option<&str>, list: &str) -> Result<Self, Problem> {
        let mut read = Own::parse(query, KNOWN);
        let limit = read.integer("limit", 1, i64::from(PAGE_MAX));
        let explain = read.one_of("explain", &["1"]).is_some();
        let mut asked = Self {
            query: read.text("q", SEARCH_CHARS).unwrap_or_default(),
            limit: limit
                .and_then(|limit| u32::try_from(limit).ok())
                .unwrap_or(PAGE_DEFAULT),
            explain,
            ..Self::default()
        };
        for name in ["namespace", "server"] {
            let given = read.text(name, SERVER_NAME_CHARS.1);
            asked.put(name, given);
        }
        for (group, values) in GROUPS {
            let given = read.one_of(group, values);
            asked.put(group, given);
        }
        let since = read.text("changed_since", 40);
        if since
            .as_deref()
            .is_some_and(|text| !text.is_empty() && day(text).is_none())
        {
            read.refuse("changed_since", "expected a date such as `2026-03-01`".to_owned());
        }
        asked.put("changed_since", since);
        let days = read.integer("minimum_age_days", 0, 36_500);
        asked.put("minimum_age_days", days.map(|days| days.to_string()));
        let given = read.text("cursor", CURSOR_BYTES);
        read.finish()?;
        if let Some(given) = given {
            asked.take_up(&given, list)?;
        }
        Ok(asked)
    }

    fn put(&mut self, name: &'static str, value: Option<String>) {
        let value = value.filter(|value| !value.trim().is_empty());
        self.narrow.extend(value.map(|value| (name, value)));
    }

    /// What the cursor carries; what is given beside it counts.
    fn take_up(&mut self, given: &str, list: &str) -> Result<(), Problem> {
        let [query, narrow, place, id] = cursor::parts(given, list).ok_or_else(invalid_cursor)?;
        if self.query.is_empty() {
            self.query = query;
        }
        for (name, value) in url::form_urlencoded::parse(narrow.as_bytes()) {
            let known = KNOWN.iter().find(|known| **known == name);
            if let Some(known) = known.filter(|known| self.narrow.iter().all(|(name, _)| name != *known)) {
                self.narrow.push((known, value.into_owned()));
            }
        }
        self.after = Some(After {
            id,
            place: place.parse().unwrap_or_default(),
        });
        Ok(())
    }

    pub(crate) fn cursor(&self, list: &str, after: &After) -> String {
        let mut narrow = url::form_urlencoded::Serializer::new(String::new());
        narrow.extend_pairs(&self.narrow);
        cursor::join(
            list,
            &[&self.query, &narrow.finish(), &after.place.to_string(), &after.id],
        )
    }

    /// The value given for a parameter.
    pub(crate) fn given(&self, name: &str) -> Option<&str> {
        let found = self.narrow.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// What the index is asked: the words, and everything else.
    pub(crate) fn options(&self, mode: Mode, now: Timestamp, per_server: usize) -> (String, ListOptions) {
        let typed = Typed::read(&self.query);
        let mut filter: Filter = typed.filter;
        for (group, _) in GROUPS {
            if let Some(value) = self.given(group) {
                // A cursor may carry a value this release does not know: it narrows nothing.
                let _known = filter.wanted.add(group, value);
            }
        }
        if let Some(namespace) = self.given("namespace") {
            filter.namespace = Some(namespace.to_owned());
        }
        filter.server = self.given("server").map(str::to_owned);
        let secs = |secs: i64| u64::try_from(secs).unwrap_or_default();
        filter.changed_since = self
            .given("changed_since")
            .and_then(day)
            .map(|at| secs(at.as_secs()));
        let days = self
            .given("minimum_age_days")
            .and_then(|days| days.parse::<i64>().ok());
        filter.seen_before = days.map(|days| secs(now.as_secs().saturating_sub(days.saturating_mul(86_400))));
        let whole = filter.server.is_some();
        let options = ListOptions {
            mode,
            limit: self.limit as usize,
            after: self.after.clone(),
            filter,
            per_server: if whole { usize::MAX } else { per_server },
        };
        (typed.text, options)
    }
}

/// A moment, or the start of a day.
fn day(text: &str) -> Option<Timestamp> {
    let read = text.parse::<Timestamp>();
    read.or_else(|_| format!("{text}T00:00:00Z").parse()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_carries_what_the_list_was_narrowed_by() {
        let first = Narrowed::read(Some("q=two+words&era=modern&namespace=io.github&limit=7"), "t1").unwrap();
        let after = After {
            id: "a/b#c".into(),
            place: 6,
        };
        let cursor = first.cursor("t1", &after);
        let second = Narrowed::read(Some(&format!("cursor={cursor}&era=legacy")), "t1").unwrap();
        assert_eq!(second.query, "two words");
        assert_eq!(second.given("era"), Some("legacy"));
        assert_eq!(second.given("namespace"), Some("io.github"));
        assert_eq!(second.after, Some(after));
        for odd in ["t1----", "t1-ff-00--fe80"] {
            assert!(
                Narrowed::read(Some(&format!("cursor={odd}")), "t1").is_ok(),
                "{odd}"
            );
        }
        for wrong in ["", "t1", "t1---", "s1----", "t1-0----"] {
            assert!(
                Narrowed::read(Some(&format!("cursor={wrong}")), "t1").is_err(),
                "{wrong}"
            );
        }
    }

    #[test]
    fn values_nobody_counts_are_refused_and_named() {
        for wrong in [
            "era=future",
            "read_only=1",
            "changed_since=soon",
            "minimum_age_days=-1",
            "explain=2",
            "x=1",
        ] {
            assert!(Narrowed::read(Some(wrong), "t1").is_err(), "{wrong}");
        }
    }
}

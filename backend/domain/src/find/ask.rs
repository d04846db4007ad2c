//! What `find_tools` is asked, read from its arguments. Everything that is wrong is named, with its place.

use serde_json::{Map, Value};

use crate::limits::{
    FIND_IDS, FIND_LIMIT, FIND_LIMIT_MAX, FIND_NEED_CHARS, FIND_NEEDS, FIND_TOKENS, FIND_TOKENS_MAX,
    FIND_TOKENS_MIN, SERVER_NAME_CHARS,
};
use crate::timestamp::Timestamp;

/// How much of each tool is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// Whole definitions as far as they fit, a line each after that.
    #[default]
    Auto,
    /// A line each.
    Compact,
    /// Whole definitions; what does not fit is a line.
    Full,
}

/// What must hold beside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FindFilters {
    pub namespace: Option<String>,
    pub registry_type: Option<String>,
    pub transport: Option<String>,
    pub provenance: Option<String>,
    pub read_only: Option<bool>,
    pub changed_since: Option<Timestamp>,
    pub minimum_age_days: Option<u32>,
}

impl FindFilters {
    /// Words for the note: which filters were applied.
    pub fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let named = [
            ("namespace", &self.namespace),
            ("registry_type", &self.registry_type),
            ("transport", &self.transport),
            ("provenance", &self.provenance),
        ];
        for (name, value) in named {
            words.extend(value.as_ref().map(|value| format!("{name} {value}")));
        }
        words.extend(self.read_only.map(|wanted| format!("read_only {wanted}")));
        words.extend(self.changed_since.map(|since| format!("changed_since {since}")));
        words.extend(
            self.minimum_age_days
                .map(|days| format!("minimum_age_days {days}")),
        );
        words
    }
}

/// A request to `find_tools`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FindAsk {
    /// What the agent wants done; several are answered one by one.
    pub needs: Vec<String>,
    /// Whether `needs` was given rather than `query`.
    pub several: bool,
    /// Tools whose definitions are wanted.
    pub ids: Vec<String>,
    pub server: Option<String>,
    pub filters: FindFilters,
    pub limit: usize,
    pub detail: Detail,
    pub max_tokens: usize,
}

/// Something wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{place}`: {message}")]
pub struct AskError {
    pub place: String,
    pub message: String,
}

/// Arguments there are.
const KNOWN: [&str; 8] = [
    "query",
    "needs",
    "ids",
    "server",
    "filters",
    "limit",
    "detail",
    "max_tokens",
];
const FILTERS: [&str; 7] = [
    "namespace",
    "registry_type",
    "transport",
    "provenance",
    "read_only",
    "changed_since",
    "minimum_age_days",
];

impl FindAsk {
    /// One need, everything else as it is when nothing is said.
    pub fn of(query: &str) -> Self {
        Self {
            needs: vec![query.to_owned()],
            limit: FIND_LIMIT,
            max_tokens: FIND_TOKENS,
            ..Self::default()
        }
    }

    /// Reads the arguments of a call.
    pub fn read(arguments: &Map<String, Value>) -> Result<Self, Vec<AskError>> {
        let mut read = Reader::default();
        read.names("", arguments, &KNOWN);
        let query = read.text(arguments, "", "query");
        let needs = read.texts(arguments, "needs", FIND_NEEDS);
        let ids = read.texts(arguments, "ids", FIND_IDS);
        let given = [query.is_some(), needs.is_some(), ids.is_some()];
        if given.iter().filter(|given| **given).count() != 1 {
            read.refuse("query", "give exactly one of `query`, `needs` and `ids`");
        }
        let detail = match read.text(arguments, "", "detail").as_deref() {
            None | Some("auto") => Detail::Auto,
            Some("compact") => Detail::Compact,
            Some("full") => Detail::Full,
            Some(_) => {
                read.refuse("detail", "expected `auto`, `compact` or `full`");
                Detail::Auto
            }
        };
        let most_tokens = (FIND_TOKENS_MIN, FIND_TOKENS_MAX);
        let several = needs.is_some();
        let ask = Self {
            needs: needs.or(query.map(|query| vec![query])).unwrap_or_default(),
            several,
            ids: ids.unwrap_or_default(),
            server: read.text(arguments, "", "server"),
            filters: read.filters(arguments.get("filters")),
            limit: read
                .number(arguments, "", "limit", (1, FIND_LIMIT_MAX))
                .unwrap_or(FIND_LIMIT),
            detail,
            max_tokens: read
                .number(arguments, "", "max_tokens", most_tokens)
                .unwrap_or(FIND_TOKENS),
        };
        read.finish(ask)
    }
}

#[derive(Default)]
struct Reader {
    errors: Vec<AskError>,
}

impl Reader {
    fn refuse(&mut self, place: impl Into<String>, message: impl Into<String>) {
        self.errors.push(AskError {
            place: place.into(),
            message: message.into(),
        });
    }

    fn finish<T>(self, read: T) -> Result<T, Vec<AskError>> {
        if self.errors.is_empty() {
            Ok(read)
        } else {
            Err(self.errors)
        }
    }

    fn names(&mut self, before: &str, given: &Map<String, Value>, known: &[&str]) {
        for name in given
            .keys()
            .filter(|name| !known.contains(&name.as_str()))
            .take(8)
        {
            let shown: String = name.chars().take(64).collect();
            self.refuse(
                format!("{before}{shown}"),
                format!("unknown; known are `{}`", known.join("`, `")),
            );
        }
    }

    fn text(&mut self, from: &Map<String, Value>, before: &str, name: &str) -> Option<String> {
        match from.get(name)? {
            Value::Null => None,
            Value::String(text) if text.trim().is_empty() => {
                self.refuse(format!("{before}{name}"), "must not be empty");
                None
            }
            Value::String(text) => {
                let most = if name == "query" {
                    FIND_NEED_CHARS
                } else {
                    SERVER_NAME_CHARS.1
                };
                Some(text.chars().take(most).collect())
            }
            _ => {
                self.refuse(format!("{before}{name}"), "expected a text");
                None
            }
        }
    }

    fn texts(&mut self, from: &Map<String, Value>, name: &str, most: usize) -> Option<Vec<String>> {
        let list = match from.get(name)? {
            Value::Null => return None,
            Value::Array(list) if !list.is_empty() && list.len() <= most => list,
            _ => {
                self.refuse(name, format!("expected a list of 1 to {most} texts"));
                return Some(Vec::new());
            }
        };
        let mut texts = Vec::new();
        for (number, text) in list.iter().enumerate() {
            match text.as_str().filter(|text| !text.trim().is_empty()) {
                Some(text) => texts.push(text.chars().take(FIND_NEED_CHARS).collect()),
                None => self.refuse(format!("{name}[{number}]"), "expected a text that is not empty"),
            }
        }
        Some(texts)
    }

    fn number(
        &mut self,
        from: &Map<String, Value>,
        before: &str,
        name: &str,
        (least, most): (usize, usize),
    ) -> Option<usize> {
        let value = from.get(name).filter(|value| !value.is_null())?;
        // JSON has one kind of number: 7.0 is 7.
        let whole = value.as_u64().or_else(|| {
            let text = value.as_f64().map(|number| number.to_string());
            text.and_then(|text| text.parse().ok())
        });
        let read = whole.and_then(|number| usize::try_from(number).ok());
        let read = read.filter(|number| (least..=most).contains(number));
        if read.is_none() {
            self.refuse(
                format!("{before}{name}"),
                format!("expected a whole number from {least} to {most}"),
            );
        }
        read
    }

    fn filters(&mut self, given: Option<&Value>) -> FindFilters {
        let filters = match given {
            None | Some(Value::Null) => return FindFilters::default(),
            Some(Value::Object(filters)) => filters,
            Some(_) => {
                self.refuse("filters", "expected an object");
                return FindFilters::default();
            }
        };
        self.names("filters.", filters, &FILTERS);
        let read_only = match filters.get("read_only") {
            None | Some(Value::Null) => None,
            Some(Value::Bool(wanted)) => Some(*wanted),
            Some(_) => {
                self.refuse("filters.read_only", "expected true or false");
                None
            }
        };
        let since = self.text(filters, "filters.", "changed_since");
        let changed_since = since.and_then(|text| {
            let day = format!("{text}T00:00:00Z");
            let read = text.parse::<Timestamp>().or_else(|_| day.parse());
            if read.is_err() {
                self.refuse("filters.changed_since", "expected a date such as `2026-03-01`");
            }
            read.ok()
        });
        let days = self.number(filters, "filters.", "minimum_age_days", (0, 36_500));
        FindFilters {
            namespace: self.text(filters, "filters.", "namespace"),
            registry_type: self.choice(
                filters,
                "registry_type",
                &["npm", "pypi", "oci", "mcpb", "nuget", "cargo", "remote"],
            ),
            transport: self.choice(filters, "transport", &["stdio", "streamable-http", "sse"]),
            provenance: self.choice(
                filters,
                "provenance",
                &["verified", "unsigned", "mismatch", "invalid", "unverifiable"],
            ),
            read_only,
            changed_since,
            minimum_age_days: days.and_then(|days| u32::try_from(days).ok()),
        }
    }

    fn choice(&mut self, from: &Map<String, Value>, name: &str, known: &[&str]) -> Option<String> {
        let text = self.text(from, "filters.", name)?;
        if known.contains(&text.as_str()) {
            return Some(text);
        }
        self.refuse(
            format!("filters.{name}"),
            format!("expected one of `{}`", known.join("`, `")),
        );
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: &Value) -> Result<FindAsk, Vec<String>> {
        let read = FindAsk::read(value.as_object().unwrap());
        read.map_err(|errors| errors.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn what_is_not_said_has_its_usual_value() {
        let ask = read(&json!({"query": "send a mail"})).unwrap();
        assert_eq!(ask, FindAsk::of("send a mail"));
        let ask =
            read(&json!({"needs": ["a", "b"], "limit": 3.0, "filters": {"changed_since": "2026-03-01"}}))
                .unwrap();
        assert_eq!((ask.needs.len(), ask.several, ask.limit), (2, true, 3));
        assert_eq!(ask.filters.words(), ["changed_since 2026-03-01T00:00:00Z"]);
        let nulls = json!({"query": "x", "server": null, "filters": null, "needs": null, "limit": null});
        assert_eq!(read(&nulls).unwrap(), FindAsk::of("x"));
    }

    #[test]
    fn everything_wrong_is_named() {
        let errors = read(&json!({
            "query": 3, "limit": 0, "detail": "much", "max_tokens": "x", "colour": 1,
            "filters": {"read_only": "yes", "transport": "pigeon", "shade": 2, "changed_since": "soon"},
        }))
        .unwrap_err();
        for place in [
            "`query`",
            "`limit`",
            "`detail`",
            "`max_tokens`",
            "`colour`",
            "`filters.read_only`",
            "`filters.transport`",
            "`filters.shade`",
            "`filters.changed_since`",
        ] {
            assert!(
                errors.iter().any(|error| error.starts_with(place)),
                "{place}: {errors:?}"
            );
        }
        for wrong in [
            json!({}),
            json!({"query": "x", "needs": ["y"]}),
            json!({"query": " "}),
            json!({"needs": []}),
            json!({"needs": ["x", 3]}),
            json!({"needs": vec!["x"; 9]}),
            json!({"ids": "x"}),
            json!({"query": "x", "limit": 21}),
            json!({"query": "x", "filters": []}),
        ] {
            assert!(read(&wrong).is_err(), "{wrong}");
        }
    }
}

//! Which events a subscription is about.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::glob;
use crate::event::{EventKind, Severity};
use crate::limits::{ALERT_FILTER_ENTRIES, ALERT_PATTERN_CHARS};
use crate::name::ServerName;
use crate::rules::RULES;

/// A filter. An empty list asks for nothing in particular; of a list that is not empty one entry has to fit. Servers,
/// namespaces and the lock file together say which servers are meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Filter {
    /// Whole names.
    pub servers: Vec<String>,
    /// Patterns of namespaces.
    pub namespaces: Vec<String>,
    /// Names of the servers in a lock file.
    pub lock: Vec<String>,
    /// Kinds of events.
    pub kinds: Vec<EventKind>,
    /// Ids of rules, one of which has to be among the findings.
    pub rules: Vec<String>,
    /// Patterns of tool names, one of which has to be concerned.
    pub tools: Vec<String>,
    /// The least severity.
    pub severity: Severity,
}

impl Default for Filter {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            namespaces: Vec::new(),
            lock: Vec::new(),
            kinds: Vec::new(),
            rules: Vec::new(),
            tools: Vec::new(),
            severity: Severity::Info,
        }
    }
}

/// Something in a filter that can never fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("filter.{field}: {what}")]
pub struct FilterError {
    /// Member of the filter, with the index where it is a list.
    pub field: String,
    pub what: String,
}

impl Filter {
    /// Every fault, with its place.
    pub fn check(&self) -> Vec<FilterError> {
        let mut faults = Vec::new();
        for (field, names) in [("servers", &self.servers), ("lock", &self.lock)] {
            each(&mut faults, field, names, |name| {
                ServerName::parse(name)
                    .err()
                    .map(|error| format!("`{}` is {error}", cut(name)))
            });
        }
        for (field, patterns) in [("namespaces", &self.namespaces), ("tools", &self.tools)] {
            each(&mut faults, field, patterns, |pattern| {
                let chars = pattern.chars().count();
                let fits =
                    (1..=ALERT_PATTERN_CHARS).contains(&chars) && !pattern.chars().any(char::is_control);
                let slash = field == "namespaces" && pattern.contains('/');
                if slash {
                    return Some(format!("`{}` is no namespace: it has a slash", cut(pattern)));
                }
                (!fits).then(|| format!("a pattern has 1 to {ALERT_PATTERN_CHARS} characters"))
            });
        }
        each(&mut faults, "rules", &self.rules, |id| {
            let known = RULES.iter().any(|rule| rule.id == id);
            (!known).then(|| format!("there is no rule `{}`", cut(id)))
        });
        faults
    }

    /// Whether it names servers in any way.
    pub fn names_servers(&self) -> bool {
        !(self.servers.is_empty() && self.namespaces.is_empty() && self.lock.is_empty())
    }

    /// Whether the event is of a server this is about.
    pub fn is_about(&self, facts: &Facts) -> bool {
        !self.names_servers()
            || self
                .servers
                .iter()
                .chain(&self.lock)
                .any(|name| *name == facts.server)
            || self
                .namespaces
                .iter()
                .any(|pattern| glob::fits(pattern, &facts.namespace))
    }

    /// Whether the event fits, its server aside.
    pub fn fits_rest(&self, facts: &Facts) -> bool {
        facts.severity >= self.severity
            && (self.kinds.is_empty() || self.kinds.contains(&facts.kind))
            && (self.rules.is_empty() || self.rules.iter().any(|id| facts.rules.contains(id)))
            && (self.tools.is_empty()
                || facts
                    .tools
                    .iter()
                    .any(|tool| self.tools.iter().any(|pattern| glob::fits(pattern, tool))))
    }

    /// Whether the event fits.
    pub fn fits(&self, facts: &Facts) -> bool {
        self.fits_rest(facts) && self.is_about(facts)
    }
}

fn each(
    faults: &mut Vec<FilterError>,
    field: &str,
    entries: &[String],
    judge: impl Fn(&str) -> Option<String>,
) {
    if entries.len() > ALERT_FILTER_ENTRIES {
        faults.push(FilterError {
            field: field.to_owned(),
            what: format!("at most {ALERT_FILTER_ENTRIES} entries"),
        });
        return;
    }
    for (index, entry) in entries.iter().enumerate() {
        if let Some(what) = judge(entry) {
            faults.push(FilterError {
                field: format!("{field}[{index}]"),
                what,
            });
        }
    }
}

fn cut(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(60).collect()
}

/// What of an event is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    pub seq: i64,
    pub kind: EventKind,
    pub server: String,
    pub namespace: String,
    pub severity: Severity,
    pub rules: Vec<String>,
    pub tools: Vec<String>,
}

impl Facts {
    /// Reads an event object; none for a blanked one, and for a kind of a later release.
    pub fn read(event: &Value) -> Option<Self> {
        let word = |key: &str| event.get(key).and_then(Value::as_str);
        let server = word("server")?;
        let list = |key: &str| {
            let list = event.pointer(key).and_then(Value::as_array);
            let texts = list.into_iter().flatten().filter_map(Value::as_str);
            texts.map(str::to_owned).collect()
        };
        let findings = event.pointer("/data/findings").and_then(Value::as_array);
        let found = findings
            .into_iter()
            .flatten()
            .filter_map(|finding| finding["tool"].as_str());
        let mut tools: Vec<String> = list("/data/tools");
        for tool in found {
            if !tools.iter().any(|known| known == tool) {
                tools.push(tool.to_owned());
            }
        }
        Some(Self {
            seq: event.get("seq")?.as_i64()?,
            kind: EventKind::parse(word("kind")?)?,
            namespace: server.split('/').next().unwrap_or_default().to_owned(),
            server: server.to_owned(),
            severity: Severity::parse(word("severity")?)?,
            rules: list("/data/rules"),
            tools,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn facts() -> Facts {
        Facts::read(&json!({
            "schema": "toolmark.event/1", "seq": 7, "kind": "version.published", "at": "2026-03-01T12:00:00Z",
            "server": "com.example/weather", "severity": "medium", "data": {"rules": ["D08"], "tools": ["get_tide"]},
        }))
        .unwrap()
    }

    #[test]
    fn each_part_of_a_filter_can_refuse_and_servers_join() {
        let fits = |filter: Value| {
            let filter: Filter = serde_json::from_value(filter).unwrap();
            assert_eq!(filter.check(), [], "{filter:?}");
            filter.fits(&facts())
        };
        for (filter, fit) in [
            (json!({}), true),
            (json!({"servers": ["com.example/weather"]}), true),
            (json!({"servers": ["com.example/other"]}), false),
            (json!({"lock": ["com.example/weather"]}), true),
            (
                json!({"servers": ["com.example/other"], "namespaces": ["com.*"]}),
                true,
            ),
            (json!({"namespaces": ["com.example.*"]}), false),
            (json!({"kinds": ["version.published"]}), true),
            (json!({"kinds": ["version.status"]}), false),
            (json!({"rules": ["D08", "D15"]}), true),
            (json!({"rules": ["D15"]}), false),
            (json!({"tools": ["get_*"]}), true),
            (json!({"tools": ["set_*"]}), false),
            (json!({"severity": "medium"}), true),
            (json!({"severity": "high"}), false),
        ] {
            assert_eq!(fits(filter.clone()), fit, "{filter}");
        }
    }

    #[test]
    fn faults_are_all_named_with_their_place() {
        let filter = Filter {
            servers: vec!["a/b".into(), "nope".into()],
            namespaces: vec!["com.example/x".into(), String::new()],
            rules: vec!["Z99".into()],
            ..Filter::default()
        };
        let places: Vec<String> = filter.check().into_iter().map(|fault| fault.field).collect();
        assert_eq!(
            places,
            ["servers[1]", "namespaces[0]", "namespaces[1]", "rules[0]"]
        );
        let many = Filter {
            lock: vec!["a/b".into(); ALERT_FILTER_ENTRIES + 1],
            ..Filter::default()
        };
        assert_eq!(many.check().len(), 1);
        assert!(serde_json::from_value::<Filter>(json!({"sever": []})).is_err());
    }

    #[test]
    fn a_blanked_event_has_no_facts() {
        assert_eq!(
            Facts::read(&json!({"schema": "toolmark.event/1", "seq": 1, "blanked": true})),
            None
        );
    }
}

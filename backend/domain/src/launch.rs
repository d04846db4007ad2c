//! How a server is started and what it asks the network for, compared between two looks at one line.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::digest::Digest;
use crate::finding::{Finding, Label, Place, Severity, Subject};

/// What is known of the start of one look.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Launch {
    pub version: String,
    pub transport: String,
    /// The artifact that was run.
    pub artifact: Option<Digest>,
    /// Whether what was declared is the same at both looks decides what another artifact means.
    pub manifest: Option<Digest>,
    /// Names of environment variables and headers, each with whether it is a secret.
    pub variables: BTreeMap<String, bool>,
    /// Arguments, as declared.
    pub arguments: Vec<Value>,
    /// Names of hosts asked for in both takes.
    pub hosts: BTreeSet<String>,
}

impl Launch {
    /// What the entry of a `server.json` says of the start; the rest is the caller's.
    pub fn declared(entry: &Value) -> Self {
        let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
        let mut variables = BTreeMap::new();
        for variable in list(entry, "environmentVariables")
            .iter()
            .chain(&list(entry, "headers"))
        {
            if let Some(name) = variable["name"].as_str() {
                let secret = variable["isSecret"].as_bool().unwrap_or(false) || is_secret(name);
                variables.insert(name.to_owned(), secret);
            }
        }
        let mut arguments = list(entry, "runtimeArguments");
        arguments.extend(list(entry, "packageArguments"));
        let transport = entry["transport"]["type"].as_str().or(entry["type"].as_str());
        Self {
            transport: transport.unwrap_or_default().to_owned(),
            variables,
            arguments,
            ..Self::default()
        }
    }
}

/// Does a variable of this name hold a secret?
fn is_secret(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    [
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "API_KEY",
        "APIKEY",
        "PRIVATE_KEY",
        "CREDENTIAL",
        "AUTHORIZATION",
    ]
    .iter()
    .any(|word| upper.contains(word))
}

/// What is new in how it is started.
pub fn diff(old: &Launch, new: &Launch) -> Vec<Finding> {
    let place = Place {
        kind: Subject::Launch,
        key: None,
    };
    let mut findings = Vec::new();
    if old.transport != new.transport && !old.transport.is_empty() {
        let said = format!(
            "it is spoken to by `{}` and was by `{}`",
            new.transport, old.transport
        );
        let found = place.finding("L01", "/transport", said).effect(Label::Breaking);
        findings.push(
            found
                .before(Some(text(&old.transport)))
                .after(Some(text(&new.transport))),
        );
    }
    if old.arguments != new.arguments {
        let said = "it is started with other arguments".to_owned();
        let found = place.finding("L01", "/arguments", said).effect(Label::Semantic);
        let shown = |launch: &Launch| Some(Value::from(launch.arguments.clone()));
        findings.push(found.before(shown(old)).after(shown(new)));
    }
    for (name, secret) in new
        .variables
        .iter()
        .filter(|(name, _)| !old.variables.contains_key(*name))
    {
        let severity = if *secret { Severity::Medium } else { Severity::Low };
        let what = if *secret { "a secret, " } else { "" };
        let said = format!("it asks for {what}`{}`", crate::finding::excerpt(name));
        let found = place.finding(
            "L05",
            format!("/variables/{}", crate::manifest::escaped(name)),
            said,
        );
        findings.push(
            found
                .severity(severity)
                .effect(Label::Compatible)
                .after(Some(text(name))),
        );
    }
    for host in new.hosts.difference(&old.hosts) {
        let said = format!(
            "it asks for the host `{}` when it starts",
            crate::finding::excerpt(host)
        );
        let found = place.finding("L04", "/egress", said).effect(Label::Semantic);
        findings.push(found.after(Some(text(host))));
    }
    findings.extend(artifact(&place, old, new));
    findings
}

fn artifact(place: &Place, old: &Launch, new: &Launch) -> Option<Finding> {
    if old.version != new.version {
        return None;
    }
    let (before, after) = (old.artifact?, new.artifact?);
    if before != after {
        let said = format!("version {} is another artifact than before", new.version);
        let found = place.finding("L02", "/artifact", said).effect(Label::Suspicious);
        return Some(
            found
                .before(Some(before.to_string().into()))
                .after(Some(after.to_string().into())),
        );
    }
    if old.manifest.is_some() && new.manifest.is_some() && old.manifest != new.manifest {
        let said = format!(
            "the same artifact of version {} declares something else",
            new.version
        );
        return Some(place.finding("L03", "/manifest", said).effect(Label::Semantic));
    }
    None
}

fn text(text: &str) -> Value {
    Value::from(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn launch() -> Launch {
        let mut launch = Launch::declared(&json!({
            "registryType": "npm", "transport": {"type": "stdio"},
            "environmentVariables": [{"name": "CITY"}], "packageArguments": [{"type": "positional", "value": "x"}],
        }));
        launch.version = "1.0.0".into();
        launch.artifact = Some(Digest::of(b"a"));
        launch.manifest = Some(Digest::of(b"m"));
        launch.hosts = BTreeSet::from(["api.example.com".to_owned()]);
        launch
    }

    #[test]
    fn each_part_of_the_start_has_its_class() {
        let rules = |change: fn(&mut Launch)| {
            let mut new = launch();
            change(&mut new);
            let found = diff(&launch(), &new);
            found
                .into_iter()
                .map(|finding| (finding.rule, finding.severity))
                .collect::<Vec<_>>()
        };
        assert_eq!(rules(|_| {}), []);
        assert_eq!(
            rules(|new| new.transport = "sse".into()),
            [("L01", Severity::Medium)]
        );
        assert_eq!(rules(|new| new.arguments.clear()), [("L01", Severity::Medium)]);
        assert_eq!(
            rules(|new| {
                let _ = new.variables.insert("ZONE".into(), false);
            }),
            [("L05", Severity::Low)]
        );
        assert_eq!(
            rules(|new| {
                let _ = new.variables.insert("API".into(), true);
            }),
            [("L05", Severity::Medium)]
        );
        assert_eq!(
            rules(|new| {
                let _ = new.hosts.insert("mail.example.org".into());
            }),
            [("L04", Severity::Medium)]
        );
        assert_eq!(
            rules(|new| {
                let _ = new.hosts.pop_first();
            }),
            []
        );
        assert_eq!(
            rules(|new| new.artifact = Some(Digest::of(b"b"))),
            [("L02", Severity::Critical)]
        );
        assert_eq!(
            rules(|new| new.manifest = Some(Digest::of(b"n"))),
            [("L03", Severity::Medium)]
        );
        assert_eq!(
            rules(|new| {
                new.version = "2".into();
                new.artifact = Some(Digest::of(b"b"));
            }),
            []
        );
    }

    #[test]
    fn a_secret_is_known_by_its_mark_or_its_name() {
        let entry = json!({"type": "streamable-http", "headers": [{"name": "Authorization"}, {"name": "X", "isSecret": true}, {"name": "Y"}]});
        let launch = Launch::declared(&entry);
        let secrets: Vec<bool> = launch.variables.values().copied().collect();
        assert_eq!(secrets, [true, true, false]);
        assert_eq!(launch.transport, "streamable-http");
    }
}

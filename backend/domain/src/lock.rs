//! `toolmark.lock`: what somebody looked at and wants to keep, and how it stands later.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::digest::Digest;
use crate::timestamp::Timestamp;

/// The schema name of the file.
pub const LOCK_SCHEMA: &str = "toolmark.lock/1";

/// The file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    pub schema: String,
    /// Where it is checked.
    pub registry: String,
    /// By name.
    pub servers: Vec<Pin>,
}

/// One server as it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// `namespace/name`.
    pub name: String,
    pub version: String,
    /// What was looked at, as `npm:NAME@V`; none where nothing was observed.
    #[serde(default)]
    pub target: Option<String>,
    /// SHA-256 of the artifact that was run.
    #[serde(default)]
    pub artifact: Option<Digest>,
    /// Who built it, as the registry verified it.
    #[serde(default)]
    pub builder: Option<Value>,
    /// Root over all it declared.
    #[serde(default, rename = "manifest/1")]
    pub manifest: Option<Digest>,
    #[serde(default)]
    pub tools: Vec<ToolPin>,
    pub pinned_at: Timestamp,
}

/// One tool as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolPin {
    pub name: String,
    #[serde(rename = "tool/1")]
    pub tool: Digest,
}

/// How a pinned server stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// What is current is what was pinned.
    Same,
    /// The registry knows it; something else is current.
    KnownOlder,
    /// The registry never saw it.
    Unknown,
    /// It was deleted or taken down.
    Withdrawn,
}

/// Which tools are not as they were.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolChanges {
    pub added: Vec<String>,
    pub removed: Vec<String>,
    pub changed: Vec<String>,
}

impl ToolChanges {
    /// Compares two lists, by name.
    pub fn between(pinned: &[ToolPin], now: &[ToolPin]) -> Self {
        let find =
            |list: &[ToolPin], name: &str| list.iter().find(|tool| tool.name == name).map(|tool| tool.tool);
        let mut changes = Self::default();
        for tool in pinned {
            match find(now, &tool.name) {
                None => changes.removed.push(tool.name.clone()),
                Some(digest) if digest != tool.tool => changes.changed.push(tool.name.clone()),
                Some(_) => {}
            }
        }
        let new = now.iter().filter(|tool| find(pinned, &tool.name).is_none());
        changes.added.extend(new.map(|tool| tool.name.clone()));
        changes
    }

    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pins(list: &[(&str, &[u8])]) -> Vec<ToolPin> {
        let pin = |(name, text): &(&str, &[u8])| ToolPin {
            name: (*name).to_owned(),
            tool: Digest::of(text),
        };
        list.iter().map(pin).collect()
    }

    #[test]
    fn tools_are_compared_by_name_and_digest() {
        let changes = ToolChanges::between(
            &pins(&[("a", b"1"), ("b", b"1"), ("c", b"1")]),
            &pins(&[("a", b"1"), ("b", b"2"), ("d", b"1")]),
        );
        assert_eq!(
            (changes.added, changes.removed, changes.changed),
            (vec!["d".to_owned()], vec!["c".to_owned()], vec!["b".to_owned()])
        );
        assert!(ToolChanges::between(&pins(&[("a", b"1")]), &pins(&[("a", b"1")])).is_empty());
    }

    #[test]
    fn the_file_reads_back_and_refuses_what_it_does_not_know() {
        let text = r#"{"schema":"toolmark.lock/1","registry":"https://registry.example","servers":[{"name":"a/b","version":"1","target":"npm:b@1","artifact":null,"builder":null,"manifest/1":"0000000000000000000000000000000000000000000000000000000000000000","tools":[{"name":"t","tool/1":"0000000000000000000000000000000000000000000000000000000000000000"}],"pinned_at":"2026-03-01T12:00:00Z"}]}"#;
        let lock: Lock = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&lock).unwrap(), text);
        assert!(serde_json::from_str::<Lock>(&text.replace("\"target\"", "\"tarfet\"")).is_err());
    }
}

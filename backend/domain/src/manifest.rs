//! The canonical form of what a server declares: the thing that is hashed, pinned and compared.
//!
//! Reading is lenient, because a strange manifest is a fact about a server and no error of ours: what is doubtful is
//! named by its place and keeps a digest of its bytes. Comparing two manifests is [`crate::diff`], judging one
//! [`crate::scan`].

mod contract;
mod input;
mod merkle;
mod parse;
mod takes;

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::digest::Digest;

pub use contract::{EFFECTIVE_HINTS, contract};
pub(crate) use contract::{plain, schema_form};
pub use input::{InputError, read};
pub use merkle::{Membership, MembershipError};
pub(crate) use parse::escaped;
pub use parse::{Fact, FactKind, parse};
pub use takes::{VOLATILE, volatile_pointers};

/// What one entry of a list is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ItemKind {
    Prompt,
    Resource,
    Template,
    Tool,
}

impl ItemKind {
    /// Every kind, in the order of their names, which is the order of leaves.
    pub const ALL: [Self; 4] = [Self::Prompt, Self::Resource, Self::Template, Self::Tool];

    /// The word in leaves and answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Resource => "resource",
            Self::Template => "template",
            Self::Tool => "tool",
        }
    }

    /// The key of its list in a snapshot, and the first part of a volatile pointer.
    pub fn list(self) -> &'static str {
        match self {
            Self::Prompt => "prompts",
            Self::Resource => "resources",
            Self::Template => "resource_templates",
            Self::Tool => "tools",
        }
    }

    /// The member that names an item of this kind.
    pub fn key_member(self) -> &'static str {
        match self {
            Self::Prompt | Self::Tool => "name",
            Self::Resource => "uri",
            Self::Template => "uriTemplate",
        }
    }
}

impl fmt::Display for ItemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One tool, prompt, resource or template as it was declared.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    pub kind: ItemKind,
    /// Its name, URI or URI template; empty where it has none that is text.
    pub key: String,
    /// Its place in the list as received.
    pub index: usize,
    /// What was read. Where [`Self::facts`] is not empty it is the nearest value JSON can hold.
    pub value: Value,
    /// Why the digest is one of raw bytes, if it is.
    pub facts: Vec<Fact>,
    /// `tool/1`.
    pub tool: Digest,
    /// `contract/1`.
    pub contract: Digest,
}

impl Item {
    /// An item from its bytes: any JSON value, in the grammar of JSON.
    pub(crate) fn from_raw(kind: ItemKind, index: usize, raw: &str) -> Self {
        let (value, facts) = parse(raw);
        let mut item = Self::from_value(kind, index, value);
        if !facts.is_empty() {
            item.tool = Digest::of(raw.as_bytes());
            item.contract = item.tool;
            item.facts = facts;
        }
        item
    }

    /// An item from a value that holds nothing doubtful.
    pub fn from_value(kind: ItemKind, index: usize, value: Value) -> Self {
        let key = value.get(kind.key_member()).and_then(Value::as_str);
        Self {
            kind,
            key: key.unwrap_or_default().to_owned(),
            index,
            tool: digest_of(&value),
            contract: digest_of(&contract(kind, &value)),
            value,
            facts: Vec::new(),
        }
    }

    /// The kind as it stands in the leaf.
    fn leaf_kind(&self) -> String {
        let prefix = if self.facts.is_empty() { "" } else { "raw-" };
        format!("{prefix}{}", self.kind)
    }

    /// A text member, empty where there is none.
    pub fn text(&self, member: &str) -> &str {
        self.value.get(member).and_then(Value::as_str).unwrap_or_default()
    }
}

/// RFC 8785 bytes of a value.
pub(crate) fn canonical(value: &Value) -> Vec<u8> {
    serde_json_canonicalizer::to_vec(value).expect("a value in memory has finite numbers and text as keys")
}

/// SHA-256 of the RFC 8785 bytes of a value.
pub fn digest_of(value: &Value) -> Digest {
    Digest::of(&canonical(value))
}

/// How many model tokens a definition takes, by the rule used everywhere here: a quarter of its canonical bytes.
pub fn token_cost(value: &Value) -> usize {
    canonical(value).len().div_ceil(4)
}

/// Which protocol generation answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Era {
    Modern,
    Legacy,
}

/// What a server says of itself. Only capabilities and instructions are pinned.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerRecord {
    pub era: Option<Era>,
    pub capabilities: Option<Value>,
    pub instructions: Option<Value>,
    /// `serverInfo`, reported by the server about itself.
    pub info: Option<Value>,
    pub protocol_version: Option<String>,
    pub supported_versions: Vec<String>,
    pub(crate) facts: Vec<Fact>,
    pub(crate) raw_leaf: Option<Vec<u8>>,
}

impl ServerRecord {
    /// The instructions, empty where there are none that are text.
    pub fn instructions(&self) -> &str {
        let text = self.instructions.as_ref().and_then(Value::as_str);
        text.unwrap_or_default()
    }

    /// The record as an object: what the first leaf is made of.
    pub fn pinned(&self) -> Value {
        let mut record = Map::new();
        if let Some(capabilities) = &self.capabilities {
            record.insert("capabilities".to_owned(), capabilities.clone());
        }
        if let Some(instructions) = &self.instructions {
            record.insert("instructions".to_owned(), instructions.clone());
        }
        Value::Object(record)
    }

    fn leaf(&self) -> Vec<u8> {
        let raw = self.raw_leaf.clone();
        raw.unwrap_or_else(|| canonical(&self.pinned()))
    }
}

/// What one target declared at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Manifest {
    pub server: ServerRecord,
    /// As received: kind by kind, in the order of the lists.
    pub items: Vec<Item>,
    /// Doubtful things about its form outside single items.
    pub facts: Vec<Fact>,
    /// Lists the server was asked for and gave, even if empty.
    pub lists: Vec<ItemKind>,
    /// Pointers to values that move by themselves; digests are taken with the marker in their place.
    pub volatile: Vec<String>,
}

impl Manifest {
    /// The items of one kind, in the order of their list.
    pub fn of(&self, kind: ItemKind) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(move |item| item.kind == kind)
    }

    /// The tools, in the order of their list.
    pub fn tools(&self) -> impl Iterator<Item = &Item> {
        self.of(ItemKind::Tool)
    }

    /// `manifest/1`.
    pub fn root(&self) -> Digest {
        merkle::root(&self.leaves())
    }

    /// The data of every leaf: the server record, then the items by kind, key and digest.
    pub(crate) fn leaves(&self) -> Vec<Vec<u8>> {
        let mut items: Vec<(String, &[u8], &[u8; 32])> = self
            .items
            .iter()
            .map(|item| (item.leaf_kind(), item.key.as_bytes(), item.tool.as_bytes()))
            .collect();
        items.sort_unstable();
        let leaf = |(kind, key, digest): (String, &[u8], &[u8; 32])| {
            let mut data = kind.into_bytes();
            data.push(0);
            data.extend_from_slice(key);
            data.push(0);
            data.extend_from_slice(digest);
            data
        };
        let mut leaves = vec![self.server.leaf()];
        leaves.extend(items.into_iter().map(leaf));
        leaves
    }

    /// Proof that one item is part of [`Self::root`].
    pub fn membership(&self, item: &Item) -> Option<Membership> {
        let leaves = self.leaves();
        let mut wanted = item.leaf_kind().into_bytes();
        wanted.push(0);
        wanted.extend_from_slice(item.key.as_bytes());
        wanted.push(0);
        wanted.extend_from_slice(item.tool.as_bytes());
        let index = leaves.iter().position(|leaf| *leaf == wanted)?;
        Some(merkle::membership(&leaves, index))
    }

    /// The `digests` member of a snapshot, without `raw`.
    pub fn digests(&self) -> Value {
        let items = self.items.iter().map(|item| {
            json!({
                "kind": item.leaf_kind(),
                "key": item.key,
                "index": item.index,
                "tool/1": item.tool,
                "contract/1": item.contract,
            })
        });
        json!({"manifest/1": self.root(), "items": items.collect::<Vec<_>>()})
    }

    /// Model tokens that all definitions of tools take together.
    pub fn tools_token_cost(&self) -> usize {
        self.tools().map(|tool| token_cost(&tool.value)).sum()
    }
}

#[cfg(test)]
mod tests;

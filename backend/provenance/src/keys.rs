//! The keys a package registry signs its publish attestations with. A key is looked up by the registry's own id, its
//! use and its window; ids are text the registry chose, so they are never computed.

use serde::Deserialize;
use sigstore_types::{DerPublicKey, TimeRange};
use toolmark_domain::limits::{KEY_LIST_BYTES, KEY_LIST_KEYS};

const PINNED: &[u8] = include_bytes!("../roots/npm-keys.json");
const USAGE: &str = "npm:attestations";

/// A list of keys that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyListError {
    #[error("{bytes} bytes, the limit is {KEY_LIST_BYTES}")]
    TooLarge { bytes: usize },
    #[error("not a list of keys: {0}")]
    Json(#[from] serde_json::Error),
    #[error("{count} keys, the limit is {KEY_LIST_KEYS}")]
    TooMany { count: usize },
}

/// Keys of a registry.
#[derive(Clone, Debug)]
pub struct KeyList {
    keys: Vec<Key>,
    document: Vec<u8>,
}

/// One key with one use.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Key {
    #[serde(rename = "keyId")]
    id: String,
    #[serde(rename = "keyUsage")]
    usage: String,
    #[serde(rename = "publicKey")]
    pub(crate) public: PublicKey,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PublicKey {
    pub(crate) raw_bytes: DerPublicKey,
    pub(crate) valid_for: Option<TimeRange>,
}

/// What the list says of an id.
pub(crate) enum Found<'a> {
    /// Keys for attestations, in the order of the list.
    ForAttestations(Vec<&'a Key>),
    /// The id is there, but for something else.
    OtherUse(&'a Key),
    Unknown,
}

impl KeyList {
    /// The list this program was built with.
    pub fn pinned() -> Result<Self, KeyListError> {
        Self::read(PINNED)
    }

    /// Reads a list as the registry's trust repository publishes it.
    pub fn read(json: &[u8]) -> Result<Self, KeyListError> {
        #[derive(Deserialize)]
        struct Document {
            keys: Vec<Key>,
        }
        if json.len() > KEY_LIST_BYTES {
            return Err(KeyListError::TooLarge { bytes: json.len() });
        }
        let Document { keys } = serde_json::from_slice(json)?;
        if keys.len() > KEY_LIST_KEYS {
            return Err(KeyListError::TooMany { count: keys.len() });
        }
        Ok(Self {
            keys,
            document: json.to_vec(),
        })
    }

    /// The bytes it was read from.
    pub fn document(&self) -> &[u8] {
        &self.document
    }

    pub(crate) fn find(&self, id: &str) -> Found<'_> {
        let named = || self.keys.iter().filter(|key| key.id == id);
        let usable: Vec<&Key> = named().filter(|key| key.usage == USAGE).collect();
        if !usable.is_empty() {
            return Found::ForAttestations(usable);
        }
        named().next().map_or(Found::Unknown, Found::OtherUse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pinned_keys_are_told_apart_by_use() {
        let list = KeyList::pinned().unwrap();
        let id = "SHA256:DhQ8wR5APBvFHLF/+Tc+AYvPOdTpcIDqOhxsBHRwC7U";
        assert!(matches!(list.find(id), Found::ForAttestations(keys) if keys.len() == 1));
        assert!(matches!(list.find("SHA256:x"), Found::Unknown));
    }

    #[test]
    fn a_list_has_bounds() {
        let key = r#"{"keyId":"a","keyUsage":"b","publicKey":{"rawBytes":"AA=="}}"#;
        let list = |count: usize| format!("{{\"keys\":[{}]}}", vec![key; count].join(","));
        assert!(KeyList::read(list(KEY_LIST_KEYS).as_bytes()).is_ok());
        assert!(matches!(
            KeyList::read(list(KEY_LIST_KEYS + 1).as_bytes()),
            Err(KeyListError::TooMany { .. })
        ));
        let large = vec![b' '; KEY_LIST_BYTES + 1];
        assert!(matches!(
            KeyList::read(&large),
            Err(KeyListError::TooLarge { .. })
        ));
    }
}

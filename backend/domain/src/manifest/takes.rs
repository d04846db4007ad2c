//! Two looks at the same thing: what differs between them moves by itself, so it is masked before hashing.
//!
//! A volatile pointer starts with the list and the item's key, `/tools/search/description`, because the order of a
//! list is no part of a pin; `/server/instructions` is in the server record.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::parse::escaped;
use super::{Item, ItemKind, Manifest, digest_of};

/// The member of the marker that stands for a value which moves.
pub const VOLATILE: &str = "dev.toolmark/volatile";

fn marker() -> Value {
    json!({ VOLATILE: true })
}

/// Pointers to every value that differs between two takes.
pub fn volatile_pointers(first: &Manifest, second: &Manifest) -> Vec<String> {
    let mut pointers = BTreeSet::new();
    differing(
        &first.server.pinned(),
        &second.server.pinned(),
        "/server",
        &mut pointers,
    );
    for kind in ItemKind::ALL {
        let keys: BTreeSet<&str> = first
            .of(kind)
            .chain(second.of(kind))
            .map(|item| item.key.as_str())
            .collect();
        for key in keys {
            let place = format!("/{}/{}", kind.list(), escaped(key));
            let ours: Vec<&Item> = first.of(kind).filter(|item| item.key == key).collect();
            let theirs: Vec<&Item> = second.of(kind).filter(|item| item.key == key).collect();
            match (ours.as_slice(), theirs.as_slice()) {
                ([one], [other]) if one.facts == other.facts => {
                    differing(&one.value, &other.value, &place, &mut pointers);
                }
                _ if same_bodies(&ours, &theirs) => {}
                _ => {
                    pointers.insert(place);
                }
            }
        }
    }
    pointers.into_iter().collect()
}

fn same_bodies(ours: &[&Item], theirs: &[&Item]) -> bool {
    let sorted = |items: &[&Item]| {
        let mut digests: Vec<_> = items.iter().map(|item| item.tool).collect();
        digests.sort_unstable();
        digests
    };
    sorted(ours) == sorted(theirs)
}

fn differing(one: &Value, other: &Value, place: &str, pointers: &mut BTreeSet<String>) {
    match (one, other) {
        (Value::Object(ours), Value::Object(theirs)) => {
            let keys: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
            for key in keys {
                let place = format!("{place}/{}", escaped(key));
                match (ours.get(key), theirs.get(key)) {
                    (Some(one), Some(other)) => differing(one, other, &place, pointers),
                    _ => {
                        pointers.insert(place);
                    }
                }
            }
        }
        (Value::Array(ours), Value::Array(theirs)) if ours.len() == theirs.len() => {
            for (index, (one, other)) in ours.iter().zip(theirs).enumerate() {
                differing(one, other, &format!("{place}/{index}"), pointers);
            }
        }
        _ if one == other => {}
        _ => {
            pointers.insert(place.to_owned());
        }
    }
}

impl Manifest {
    /// Names what moves by itself. The values stay to be read; the digests no longer depend on them.
    pub fn set_volatile(&mut self, pointers: Vec<String>) {
        let masked = self.masked(&pointers);
        for (item, masked) in self.items.iter_mut().zip(masked.items) {
            item.tool = masked.tool;
            item.contract = masked.contract;
            if masked.facts.is_empty() {
                item.facts.clear();
            }
        }
        self.server.raw_leaf = Some(masked.server.leaf());
        self.volatile = pointers;
    }

    /// The manifest with the value at each volatile pointer replaced by the marker. A pointer to a member that is not
    /// there adds it, so that a member that comes and goes does not move the digest.
    #[must_use]
    pub fn masked(&self, pointers: &[String]) -> Self {
        let mut masked = self.clone();
        let mut inside: BTreeMap<(&str, &str), Vec<Option<&str>>> = BTreeMap::new();
        for pointer in pointers {
            let path = pointer.strip_prefix('/').unwrap_or(pointer);
            let Some((list, rest)) = path.split_once('/') else {
                continue;
            };
            if list == "server" {
                masked.mask_server(rest);
                continue;
            }
            let (key, inner) = rest.split_once('/').map_or((rest, None), |(k, i)| (k, Some(i)));
            inside.entry((list, key)).or_default().push(inner);
        }
        if inside.is_empty() {
            return masked;
        }
        for item in &mut masked.items {
            let key = escaped(&item.key);
            let Some(places) = inside.get(&(item.kind.list(), key.as_str())) else {
                continue;
            };
            for place in places {
                match place {
                    Some(place) => mask(&mut item.value, &format!("/{place}")),
                    None => item.value = marker(),
                }
            }
            item.facts.clear();
            item.tool = digest_of(&item.value);
            item.contract = digest_of(&super::contract(item.kind, &item.value));
        }
        masked
    }

    fn mask_server(&mut self, rest: &str) {
        let mut record = self.server.pinned();
        mask(&mut record, &format!("/{rest}"));
        self.server.capabilities = record.get("capabilities").cloned();
        self.server.instructions = record.get("instructions").cloned();
        self.server.raw_leaf = None;
    }
}

fn mask(value: &mut Value, pointer: &str) {
    let Some((parent, last)) = pointer.rsplit_once('/') else {
        return;
    };
    match value.pointer_mut(parent) {
        Some(Value::Object(map)) => {
            map.insert(last.replace("~1", "/").replace("~0", "~"), marker());
        }
        Some(Value::Array(entries)) => {
            if let Some(place) = last
                .parse::<usize>()
                .ok()
                .and_then(|index| entries.get_mut(index))
            {
                *place = marker();
            }
        }
        _ => {}
    }
}

//! The bare structural difference: what has to be done to one manifest to get the other.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::digest::Digest;
use crate::manifest::{Item, ItemKind, Manifest, escaped};

/// One step of a patch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "kebab-case")]
pub enum Operation {
    /// An item that was not there, or stands once more.
    Add { kind: ItemKind, value: Value },
    /// An item that is gone.
    Remove { kind: ItemKind, value: Value },
    /// A member of an item, or of the server record where there is no item, has this value now.
    Set {
        item: Option<(ItemKind, String)>,
        pointer: String,
        value: Value,
    },
    /// A member is gone.
    Unset {
        item: Option<(ItemKind, String)>,
        pointer: String,
    },
}

/// What turns `old` into `new`, order of lists aside.
pub fn patch(old: &Manifest, new: &Manifest) -> Vec<Operation> {
    let mut steps = Vec::new();
    members(&old.server.pinned(), &new.server.pinned(), "", None, &mut steps);
    for kind in ItemKind::ALL {
        let mut before: Vec<&Item> = old.of(kind).collect();
        let mut after: Vec<&Item> = new.of(kind).collect();
        let order = |item: &&Item| (item.key.clone(), item.tool);
        before.sort_by_cached_key(order);
        after.sort_by_cached_key(order);
        let (mut left, mut right) = (before.as_slice(), after.as_slice());
        while !left.is_empty() || !right.is_empty() {
            let key = match (left.first(), right.first()) {
                (Some(one), Some(other)) => one.key.clone().min(other.key.clone()),
                (Some(one), None) | (None, Some(one)) => one.key.clone(),
                (None, None) => break,
            };
            let ours = left.iter().take_while(|item| item.key == key).count();
            let theirs = right.iter().take_while(|item| item.key == key).count();
            same_key(kind, &left[..ours], &right[..theirs], &mut steps);
            (left, right) = (&left[ours..], &right[theirs..]);
        }
    }
    steps
}

fn same_key(kind: ItemKind, before: &[&Item], after: &[&Item], steps: &mut Vec<Operation>) {
    if let ([one], [other]) = (before, after)
        && one.value.is_object()
        && other.value.is_object()
    {
        members(&one.value, &other.value, "", Some((kind, &one.key)), steps);
        return;
    }
    let mut counts: BTreeMap<Digest, (usize, usize, &Value)> = BTreeMap::new();
    for item in before {
        counts.entry(item.tool).or_insert((0, 0, &item.value)).0 += 1;
    }
    for item in after {
        counts.entry(item.tool).or_insert((0, 0, &item.value)).1 += 1;
    }
    for (was, is, value) in counts.into_values() {
        for _ in is..was {
            steps.push(Operation::Remove {
                kind,
                value: value.clone(),
            });
        }
        for _ in was..is {
            steps.push(Operation::Add {
                kind,
                value: value.clone(),
            });
        }
    }
}

fn members(
    old: &Value,
    new: &Value,
    pointer: &str,
    item: Option<(ItemKind, &str)>,
    steps: &mut Vec<Operation>,
) {
    let (Value::Object(before), Value::Object(after)) = (old, new) else {
        if old != new {
            let item = item.map(|(kind, key)| (kind, key.to_owned()));
            let value = new.clone();
            steps.push(Operation::Set {
                item,
                pointer: pointer.to_owned(),
                value,
            });
        }
        return;
    };
    for (key, value) in after {
        let pointer = format!("{pointer}/{}", escaped(key));
        match before.get(key) {
            Some(other) => members(other, value, &pointer, item, steps),
            None => steps.push(Operation::Set {
                item: item.map(|(kind, key)| (kind, key.to_owned())),
                pointer,
                value: value.clone(),
            }),
        }
    }
    for key in before.keys().filter(|key| !after.contains_key(*key)) {
        steps.push(Operation::Unset {
            item: item.map(|(kind, key)| (kind, key.to_owned())),
            pointer: format!("{pointer}/{}", escaped(key)),
        });
    }
}

/// Does the steps to `old`.
pub fn apply(old: &Manifest, steps: &[Operation]) -> Manifest {
    let mut record = old.server.pinned();
    let mut values: Vec<(ItemKind, String, Value)> = old
        .items
        .iter()
        .map(|item| (item.kind, item.key.clone(), item.value.clone()))
        .collect();
    for step in steps {
        match step {
            Operation::Add { kind, value } => values.push((*kind, String::new(), value.clone())),
            Operation::Remove { kind, value } => {
                let found = values.iter().position(|(k, _, v)| k == kind && v == value);
                found.map(|index| values.remove(index));
            }
            Operation::Set { item, pointer, value } => {
                if let Some(target) = target(item.as_ref(), &mut record, &mut values) {
                    set(target, pointer, Some(value.clone()));
                }
            }
            Operation::Unset { item, pointer } => {
                if let Some(target) = target(item.as_ref(), &mut record, &mut values) {
                    set(target, pointer, None);
                }
            }
        }
    }
    let mut new = old.clone();
    new.items = values
        .into_iter()
        .enumerate()
        .map(|(index, (kind, _, value))| Item::from_value(kind, index, value))
        .collect();
    new.server.capabilities = record.get("capabilities").cloned();
    new.server.instructions = record.get("instructions").cloned();
    new
}

fn target<'a>(
    item: Option<&(ItemKind, String)>,
    record: &'a mut Value,
    values: &'a mut [(ItemKind, String, Value)],
) -> Option<&'a mut Value> {
    let Some((kind, key)) = item else {
        return Some(record);
    };
    let found = values.iter_mut().find(|(k, name, _)| k == kind && name == key);
    found.map(|(_, _, value)| value)
}

fn set(target: &mut Value, pointer: &str, value: Option<Value>) {
    let Some((parent, last)) = pointer.rsplit_once('/') else {
        if let Some(value) = value {
            *target = value;
        }
        return;
    };
    let last = last.replace("~1", "/").replace("~0", "~");
    if let Some(Value::Object(map)) = target.pointer_mut(parent) {
        let map: &mut Map<String, Value> = map;
        match value {
            Some(value) => {
                map.insert(last, value);
            }
            None => {
                map.remove(&last);
            }
        }
    }
}

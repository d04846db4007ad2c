//! Which removed tool is which added one.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::digest::Digest;
use crate::finding::{Finding, Label, Place, Severity};
use crate::manifest::{Item, digest_of};

/// Most pairs whose texts are compared; beyond, only equal bodies count.
const COMPARED: usize = 10_000;
/// Share of words two bodies must have in common.
const ALIKE: f64 = 0.9;

/// Takes the pairs that are one tool out of both lists.
pub(super) fn pairs<'a>(removed: &mut Vec<&'a Item>, added: &mut Vec<&'a Item>) -> Vec<(&'a Item, &'a Item)> {
    let mut pairs = Vec::new();
    match_by(removed, added, &mut pairs, |item| body(item).to_string());
    // Another way to write the name, and what was done to the body is told as such.
    match_by(removed, added, &mut pairs, |item| {
        crate::rules::parameters::parts(&item.key).concat()
    });
    if removed.len() * added.len() <= COMPARED {
        by_words(removed, added, &mut pairs);
    }
    pairs
}

fn body(item: &Item) -> Digest {
    let mut value = item.value.clone();
    if let Value::Object(members) = &mut value {
        members.remove("name");
        members.remove("title");
        if let Some(Value::Object(annotations)) = members.get_mut("annotations") {
            annotations.remove("title");
        }
        for schema in ["inputSchema", "outputSchema"] {
            if let Some(Value::Object(schema)) = members.get_mut(schema) {
                schema.remove("title");
            }
        }
    }
    digest_of(&value)
}

fn match_by<'a>(
    removed: &mut Vec<&'a Item>,
    added: &mut Vec<&'a Item>,
    pairs: &mut Vec<(&'a Item, &'a Item)>,
    form: impl Fn(&Item) -> String,
) {
    let mut forms: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, item) in added.iter().enumerate() {
        forms.entry(form(item)).or_default().push(index);
    }
    let mut taken = HashSet::new();
    removed.retain(|item| {
        let found = forms.get_mut(&form(item)).and_then(Vec::pop);
        if let Some(index) = found {
            taken.insert(index);
            pairs.push((*item, added[index]));
        }
        found.is_none()
    });
    let mut index = 0;
    added.retain(|_| {
        index += 1;
        !taken.contains(&(index - 1))
    });
}

fn words(item: &Item) -> HashSet<String> {
    let mut words = HashSet::new();
    let mut value = item.value.clone();
    if let Value::Object(members) = &mut value {
        members.remove("name");
        members.remove("title");
        members.remove("annotations");
    }
    let text = value.to_string();
    let parts = text
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|w| !w.is_empty());
    words.extend(parts.take(2000).map(str::to_lowercase));
    words
}

fn by_words<'a>(
    removed: &mut Vec<&'a Item>,
    added: &mut Vec<&'a Item>,
    pairs: &mut Vec<(&'a Item, &'a Item)>,
) {
    let sets: Vec<HashSet<String>> = added.iter().map(|item| words(item)).collect();
    let mut taken = HashSet::new();
    removed.retain(|item| {
        let own = words(item);
        let best = sets
            .iter()
            .enumerate()
            .filter(|(index, _)| !taken.contains(index))
            .map(|(index, other)| (index, share(&own, other)))
            .filter(|(_, share)| *share >= ALIKE)
            .max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((index, _)) = best {
            taken.insert(index);
            pairs.push((*item, added[index]));
        }
        best.is_none()
    });
    let mut index = 0;
    added.retain(|_| {
        index += 1;
        !taken.contains(&(index - 1))
    });
}

fn share(one: &HashSet<String>, other: &HashSet<String>) -> f64 {
    // Too few words say nothing.
    if one.len() < 12 || other.len() < 12 {
        return 0.0;
    }
    let float = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    let common = one.intersection(other).count();
    float(common) / float(one.len() + other.len() - common)
}

pub(super) fn finding(old: &Item, new: &Item) -> Finding {
    let text = |item: &Item| Some(Value::String(item.key.clone()));
    let spelling = crate::rules::parameters::parts(&old.key) == crate::rules::parameters::parts(&new.key);
    let said = format!("`{}` is called `{}` now", old.key, new.key);
    let found = Place::of(new).finding("T03", "/name", said);
    let severity = if spelling { Severity::Info } else { found.severity };
    found
        .severity(severity)
        .before(text(old))
        .after(text(new))
        .effect(Label::Breaking)
}

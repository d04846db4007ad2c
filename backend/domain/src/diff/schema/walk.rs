//! Walking two schemas side by side, with a bound on the steps.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::manifest::{escaped, schema_form};

/// What became of the values a schema accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Added,
    AddedRequired,
    Removed,
    Required,
    NotRequired,
    Narrowed,
    Widened,
    Undecided,
    Default,
    Header,
}

/// One difference.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) pointer: String,
    pub(super) turn: Turn,
    pub(super) said: String,
    pub(super) before: Option<Value>,
    pub(super) after: Option<Value>,
}

/// Most pairs of schemas looked at for one tool; beyond, a difference is undecided.
const STEPS: usize = 20_000;
/// Longest chain of references.
const CHAIN: usize = 24;
/// Most branches of one choice that are compared with each other.
const BRANCHES: usize = 24;

fn safe_integer(bound: &Value) -> bool {
    bound.as_i64().is_some_and(|n| n.abs() == 9_007_199_254_740_991)
}

/// The normal form without what only people and models read.
pub(super) fn bare(schema: &Value) -> Value {
    fn strip(value: &mut Value, map_of_schemas: bool) {
        match value {
            Value::Object(map) => {
                if !map_of_schemas {
                    map.retain(|key, _| {
                        !matches!(
                            key.as_str(),
                            "description" | "examples" | "$comment" | "title" | "deprecated" | "$id"
                        ) && (!key.starts_with("x-") || key == "x-mcp-header")
                    });
                    // What every exact integer keeps is no bound.
                    map.retain(|key, value| {
                        !matches!(key.as_str(), "maximum" | "minimum") || !safe_integer(value)
                    });
                }
                for (key, value) in map {
                    if map_of_schemas || !matches!(key.as_str(), "enum" | "const" | "default") {
                        let named = matches!(
                            key.as_str(),
                            "properties" | "$defs" | "definitions" | "patternProperties" | "dependentSchemas"
                        );
                        strip(value, named && !map_of_schemas);
                    }
                }
            }
            Value::Array(list) => list.iter_mut().for_each(|value| strip(value, false)),
            _ => {}
        }
    }
    let mut bare = schema.clone();
    strip(&mut bare, false);
    schema_form(&bare)
}

/// Every difference between two schemas; an absent one accepts everything.
pub(super) fn changes(one: Option<&Value>, other: Option<&Value>, pointer: &str) -> Vec<Change> {
    let anything = Value::Object(Map::new());
    let (old, new) = (
        one.map_or_else(|| anything.clone(), bare),
        other.map_or_else(|| anything.clone(), bare),
    );
    let mut walk = Walk {
        old: &old,
        new: &new,
        left: STEPS,
        changes: Vec::new(),
    };
    walk.pair(&old, &new, pointer, CHAIN);
    walk.changes
}

pub(super) struct Walk<'a> {
    old: &'a Value,
    new: &'a Value,
    left: usize,
    changes: Vec<Change>,
}

const TYPES: [&str; 7] = [
    "string", "number", "integer", "boolean", "object", "array", "null",
];

fn types(schema: &Map<String, Value>) -> BTreeSet<&str> {
    let mut set: BTreeSet<&str> = match schema.get("type") {
        Some(Value::String(one)) => BTreeSet::from([one.as_str()]),
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
        _ => match schema.get("enum") {
            // The values say it.
            Some(Value::Array(values)) => values.iter().map(kind_of).collect(),
            _ => TYPES.into(),
        },
    };
    if set.contains("number") {
        set.insert("integer");
    }
    set
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::String(_) => "string",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The schema a local reference means.
fn resolved<'v>(root: &'v Value, schema: &'v Value) -> &'v Value {
    let mut schema = schema;
    for _ in 0..CHAIN {
        let target = schema
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|r| r.strip_prefix('#'));
        match target.and_then(|pointer| root.pointer(pointer)) {
            Some(found) => schema = found,
            None => break,
        }
    }
    schema
}

impl<'a> Walk<'a> {
    pub(super) fn change(
        &mut self,
        pointer: String,
        turn: Turn,
        said: String,
        sides: (Option<&Value>, Option<&Value>),
    ) {
        self.changes.push(Change {
            pointer,
            turn,
            said,
            before: sides.0.cloned(),
            after: sides.1.cloned(),
        });
    }

    fn pair(&mut self, old: &'a Value, new: &'a Value, pointer: &str, chain: usize) {
        let same_references = old.get("$ref") == new.get("$ref") && old.get("$ref").is_some();
        let (old, new) = (resolved(self.old, old), resolved(self.new, new));
        if old == new && (self.old == self.new || !holds_reference(old)) {
            return;
        }
        if self.left == 0 || (same_references && chain < CHAIN / 2) {
            // Around a loop nothing new is to be seen; what is in it was compared on the way in.
            if self.left == 0 && old != new {
                self.change(
                    pointer.to_owned(),
                    Turn::Undecided,
                    "too much to compare".to_owned(),
                    (None, None),
                );
            }
            return;
        }
        self.left -= 1;
        if chain > 0 {
            self.kinds(old, new, pointer, chain);
        }
    }

    fn kinds(&mut self, old: &'a Value, new: &'a Value, pointer: &str, chain: usize) {
        let sides = (Some(old), Some(new));
        match (old, new) {
            (Value::Object(_), Value::Object(_)) => self.objects(old, new, pointer, chain - 1),
            (Value::Bool(true), Value::Object(other)) if other.is_empty() => {}
            (Value::Object(one), Value::Bool(true)) if one.is_empty() => {}
            (Value::Bool(true), Value::Object(_)) => {
                let said = "accepted everything and accepts less now".to_owned();
                self.change(pointer.to_owned(), Turn::Narrowed, said, sides);
            }
            (Value::Object(_), Value::Bool(true)) => {
                self.change(
                    pointer.to_owned(),
                    Turn::Widened,
                    "accepts everything now".to_owned(),
                    sides,
                );
            }
            (Value::Bool(false), _) => {
                self.change(
                    pointer.to_owned(),
                    Turn::Widened,
                    "accepts values now".to_owned(),
                    sides,
                );
            }
            (_, Value::Bool(false)) => {
                self.change(
                    pointer.to_owned(),
                    Turn::Narrowed,
                    "accepts nothing any more".to_owned(),
                    sides,
                );
            }
            _ if old == new => {}
            _ => self.change(
                pointer.to_owned(),
                Turn::Undecided,
                "is no schema".to_owned(),
                sides,
            ),
        }
    }

    fn objects(&mut self, one: &'a Value, other: &'a Value, pointer: &str, chain: usize) {
        let (Value::Object(old), Value::Object(new)) = (one, other) else {
            return;
        };
        let sides = (branches(old), branches(new));
        match sides {
            (Some(before), Some(after)) => self.choices(before, after, pointer, chain),
            // One side is a single schema: all branches must fit it, or it must fit one of them.
            (Some(before), None) => {
                let fits = self.all_fit(before, std::slice::from_ref(other), chain);
                return self.choice(fits, pointer, sides);
            }
            (None, Some(after)) => {
                let fits = self.all_fit(std::slice::from_ref(one), after, chain);
                return self.choice(fits, pointer, sides);
            }
            (None, None) => {
                self.types(old, new, pointer);
                self.values(old, new, pointer);
            }
        }
        self.properties(old, new, pointer, chain);
        self.inner(old, new, pointer, chain);
        self.bounds(old, new, pointer);
        self.rest(old, new, pointer);
    }

    fn types(&mut self, old: &Map<String, Value>, new: &Map<String, Value>, pointer: &str) {
        let (before, after) = (types(old), types(new));
        let lost: Vec<&&str> = before
            .difference(&after)
            .filter(|t| **t != "integer" || !before.contains("number") || !after.contains("number"))
            .collect();
        let won: Vec<&&str> = after.difference(&before).collect();
        // A set of values that was typed and one that is: the values decide.
        if old.contains_key("enum") && new.contains_key("enum") {
            return;
        }
        let sides = (old.get("type"), new.get("type"));
        let named = |names: &[&&str]| names.iter().map(|n| **n).collect::<Vec<_>>().join(", ");
        let listed = new.contains_key("enum") && !old.contains_key("enum");
        if !lost.is_empty() && !listed {
            let said = format!("no longer accepts {}", named(&lost));
            self.change(format!("{pointer}/type"), Turn::Narrowed, said, sides);
        } else if !won.is_empty() && !old.contains_key("enum") {
            let said = format!("accepts {} now", named(&won));
            self.change(format!("{pointer}/type"), Turn::Widened, said, sides);
        }
    }

    fn values(&mut self, old: &Map<String, Value>, new: &Map<String, Value>, pointer: &str) {
        let list = |schema: &'_ Map<String, Value>| schema.get("enum").and_then(Value::as_array).cloned();
        let place = format!("{pointer}/enum");
        let sides = (old.get("enum"), new.get("enum"));
        match (list(old), list(new)) {
            (Some(before), Some(after)) => {
                let known: BTreeSet<String> = after.iter().map(ToString::to_string).collect();
                let had: BTreeSet<String> = before.iter().map(ToString::to_string).collect();
                if had.difference(&known).next().is_some() {
                    self.change(
                        place,
                        Turn::Narrowed,
                        "values are accepted no longer".to_owned(),
                        sides,
                    );
                } else if known.difference(&had).next().is_some() {
                    self.change(place, Turn::Widened, "more values are accepted".to_owned(), sides);
                }
            }
            (None, Some(_)) => self.change(
                place,
                Turn::Narrowed,
                "only listed values are accepted".to_owned(),
                sides,
            ),
            (Some(_), None) => self.change(place, Turn::Widened, "any value is accepted".to_owned(), sides),
            (None, None) => {}
        }
    }

    /// Does every value that `old` accepts fit `new`? None where it cannot be said.
    fn fits(&mut self, old: &'a Value, new: &'a Value, chain: usize) -> Option<bool> {
        let mut trial = Walk {
            old: self.old,
            new: self.new,
            left: self.left.min(500),
            changes: Vec::new(),
        };
        trial.pair(old, new, "", chain);
        self.left = self.left.saturating_sub(500 - trial.left.min(500));
        let hard = |turn| {
            matches!(
                turn,
                Turn::Narrowed | Turn::Required | Turn::AddedRequired | Turn::Removed
            )
        };
        if trial.changes.iter().any(|change| hard(change.turn)) {
            return Some(false);
        }
        if trial.changes.iter().any(|change| change.turn == Turn::Undecided) {
            return None;
        }
        Some(true)
    }

    fn choices(&mut self, before: &'a [Value], after: &'a [Value], pointer: &str, chain: usize) {
        let sides = (Some(before), Some(after));
        if before.len() > BRANCHES || after.len() > BRANCHES {
            let kept = before.iter().all(|branch| after.contains(branch));
            self.choice(kept.then_some(true), pointer, sides);
            return;
        }
        let fits = self.all_fit(before, after, chain);
        let same = fits == Some(true) && self.all_fit(after, before, chain) == Some(true);
        if !same {
            self.choice(fits, pointer, sides);
        }
    }

    fn all_fit(&mut self, before: &'a [Value], after: &'a [Value], chain: usize) -> Option<bool> {
        let mut sure = true;
        for branch in before {
            let mut best = Some(false);
            for candidate in after {
                match self.fits(branch, candidate, chain) {
                    Some(true) => {
                        best = Some(true);
                        break;
                    }
                    None => best = None,
                    Some(false) => {}
                }
            }
            match best {
                Some(true) => {}
                Some(false) => return Some(false),
                None => sure = false,
            }
        }
        sure.then_some(true)
    }

    fn choice(&mut self, fits: Option<bool>, pointer: &str, sides: (Option<&[Value]>, Option<&[Value]>)) {
        let (turn, said) = match fits {
            Some(true) => (Turn::Widened, "another choice, and all that fitted still does"),
            Some(false) => (Turn::Narrowed, "a choice is gone"),
            None => (Turn::Undecided, "the choices changed"),
        };
        let list = |side: Option<&[Value]>| side.map(|branches| Value::Array(branches.to_vec()));
        let (before, after) = (list(sides.0), list(sides.1));
        let place = format!("{pointer}/anyOf");
        self.change(place, turn, said.to_owned(), (before.as_ref(), after.as_ref()));
    }

    fn properties(
        &mut self,
        old: &'a Map<String, Value>,
        new: &'a Map<String, Value>,
        pointer: &str,
        chain: usize,
    ) {
        let map = |schema: &'a Map<String, Value>| schema.get("properties").and_then(Value::as_object);
        let required = |schema: &'a Map<String, Value>| -> BTreeSet<&'a str> {
            let list = schema.get("required").and_then(Value::as_array);
            list.map(|list| list.iter().filter_map(Value::as_str).collect())
                .unwrap_or_default()
        };
        let (needed, needs) = (required(old), required(new));
        let (before, after) = (map(old), map(new));
        let names: BTreeSet<&String> = before.into_iter().chain(after).flat_map(Map::keys).collect();
        for name in names {
            let place = format!("{pointer}/properties/{}", escaped(name));
            let one = before.and_then(|map| map.get(name));
            let other = after.and_then(|map| map.get(name));
            match (one, other) {
                (Some(one), Some(other)) => {
                    self.pair(one, other, &place, chain);
                    match (needed.contains(name.as_str()), needs.contains(name.as_str())) {
                        (false, true) => {
                            let said = format!("`{name}` must be given now");
                            self.change(place, Turn::Required, said, (None, None));
                        }
                        (true, false) => {
                            let said = format!("`{name}` may be left out now");
                            self.change(place, Turn::NotRequired, said, (None, None));
                        }
                        _ => {}
                    }
                }
                (None, other) if needs.contains(name.as_str()) => {
                    let said = format!("`{name}` is new and must be given");
                    self.change(place, Turn::AddedRequired, said, (None, other));
                }
                (None, other) => self.change(place, Turn::Added, format!("`{name}` is new"), (None, other)),
                (one, None) => self.change(place, Turn::Removed, format!("`{name}` is gone"), (one, None)),
            }
        }
        for name in needs.difference(&needed) {
            let known = before.is_some_and(|map| map.contains_key(*name))
                || after.is_some_and(|map| map.contains_key(*name));
            if !known {
                let said = format!("`{name}` must be given now");
                self.change(format!("{pointer}/required"), Turn::Required, said, (None, None));
            }
        }
    }

    /// Schemas inside: of items, of other members, of all-of lists.
    fn inner(
        &mut self,
        old: &'a Map<String, Value>,
        new: &'a Map<String, Value>,
        pointer: &str,
        chain: usize,
    ) {
        for key in ["items", "additionalProperties"] {
            let place = format!("{pointer}/{key}");
            match (old.get(key), new.get(key)) {
                (Some(one), Some(other)) => self.pair(one, other, &place, chain),
                (None, Some(other)) if other != &Value::Bool(true) => {
                    let said = if key == "items" {
                        "entries are restricted now"
                    } else {
                        "unknown members are restricted now"
                    };
                    self.change(place, Turn::Narrowed, said.to_owned(), (None, Some(other)));
                }
                (Some(one), None) => {
                    let said = if key == "items" {
                        "entries may be anything now"
                    } else {
                        "unknown members may be anything now"
                    };
                    self.change(place, Turn::Widened, said.to_owned(), (Some(one), None));
                }
                _ => {}
            }
        }
        for key in ["allOf", "prefixItems"] {
            let place = format!("{pointer}/{key}");
            match (old.get(key), new.get(key)) {
                (Some(Value::Array(one)), Some(Value::Array(other))) if one.len() == other.len() => {
                    for (index, (one, other)) in one.iter().zip(other).enumerate() {
                        self.pair(one, other, &format!("{place}/{index}"), chain);
                    }
                }
                (None, None) => {}
                (None, Some(other)) => {
                    self.change(
                        place,
                        Turn::Narrowed,
                        format!("`{key}` was added"),
                        (None, Some(other)),
                    );
                }
                (Some(one), None) => {
                    self.change(
                        place,
                        Turn::Widened,
                        format!("`{key}` is gone"),
                        (Some(one), None),
                    );
                }
                (one, other) if one != other => {
                    self.change(place, Turn::Undecided, format!("`{key}` changed"), (one, other));
                }
                _ => {}
            }
        }
    }
}

fn holds_reference(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map.contains_key("$ref") || map.values().any(holds_reference),
        Value::Array(list) => list.iter().any(holds_reference),
        _ => false,
    }
}

fn branches(schema: &Map<String, Value>) -> Option<&[Value]> {
    let found = ["anyOf", "oneOf"]
        .iter()
        .find_map(|key| schema.get(*key)?.as_array());
    found.map(Vec::as_slice)
}

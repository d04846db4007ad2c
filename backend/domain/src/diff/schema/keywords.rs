//! Keywords that say one thing each: bounds, patterns, defaults.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::walk::{Turn, Walk};

impl Walk<'_> {
    /// Bounds that can be put in order.
    pub(super) fn bounds(&mut self, old: &Map<String, Value>, new: &Map<String, Value>, pointer: &str) {
        const LOWER: [&str; 6] = [
            "minimum",
            "exclusiveMinimum",
            "minLength",
            "minItems",
            "minProperties",
            "minContains",
        ];
        const UPPER: [&str; 6] = [
            "maximum",
            "exclusiveMaximum",
            "maxLength",
            "maxItems",
            "maxProperties",
            "maxContains",
        ];
        for (keys, sign) in [(LOWER, 1.0), (UPPER, -1.0)] {
            for key in keys {
                let sides = (old.get(key), new.get(key));
                let bound = |value: Option<&Value>| {
                    value
                        .and_then(Value::as_f64)
                        .map_or(f64::NEG_INFINITY, |n| n * sign)
                };
                let (was, is) = (bound(sides.0), bound(sides.1));
                if is > was {
                    self.change(
                        format!("{pointer}/{key}"),
                        Turn::Narrowed,
                        format!("`{key}` is tighter"),
                        sides,
                    );
                } else if is < was {
                    self.change(
                        format!("{pointer}/{key}"),
                        Turn::Widened,
                        format!("`{key}` is wider"),
                        sides,
                    );
                }
            }
        }
    }

    /// Everything else, by presence.
    pub(super) fn rest(&mut self, old: &Map<String, Value>, new: &Map<String, Value>, pointer: &str) {
        const PRESENT: [&str; 16] = [
            "pattern",
            "format",
            "multipleOf",
            "uniqueItems",
            "not",
            "if",
            "then",
            "else",
            "contains",
            "propertyNames",
            "patternProperties",
            "dependentRequired",
            "dependentSchemas",
            "unevaluatedProperties",
            "unevaluatedItems",
            "contentEncoding",
        ];
        for key in PRESENT {
            let sides = (old.get(key), new.get(key));
            let idle = |value: Option<&Value>| {
                value.is_none() || value == Some(&Value::Bool(false)) && key == "uniqueItems"
            };
            let (turn, word) = match (idle(sides.0), idle(sides.1)) {
                (true, false) => (Turn::Narrowed, "was added"),
                (false, true) => (Turn::Widened, "is gone"),
                (false, false) if sides.0 != sides.1 => (Turn::Undecided, "changed"),
                _ => continue,
            };
            self.change(format!("{pointer}/{key}"), turn, format!("`{key}` {word}"), sides);
        }
        self.default(old, new, pointer);
        self.marks(old, new, pointer);
    }

    fn default(&mut self, old: &Map<String, Value>, new: &Map<String, Value>, pointer: &str) {
        let sides = (old.get("default"), new.get("default"));
        if sides.0 != sides.1 {
            // What was given nowhere and is null now, or the other way, is the same to a caller.
            let null = |value: Option<&Value>| value.is_none_or(Value::is_null);
            if !(null(sides.0) && null(sides.1)) {
                let turn = if sides.0.is_some() && sides.1.is_some() {
                    Turn::Default
                } else {
                    Turn::Widened
                };
                let said = if turn == Turn::Default {
                    "the default changed"
                } else {
                    "a default came or went"
                };
                self.change(format!("{pointer}/default"), turn, said.to_owned(), sides);
            }
        }
    }

    /// What is copied into headers, and where names are anchored.
    fn marks(&mut self, old: &Map<String, Value>, new: &Map<String, Value>, pointer: &str) {
        let sides = (old.get("x-mcp-header"), new.get("x-mcp-header"));
        if sides.0 != sides.1 {
            let said = "what is copied into an HTTP header changed".to_owned();
            self.change(format!("{pointer}/x-mcp-header"), Turn::Header, said, sides);
        }
        let other: BTreeSet<&String> = old
            .keys()
            .chain(new.keys())
            .filter(|key| key.starts_with('$') && *key != "$defs")
            .collect();
        for key in other {
            let sides = (old.get(key), new.get(key));
            if sides.0 != sides.1 {
                self.change(
                    format!("{pointer}/{key}"),
                    Turn::Undecided,
                    format!("`{key}` changed"),
                    sides,
                );
            }
        }
    }
}

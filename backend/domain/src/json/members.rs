//! The members of an object as they are written: in order, repeats included, values not yet read.

use std::collections::HashSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// One level of an object.
#[derive(Debug, Default)]
pub struct Members<'a>(pub Vec<(String, &'a RawValue)>);

impl<'a> Members<'a> {
    /// Reads an object; none where `raw` is something else.
    pub fn object(raw: &'a str) -> Option<Self> {
        serde_json::from_str(raw).ok()
    }

    /// The last member with this name, as a reader of JSON would take it; none where it is null.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.raw(name).map(RawValue::get).filter(|raw| *raw != "null")
    }

    /// The last member with this name, null included.
    pub fn raw(&self, name: &str) -> Option<&'a RawValue> {
        let found = self.0.iter().rev().find(|(key, _)| key == name);
        found.map(|(_, raw)| *raw)
    }

    /// The last member with this name, where it is text.
    pub fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?).ok()
    }

    /// Names that stand more than once.
    pub fn repeated(&self) -> Vec<&str> {
        let mut seen = HashSet::new();
        let names = self.0.iter().map(|(name, _)| name.as_str());
        names.filter(|name| !seen.insert(*name)).collect()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Each)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_are_kept_and_the_last_one_counts() {
        let members = Members::object(r#"{"a":1,"b":null,"a":[1e400, "\ud800"],"c":"x"}"#).unwrap();
        assert_eq!(members.get("a"), Some(r#"[1e400, "\ud800"]"#));
        assert_eq!(
            (members.get("b"), members.raw("b").map(RawValue::get)),
            (None, Some("null"))
        );
        assert_eq!(members.text("c").as_deref(), Some("x"));
        assert_eq!(members.repeated(), ["a"]);
        assert!(Members::object("[1]").is_none());
    }
}

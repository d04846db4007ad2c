//! Reading JSON that strangers wrote: bounded in size and depth, strict, and with every doubtful thing named by its
//! place. The value is what `serde_json` would give; what it would silently take (a key given twice, a NUL) is
//! reported beside it and the caller decides.

mod members;

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::limits::{JSON_DEPTH, JSON_FINDINGS};

pub use members::Members;

/// A document that was read, and what is doubtful in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    pub value: Value,
    /// In document order; at most [`JSON_FINDINGS`].
    pub findings: Vec<Finding>,
}

/// Something JSON allows and we do not, with the JSON pointer of its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Finding {
    /// A key given twice in one object; the last value is the one in [`Read::value`].
    #[error("duplicate key at `{pointer}`")]
    DuplicateKey { pointer: String },
    /// A NUL character in a string or a key, which no database text can hold.
    #[error("NUL character at `{pointer}`")]
    Nul { pointer: String },
}

impl Finding {
    /// JSON pointer of the place (RFC 6901).
    pub fn pointer(&self) -> &str {
        match self {
            Self::DuplicateKey { pointer } | Self::Nul { pointer } => pointer,
        }
    }
}

/// Bytes that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    #[error("empty, expected JSON")]
    Empty,
    #[error("{bytes} bytes, the limit is {limit}")]
    TooLarge { bytes: usize, limit: usize },
    #[error("nested deeper than {JSON_DEPTH} levels at `{pointer}`")]
    TooDeep { pointer: String },
    #[error("starts with a byte order mark, expected JSON")]
    ByteOrderMark,
    #[error("{message} at line {line}, column {column}")]
    Syntax {
        message: String,
        line: usize,
        column: usize,
    },
}

/// Reads one JSON document of at most `limit` bytes.
pub fn read(bytes: &[u8], limit: usize) -> Result<Read, ReadError> {
    if bytes.len() > limit {
        return Err(ReadError::TooLarge {
            bytes: bytes.len(),
            limit,
        });
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(ReadError::Empty);
    }
    if bytes.starts_with(b"\xef\xbb\xbf") {
        return Err(ReadError::ByteOrderMark);
    }
    let notes = RefCell::new(Notes::default());
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let seed = Node {
        place: &Place::Root,
        depth: 0,
        notes: &notes,
    };
    let value = seed
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value));
    let notes = notes.into_inner();
    match value {
        Ok(value) => Ok(Read {
            value,
            findings: notes.findings,
        }),
        Err(error) => Err(match notes.too_deep {
            Some(pointer) => ReadError::TooDeep { pointer },
            None => syntax(&error),
        }),
    }
}

fn syntax(error: &serde_json::Error) -> ReadError {
    let (line, column) = (error.line(), error.column());
    let text = error.to_string();
    let message = text
        .strip_suffix(&format!(" at line {line} column {column}"))
        .unwrap_or(&text);
    ReadError::Syntax {
        message: message.to_owned(),
        line,
        column,
    }
}

#[derive(Default)]
struct Notes {
    findings: Vec<Finding>,
    too_deep: Option<String>,
}

impl Notes {
    fn add(&mut self, finding: Finding) {
        if self.findings.len() < JSON_FINDINGS {
            self.findings.push(finding);
        }
    }
}

/// Where we are: a list on the stack, written out only when there is something to say.
enum Place<'a> {
    Root,
    Key(&'a Place<'a>, &'a str),
    Index(&'a Place<'a>, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Key(parent, key) => {
                parent.fmt(f)?;
                f.write_str("/")?;
                f.write_str(&key.replace('~', "~0").replace('/', "~1"))
            }
            Self::Index(parent, index) => {
                parent.fmt(f)?;
                write!(f, "/{index}")
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Node<'a> {
    place: &'a Place<'a>,
    depth: usize,
    notes: &'a RefCell<Notes>,
}

impl Node<'_> {
    fn text(&self, text: &str) {
        if text.contains('\0') {
            self.notes.borrow_mut().add(Finding::Nul {
                pointer: self.place.to_string(),
            });
        }
    }

    fn descend<E: serde::de::Error>(&self) -> Result<usize, E> {
        if self.depth == JSON_DEPTH {
            self.notes.borrow_mut().too_deep = Some(self.place.to_string());
            return Err(E::custom("nested too deep"));
        }
        Ok(self.depth + 1)
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value).ok_or_else(|| E::custom("number out of range"))?;
        Ok(Value::Number(number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        self.text(value);
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        self.text(&value);
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let depth = self.descend()?;
        let mut list = Vec::new();
        loop {
            let place = Place::Index(self.place, list.len());
            let node = Node {
                place: &place,
                depth,
                notes: self.notes,
            };
            match items.next_element_seed(node)? {
                Some(value) => list.push(value),
                None => return Ok(Value::Array(list)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let depth = self.descend()?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let place = Place::Key(self.place, &key);
            let node = Node {
                place: &place,
                depth,
                notes: self.notes,
            };
            node.text(&key);
            if map.contains_key(&key) {
                self.notes.borrow_mut().add(Finding::DuplicateKey {
                    pointer: place.to_string(),
                });
            }
            let value = entries.next_value_seed(node)?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const LIMIT: usize = 1024;

    fn error(text: &str) -> String {
        read(text.as_bytes(), LIMIT).unwrap_err().to_string()
    }

    #[test]
    fn what_is_read_is_what_was_written() {
        let text = r#"{"b":[1,-2,3.5,true,null,"x\n"],"a":{"$serde_json::private::RawValue":"[]"}}"#;
        let read = read(text.as_bytes(), LIMIT).unwrap();
        assert_eq!(read.value.to_string(), text);
        assert!(read.findings.is_empty());
    }

    #[test]
    fn duplicate_keys_and_nul_are_named_by_pointer() {
        let text = r#"{"a/b":[{"k":1,"k":2}],"n":"x\u0000","z\u0000":1}"#;
        let read = read(text.as_bytes(), LIMIT).unwrap();
        assert_eq!(read.value["a/b"][0], json!({"k": 2}));
        let places: Vec<_> = read.findings.iter().map(Finding::to_string).collect();
        assert_eq!(
            places,
            [
                "duplicate key at `/a~1b/0/k`",
                "NUL character at `/n`",
                "NUL character at `/z\0`"
            ]
        );
    }

    #[test]
    fn findings_are_bounded() {
        let text = format!("[{}0]", "{\"a\":1,\"a\":2},".repeat(JSON_FINDINGS + 5));
        let read = read(text.as_bytes(), 1 << 20).unwrap();
        assert_eq!(read.findings.len(), JSON_FINDINGS);
    }

    #[test]
    fn errors_name_the_place() {
        assert_eq!(error("{\n  \"a\": }"), "expected value at line 2, column 8");
        assert_eq!(error("{} x"), "trailing characters at line 1, column 4");
        assert_eq!(
            error(r#"{"a":"\ud800"}"#),
            "unexpected end of hex escape at line 1, column 13"
        );
        assert_eq!(error(" \n"), "empty, expected JSON");
        assert_eq!(
            error("\u{feff}{}"),
            "starts with a byte order mark, expected JSON"
        );
        assert_eq!(error(&" ".repeat(1025)), "1025 bytes, the limit is 1024");
        assert!(error("[1e999]").starts_with("number out of range"));
        let bytes = read(b"\"\xff\"", LIMIT).unwrap_err().to_string();
        assert!(bytes.starts_with("invalid unicode code point"), "{bytes}");
    }

    #[test]
    fn depth_has_an_edge() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(read(nested(JSON_DEPTH).as_bytes(), LIMIT).is_ok());
        let pointer = "/0".repeat(JSON_DEPTH);
        assert_eq!(
            error(&nested(JSON_DEPTH + 1)),
            format!("nested deeper than 64 levels at `{pointer}`")
        );
        let objects = format!("{}1{}", "{\"a\":".repeat(65), "}".repeat(65));
        assert!(error(&objects).starts_with("nested deeper than 64 levels at `/a/a/"));
    }
}

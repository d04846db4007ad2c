//! A second reading of JSON that is known to be JSON: what `serde_json` would silently take or refuse is named by its
//! place, and a nearest value is given all the same, so that rules can look at it.

use serde_json::{Map, Number, Value};

use crate::limits::{JSON_DEPTH, JSON_FINDINGS};

/// Why some bytes have no canonical form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FactKind {
    /// A key given twice in one object; the last value counts.
    DuplicateKey,
    /// Half of a surrogate pair; the value holds U+FFFD in its place.
    LoneSurrogate,
    /// A number that RFC 8785 would write as another number.
    InexactNumber,
    /// Nested deeper than [`JSON_DEPTH`]; the value holds null in its place.
    TooDeep,
    /// Not what the protocol has here; the value is left out or read as it is.
    Shape,
    /// A list is longer than our bound; the rest was left out.
    TooMany,
}

/// A doubtful thing and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    pub kind: FactKind,
    /// JSON pointer inside the item, or inside the document for facts of a manifest.
    pub pointer: String,
    /// What is there, in a few words.
    pub what: String,
}

impl Fact {
    /// A fact about the form of a document.
    pub(crate) fn shape(pointer: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            kind: FactKind::Shape,
            pointer: pointer.into(),
            what: what.into(),
        }
    }
}

/// Reads `raw`, which must be in the grammar of JSON, as a value and what is doubtful in it.
pub fn parse(raw: &str) -> (Value, Vec<Fact>) {
    let mut reader = Reader {
        text: raw,
        bytes: raw.as_bytes(),
        at: 0,
        path: Vec::new(),
        facts: Vec::new(),
    };
    let value = reader.value();
    (value, reader.facts)
}

/// One step of a JSON pointer.
pub(crate) fn escaped(token: &str) -> String {
    if token.contains(['~', '/']) {
        token.replace('~', "~0").replace('/', "~1")
    } else {
        token.to_owned()
    }
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    path: Vec<String>,
    facts: Vec<Fact>,
}

impl Reader<'_> {
    fn fact(&mut self, kind: FactKind, what: impl Into<String>) {
        if self.facts.len() < JSON_FINDINGS {
            let steps = self.path.iter().map(|token| format!("/{}", escaped(token)));
            let pointer = steps.collect();
            let what = what.into();
            self.facts.push(Fact { kind, pointer, what });
        }
    }

    fn peek(&mut self) -> u8 {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    fn value(&mut self) -> Value {
        match self.peek() {
            b'{' | b'[' if self.path.len() >= JSON_DEPTH => {
                self.fact(FactKind::TooDeep, format!("deeper than {JSON_DEPTH} levels"));
                self.skip();
                Value::Null
            }
            b'{' => self.object(),
            b'[' => self.array(),
            b'"' => Value::String(self.string()),
            b't' => self.word(4, Value::Bool(true)),
            b'f' => self.word(5, Value::Bool(false)),
            b'-' | b'0'..=b'9' => self.number(),
            _ => self.word(4, Value::Null),
        }
    }

    fn word(&mut self, length: usize, value: Value) -> Value {
        self.at += length;
        value
    }

    /// Passes over one array or object without looking into it.
    fn skip(&mut self) {
        let mut open = 0_usize;
        while let Some(byte) = self.bytes.get(self.at) {
            match byte {
                b'"' => {
                    self.raw_string();
                    continue;
                }
                b'{' | b'[' => open += 1,
                b'}' | b']' => open -= 1,
                _ => {}
            }
            self.at += 1;
            if open == 0 {
                return;
            }
        }
    }

    fn object(&mut self) -> Value {
        self.at += 1;
        let mut map = Map::new();
        loop {
            match self.peek() {
                b'"' => {}
                b',' => {
                    self.at += 1;
                    continue;
                }
                _ => break,
            }
            let key = self.string();
            self.peek();
            self.at += 1;
            self.path.push(key);
            let value = self.value();
            let key = self.path.last().cloned().unwrap_or_default();
            if map.contains_key(&key) {
                self.fact(FactKind::DuplicateKey, "key given twice");
            }
            map.insert(key, value);
            self.path.pop();
        }
        self.at += 1;
        Value::Object(map)
    }

    fn array(&mut self) -> Value {
        self.at += 1;
        let mut list = Vec::new();
        loop {
            match self.peek() {
                b']' | 0 => break,
                b',' => self.at += 1,
                _ => {
                    self.path.push(list.len().to_string());
                    list.push(self.value());
                    self.path.pop();
                }
            }
        }
        self.at += 1;
        Value::Array(list)
    }

    /// The text between quotes as it is written, the reader behind it.
    fn raw_string(&mut self) -> std::ops::Range<usize> {
        let start = self.at + 1;
        self.at = start;
        while let Some(byte) = self.bytes.get(self.at) {
            match byte {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        let end = self.at.min(self.bytes.len());
        self.at = end + 1;
        start..end
    }

    fn string(&mut self) -> String {
        let range = self.raw_string();
        let raw = self.text.get(range).unwrap_or_default();
        if !raw.contains('\\') {
            return raw.to_owned();
        }
        let mut out = String::with_capacity(raw.len());
        let mut lone = false;
        let mut rest = raw;
        while let Some(at) = rest.find('\\') {
            out.push_str(&rest[..at]);
            let escape = rest.as_bytes().get(at + 1).copied().unwrap_or(0);
            if escape == b'u' {
                let (character, length) = unicode(&rest[at..]);
                lone |= character.is_none();
                out.push(character.unwrap_or(char::REPLACEMENT_CHARACTER));
                rest = &rest[at + length..];
            } else {
                out.push(simple(escape));
                rest = &rest[at + 2..];
            }
        }
        out.push_str(rest);
        if lone {
            self.fact(FactKind::LoneSurrogate, "half of a surrogate pair");
        }
        out
    }

    fn number(&mut self) -> Value {
        let start = self.at;
        while let Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9') = self.bytes.get(self.at) {
            self.at += 1;
        }
        let written = &self.text[start..self.at];
        let double: f64 = written.parse().unwrap_or(f64::NAN);
        let held = double.clamp(f64::MIN, f64::MAX);
        if !double.is_finite() || decimal(written) != decimal(&format!("{double:e}")) {
            let shown: String = written.chars().take(40).collect();
            self.fact(FactKind::InexactNumber, format!("number {shown}"));
        }
        let integer = written.parse::<i64>().map(Number::from);
        let unsigned = || written.parse::<u64>().map(Number::from);
        let number = integer.or_else(|_| unsigned()).ok();
        number
            .or_else(|| Number::from_f64(held))
            .map_or(Value::Null, Value::Number)
    }
}

fn simple(escape: u8) -> char {
    match escape {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        other => char::from(other),
    }
}

/// The character of an escape `\uXXXX` at the start of `text`, and how many bytes it takes.
fn unicode(text: &str) -> (Option<char>, usize) {
    let unit = |at: usize| {
        let digits = text.get(at..at + 4)?;
        u32::from_str_radix(digits, 16).ok()
    };
    let first = unit(2).unwrap_or(0xfffd);
    if (0xd800..0xdc00).contains(&first) && text.get(6..8) == Some("\\u") {
        let second = unit(8).unwrap_or(0);
        if (0xdc00..0xe000).contains(&second) {
            let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            return (char::from_u32(code), 12);
        }
    }
    (char::from_u32(first), 6)
}

/// Sign, digits without outer zeros, and the power of ten behind the last digit: equal for equal decimals.
fn decimal(text: &str) -> (bool, String, i64) {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: i64 = exponent.trim_start_matches('+').parse().unwrap_or(i64::MAX / 2);
    let negative = mantissa.starts_with('-');
    let mantissa = mantissa.trim_start_matches('-');
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let digits = all.trim_start_matches('0');
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return (false, String::new(), 0);
    }
    let dropped = i64::try_from(digits.len() - significant.len()).unwrap_or(0);
    let places = i64::try_from(fraction.len()).unwrap_or(0);
    (
        negative,
        significant.to_owned(),
        exponent.saturating_sub(places).saturating_add(dropped),
    )
}

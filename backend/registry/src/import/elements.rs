//! Splits a file into its elements, reading it once and holding one element at a time: JSON lines, one document, a
//! list answer, an array, or several of these after another. What an element means is for `row` to say.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use toolmark_domain::limits::IMPORT_LINE_BYTES;

use super::place::Place;

/// How much of the beginning decides whether a file is read by lines.
const PEEK_BYTES: usize = 64 * 1024;
const BUFFER_BYTES: usize = 256 * 1024;
/// Longest key of a top-level object we compare; longer ones are not `servers`.
const KEY_BYTES: usize = 1024;

/// One element of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) place: Place,
    /// `None` when it is longer than [`IMPORT_LINE_BYTES`].
    pub(crate) bytes: Option<Vec<u8>>,
}

/// Why a file cannot be read further.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileFault {
    #[error("cannot read on")]
    Io(#[from] io::Error),
    #[error("expected {expected} at byte {offset}")]
    Broken { expected: &'static str, offset: u64 },
    #[error("the file ends in the middle of a document")]
    EndsEarly,
}

/// The elements of a file, in order. After an error there are no more.
pub(crate) struct Elements<R: Read> {
    scanner: Scanner<R>,
    by_lines: bool,
    /// Where we are: at the top, or inside a list whose owner still has to be closed.
    inside: Inside,
    number: u64,
    done: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Top,
    Array { of_object: bool, first: bool },
}

impl<R: Read> Elements<R> {
    pub(crate) fn new(mut source: R) -> io::Result<Self> {
        let mut peek = Vec::with_capacity(PEEK_BYTES);
        source.by_ref().take(PEEK_BYTES as u64).read_to_end(&mut peek)?;
        let skipped = if peek.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
        let by_lines = is_by_lines(&peek[skipped..], peek.len() < PEEK_BYTES);
        let mut start = Cursor::new(peek);
        start.set_position(skipped as u64);
        Ok(Self {
            scanner: Scanner {
                reader: BufReader::with_capacity(BUFFER_BYTES, start.chain(source)),
                offset: skipped as u64,
            },
            by_lines,
            inside: Inside::Top,
            number: 0,
            done: false,
        })
    }

    /// How many bytes are read so far.
    pub(crate) fn offset(&self) -> u64 {
        self.scanner.offset
    }

    fn place(&mut self) -> Place {
        self.number += 1;
        if self.by_lines {
            Place::Line(self.number)
        } else {
            Place::Element(self.number)
        }
    }

    fn advance(&mut self) -> Result<Option<Element>, FileFault> {
        if self.by_lines {
            return self.line();
        }
        loop {
            match self.inside {
                Inside::Array { of_object, first } => match self.item(of_object, first)? {
                    Some(element) => return Ok(Some(element)),
                    None => self.inside = Inside::Top,
                },
                Inside::Top => match self.scanner.peek_token()? {
                    None => return Ok(None),
                    Some(b'[') => {
                        self.scanner.take()?;
                        self.inside = Inside::Array {
                            of_object: false,
                            first: true,
                        };
                    }
                    Some(b'{') => {
                        if let Some(bytes) = self.object()? {
                            let place = self.place();
                            return Ok(Some(Element {
                                place,
                                bytes: bytes.0,
                            }));
                        }
                    }
                    Some(_) => {
                        let bytes = self.scanner.value(IMPORT_LINE_BYTES)?.0;
                        let place = self.place();
                        return Ok(Some(Element { place, bytes }));
                    }
                },
            }
        }
    }

    fn line(&mut self) -> Result<Option<Element>, FileFault> {
        loop {
            let Some(bytes) = self.scanner.line(IMPORT_LINE_BYTES)? else {
                return Ok(None);
            };
            let place = self.place();
            if bytes.0.as_ref().is_none_or(|line| !line.trim_ascii().is_empty()) {
                return Ok(Some(Element {
                    place,
                    bytes: bytes.0,
                }));
            }
        }
    }

    /// The next item of the list we are in; `None` at its end.
    fn item(&mut self, of_object: bool, first: bool) -> Result<Option<Element>, FileFault> {
        let mut token = self.scanner.token("`]`")?;
        if !first && token == b',' {
            self.scanner.take()?;
            token = self.scanner.token("a value")?;
        } else if !first && token != b']' {
            return Err(self.scanner.broken("`,` or `]`"));
        }
        if token == b']' {
            self.scanner.take()?;
            if of_object {
                self.rest_of_object()?;
            }
            return Ok(None);
        }
        self.inside = Inside::Array {
            of_object,
            first: false,
        };
        let bytes = self.scanner.value(IMPORT_LINE_BYTES)?.0;
        let place = self.place();
        Ok(Some(Element { place, bytes }))
    }

    /// Reads an object. One with a list under `servers` is entered and `None` given back; any other is an element.
    fn object(&mut self) -> Result<Option<Bounded>, FileFault> {
        let mut seen = Bounded::new();
        self.scanner.take()?;
        seen.push(b"{");
        loop {
            match self.scanner.token("`}`")? {
                b'}' => {
                    self.scanner.take()?;
                    seen.push(b"}");
                    return Ok(Some(seen));
                }
                b',' => {
                    self.scanner.take()?;
                    seen.push(b",");
                }
                b'"' => {
                    let key = self.scanner.value(KEY_BYTES)?;
                    if self.scanner.token("`:`")? != b':' {
                        return Err(self.scanner.broken("`:`"));
                    }
                    self.scanner.take()?;
                    let token = self.scanner.token("a value")?;
                    if token == b'[' && key.0.as_deref() == Some(br#""servers""#) {
                        self.scanner.take()?;
                        self.inside = Inside::Array {
                            of_object: true,
                            first: true,
                        };
                        return Ok(None);
                    }
                    seen.append(key);
                    seen.push(b":");
                    seen.append(self.scanner.value(IMPORT_LINE_BYTES)?);
                }
                _ => return Err(self.scanner.broken("a key or `}`")),
            }
        }
    }

    /// After the list under `servers`: what else the object holds is of no use here.
    fn rest_of_object(&mut self) -> Result<(), FileFault> {
        loop {
            match self.scanner.token("`}`")? {
                b'}' => return self.scanner.take(),
                b',' | b':' => self.scanner.take()?,
                _ => {
                    self.scanner.value(0)?;
                }
            }
        }
    }
}

impl<R: Read> Iterator for Elements<R> {
    type Item = Result<Element, FileFault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let next = self.advance().transpose();
        self.done = !matches!(next, Some(Ok(_)));
        next
    }
}

/// Whether a file that begins like this is read by lines: its first line is a whole value, or junk before a line that
/// begins like one. Lines are preferred because one bad line then costs one element.
fn is_by_lines(start: &[u8], whole: bool) -> bool {
    let text = start.trim_ascii_start();
    match text.first() {
        None | Some(b'[') => return false,
        Some(b'{') => {}
        Some(_) => return true,
    }
    let Some(end) = text.iter().position(|b| *b == b'\n') else {
        return whole && !is_balanced(text);
    };
    is_balanced(&text[..end]) || text.get(end + 1) == Some(&b'{')
}

fn is_balanced(text: &[u8]) -> bool {
    let mut state = State::default();
    for byte in text {
        state.step(*byte);
    }
    state.depth == 0 && !state.in_string
}

/// Collects bytes up to a limit; past it nothing is kept.
struct Bounded(Option<Vec<u8>>);

impl Bounded {
    fn new() -> Self {
        Self(Some(Vec::new()))
    }

    fn push(&mut self, bytes: &[u8]) {
        self.push_within(bytes, IMPORT_LINE_BYTES);
    }

    fn push_within(&mut self, bytes: &[u8], limit: usize) {
        if let Some(kept) = &mut self.0 {
            if kept.len() + bytes.len() > limit {
                self.0 = None;
            } else {
                kept.extend_from_slice(bytes);
            }
        }
    }

    fn append(&mut self, other: Self) {
        match other.0 {
            Some(bytes) => self.push(&bytes),
            None => self.0 = None,
        }
    }
}

/// Where in a value a byte stands.
#[derive(Default)]
struct State {
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl State {
    fn step(&mut self, byte: u8) {
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

struct Scanner<R: Read> {
    reader: BufReader<io::Chain<Cursor<Vec<u8>>, R>>,
    offset: u64,
}

impl<R: Read> Scanner<R> {
    fn consume(&mut self, count: usize) {
        self.reader.consume(count);
        self.offset += count as u64;
    }

    fn broken(&self, expected: &'static str) -> FileFault {
        FileFault::Broken {
            expected,
            offset: self.offset,
        }
    }

    /// The next byte that is no white space, not taken.
    fn peek_token(&mut self) -> Result<Option<u8>, FileFault> {
        loop {
            let buffer = self.reader.fill_buf()?;
            if buffer.is_empty() {
                return Ok(None);
            }
            let blank = buffer.iter().take_while(|b| b.is_ascii_whitespace()).count();
            let token = buffer.get(blank).copied();
            self.consume(blank);
            if token.is_some() {
                return Ok(token);
            }
        }
    }

    fn token(&mut self, expected: &'static str) -> Result<u8, FileFault> {
        match self.peek_token()? {
            Some(token) => Ok(token),
            None if expected == "`]`" || expected == "`}`" => Err(FileFault::EndsEarly),
            None => Err(self.broken(expected)),
        }
    }

    /// Takes the byte just peeked at.
    fn take(&mut self) -> Result<(), FileFault> {
        self.reader.fill_buf()?;
        self.consume(1);
        Ok(())
    }

    /// One value from here on, by its brackets and quotes.
    fn value(&mut self, limit: usize) -> Result<Bounded, FileFault> {
        let mut kept = Bounded::new();
        let mut state = State::default();
        let mut begun = false;
        loop {
            let buffer = self.reader.fill_buf()?;
            if buffer.is_empty() {
                let complete = begun && state.depth == 0 && !state.in_string;
                return if complete {
                    Ok(kept)
                } else {
                    Err(FileFault::EndsEarly)
                };
            }
            let mut used = 0;
            let mut ended = false;
            for byte in buffer {
                let outside = state.depth == 0 && !state.in_string;
                let ends_scalar = matches!(byte, b',' | b']' | b'}' | b':') || byte.is_ascii_whitespace();
                if outside && begun && ends_scalar {
                    ended = true;
                    break;
                }
                state.step(*byte);
                begun = true;
                used += 1;
                let closes = matches!(byte, b'}' | b']' | b'"');
                if closes && state.depth == 0 && !state.in_string {
                    ended = true;
                    break;
                }
            }
            kept.push_within(&buffer[..used], limit);
            self.consume(used);
            if ended {
                return Ok(kept);
            }
        }
    }

    /// One line without its end; `None` at the end of the file.
    fn line(&mut self, limit: usize) -> Result<Option<Bounded>, FileFault> {
        let mut kept = Bounded::new();
        let mut any = false;
        loop {
            let buffer = self.reader.fill_buf()?;
            if buffer.is_empty() {
                return Ok(any.then_some(kept));
            }
            any = true;
            let end = buffer.iter().position(|b| *b == b'\n');
            let length = end.unwrap_or(buffer.len());
            kept.push_within(&buffer[..length], limit);
            self.consume(end.map_or(length, |end| end + 1));
            if end.is_some() {
                return Ok(Some(kept));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> (Vec<(Place, Option<String>)>, Option<String>) {
        let mut found = Vec::new();
        let mut fault = None;
        for element in Elements::new(text).unwrap() {
            match element {
                Ok(Element { place, bytes }) => {
                    found.push((place, bytes.map(|bytes| String::from_utf8(bytes).unwrap())));
                }
                Err(error) => fault = Some(error.to_string()),
            }
        }
        (found, fault)
    }

    fn texts(text: &str) -> Vec<String> {
        let (found, fault) = read(text.as_bytes());
        assert_eq!(fault, None, "{text}");
        found.into_iter().map(|(_, text)| text.unwrap()).collect()
    }

    #[test]
    fn every_form_gives_its_elements() {
        for (text, expected) in [
            ("{\"a\":1}\n{\"b\":2}\n", vec![r#"{"a":1}"#, r#"{"b":2}"#]),
            (
                "\u{feff}{\"a\":1}\r\n\n  \n{\"b\":2}",
                vec!["{\"a\":1}\r", r#"{"b":2}"#],
            ),
            (r#"{"a":1}"#, vec![r#"{"a":1}"#]),
            ("{\n  \"a\": [1, \"}\"]\n}\n", vec![r#"{"a":[1, "}"]}"#]),
            ("{\n\"a\":1\n} {\n\"b\":2\n}", vec![r#"{"a":1}"#, r#"{"b":2}"#]),
            (
                " [ {\"a\":\"\\\"]\"} , 7,\"x\" ] ",
                vec![r#"{"a":"\"]"}"#, "7", r#""x""#],
            ),
            ("[]", vec![]),
            ("", vec![]),
            ("  \n ", vec![]),
            (
                "{\n\"metadata\": {\"count\": 2}, \"servers\" : [ {\"a\":1}, {\"b\":2} ], \"x\": [{}] }",
                vec![r#"{"a":1}"#, r#"{"b":2}"#],
            ),
            ("{\n\"servers\":[]}\n{\n\"servers\":[{}]}", vec!["{}"]),
            ("{\n\"servers\":7}", vec![r#"{"servers":7}"#]),
        ] {
            assert_eq!(texts(text), expected, "{text}");
        }
    }

    #[test]
    fn a_bad_line_costs_one_element() {
        let (found, fault) = read(b"{\"a\": {\n{\"b\":2}\nnoise\n{\"c\":3}\n");
        assert_eq!(fault, None);
        let places: Vec<Place> = found.iter().map(|(place, _)| *place).collect();
        assert_eq!(
            places,
            [Place::Line(1), Place::Line(2), Place::Line(3), Place::Line(4)]
        );
        assert_eq!(found[3].1.as_deref(), Some(r#"{"c":3}"#));
    }

    #[test]
    fn an_element_is_held_up_to_the_limit_and_skipped_past_it() {
        let at = |length: usize| format!("\"{}\"", "x".repeat(length - 2));
        let (edge, over) = (at(IMPORT_LINE_BYTES), at(IMPORT_LINE_BYTES + 1));
        for text in [format!("[{edge},{over},3]"), format!("{edge}\n{over}\n3")] {
            let (found, fault) = read(text.as_bytes());
            assert_eq!(fault, None);
            let lengths: Vec<Option<usize>> = found
                .iter()
                .map(|(_, text)| text.as_ref().map(String::len))
                .collect();
            assert_eq!(lengths, [Some(IMPORT_LINE_BYTES), None, Some(1)]);
        }
    }

    #[test]
    fn what_breaks_off_or_is_no_list_is_said_with_its_place() {
        for (text, kept, expected) in [
            (
                "[{\"a\":1},{\"b\":",
                1,
                "the file ends in the middle of a document",
            ),
            ("[{\"a\":1}", 1, "the file ends in the middle of a document"),
            ("[{\"a\":1} {\"b\":2}]", 1, "expected `,` or `]` at byte 9"),
            (
                "{\n\"servers\":[{}",
                1,
                "the file ends in the middle of a document",
            ),
            ("{\n\"a\" 1}", 0, "expected `:` at byte 6"),
        ] {
            let (found, fault) = read(text.as_bytes());
            assert_eq!((found.len(), fault.as_deref()), (kept, Some(expected)), "{text}");
        }
    }
}

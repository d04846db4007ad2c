//! Text as words, and patterns over words: the linear-time engine below the rules about language.
//!
//! A pattern is a row of elements, `@neg <3 @tell <4 @user`: a word, alternatives `a|b`, a word with its inflections
//! `send*`, a class `@name`, a shape `:email`; `<N` lets up to N words stand between, `^` is the start of a
//! sentence. Articles and the like never stand in the way. Every step is bounded, so time grows with the text only.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// What a word looks like, beside what it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape(u8);

impl Shape {
    pub(crate) const EMAIL: Self = Self(1);
    pub(crate) const URL: Self = Self(2);
    pub(crate) const SECRET: Self = Self(4);
    pub(crate) const NAME: Self = Self(8);
    pub(crate) const NUMBER: Self = Self(16);

    fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    fn named(name: &str) -> Self {
        match name {
            "email" => Self::EMAIL,
            "url" => Self::URL,
            "secret" => Self::SECRET,
            "name" => Self::NAME,
            "number" => Self::NUMBER,
            other => unreachable!("no shape is called `{other}`"),
        }
    }
}

/// A word of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word {
    /// Its number in the vocabulary; 0 is a word no pattern knows.
    id: u16,
    shape: Shape,
    /// Which sentence it is in.
    pub(crate) sentence: u32,
    /// Between quotation marks.
    pub(crate) quoted: bool,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Words that never stand in the way of a pattern.
const FILLERS: &str = "the a an all any your its this that these those of to my our their his her very please also then \
    just each every some such own el la los las le les der die das den dem des un une una ein eine einen o os as um \
    uma de du von du il lo gli";

#[derive(Clone, Debug)]
struct Element {
    words: Vec<u64>,
    shape: Shape,
    gap: usize,
    start: bool,
}

impl Element {
    fn takes(&self, word: Word) -> bool {
        let known = self.words.get(usize::from(word.id / 64)).copied().unwrap_or(0);
        (word.id != 0 && known >> (word.id % 64) & 1 == 1) || word.shape.has(self.shape)
    }
}

/// A place where a pattern fits: the first and the last word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    /// Number of the pattern in the order given.
    pub(crate) pattern: usize,
    pub(crate) first: usize,
    pub(crate) last: usize,
}

/// Compiled patterns with their vocabulary.
pub(crate) struct Patterns {
    vocabulary: HashMap<String, u16, Quick>,
    fillers: Vec<u64>,
    compiled: Vec<Vec<Element>>,
    by_word: Vec<Vec<usize>>,
    by_shape: Vec<(Shape, usize)>,
}

/// Hashing for our own vocabulary: what is looked up is foreign, what is kept is not, so nobody can make it slow.
type Quick = BuildHasherDefault<Fnv>;

#[derive(Clone, Copy)]
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// Most words one pattern may span.
const SPAN: usize = 40;

impl Patterns {
    /// Compiles `patterns`, in which `@name` stands for the words of `classes`.
    pub(crate) fn new(classes: &[(&str, &str)], patterns: &[&str]) -> Self {
        let mut made = Self {
            vocabulary: HashMap::default(),
            fillers: Vec::new(),
            compiled: Vec::new(),
            by_word: Vec::new(),
            by_shape: Vec::new(),
        };
        for filler in FILLERS.split_whitespace() {
            let id = made.id(filler);
            insert(&mut made.fillers, id);
        }
        let classes: HashMap<&str, &str> = classes.iter().copied().collect();
        for (index, pattern) in patterns.iter().enumerate() {
            let elements = made.compile(pattern, &classes);
            let first = elements.first().expect("a pattern has an element").clone();
            for id in ids(&first.words) {
                let id = usize::from(id);
                if made.by_word.len() <= id {
                    made.by_word.resize(id + 1, Vec::new());
                }
                made.by_word[id].push(index);
            }
            if first.shape != Shape::default() {
                made.by_shape.push((first.shape, index));
            }
            made.compiled.push(elements);
        }
        made
    }

    fn id(&mut self, word: &str) -> u16 {
        let next = u16::try_from(self.vocabulary.len() + 1).expect("the vocabulary is small");
        *self.vocabulary.entry(word.to_owned()).or_insert(next)
    }

    fn compile(&mut self, pattern: &str, classes: &HashMap<&str, &str>) -> Vec<Element> {
        let mut elements = Vec::new();
        let (mut gap, mut start) = (0, false);
        for part in pattern.split_whitespace() {
            if let Some(words) = part.strip_prefix('<') {
                gap = words.parse().expect("a gap is a number");
                continue;
            }
            if part == "^" {
                start = true;
                continue;
            }
            let mut element = Element {
                words: Vec::new(),
                shape: Shape::default(),
                gap,
                start,
            };
            self.alternatives(part, classes, &mut element);
            elements.push(element);
            (gap, start) = (0, false);
        }
        elements
    }

    fn alternatives(&mut self, part: &str, classes: &HashMap<&str, &str>, element: &mut Element) {
        for word in part.split('|') {
            if let Some(class) = word.strip_prefix('@') {
                let words = classes.get(class).unwrap_or_else(|| panic!("no class `{class}`"));
                for word in words.split_whitespace() {
                    self.alternatives(word, classes, element);
                }
            } else if let Some(shape) = word.strip_prefix(':') {
                element.shape = element.shape.with(Shape::named(shape));
            } else if let Some(stem) = word.strip_suffix('*') {
                for form in inflections(stem) {
                    let id = self.id(&form);
                    insert(&mut element.words, id);
                }
            } else {
                let id = self.id(word);
                insert(&mut element.words, id);
            }
        }
    }

    fn is_filler(&self, word: Word) -> bool {
        let known = self.fillers.get(usize::from(word.id / 64)).copied().unwrap_or(0);
        word.id != 0 && known >> (word.id % 64) & 1 == 1
    }

    /// The words of `text`.
    pub(crate) fn words(&self, text: &str) -> Vec<Word> {
        let mut words = Vec::new();
        split(text, |lower, shape, sentence, quoted, span| {
            words.push(Word {
                id: self.vocabulary.get(lower).copied().unwrap_or(0),
                shape,
                sentence,
                quoted,
                start: span.0,
                end: span.1,
            });
        });
        words
    }

    /// Every place where a pattern fits, at most one for each first word and pattern.
    pub(crate) fn hits(&self, words: &[Word]) -> Vec<Hit> {
        let mut hits = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let by_word = self.by_word.get(usize::from(word.id));
            let named = by_word.into_iter().flatten().copied();
            let formed: &[(Shape, usize)] = if word.shape == Shape::default() {
                &[]
            } else {
                &self.by_shape
            };
            let shaped = formed.iter().filter(|(shape, _)| word.shape.has(*shape));
            for pattern in named.chain(shaped.map(|(_, pattern)| *pattern)) {
                if let Some(last) = self.fits(&self.compiled[pattern], words, at) {
                    hits.push(Hit {
                        pattern,
                        first: at,
                        last,
                    });
                }
            }
        }
        hits
    }

    fn fits(&self, pattern: &[Element], words: &[Word], at: usize) -> Option<usize> {
        let sentence = words[at].sentence;
        if pattern[0].start && at > 0 && words[at - 1].sentence == sentence {
            return None;
        }
        let end = words.len().min(at + SPAN);
        let mut reached: u64 = 1;
        for element in &pattern[1..] {
            let mut next = 0_u64;
            while reached != 0 {
                let from = usize::try_from(reached.trailing_zeros()).unwrap_or(0);
                reached &= reached - 1;
                let mut left = element.gap;
                for (to, word) in words.iter().enumerate().take(end).skip(at + from + 1) {
                    if word.sentence != sentence {
                        break;
                    }
                    if element.takes(*word) {
                        next |= 1 << (to - at);
                    }
                    if !self.is_filler(*word) {
                        let Some(fewer) = left.checked_sub(1) else { break };
                        left = fewer;
                    }
                }
            }
            if next == 0 {
                return None;
            }
            reached = next;
        }
        Some(at + usize::try_from(reached.trailing_zeros()).unwrap_or(0))
    }
}

fn insert(words: &mut Vec<u64>, id: u16) {
    let at = usize::from(id / 64);
    if words.len() <= at {
        words.resize(at + 1, 0);
    }
    words[at] |= 1 << (id % 64);
}

fn ids(words: &[u64]) -> Vec<u16> {
    let all = 0..u16::try_from(words.len() * 64).unwrap_or(0);
    all.filter(|id| words[usize::from(id / 64)] >> (id % 64) & 1 == 1)
        .collect()
}

/// The regular forms of an English verb or noun.
fn inflections(stem: &str) -> Vec<String> {
    let mut forms = vec![stem.to_owned(), format!("{stem}s"), format!("{stem}es")];
    let base = stem.strip_suffix('e').unwrap_or(stem);
    forms.push(format!("{base}ed"));
    forms.push(format!("{base}ing"));
    if let Some(base) = stem.strip_suffix('y') {
        forms.push(format!("{base}ies"));
        forms.push(format!("{base}ied"));
    }
    if let Some(last) = stem.chars().last().filter(|c| "gptnmdl".contains(*c)) {
        forms.push(format!("{stem}{last}ed"));
        forms.push(format!("{stem}{last}ing"));
    }
    forms
}

/// Calls `word` for each word of `text`: lower case, shape, sentence, quoted or not, place in bytes.
fn split(text: &str, mut word: impl FnMut(&str, Shape, u32, bool, (usize, usize))) {
    let mut sentence = 0;
    let mut quoted = false;
    let mut at = 0;
    let mut lower = String::new();
    while at < text.len() {
        let rest = &text[at..];
        let chunk = rest.find(char::is_whitespace).unwrap_or(rest.len());
        if chunk == 0 {
            let blank = rest.len() - rest.trim_start().len();
            if ends_paragraph(&rest[..blank], &rest[blank..]) {
                sentence += 1;
                quoted = false;
            }
            at += blank;
            continue;
        }
        let piece = &rest[..chunk];
        let shape = shape_of(piece);
        if shape != Shape::default() {
            word("", shape, sentence, quoted, (at, at + chunk));
        }
        pieces(
            piece,
            &mut quoted,
            &mut sentence,
            shape,
            |start, end, quoted, sentence| {
                lower.clear();
                lower.extend(piece[start..end].chars().flat_map(char::to_lowercase));
                let named = if lower.contains('_') || camel(&piece[start..end]) {
                    Shape::NAME
                } else {
                    Shape::default()
                };
                word(
                    lower.trim_matches('\''),
                    named,
                    sentence,
                    quoted,
                    (at + start, at + end),
                );
            },
        );
        at += chunk;
    }
}

/// Words inside a piece without blanks; a piece that is an address or a path ends no sentence before its last sign.
fn pieces(
    piece: &str,
    quoted: &mut bool,
    sentence: &mut u32,
    shape: Shape,
    mut word: impl FnMut(usize, usize, bool, u32),
) {
    let mut start = None;
    let last = piece.len();
    for (at, c) in piece.char_indices().chain([(last, ' ')]) {
        let part = c.is_alphanumeric() || c == '_' || matches!(c, '\'' | '’');
        if part {
            start.get_or_insert(at);
            continue;
        }
        if let Some(from) = start.take()
            && shape == Shape::default()
        {
            word(from, at, *quoted, *sentence);
        }
        match c {
            '"' | '“' | '”' | '«' | '»' => *quoted = !*quoted,
            '。' | '！' | '？' | '；' => *sentence += 1,
            '.' | '!' | '?' | ';' if piece[at + c.len_utf8()..].chars().all(closes) => *sentence += 1,
            _ => {}
        }
    }
}

fn closes(c: char) -> bool {
    matches!(
        c,
        '"' | '\'' | ')' | ']' | '`' | '*' | '”' | '.' | '!' | '?' | '>'
    )
}

fn camel(word: &str) -> bool {
    let mut before = false;
    word.chars().any(|c| {
        let turn = before && c.is_uppercase();
        before = c.is_lowercase();
        turn
    })
}

/// An empty line, or a line that starts a list or a heading.
fn ends_paragraph(blank: &str, rest: &str) -> bool {
    let lines = blank.matches('\n').count();
    lines > 1 || (lines == 1 && rest.starts_with(['-', '*', '•', '#', '<', '|', '`', '[']))
}

/// Parts of names of places where secrets lie.
const SECRET_PLACES: [&str; 35] = [
    ".ssh",
    "id_rsa",
    "id_ed25519",
    "/etc/passwd",
    "/etc/shadow",
    "/etc/sudoers",
    "/.aws",
    ".aws/",
    "mcp.json",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".gitconfig",
    ".kube",
    ".docker/config",
    "wallet.dat",
    "keychain",
    ".gnupg",
    "credentials.json",
    ".config/",
    "~/.config",
    ".bash_history",
    ".zsh_history",
    "claude_desktop_config",
    "://secret",
    "://admin",
    "://confidential",
    "://internal",
    "authorized_keys",
    "id_dsa",
    "/proc/self/environ",
    "secrets.y",
    "login.keychain",
    "service-account",
];

fn shape_of(piece: &str) -> Shape {
    const TELLING: [char; 7] = ['@', '/', '.', '~', '\\', '_', '+'];
    if !piece.contains(TELLING) {
        return Shape::default();
    }
    let piece = piece.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '~' | '.' | '/' | '+'));
    // Most of what comes here is the last word of a sentence.
    let piece = piece.trim_end_matches('.');
    if !piece.contains(TELLING) {
        return Shape::default();
    }
    let lower = piece.to_lowercase();
    let mut shape = Shape::default();
    let ends = |place: &str| {
        let mut found = lower.match_indices(place);
        let next = |at: usize| lower[at + place.len()..].chars().next();
        found.any(|(at, _)| {
            place.ends_with('/') || next(at).is_none_or(|c| !c.is_alphabetic()) || place.starts_with("://")
        })
    };
    if SECRET_PLACES.iter().any(|place| ends(place)) || env_file(&lower) {
        shape = shape.with(Shape::SECRET);
    }
    if lower.contains("://") || lower.starts_with("www.") {
        shape = shape.with(Shape::URL);
    } else if email(&lower) {
        shape = shape.with(Shape::EMAIL);
    }
    if let Some(digits) = piece.strip_prefix('+')
        && digits.len() >= 8
        && digits
            .bytes()
            .all(|b| b.is_ascii_digit() || matches!(b, b'-' | b'.'))
    {
        shape = shape.with(Shape::NUMBER);
    }
    shape
}

fn env_file(lower: &str) -> bool {
    lower.match_indices(".env").any(|(at, found)| {
        let before = lower[..at].chars().next_back();
        let after = lower[at + found.len()..].chars().next();
        !before.is_some_and(char::is_alphanumeric)
            && !before.is_some_and(|c| matches!(c, ')' | '}' | ']'))
            && after.is_none_or(|c| !c.is_alphanumeric() && c != '_')
    })
}

fn email(lower: &str) -> bool {
    lower.split_once('@').is_some_and(|(local, host)| {
        let host = host.trim_end_matches('.');
        let label = |c: char| c.is_alphanumeric() || matches!(c, '-' | '.' | '_');
        !local.is_empty()
            && local.chars().next_back().is_some_and(char::is_alphanumeric)
            && host.contains('.')
            && !host.starts_with('.')
            && host.chars().take_while(|c| label(*c)).count() >= 4
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finds(pattern: &str, text: &str) -> bool {
        let patterns = Patterns::new(
            &[("user", "user* person"), ("neg", "not never don't")],
            &[pattern],
        );
        !patterns.hits(&patterns.words(text)).is_empty()
    }

    #[test]
    fn patterns_fit_words_in_one_sentence() {
        assert!(finds("@neg <2 tell* <3 @user", "Do NOT ever tell the users."));
        assert!(finds("@neg tell", "don't tell"));
        assert!(!finds("@neg tell", "do not ever tell"));
        assert!(finds("@neg <1 tell", "do not ever tell"));
        assert!(!finds("@neg <4 tell", "No, not this. Tell them"));
        assert!(finds("@neg <4 tell", "not (as\nusual) tell"));
        assert!(!finds("@neg <4 tell", "not this\n\ntell"));
        assert!(finds("^ send", "Ok. Send it"));
        assert!(!finds("^ send", "We send it"));
    }

    #[test]
    fn shapes_are_seen_without_words() {
        assert!(finds("send <3 :email", "send it to a.b@example.org!"));
        assert!(!finds("send <3 :email", "send it to @a.b"));
        assert!(finds("read :secret", "read `~/.ssh/id_rsa`."));
        assert!(finds("read :secret", "read .env"));
        assert!(!finds("read :secret", "read process.env.KEY import.meta.env"));
        assert!(finds("open :url", "open (https://a.example/x?y)"));
        assert!(finds("call :name", "call get_secret"));
        assert!(finds("call :name", "call getSecret"));
    }

    #[test]
    fn time_grows_with_the_text_only() {
        let patterns = Patterns::new(&[], &["a <30 a <30 a <30 a <30 a <30 b"]);
        let steps = |count: usize| {
            let started = std::time::Instant::now();
            assert!(patterns.hits(&patterns.words(&"a ".repeat(count))).is_empty());
            started.elapsed().as_secs_f64()
        };
        steps(1000);
        let (once, eight) = (steps(500), steps(4000));
        assert!(eight < once * 24.0, "{once} {eight}");
    }
}

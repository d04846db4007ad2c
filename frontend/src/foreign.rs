//! Text that somebody else wrote, and how it is shown: escaped, in its own direction, hidden characters as marks.

use std::fmt::{self, Write as _};

use askama::filters::HtmlSafe;
use serde::Serialize;
pub use toolmark_domain::characters::is_hidden;
use toolmark_domain::limits::{SHOWN_DEFINITION_CHARS, SHOWN_LINE_CHARS, SHOWN_TEXT_CHARS};

/// Characters of a remark inside a row; the page of the row has it whole.
const REMARK_CHARS: usize = 120;

/// A piece of foreign text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment<'a> {
    /// Characters a reader sees.
    Text(&'a str),
    /// One character a reader does not see (or a run of the same, or of tag characters), with its short label and
    /// what it is.
    Hidden { label: String, what: String },
}

/// Splits `text` into what a reader sees and what would be hidden.
///
/// Joiners inside emoji and inside scripts that need them, and variation selectors after a character that takes one,
/// are left alone: they are how honest text is written.
pub fn visible(text: &str) -> Vec<Segment<'_>> {
    let chars: Vec<(usize, char)> = text.char_indices().collect();
    let mut segments = Vec::new();
    let mut plain_from = 0;
    let mut at = 0;
    while at < chars.len() {
        let (start, c) = chars[at];
        let before = at.checked_sub(1).map(|i| chars[i].1);
        let after = chars.get(at + 1).map(|next| next.1);
        if !is_hidden(c) || is_expected(before, c, after) {
            at += 1;
            continue;
        }
        let same = |next: char| if is_tag(c) { is_tag(next) } else { next == c };
        let run = chars[at..].iter().take_while(|next| same(next.1)).count();
        let end = chars.get(at + run).map_or(text.len(), |next| next.0);
        if plain_from < start {
            segments.push(Segment::Text(&text[plain_from..start]));
        }
        segments.push(mark(&text[start..end], c, run));
        plain_from = end;
        at += run;
    }
    if plain_from < text.len() {
        segments.push(Segment::Text(&text[plain_from..]));
    }
    segments
}

fn mark(run: &str, first: char, count: usize) -> Segment<'static> {
    if is_tag(first) {
        let spelled: String = run.chars().map(tag_letter).collect();
        let plural = if count == 1 { "" } else { "s" };
        return Segment::Hidden {
            label: format!("TAG {spelled}"),
            what: format!(
                "{count} invisible tag character{plural} from U+{:04X}",
                u32::from(first)
            ),
        };
    }
    let code = format!("U+{:04X}", u32::from(first));
    let (label, name) = name_of(first);
    let label = if label.is_empty() {
        code.clone()
    } else {
        label.to_owned()
    };
    let times = if count == 1 {
        String::new()
    } else {
        format!(" ×{count}")
    };
    Segment::Hidden {
        label: format!("{label}{times}"),
        what: format!("{name}, {code}{times}"),
    }
}

fn is_tag(c: char) -> bool {
    matches!(c, '\u{E0000}'..='\u{E007F}')
}

fn tag_letter(c: char) -> char {
    u32::from(c)
        .checked_sub(0xE0000)
        .and_then(char::from_u32)
        .filter(|letter| letter.is_ascii_graphic() || *letter == ' ')
        .unwrap_or('·')
}

fn is_expected(before: Option<char>, c: char, after: Option<char>) -> bool {
    let pictograph = |c: char| {
        matches!(c, '\u{203C}'..='\u{3299}' | '\u{1F000}'..='\u{1FAFF}' | '\u{FE0F}')
            && !is_hidden_but_selector(c)
    };
    let joining_script = |c: char| matches!(c, '\u{600}'..='\u{8FF}' | '\u{900}'..='\u{DFF}');
    match c {
        '\u{FE0E}' | '\u{FE0F}' => {
            before.is_some_and(|b| pictograph(b) || matches!(b, '0'..='9' | '#' | '*' | '©' | '®'))
        }
        '\u{200D}' => matches!((before, after), (Some(b), Some(a))
            if (pictograph(b) && pictograph(a)) || (joining_script(b) && joining_script(a))),
        '\u{200C}' => {
            matches!((before, after), (Some(b), Some(a)) if joining_script(b) && joining_script(a))
        }
        _ => false,
    }
}

fn is_hidden_but_selector(c: char) -> bool {
    c != '\u{FE0F}' && is_hidden(c)
}

fn name_of(c: char) -> (&'static str, &'static str) {
    match c {
        '\0' => ("NUL", "null character"),
        '\u{7}' => ("BEL", "bell"),
        '\u{8}' => ("BS", "backspace"),
        '\u{1B}' => ("ESC", "escape, starts a terminal command"),
        '\u{7F}' => ("DEL", "delete"),
        '\u{AD}' => ("SHY", "soft hyphen"),
        '\u{34F}' => ("CGJ", "combining grapheme joiner"),
        '\u{61C}' => ("ALM", "Arabic letter mark"),
        '\u{200B}' => ("ZWSP", "zero width space"),
        '\u{200C}' => ("ZWNJ", "zero width non-joiner"),
        '\u{200D}' => ("ZWJ", "zero width joiner"),
        '\u{200E}' => ("LRM", "left-to-right mark"),
        '\u{200F}' => ("RLM", "right-to-left mark"),
        '\u{2028}' => ("LS", "line separator"),
        '\u{2029}' => ("PS", "paragraph separator"),
        '\u{202A}' => ("LRE", "left-to-right embedding"),
        '\u{202B}' => ("RLE", "right-to-left embedding"),
        '\u{202C}' => ("PDF", "pop directional formatting"),
        '\u{202D}' => ("LRO", "left-to-right override"),
        '\u{202E}' => ("RLO", "right-to-left override"),
        '\u{2060}' => ("WJ", "word joiner"),
        '\u{2066}' => ("LRI", "left-to-right isolate"),
        '\u{2067}' => ("RLI", "right-to-left isolate"),
        '\u{2068}' => ("FSI", "first strong isolate"),
        '\u{2069}' => ("PDI", "pop directional isolate"),
        '\u{2800}' => ("BLANK", "blank braille pattern"),
        '\u{3164}' | '\u{FFA0}' | '\u{115F}' | '\u{1160}' => ("FILLER", "invisible Hangul filler"),
        '\u{FEFF}' => ("BOM", "zero width no-break space"),
        '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}' => ("VS", "variation selector"),
        _ if c.is_control() => ("", "control character"),
        _ => ("", "invisible character"),
    }
}

/// Foreign text, whole or cut to what a page shows. Its JSON is the text as it is; its HTML is [`Foreign::html`].
///
/// It has no `Display` on purpose: a template must say which of the two forms it wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Foreign(String);

impl Foreign {
    /// A short string: a title, a name, a version. Cut to [`SHOWN_LINE_CHARS`].
    pub fn line(text: &str) -> Self {
        Self(cut(text, SHOWN_LINE_CHARS).to_owned())
    }

    /// The text as it is, for a value that is itself bounded.
    pub fn raw(&self) -> &str {
        &self.0
    }

    /// For the body of a page: escaped, isolated, hidden characters as labelled marks.
    pub fn html(&self) -> Marked<'_> {
        Marked(&self.0)
    }

    /// For `<title>` and attributes: one line of plain text, hidden characters as `[U+200B]`. Escape it as any text.
    pub fn plain(&self) -> String {
        plain(&self.0)
    }
}

impl Serialize for Foreign {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// A longer foreign text, cut to [`SHOWN_TEXT_CHARS`]; says so when it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Excerpt {
    pub text: Foreign,
    /// How many characters the whole text has.
    pub chars: usize,
    /// Whether `text` is less than the whole.
    pub cut: bool,
}

impl Excerpt {
    /// For a page of its own.
    pub fn new(text: &str) -> Self {
        Self::of(text, SHOWN_TEXT_CHARS)
    }

    /// For a row of a list.
    pub fn short(text: &str) -> Self {
        Self::of(text, SHOWN_LINE_CHARS)
    }

    /// For a definition in a page of its own.
    pub fn definition(text: &str) -> Self {
        Self::of(text, SHOWN_DEFINITION_CHARS)
    }

    /// For a remark inside a row of a list.
    pub fn remark(text: &str) -> Self {
        Self::of(text, REMARK_CHARS)
    }

    fn of(text: &str, most: usize) -> Self {
        let shown = cut(text, most);
        Self {
            text: Foreign(shown.to_owned()),
            chars: text.chars().count(),
            cut: shown.len() < text.len(),
        }
    }
}

/// Foreign text in which some words are marked. Its JSON is the text and the character offsets of the marks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MarkedText {
    text: String,
    marks: Vec<[usize; 2]>,
}

impl MarkedText {
    /// `marks`: character offsets, in order, none touching another.
    pub fn new(text: &str, marks: &[[usize; 2]]) -> Self {
        Self {
            text: text.to_owned(),
            marks: marks.to_vec(),
        }
    }

    /// Its parts, each with whether it is marked.
    fn parts(&self) -> Vec<(String, bool)> {
        let chars: Vec<char> = self.text.chars().collect();
        let mut parts = Vec::new();
        let mut done = 0;
        let mut push = |from: usize, to: usize, marked: bool| {
            let part: String = chars.iter().take(to).skip(from).collect();
            if !part.is_empty() {
                parts.push((part, marked));
            }
        };
        for [from, to] in &self.marks {
            push(done, *from, false);
            push((*from).max(done), *to, true);
            done = done.max(*to);
        }
        push(done, usize::MAX, false);
        parts
    }

    /// For the body of a page: escaped as all foreign text, marked words in `<mark>`.
    pub fn html(&self) -> MarkedHtml {
        MarkedHtml(self.parts())
    }
}

/// A marked text as HTML.
pub struct MarkedHtml(Vec<(String, bool)>);

impl HtmlSafe for MarkedHtml {}

impl fmt::Display for MarkedHtml {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (part, marked) in &self.0 {
            if *marked {
                write!(f, "<mark>{}</mark>", Marked(part))?;
            } else {
                write!(f, "{}", Marked(part))?;
            }
        }
        Ok(())
    }
}

fn cut(text: &str, most: usize) -> &str {
    text.char_indices()
        .nth(most)
        .map_or(text, |(end, _)| &text[..end])
}

fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\t' | '\n' | '\r') {
            out.push(' ');
        } else if is_hidden(c) {
            let _ = write!(out, "[U+{:04X}]", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// Foreign text as HTML.
#[derive(Clone, Copy)]
pub struct Marked<'a>(&'a str);

impl HtmlSafe for Marked<'_> {}

impl fmt::Display for Marked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<bdi>")?;
        for segment in visible(self.0) {
            match segment {
                Segment::Text(text) => escape(f, text)?,
                Segment::Hidden { label, what } => {
                    f.write_str("<span class=\"hidden-char\" title=\"")?;
                    escape(f, &what)?;
                    f.write_str("\">")?;
                    escape(f, &label)?;
                    f.write_str("</span>")?;
                }
            }
        }
        f.write_str("</bdi>")
    }
}

fn escape(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    for c in text.chars() {
        match c {
            '&' => f.write_str("&amp;")?,
            '<' => f.write_str("&lt;")?,
            '>' => f.write_str("&gt;")?,
            '"' => f.write_str("&quot;")?,
            '\'' => f.write_str("&#39;")?,
            c => f.write_char(c)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        visible(text)
            .iter()
            .map(|segment| match segment {
                Segment::Text(text) => (*text).to_owned(),
                Segment::Hidden { label, .. } => format!("[{label}]"),
            })
            .collect()
    }

    #[test]
    fn hidden_characters_become_labelled_marks() {
        for (text, expected) in [
            ("plain", "plain"),
            ("a\u{200B}b", "a[ZWSP]b"),
            ("a\u{200B}\u{200B}\u{200B}b", "a[ZWSP ×3]b"),
            ("\u{202E}gpj.exe", "[RLO]gpj.exe"),
            ("hi\u{E0072}\u{E006D}\u{E0020}\u{E002A}", "hi[TAG rm *]"),
            ("\u{1B}[31m", "[ESC][31m"),
            ("\u{85}", "[U+0085]"),
            ("line\nline\ttab", "line\nline\ttab"),
            ("\u{FEFF}x\u{2066}y\u{2069}", "[BOM]x[LRI]y[PDI]"),
            ("a\u{FE0F}", "a[VS]"),
        ] {
            assert_eq!(shown(text), expected, "{text:?}");
        }
    }

    #[test]
    fn joiners_of_honest_text_are_left_alone() {
        for text in [
            "👩\u{200D}💻",
            "❤\u{FE0F}",
            "1\u{FE0F}\u{20E3}",
            "می\u{200C}خواهم",
            "क्\u{200D}ष",
        ] {
            assert_eq!(shown(text), text);
        }
        assert_eq!(shown("ig\u{200D}nore"), "ig[ZWJ]nore");
    }

    #[test]
    fn markup_is_escaped_and_isolated() {
        let html = Foreign::line("\"><svg onload=x>'&\u{202E}").html().to_string();
        assert_eq!(
            html,
            "<bdi>&quot;&gt;&lt;svg onload=x&gt;&#39;&amp;<span class=\"hidden-char\" \
             title=\"right-to-left override, U+202E\">RLO</span></bdi>"
        );
        assert_eq!(Foreign::line("a\u{202E}\nb").plain(), "a[U+202E] b");
    }

    #[test]
    fn marked_words_are_escaped_as_the_rest() {
        let text = MarkedText::new("a <b> c", &[[2, 5], [40, 50]]);
        assert_eq!(
            text.html().to_string(),
            "<bdi>a </bdi><mark><bdi>&lt;b&gt;</bdi></mark><bdi> c</bdi>"
        );
        assert_eq!(MarkedText::new("", &[]).html().to_string(), "");
    }

    #[test]
    fn a_long_text_is_cut_at_its_bound_and_says_so() {
        let whole = Excerpt::new(&"é".repeat(SHOWN_TEXT_CHARS));
        assert_eq!((whole.cut, whole.chars), (false, SHOWN_TEXT_CHARS));
        let long = Excerpt::new(&"é".repeat(SHOWN_TEXT_CHARS + 1));
        assert_eq!((long.cut, long.chars), (true, SHOWN_TEXT_CHARS + 1));
        assert_eq!(long.text.raw().chars().count(), SHOWN_TEXT_CHARS);
    }
}

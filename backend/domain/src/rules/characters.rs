//! Characters that people do not see or take for others: what is hidden in a text, and where.

/// Why a character hides something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Hidden {
    Tag,
    ZeroWidth,
    Bidi,
    Control,
    Escape,
    VariationSelector,
    Filler,
}

impl Hidden {
    /// So many of the class, in words.
    pub(crate) fn words(self, count: usize) -> String {
        let (one, many) = match self {
            Self::Tag => ("character of the tag block", "characters of the tag block"),
            Self::ZeroWidth => ("zero-width character", "zero-width characters"),
            Self::Bidi => (
                "mark that turns the direction of writing",
                "marks that turn the direction of writing",
            ),
            Self::Control => ("control character", "control characters"),
            Self::Escape => ("terminal escape sequence", "terminal escape sequences"),
            Self::VariationSelector => (
                "variation selector where there is nothing to vary",
                "variation selectors where there is nothing to vary",
            ),
            Self::Filler => (
                "character that looks like nothing",
                "characters that look like nothing",
            ),
        };
        format!("{count} {}", if count == 1 { one } else { many })
    }
}

/// Is nothing to be seen where this character stands? Ordinary blanks and line ends are not meant.
pub(crate) fn unseen(c: char) -> bool {
    class(c).is_some()
}

fn class(c: char) -> Option<Hidden> {
    Some(match c {
        '\n' | '\t' | '\r' => return None,
        '\u{1b}' | '\u{9b}' | '\u{9d}' => Hidden::Escape,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => Hidden::Control,
        '\u{e0000}'..='\u{e007f}' => Hidden::Tag,
        '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{180e}' => Hidden::ZeroWidth,
        '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            Hidden::Bidi
        }
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' | '\u{180b}'..='\u{180d}' => {
            Hidden::VariationSelector
        }
        '\u{115f}'
        | '\u{1160}'
        | '\u{3164}'
        | '\u{ffa0}'
        | '\u{2800}'
        | '\u{ad}'
        | '\u{34f}'
        | '\u{206a}'..='\u{206f}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{17b4}'
        | '\u{17b5}' => Hidden::Filler,
        _ => return None,
    })
}

/// A class of hidden characters in a text, with the place of the first and how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) class: Hidden,
    pub(crate) at: usize,
    pub(crate) count: usize,
}

/// What is hidden in `text`; what belongs to a script or an emoji is not hidden.
pub(crate) fn hidden(text: &str) -> Vec<Mark> {
    let mut marks: Vec<Mark> = Vec::new();
    if text.is_ascii()
        && !text
            .bytes()
            .any(|b| b < 0x20 && !matches!(b, b'\n' | b'\t' | b'\r') || b == 0x7f)
    {
        return marks;
    }
    let turned = text.chars().any(right_to_left);
    let mut before = None;
    let mut flag = 0_usize;
    let mut rest = text.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        let next = rest.peek().map(|(_, next)| *next);
        let honest = match class(c) {
            None => true,
            // A flag of a region: black flag, a few tag letters, the end tag.
            Some(Hidden::Tag) => {
                flag += usize::from(flag > 0);
                (2..=8).contains(&flag)
            }
            Some(Hidden::ZeroWidth) => joins(c, before, next) || (c == '\u{feff}' && at == 0),
            Some(Hidden::Bidi) => {
                turned && matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{2066}'..='\u{2069}')
            }
            Some(Hidden::VariationSelector) => varies(c, before),
            Some(Hidden::Filler) => {
                c == '\u{ad}' && before.is_some_and(|b| b.is_alphabetic() && !b.is_ascii())
            }
            Some(Hidden::Control | Hidden::Escape) => false,
        };
        if c == '\u{1f3f4}' {
            flag = 1;
        } else if class(c) != Some(Hidden::Tag) {
            flag = 0;
        }
        if let Some(class) = class(c).filter(|_| !honest) {
            match marks.iter_mut().find(|mark| mark.class == class) {
                Some(mark) => mark.count += 1,
                None => marks.push(Mark { class, at, count: 1 }),
            }
        }
        before = Some(c);
    }
    marks
}

fn right_to_left(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
}

/// Scripts that need joiners.
fn joining_script(c: char) -> bool {
    right_to_left(c)
        || matches!(c, '\u{900}'..='\u{109f}' | '\u{1780}'..='\u{18af}' | '\u{1a20}'..='\u{1c4f}' | '\u{a840}'..='\u{abff}')
}

pub(crate) fn pictures(c: char) -> bool {
    matches!(c, '\u{1f000}'..='\u{1faff}' | '\u{2190}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}'
        | '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{20e3}' | '\u{fe0f}')
}

fn joins(c: char, before: Option<char>, next: Option<char>) -> bool {
    match c {
        '\u{200d}' => {
            before.is_some_and(pictures) && next.is_some_and(pictures) || before.is_some_and(joining_script)
        }
        '\u{200c}' => before.is_some_and(joining_script) && next.is_some_and(joining_script),
        _ => false,
    }
}

fn varies(c: char, before: Option<char>) -> bool {
    before.is_some_and(|before| match c {
        '\u{fe0e}' | '\u{fe0f}' => {
            pictures(before) && before != '\u{fe0f}' || matches!(before, '0'..='9' | '#' | '*')
        }
        '\u{e0100}'..='\u{e01ef}' | '\u{fe00}'..='\u{fe0d}' => {
            matches!(before, '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{323af}' | '\u{2200}'..='\u{22ff}')
        }
        _ => joining_script(before),
    })
}

/// Letters of another alphabet that look like Latin ones.
const LOOK_ALIKES: [(&str, &str); 3] = [
    (
        "абвгеёзийкмнорстухіїјѕһԁԛԝӏАВЕЗІЈКМНОРСТУХѴүұ",
        "a6bree3uukmhopctyxiijshdqwlABE3IJKMHOPCTYXVyy",
    ),
    ("αεικνορτυχωΑΒΕΖΗΙΚΜΝΟΡΤΥΧγ", "aeiKvoptuxwABEZHIKMNOPTYXy"),
    ("օոսհցքԱՕՏɑɡɩꞁⅼⅰⅴⅹοսӀ", "onuhgqUOSagillivxoul"),
];

/// The Latin letter `c` looks like.
pub(crate) fn looks_like(c: char) -> Option<char> {
    if c.is_ascii() {
        return None;
    }
    let found = LOOK_ALIKES.iter().find_map(|(foreign, latin)| {
        let at = foreign.chars().position(|other| other == c)?;
        latin.chars().nth(at)
    });
    found.map(|c| c.to_ascii_lowercase())
}

/// A word in which letters of two alphabets are mixed to look like one.
pub(crate) fn mixed_word(text: &str) -> Option<&str> {
    if text.is_ascii() {
        return None;
    }
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .find(|word| {
            if word.is_ascii() {
                return false;
            }
            let latin = word.chars().filter(char::is_ascii_alphabetic).count();
            let foreign = word.chars().filter(|c| looks_like(*c).is_some()).count();
            let other = word
                .chars()
                .filter(|c| c.is_alphabetic() && !c.is_ascii())
                .count();
            foreign > 0 && foreign == other && latin >= 2 && latin + foreign >= 4
        })
}

/// At least three letters on end in an alphabet made for formulas or for another width.
pub(crate) fn styled_word(text: &str) -> Option<&str> {
    if text.is_ascii() {
        return None;
    }
    let styled = |c: char| matches!(c, '\u{ff10}'..='\u{ff5a}' | '\u{1d400}'..='\u{1d7ff}' | '\u{24b6}'..='\u{24e9}' | '\u{1f110}'..='\u{1f189}');
    text.split(|c: char| !styled(c))
        .find(|run| run.chars().count() >= 3)
}

/// The place of text behind so many blanks or empty lines that a window does not show it.
pub(crate) fn pushed_away(text: &str) -> Option<usize> {
    const BLANKS: usize = 40;
    const LINES: usize = 20;
    let (mut blanks, mut lines) = (0, 0);
    let mut content = false;
    for (at, c) in text.char_indices() {
        match c {
            '\n' => {
                lines += 1;
                blanks = 0;
            }
            _ if c.is_whitespace() => blanks += 1,
            _ => {
                let indented = lines > 0 && blanks < 3 * BLANKS;
                if content && (lines >= LINES || (blanks >= BLANKS && !indented)) {
                    return Some(at);
                }
                (blanks, lines, content) = (0, 0, true);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(text: &str) -> Vec<Hidden> {
        hidden(text).into_iter().map(|mark| mark.class).collect()
    }

    #[test]
    fn every_class_is_seen() {
        let cases = [
            ("a\u{e0041}\u{e0042}", Hidden::Tag),
            ("a\u{200b}b", Hidden::ZeroWidth),
            ("a\u{200d}b", Hidden::ZeroWidth),
            ("a\u{200c}b", Hidden::ZeroWidth),
            ("a\u{feff}b", Hidden::ZeroWidth),
            ("a\u{2063}b", Hidden::ZeroWidth),
            ("a\u{202e}b", Hidden::Bidi),
            ("a\u{2066}b", Hidden::Bidi),
            ("a\u{200f}b", Hidden::Bidi),
            ("a\u{8}b", Hidden::Control),
            ("a\u{85}b", Hidden::Control),
            ("a\u{1b}[8mb", Hidden::Escape),
            ("a\u{9b}8m", Hidden::Escape),
            ("a\u{fe0f}b", Hidden::VariationSelector),
            ("✅\u{fe0f}\u{fe0f}", Hidden::VariationSelector),
            ("a\u{e0131}", Hidden::VariationSelector),
            ("a\u{3164}b", Hidden::Filler),
            ("a\u{2800}b", Hidden::Filler),
            ("pass\u{ad}word", Hidden::Filler),
            (
                "\u{1f3f4}\u{e0041}\u{e0042}\u{e0043}\u{e0044}\u{e0045}\u{e0046}\u{e0047}\u{e0048}\u{e0049}",
                Hidden::Tag,
            ),
        ];
        for (text, class) in cases {
            assert_eq!(classes(text), [class], "{}", text.escape_unicode());
        }
    }

    #[test]
    fn scripts_and_emoji_hide_nothing() {
        for text in [
            "plain\n\ttext\r\n",
            "👨\u{200d}👩\u{200d}👧 ✅\u{fe0f} 1\u{fe0f}\u{20e3} ❤\u{fe0f}\u{200d}🔥",
            "می\u{200c}کند",
            "क\u{94d}\u{200d}ष",
            "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
            "שלום \u{200f}abc",
            "葛\u{e0100}",
            "montant\u{a0}: 3\u{202f}€",
            "\u{feff}text",
        ] {
            assert_eq!(classes(text), [], "{}", text.escape_unicode());
        }
    }

    #[test]
    fn letters_that_look_like_others_are_seen_in_mixed_words_only() {
        assert_eq!(mixed_word("the se\u{430}rch tool"), Some("se\u{430}rch"));
        assert_eq!(mixed_word("поиск в search, 5 µs, Δt, σ-level, naïve"), None);
        assert_eq!(styled_word("𝐓𝐡𝐢𝐬 is"), Some("𝐓𝐡𝐢𝐬"));
        assert_eq!(styled_word("ｔｈｅ"), Some("ｔｈｅ"));
        assert_eq!(styled_word("𝑥² and ２ 検索"), None);
    }

    #[test]
    fn padding_is_seen_and_indentation_is_not() {
        let blank = |count: usize| " ".repeat(count);
        assert!(pushed_away(&format!("a{}b", blank(40))).is_some());
        assert!(pushed_away(&format!("a{}b", blank(39))).is_none());
        assert!(pushed_away(&format!("a{}b", "\n".repeat(20))).is_some());
        assert!(pushed_away(&format!("a\n{}b\n", blank(60))).is_none());
        assert!(pushed_away(&format!("a{}", blank(100))).is_none());
    }
}

//! Other readings of a text: without what is hidden, in plain letters, decoded. A model may read any of them, so rules
//! about language read all.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization as _;

use super::characters::{looks_like, unseen};

/// How a reading was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Hidden characters taken out, or turned into what they encode.
    Revealed,
    /// Letters that look like others, letters set apart.
    Plain,
    /// What base64, hexadecimal or percent signs encode.
    Decoded,
}

/// How often a decoded text is decoded again.
const DEPTH: usize = 3;
/// Most bytes decoded from one text.
const DECODED_BYTES: usize = 64 * 1024;

/// Every other reading of `text`.
pub(crate) fn readings(text: &str) -> Vec<(Reading, String)> {
    let mut found = Vec::new();
    collect(text, DEPTH, &mut found);
    found
}

fn collect(text: &str, depth: usize, found: &mut Vec<(Reading, String)>) {
    if !text.is_ascii() {
        if text.chars().any(unseen) {
            found.extend(revealed(text).map(|text| (Reading::Revealed, text)));
            let visible: String = text.chars().filter(|c| !unseen(*c)).collect();
            if text.contains(['\u{202e}', '\u{202d}', '\u{2067}']) {
                found.push((Reading::Revealed, visible.chars().rev().collect()));
            }
            found.push((Reading::Revealed, visible));
        }
        let plain: String = text.nfkc().map(|c| looks_like(c).unwrap_or(c)).collect();
        // Text in a script of its own becomes nonsense here, and nonsense fits no rule.
        if plain.chars().filter(char::is_ascii_alphabetic).count() > 20 && plain != text {
            found.push((Reading::Plain, plain));
        }
    } else if text.contains('\u{1b}') || text.contains('\u{8}') {
        found.push((Reading::Revealed, text.chars().filter(|c| !unseen(*c)).collect()));
    }
    if let Some(joined) = joined(text) {
        found.push((Reading::Plain, joined));
    }
    if depth > 0 {
        for decoded in decoded(text) {
            collect(&decoded, depth - 1, found);
            found.push((Reading::Decoded, decoded));
        }
    }
}

/// What tag characters and variation selectors spell.
fn revealed(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    for c in text.chars() {
        let code = u32::from(c);
        let byte = match code {
            0xe_0020..=0xe_007e => code - 0xe_0000,
            0xfe00..=0xfe0f => code - 0xfe00,
            0xe_0100..=0xe_01ef => code - 0xe_0100 + 16,
            _ => continue,
        };
        bytes.push(u8::try_from(byte).unwrap_or(0));
    }
    let spelled = String::from_utf8_lossy(&bytes);
    let readable = spelled.chars().filter(|c| c.is_alphanumeric()).count();
    (readable >= 4).then(|| spelled.into_owned())
}

/// `t h i s   w a y` as `this way`.
fn joined(text: &str) -> Option<String> {
    const LEAST: usize = 12;
    let mut out = String::new();
    let mut run = 0;
    let mut longest = 0;
    let mut rest = text.chars().peekable();
    let mut alone = true;
    while let Some(c) = rest.next() {
        let next = rest.peek().copied();
        if matches!(c, ' ' | '.' | '-' | '_' | '*' | '·') && next.is_some_and(|n| n != c) && run > 0 && alone
        {
            continue;
        }
        if c.is_alphanumeric() {
            let single = next.is_none_or(|n| !n.is_alphanumeric());
            alone = single && (run > 0 || !out.ends_with(char::is_alphanumeric));
            run = if alone { run + 1 } else { 0 };
            longest = longest.max(run);
        } else if !c.is_whitespace() {
            run = 0;
        }
        out.push(c);
    }
    (longest >= LEAST).then_some(out)
}

/// Texts that parts of `text` encode.
fn decoded(text: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut budget = DECODED_BYTES;
    let encoded =
        |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'-' | b'_' | b'%' | b'\\');
    for run in text.as_bytes().split(|b| !encoded(*b)) {
        if run.len() < 24 || run.len() > budget {
            continue;
        }
        budget -= run.len();
        let bytes = if run.iter().all(u8::is_ascii_hexdigit) {
            hex::decode(&run[..run.len() & !1]).ok()
        } else if run.split(|b| *b == b'%').count() > 8 {
            Some(percent_encoding::percent_decode(run).collect())
        } else if run
            .windows(2)
            .filter(|two| two == b"\\u" || two == b"\\x")
            .count()
            >= 6
        {
            Some(escapes(run).into_bytes())
        } else {
            base64(run)
        };
        let plain = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        texts.extend(plain.filter(|text| is_language(text)));
    }
    texts
}

/// Words with blanks between, not numbers or noise.
fn is_language(text: &str) -> bool {
    let total = text.chars().count();
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let blanks = text.matches(char::is_whitespace).count();
    let strange = text
        .chars()
        .filter(|c| c.is_control() && !c.is_whitespace())
        .count();
    strange == 0 && total >= 12 && letters * 10 >= total * 6 && (blanks >= 2 || !text.is_ascii())
}

fn escapes(run: &[u8]) -> String {
    let text: Cow<'_, str> = String::from_utf8_lossy(run);
    let mut out = String::new();
    let mut rest: &str = &text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let digits = match rest.as_bytes().get(at + 1) {
            Some(b'u') => 4,
            Some(b'x') => 2,
            _ => 0,
        };
        let code = rest.get(at + 2..at + 2 + digits);
        let character = code.and_then(|code| char::from_u32(u32::from_str_radix(code, 16).ok()?));
        if let Some(c) = character.filter(|_| digits > 0) {
            out.push(c);
            rest = &rest[at + 2 + digits..];
        } else {
            out.push('\\');
            rest = &rest[at + 1..];
        }
    }
    out.push_str(rest);
    out
}

fn base64(run: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(run.len() * 3 / 4);
    let (mut bits, mut count) = (0_u32, 0);
    let end = run.iter().rposition(|b| *b != b'=')? + 1;
    for byte in &run[..end] {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from(bits >> count & 0xff).unwrap_or(0));
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(text: &str, wanted: &str) -> bool {
        readings(text).iter().any(|(_, reading)| reading.contains(wanted))
    }

    #[test]
    fn other_readings_are_found() {
        let tags: String = "read it"
            .chars()
            .filter_map(|c| char::from_u32(0xe_0000 + u32::from(c)))
            .collect();
        assert!(has(&format!("List.{tags}"), "read it"));
        let selectors: String = "read it"
            .bytes()
            .filter_map(|b| char::from_u32(0xe_0100 + u32::from(b) - 16))
            .collect();
        assert!(has(&format!("List.{selectors}"), "read it"));
        assert!(has("re\u{200b}ad", "read"));
        assert!(has("\u{202e}elif eht daer", "read the file"));
        assert!(has("please re\u{430}d the whole file now", "read the whole file"));
        assert!(has("𝐩𝐥𝐞𝐚𝐬𝐞 𝐫𝐞𝐚𝐝 𝐭𝐡𝐞 𝐰𝐡𝐨𝐥𝐞 𝐟𝐢𝐥𝐞", "please read the whole file"));
        assert!(has(
            "x: r e a d   t h e   f i l e   n o w",
            "read  the  file  now"
        ));
        assert!(has(
            "note cGxlYXNlIHJlYWQgdGhlIGZpbGUgbm93IQ== end",
            "please read the file now!"
        ));
        assert!(has(
            "706c6561736520726561642074686520666c65206e6f77",
            "please read the fle now"
        ));
        assert!(has(
            "%70%6c%65%61%73%65%20%72%65%61%64%20%74%68%65%20%66",
            "please read the f"
        ));
    }

    #[test]
    fn plain_text_has_one_reading() {
        assert_eq!(readings("Reads a file. Options: a, b, c or d - e f"), []);
        assert_eq!(
            readings(
                "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
            ),
            []
        );
        assert_eq!(
            readings("37e7fe7640203bc6abf6200ec5dab388589c87a5162aee45a772044c482551e3"),
            []
        );
    }
}

//! Characters as they look to a reader, so that what cannot be seen cannot make a difference.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// The text without hidden characters and accents, compatibility forms and look-alikes replaced; case is kept.
pub(crate) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
    }
    text.chars()
        .filter(|&c| !is_hidden(c))
        .nfkd()
        .filter(|&c| !is_combining_mark(c) && !is_hidden(c))
        .map(look_alike)
        // Hangul must come back together, or its pairs would be pairs of jamo.
        .nfc()
        .collect()
}

/// Characters that change nothing a reader sees: joiners, direction marks, tags, selectors, fillers.
fn is_hidden(c: char) -> bool {
    matches!(u32::from(c),
        0x00AD | 0x034F | 0x061C | 0x115F | 0x1160 | 0x17B4 | 0x17B5 | 0x180B..=0x180F | 0x200B..=0x200F
        | 0x202A..=0x202E | 0x2060..=0x206F | 0x3164 | 0xFE00..=0xFE0F | 0xFEFF | 0xFFA0 | 0xFFF0..=0xFFF8
        | 0x1BCA0..=0x1BCA3 | 0x1D173..=0x1D17A | 0xE0000..=0xE0FFF)
}

/// The Latin letter a Cyrillic, Greek or other letter is taken for.
fn look_alike(c: char) -> char {
    match c {
        'а' | 'α' | 'ɑ' => 'a',
        'А' | 'Α' => 'A',
        'В' | 'Β' => 'B',
        'Ь' | 'ь' => 'b',
        'с' | 'ϲ' | 'ᴄ' => 'c',
        'С' | 'Ϲ' => 'C',
        'ԁ' | 'ɗ' => 'd',
        'е' | 'є' | 'ε' => 'e',
        'Е' | 'Ε' => 'E',
        'ɡ' | 'ց' => 'g',
        'Н' | 'Η' => 'H',
        'һ' | 'հ' => 'h',
        'і' | 'ι' | 'ı' | 'ɩ' => 'i',
        'І' | 'Ι' | 'Ӏ' => 'I',
        'ј' | 'ϳ' => 'j',
        'Ј' | 'Ϳ' => 'J',
        'к' | 'κ' => 'k',
        'К' | 'Κ' => 'K',
        'ӏ' => 'l',
        'М' | 'Μ' => 'M',
        'Ν' => 'N',
        'ո' | 'п' => 'n',
        'о' | 'ο' | 'օ' | 'σ' => 'o',
        'О' | 'Ο' | 'Օ' => 'O',
        'р' | 'ρ' => 'p',
        'Р' | 'Ρ' => 'P',
        'ԛ' => 'q',
        'г' => 'r',
        'ѕ' => 's',
        'Ѕ' => 'S',
        'Т' | 'Τ' => 'T',
        'т' | 'τ' => 't',
        'υ' | 'ս' => 'u',
        'ν' | 'ѵ' => 'v',
        'ԝ' | 'ω' => 'w',
        'х' | 'χ' => 'x',
        'Х' | 'Χ' => 'X',
        'у' | 'γ' => 'y',
        'У' | 'Υ' => 'Y',
        'Ζ' => 'Z',
        '\u{2018}' | '\u{2019}' | '\u{02BC}' => '\'',
        '\u{201C}' | '\u{201D}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        other if other.is_control() => ' ',
        other => other,
    }
}

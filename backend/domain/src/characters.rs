//! Characters that a reader does not see, or that change how the text around them reads: one list for pages, the
//! command line and the validator. What a rule says of them is in `rules`.

/// Whether a reader would not see this character, or it would change how the text around it reads.
pub fn is_hidden(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' => false,
        '\u{AD}'
        | '\u{34F}'
        | '\u{61C}'
        | '\u{115F}'..='\u{1160}'
        | '\u{17B4}'..='\u{17B5}'
        | '\u{180B}'..='\u{180F}'
        | '\u{200B}'..='\u{200F}'
        | '\u{2028}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}'
        | '\u{2800}'
        | '\u{3164}'
        | '\u{FE00}'..='\u{FE0F}'
        | '\u{FEFF}'
        | '\u{FFA0}'
        | '\u{FFF0}'..='\u{FFFB}'
        | '\u{1BCA0}'..='\u{1BCA3}'
        | '\u{1D173}'..='\u{1D17A}'
        | '\u{E0000}'..='\u{E0FFF}' => true,
        other => other.is_control(),
    }
}

/// The first character of a name or number that cannot be told from nothing or from a plain space.
pub fn first_unseen(text: &str) -> Option<char> {
    text.chars()
        .find(|&c| is_hidden(c) || c.is_whitespace() && c != ' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_found_and_plain_text_is_not() {
        for (text, found) in [
            ("1.0.0", None),
            ("1.0.0 beta-é+ü", None),
            ("1.0.0\u{200b}", Some('\u{200b}')),
            ("1.\u{a0}0", Some('\u{a0}')),
            ("\u{3000}1", Some('\u{3000}')),
            ("1\u{e0041}", Some('\u{e0041}')),
            ("1\t", Some('\t')),
        ] {
            assert_eq!(first_unseen(text), found, "{text:?}");
        }
    }
}

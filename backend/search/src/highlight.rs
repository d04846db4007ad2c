//! Where the words of a query stand in a text.

use std::collections::HashSet;
use std::ops::Range;

use crate::analysis;

/// Byte ranges of `text` whose words are among `words` (as [`crate::Match::word`] gives them), in order, none touching
/// another.
pub fn highlights(text: &str, words: &[String]) -> Vec<Range<usize>> {
    let stems: HashSet<String> = words.iter().map(|word| analysis::stem(word)).collect();
    let mut out: Vec<Range<usize>> = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        // A hidden character inside a word does not end it; the folding takes it out.
        let inside = c.is_alphanumeric() || (start.is_some() && !c.is_ascii() && !c.is_whitespace());
        if inside {
            start.get_or_insert(at);
        } else if let Some(start) = start.take() {
            let words = analysis::words(&text[start..at]);
            if words.iter().any(|word| stems.contains(&word.stem)) {
                out.push(start..at);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(text: &str, words: &[&str]) -> Vec<String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let found = highlights(text, &words);
        found.into_iter().map(|range| text[range].to_owned()).collect()
    }

    #[test]
    fn words_are_found_in_any_form() {
        assert_eq!(
            marked("Reads files; the FILE_system, getFile and profile", &["file"]),
            ["files", "FILE", "getFile"]
        );
        assert_eq!(
            marked("p\u{200b}aypal — café", &["paypal", "cafe"]),
            ["p\u{200b}aypal", "café"]
        );
        assert!(marked("", &["x"]).is_empty());
        assert!(marked("nothing here", &[]).is_empty());
    }
}

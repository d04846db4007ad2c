//! Substring search over names, titles and descriptions: the meaning `search=` has in the official contract, and more
//! than one word.

use toolmark_domain::document::Document;

/// Words looked at; more than this say nothing new.
const WORDS: usize = 12;

/// What is searched of a server: name, title and description in lower case.
pub(crate) fn text(name: &str, facts: &Document) -> String {
    let mut text = name.to_lowercase();
    for part in [&facts.title, &facts.description].into_iter().flatten() {
        text.push('\n');
        // Imported documents may be long; the first part says what they are.
        text.extend(
            part.chars()
                .take(500)
                .flat_map(char::to_lowercase)
                .filter(|c| *c != '\0'),
        );
    }
    text
}

/// The words of a query, folded as [`text`] is.
pub(crate) fn words(query: &str) -> Vec<String> {
    query
        .split_whitespace()
        .take(WORDS)
        .map(str::to_lowercase)
        .collect()
}

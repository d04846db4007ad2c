//! Text into words, the same way for tools and for queries: hidden characters dropped, look-alikes and accents folded,
//! `camelCase`, `snake_case` and digits split, English stemmed, Chinese, Japanese and Korean cut into pairs.

mod chatter;
mod fold;

use std::cell::RefCell;
use std::collections::HashMap;

use frostem::{Algorithm, Stemmer};

use crate::bounds;

pub(crate) use chatter::{Weight, weight_of};
pub(crate) use fold::fold;

/// A word of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// Folded and in lower case, not stemmed.
    pub(crate) surface: String,
    /// What is indexed and looked up.
    pub(crate) stem: String,
    /// Where the written word it came from starts, in bytes of the folded text.
    pub(crate) at: usize,
    /// Whether it is the joined form of a word that was split (`github` of `GitHub`).
    pub(crate) joined: bool,
}

/// The words of a text, in order.
pub(crate) fn words(text: &str) -> Vec<Word> {
    words_of_folded(&fold(text))
}

/// As [`words`], of a text that is folded already.
pub(crate) fn words_of_folded(text: &str) -> Vec<Word> {
    let mut out = Vec::new();
    let mut start = None;
    let ends = std::iter::once((text.len(), ' '));
    for (at, c) in text.char_indices().chain(ends) {
        if c.is_alphanumeric() {
            start.get_or_insert(at);
        } else if let Some(start) = start.take() {
            let run = &text[start..at];
            // The owner's or the elided letter after an apostrophe says nothing.
            let elided = (run == "s" || run == "t") && text[..start].ends_with('\'');
            if !elided {
                split(run, start, &mut out);
            }
        }
    }
    out
}

/// A run of letters and digits into its words.
fn split(run: &str, at: usize, out: &mut Vec<Word>) {
    let pieces = pieces(run);
    let letters = pieces
        .iter()
        .filter(|piece| piece.chars().all(char::is_alphabetic))
        .count();
    let several = pieces.len() > 1 && pieces.len() <= 3 && letters == pieces.len() && run.len() <= 24;
    for piece in &pieces {
        if piece.chars().any(is_cjk) {
            pairs(piece, at, out);
        } else {
            push(&piece.to_lowercase(), at, false, out);
        }
    }
    if several && !run.chars().any(is_cjk) {
        push(&run.to_lowercase(), at, true, out);
    }
}

/// Cuts where the case rises, where letters meet digits, and where scripts without spaces begin and end.
fn pieces(run: &str) -> Vec<String> {
    let chars: Vec<char> = run.chars().collect();
    let mut out = Vec::new();
    let mut piece = String::new();
    for (i, &c) in chars.iter().enumerate() {
        if i > 0 && is_border(chars[i - 1], c, chars.get(i + 1).copied()) {
            out.push(std::mem::take(&mut piece));
        }
        piece.push(c);
    }
    out.push(piece);
    out
}

fn is_border(before: char, c: char, after: Option<char>) -> bool {
    if is_cjk(before) != is_cjk(c) || before.is_numeric() != c.is_numeric() {
        return true;
    }
    c.is_uppercase()
        && (before.is_lowercase() || (before.is_uppercase() && after.is_some_and(char::is_lowercase)))
}

fn push(surface: &str, at: usize, joined: bool, out: &mut Vec<Word>) {
    if surface.is_empty() || surface.len() > bounds::WORD_BYTES {
        return;
    }
    out.push(Word {
        stem: stem(surface),
        surface: surface.to_owned(),
        at,
        joined,
    });
}

fn pairs(run: &str, at: usize, out: &mut Vec<Word>) {
    let chars: Vec<char> = run.chars().collect();
    if let [only] = chars[..] {
        push(&only.to_string(), at, false, out);
    }
    for pair in chars.windows(2) {
        push(&pair.iter().collect::<String>(), at, false, out);
    }
}

/// Scripts written without spaces between words.
fn is_cjk(c: char) -> bool {
    matches!(u32::from(c),
        0x2E80..=0x2FDF | 0x3040..=0x30FF | 0x31F0..=0x31FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF
        | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0x20000..=0x323AF)
}

pub(crate) fn stem(surface: &str) -> String {
    thread_local! {
        static SEEN: RefCell<HashMap<String, String>> = RefCell::new(HashMap::new());
    }
    if surface.len() < 3 || !surface.bytes().all(|b| b.is_ascii_lowercase()) {
        return surface.to_owned();
    }
    SEEN.with_borrow_mut(|seen| {
        if let Some(known) = seen.get(surface) {
            return known.clone();
        }
        let stem = Stemmer::new(Algorithm::English).stem(surface).to_string();
        // Bounded: a hostile text must not grow the memory of a thread.
        if seen.len() >= 20_000 {
            seen.clear();
        }
        seen.insert(surface.to_owned(), stem.clone());
        stem
    })
}

/// A name without case, separators and look-alikes: what two spellings of one name share.
pub(crate) fn key(text: &str) -> String {
    let folded = fold(text);
    let letters = folded.chars().filter(|c| c.is_alphanumeric());
    letters
        .flat_map(char::to_lowercase)
        .take(bounds::NAME_CHARS)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stems(text: &str) -> Vec<String> {
        words(text).into_iter().map(|word| word.stem).collect()
    }

    #[test]
    fn names_split_where_a_reader_would_split_them() {
        assert_eq!(stems("getUserByID"), ["get", "user", "by", "id"]);
        assert_eq!(stems("HTTPServer"), ["http", "server", "httpserver"]);
        assert_eq!(stems("list_api-keys"), ["list", "api", "key"]);
        assert_eq!(stems("s3 base64"), ["s", "3", "base", "64"]);
    }

    #[test]
    fn a_split_word_is_also_found_whole() {
        assert_eq!(stems("GitHub"), ["git", "hub", "github"]);
        assert!(stems("github").contains(&"github".to_owned()));
    }

    #[test]
    fn words_are_stemmed_and_folded() {
        assert_eq!(stems("Créations ÉTÉ"), ["creation", "ete"]);
        assert_eq!(stems("user's files don't"), ["user", "file", "don"]);
    }

    #[test]
    fn look_alike_and_hidden_letters_are_the_letters_they_look_like() {
        assert_eq!(key("s\u{435}\u{430}rch-lo\u{200b}gs"), "searchlogs");
        assert_eq!(key("ｓｅａｒｃｈ＿ｌｏｇｓ"), "searchlogs");
        assert_eq!(stems("pa\u{ad}ypal\u{e0041}"), ["paypal"]);
    }

    #[test]
    fn scripts_without_spaces_become_pairs() {
        assert_eq!(stems("获取菜谱"), ["获取", "取菜", "菜谱"]);
        assert_eq!(stems("天 weather天气"), ["天", "weather", "天气"]);
    }

    #[test]
    fn a_word_that_is_data_is_left_out() {
        assert!(stems(&"a".repeat(2000)).is_empty());
    }
}

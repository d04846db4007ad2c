//! What a person types in a search box: words, and around them `name:`, `server:`, `ns:`, `-word` and `"a phrase"`.

use crate::bounds;
use crate::filter::{Clause, Filter};

/// A search box read.
#[derive(Clone, Debug, Default)]
pub struct Typed {
    /// The words to rank by.
    pub text: String,
    /// What must hold beside.
    pub filter: Filter,
}

/// Most conditions of one query.
const CONDITIONS: usize = 16;

impl Typed {
    /// Reads a search box. Nothing in it is an error: what is no syntax is a word.
    pub fn read(query: &str) -> Self {
        let query: String = query.chars().take(bounds::QUERY_CHARS).collect();
        let mut out = Self::default();
        let mut words: Vec<String> = Vec::new();
        for piece in pieces(&query) {
            let empty = !piece.text.contains(char::is_alphanumeric);
            let full = out.filter.clauses.len() >= CONDITIONS;
            let (key, negated) = (piece.key.as_str(), piece.negated);
            match key {
                _ if full || empty => words.push(piece.text),
                "ns" if !negated => out.filter.namespace = Some(piece.text),
                "name" | "server" if !negated => {
                    out.filter.clauses.push(if key == "name" {
                        Clause::Name(piece.text.clone())
                    } else {
                        Clause::Server(piece.text.clone())
                    });
                    words.push(piece.text);
                }
                _ if negated => out.filter.clauses.push(Clause::Not(piece.text)),
                _ if piece.quoted => {
                    out.filter.clauses.push(Clause::Phrase(piece.text.clone()));
                    words.push(piece.text);
                }
                _ => words.push(piece.text),
            }
        }
        out.text = words.join(" ");
        out
    }
}

struct Piece {
    key: String,
    text: String,
    negated: bool,
    quoted: bool,
}

fn pieces(query: &str) -> Vec<Piece> {
    let mut out = Vec::new();
    let mut rest = query.trim_start();
    while !rest.is_empty() {
        let negated =
            rest.starts_with('-') && rest[1..].starts_with(|c: char| c.is_alphanumeric() || c == '"');
        let body = if negated { &rest[1..] } else { rest };
        let key = ["name:", "server:", "ns:"]
            .into_iter()
            .find(|key| body.starts_with(key) && body[key.len()..].starts_with(|c: char| !c.is_whitespace()))
            .unwrap_or_default();
        let body = &body[key.len()..];
        let quote = body.strip_prefix('"').and_then(|inside| inside.split_once('"'));
        let quote = quote.filter(|(inside, _)| inside.chars().any(char::is_alphanumeric));
        let (text, after) = quote.unwrap_or_else(|| {
            let end = body.find(char::is_whitespace).unwrap_or(body.len());
            body.split_at(end)
        });
        let text = text.trim();
        if !text.is_empty() {
            out.push(Piece {
                key: key.trim_end_matches(':').to_owned(),
                text: text.to_owned(),
                negated,
                quoted: quote.is_some(),
            });
        }
        rest = after.trim_start();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_told_from_words() {
        let read =
            Typed::read(r#"send mail -smtp name:draft server:acme/x ns:io.github "two words" -"bad news""#);
        assert_eq!(read.text, "send mail draft acme/x two words");
        assert_eq!(read.filter.namespace.as_deref(), Some("io.github"));
        assert_eq!(
            read.filter.clauses,
            [
                Clause::Not("smtp".into()),
                Clause::Name("draft".into()),
                Clause::Server("acme/x".into()),
                Clause::Phrase("two words".into()),
                Clause::Not("bad news".into()),
            ]
        );
    }

    #[test]
    fn odd_marks_are_words() {
        for odd in [
            "-", "- x", "name:", "\"open", "a-b", "http://x", "\"\"", "ns: x", "--", "-\"\"",
        ] {
            let read = Typed::read(odd);
            assert!(
                read.filter.clauses.is_empty() && read.filter.namespace.is_none(),
                "{odd}"
            );
        }
        assert_eq!(Typed::read("\"open").text, "\"open");
        let many = "-x ".repeat(5000);
        assert_eq!(Typed::read(&many).filter.clauses.len(), CONDITIONS);
    }
}

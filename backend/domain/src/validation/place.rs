//! Where an issue is: a list on the stack, written out only when there is something to say.

use std::fmt;

/// A place in a document, shown as `packages[0].transport.url`.
pub(super) enum Place<'a> {
    Root,
    Field(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
}

impl Place<'_> {
    pub(super) fn field<'a>(&'a self, key: &'a str) -> Place<'a> {
        Place::Field(self, key)
    }

    pub(super) fn item(&self, index: usize) -> Place<'_> {
        Place::Item(self, index)
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(Place::Root, key) => f.write_str(key),
            Self::Field(parent, key) => write!(f, "{parent}.{key}"),
            Self::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

/// The most of a foreign text a message repeats, in characters.
const SHOWN_CHARS: usize = 200;

/// A foreign text cut to what a message may repeat.
pub(super) fn short(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_reads_like_upstreams() {
        let packages = Place::Root.field("packages");
        let first = packages.item(0);
        let transport = first.field("transport");
        assert_eq!(transport.field("url").to_string(), "packages[0].transport.url");
        assert_eq!(Place::Root.to_string(), "");
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(short(&"é".repeat(200)), "é".repeat(200));
        assert_eq!(short(&"é".repeat(201)), format!("{}…", "é".repeat(200)));
    }
}

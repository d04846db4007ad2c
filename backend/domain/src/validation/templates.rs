//! URLs with `{variables}`: which names they use, what they look like once filled in, and whether that is a URL.

use std::collections::HashSet;

use super::uri::Url;

/// What upstream puts for the usual names before it parses.
const USUAL: [(&str, &str); 5] = [
    ("{host}", "example.com"),
    ("{port}", "8080"),
    ("{path}", "api"),
    ("{protocol}", "http"),
    ("{scheme}", "http"),
];

/// A URL template, read once.
pub(super) struct Template<'a> {
    /// The names in braces, in order.
    pub(super) names: Vec<&'a str>,
    /// The web URL it becomes; `None` when it becomes none.
    url: Option<Url>,
}

impl<'a> Template<'a> {
    pub(super) fn read(text: &'a str) -> Self {
        let url = Url::parse(&filled(text))
            .ok()
            .filter(|url| matches!(url.scheme.as_str(), "http" | "https") && !url.host.is_empty());
        let names = Braces::of(text).map(|(start, end)| &text[start + 1..end - 1]);
        Self {
            names: names.collect(),
            url,
        }
    }

    /// Whether it becomes a web URL and uses only these names.
    pub(super) fn is_valid(&self, available: &[&str]) -> bool {
        if self.url.is_none() || self.names.is_empty() {
            return self.url.is_some();
        }
        let available: HashSet<&str> = available.iter().copied().collect();
        self.names.iter().all(|name| available.contains(name))
    }

    /// Whether a remote may live there: encrypted, and not on the reader's own machine.
    pub(super) fn is_remote(&self) -> bool {
        self.url.as_ref().is_some_and(|url| {
            let host = url.hostname();
            let local = host == b"localhost" || host == b"127.0.0.1" || host.ends_with(b".localhost");
            url.scheme == "https" && !local
        })
    }
}

/// The text with something plausible for each variable: a number where a port stands, a word elsewhere.
fn filled(text: &str) -> String {
    let mut text = text.to_owned();
    if !text.contains('{') {
        return text;
    }
    for (name, value) in USUAL {
        if text.contains(name) {
            text = text.replace(name, value);
        }
    }
    words(&ports(&text))
}

/// `:{x}` before a slash or the end becomes a port.
fn ports(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    let mut closing = Closing::default();
    let mut at = 0;
    while let Some(colon) = text[at..].find(":{").map(|found| at + found) {
        at = colon + 1;
        let Some(end) = closing.after(text, at + 1) else {
            break;
        };
        if end > at + 1 && matches!(text.as_bytes().get(end + 1), None | Some(b'/')) {
            out.push_str(&text[copied..colon]);
            out.push_str(":8080");
            copied = end + 1;
            at = copied;
        }
    }
    out.push_str(&text[copied..]);
    out
}

fn words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for (start, end) in Braces::of(text) {
        out.push_str(&text[copied..start]);
        out.push_str("placeholder");
        copied = end;
    }
    out.push_str(&text[copied..]);
    out
}

/// The next `}` from a position on. Positions only grow, so that the whole text is passed once.
#[derive(Default)]
struct Closing {
    known: Option<usize>,
}

impl Closing {
    fn after(&mut self, text: &str, from: usize) -> Option<usize> {
        if self.known.is_none_or(|at| at < from) {
            self.known = text[from..].find('}').map(|found| from + found);
        }
        self.known
    }
}

/// Each `{…}` with something in it: from the first `{` to the next `}`, as upstream's pattern finds them.
struct Braces<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Braces<'a> {
    fn of(text: &'a str) -> Self {
        Self { text, at: 0 }
    }
}

impl Iterator for Braces<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let start = self.at + self.text[self.at..].find('{')?;
            let Some(length) = self.text[start..].find('}') else {
                self.at = self.text.len();
                return None;
            };
            let end = start + length + 1;
            if length > 1 {
                self.at = end;
                return Some((start, end));
            }
            self.at = start + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_filled_in_as_upstream_does() {
        for (text, expected) in [
            ("http://{host}:{port}/{path}", "http://example.com:8080/api"),
            ("{protocol}://x", "http://x"),
            ("https://a:{p}/x", "https://a:8080/x"),
            ("https://a:{p}", "https://a:8080"),
            ("https://a:{p}x", "https://a:placeholderx"),
            ("https://{t}.b/{c}", "https://placeholder.b/placeholder"),
            ("{}", "{}"),
            ("{{a}}", "placeholder}"),
            ("{}{a}", "{}placeholder"),
            ("{a:{b}/", "{a:8080/"),
            ("x{a", "x{a"),
            (":{:{a}/", ":8080/"),
            (":{a}:{b}/", ":placeholder:8080/"),
        ] {
            assert_eq!(filled(text), expected, "{text}");
        }
    }

    #[test]
    fn names_must_be_known() {
        let template = Template::read("https://{a}.example/{b}");
        assert_eq!(template.names, ["a", "b"]);
        assert!(template.is_valid(&["b", "a", "c"]));
        assert!(!template.is_valid(&["a"]));
        assert!(Template::read("https://h/{}").is_valid(&[]));
        assert!(!Template::read("ftp://h/").is_valid(&[]));
        assert!(!Template::read("https://").is_valid(&[]));
    }

    #[test]
    fn a_remote_is_encrypted_and_elsewhere() {
        for good in [
            "https://h/",
            "https://[::1]/",
            "https://10.0.0.1/",
            "https://{t}.h/",
            "https://LOCALHOST",
        ] {
            assert!(Template::read(good).is_remote(), "{good}");
        }
        for bad in [
            "http://h/",
            "https://localhost/",
            "https://a.localhost:1/",
            "https://127.0.0.1:{port}/",
            "{b}/mcp",
            "https://",
        ] {
            assert!(!Template::read(bad).is_remote(), "{bad}");
        }
    }

    #[test]
    fn many_braces_are_read_in_one_pass() {
        let text = ":{".repeat(300_000) + "}x";
        let started = std::time::Instant::now();
        assert!(!Template::read(&text).is_remote());
        assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
    }
}

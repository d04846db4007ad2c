//! The simple interface of a Python index as a page: its links, and nothing else of it.

use url::Url;

use crate::coordinate::Kind;
use crate::release::{File, Said};

/// The files a page links to, in its order.
pub(crate) fn files(page: &str, base: &Url) -> Vec<File> {
    let mut files = Vec::new();
    let mut rest = page;
    while let Some((_, after)) = next_link(rest) {
        let end = after.find('>').unwrap_or(after.len());
        let (tag, tail) = after.split_at(end);
        if let Some(file) = file(&attributes(tag), base) {
            files.push(file);
        }
        rest = tail;
    }
    files
}

/// What follows the next `<a `.
fn next_link(text: &str) -> Option<(usize, &str)> {
    let mut from = 0;
    loop {
        let at = from + text.get(from..)?.find('<')?;
        let after = text.get(at + 1..)?;
        let mut chars = after.chars();
        let letter = chars.next().is_some_and(|c| c.eq_ignore_ascii_case(&'a'));
        if letter && chars.next().is_some_and(|c| c.is_ascii_whitespace()) {
            return Some((at, &after[1..]));
        }
        from = at + 1;
    }
}

fn file(attributes: &[(String, String)], base: &Url) -> Option<File> {
    let of = |name: &str| {
        let found = attributes.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    };
    let mut url = base.join(of("href")?).ok()?;
    let said = url.fragment().map(said).unwrap_or_default();
    url.set_fragment(None);
    let name = url.path_segments()?.next_back()?.to_owned();
    let mut file = File::at(Kind::Pypi, name, url);
    file.said = said;
    file.yanked = of("data-yanked").map(str::to_owned);
    file.speaks_of_attestations = of("data-provenance").is_some();
    file.attestations = of("data-provenance").and_then(|url| base.join(url).ok());
    Some(file)
}

fn said(fragment: &str) -> Said {
    let mut said = Said::default();
    if let Some(digits) = fragment.strip_prefix("sha256=") {
        let mut bytes = [0; 32];
        said.sha256 = hex::decode_to_slice(digits, &mut bytes).ok().map(|()| bytes);
    }
    said
}

/// Names and values within a tag; names in lower case, the few entities that addresses hold read.
fn attributes(tag: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = tag.trim_start();
    while !rest.is_empty() {
        let end = rest
            .find(|c: char| c == '=' || c.is_ascii_whitespace())
            .unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let after = after.trim_start();
        let (value, after) = match after.strip_prefix('=') {
            None => ("", after),
            Some(after) => value(after.trim_start()),
        };
        if !name.is_empty() {
            found.push((name.to_ascii_lowercase(), plain(value)));
        }
        let next = after.trim_start();
        // Something was read in each round, else the tag is broken here.
        if next.len() == rest.len() {
            break;
        }
        rest = next;
    }
    found
}

fn value(text: &str) -> (&str, &str) {
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote) {
            return inner.split_once(quote).unwrap_or((inner, ""));
        }
    }
    let end = text.find(|c: char| c.is_ascii_whitespace()).unwrap_or(text.len());
    text.split_at(end)
}

fn plain(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_read_and_nothing_else() {
        let hash = "0a".repeat(32);
        let page = format!(
            "<html><abbr title='<a'>x</abbr><!-- <b> -->\
             <A HREF='../../f/weather-1.0.tar.gz#sha256={hash}' data-yanked=\"bad &amp; old\">weather</A><br>\
             <a href=https://f.example/w/weather-1.0-py3-none-any.whl \
             data-provenance=\"/integrity/w\">w</a><a>none</a><a ="
        );
        let base = Url::parse("https://i.example/simple/weather/").unwrap();
        let files = files(&page, &base);
        assert_eq!(files.len(), 2);
        assert_eq!(files[0].url.as_str(), "https://i.example/f/weather-1.0.tar.gz");
        assert_eq!(files[0].said.sha256, Some([10; 32]));
        assert_eq!(files[0].yanked.as_deref(), Some("bad & old"));
        assert_eq!(files[1].name, "weather-1.0-py3-none-any.whl");
        let attestations = files[1].attestations.as_ref().unwrap();
        assert_eq!(attestations.as_str(), "https://i.example/integrity/w");
    }
}

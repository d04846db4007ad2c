//! Rewrites what registries say of packages, so that every file they name is had through the proxy, and remembers
//! what they named.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use toolmark_packages::{File, Kind, Said};
use url::Url;

use super::proxy::State;

/// An answer about an npm package.
pub(super) fn packument(body: &[u8], state: &State) -> Option<Vec<u8>> {
    let mut document: Value = serde_json::from_slice(body).ok()?;
    let versions = document.get_mut("versions")?.as_object_mut()?;
    for version in versions.values_mut() {
        let Some(dist) = version.get_mut("dist").and_then(Value::as_object_mut) else {
            continue;
        };
        let url = dist
            .get("tarball")
            .and_then(Value::as_str)
            .and_then(|url| Url::parse(url).ok());
        let Some(url) = url else { continue };
        let mut file = File::at(Kind::Npm, last_segment(&url), url);
        file.said = integrity(dist.get("integrity").and_then(Value::as_str).unwrap_or_default());
        if let Some(offered) = state.offer(&file) {
            dist.insert("tarball".to_owned(), offered.into());
        }
    }
    serde_json::to_vec(&document).ok()
}

fn last_segment(url: &Url) -> String {
    let last = url.path_segments().and_then(|mut segments| segments.next_back());
    last.unwrap_or_default().to_owned()
}

/// The strongest digests of a Subresource Integrity text.
pub(super) fn integrity(text: &str) -> Said {
    let mut said = Said::default();
    for part in text.split_whitespace() {
        let part = part.split('?').next().unwrap_or_default();
        let Some((algorithm, digest)) = part.split_once('-') else {
            continue;
        };
        let Ok(bytes) = STANDARD.decode(digest) else {
            continue;
        };
        match algorithm {
            "sha256" => said.sha256 = bytes.try_into().ok(),
            "sha512" => said.sha512 = bytes.try_into().ok(),
            _ => {}
        }
    }
    said
}

fn sha256(hex_digits: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    hex::decode_to_slice(hex_digits, &mut bytes).ok()?;
    Some(bytes)
}

/// A project's files in the structured form.
pub(super) fn simple_json(body: &[u8], at: &Url, state: &State) -> Option<Vec<u8>> {
    let mut document: Value = serde_json::from_slice(body).ok()?;
    let files = document.get_mut("files")?.as_array_mut()?;
    if !state.locked.is_empty() {
        // A client looks at every file of a project, which takes it long where there are thousands.
        let digest = |entry: &Value| entry.get("hashes")?.get("sha256")?.as_str().map(str::to_owned);
        files.retain(|entry| digest(entry).is_some_and(|digest| state.locked.contains(&digest)));
    }
    for entry in files {
        let text = |key: &str| entry.get(key).and_then(Value::as_str);
        let Some(url) = text("url").and_then(|url| at.join(url).ok()) else {
            continue;
        };
        let mut file = File::at(Kind::Pypi, last_segment(&url), url);
        let digest = entry
            .get("hashes")
            .and_then(|hashes| hashes.get("sha256")?.as_str());
        file.said.sha256 = digest.and_then(sha256);
        if let Some(offered) = state.offer(&file) {
            entry["url"] = offered.into();
        }
    }
    serde_json::to_vec(&document).ok()
}

/// A project's files as links.
pub(super) fn simple_html(body: &[u8], at: &Url, state: &State) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(body).ok()?;
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("href=\"") {
        let (link, tail) = after.split_once('"')?;
        out.push_str(before);
        out.push_str("href=\"");
        out.push_str(&offered(&link.replace("&amp;", "&"), at, state).unwrap_or_default());
        out.push('"');
        rest = tail;
    }
    out.push_str(rest);
    Some(out.into_bytes())
}

fn offered(link: &str, at: &Url, state: &State) -> Option<String> {
    let mut url = at.join(link).ok()?;
    let fragment = url.fragment().unwrap_or_default().to_owned();
    url.set_fragment(None);
    let mut file = File::at(Kind::Pypi, last_segment(&url), url);
    file.said.sha256 = fragment.strip_prefix("sha256=").and_then(sha256);
    let inside = state.offer(&file)?;
    Some(if fragment.is_empty() {
        inside
    } else {
        format!("{inside}#{fragment}")
    })
}

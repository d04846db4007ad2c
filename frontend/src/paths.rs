//! Where pages live, and how a version that cannot be a path segment of its own is written.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use toolmark_domain::name::ServerName;

/// What a path segment keeps as it is.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'+');

/// The words below `/s/{namespace}/{name}` that are pages, so that no version can be.
const WORDS: [&str; 10] = [
    "versions",
    "changes",
    "diff",
    "tools",
    "provenance",
    "v",
    "badge.svg",
    "badge.json",
    "changes.atom",
    "readme",
];

/// One segment of a path, percent-encoded.
pub fn segment(text: &str) -> String {
    utf8_percent_encode(text, SEGMENT).to_string()
}

/// `/s/{namespace}/{name}`.
pub fn server(name: &ServerName) -> String {
    format!("/s/{}/{}", segment(name.namespace()), segment(name.local()))
}

/// `/publishers/{namespace}`.
pub fn publisher(namespace: &str) -> String {
    format!("/publishers/{}", segment(namespace))
}

/// `/s/{namespace}/{name}/{version}`, or below `/v/` for a version that is a word of ours, holds `/`, ends like a
/// twin or a feed, or would be lost in a path: the empty one is `~`, and `~` also goes before one that starts with it
/// or is all dots.
pub fn version(name: &ServerName, version: &str) -> String {
    let server = server(name);
    let lost = version.is_empty() || version.starts_with('~') || version.chars().all(|c| c == '.');
    if lost {
        return format!("{server}/v/~{}", segment(version));
    }
    let ours = WORDS.contains(&version)
        || version.contains(['/', '\\'])
        || [".json", ".atom", ".svg"]
            .iter()
            .any(|end| version.ends_with(end));
    let below = if ours { "/v" } else { "" };
    format!("{server}{below}/{}", segment(version))
}

/// The version that a decoded segment below `/v/` stands for.
pub fn version_below_v(decoded: &str) -> &str {
    decoded.strip_prefix('~').unwrap_or(decoded)
}

/// The `.json` twin of a page.
pub fn twin(path: &str) -> String {
    format!("{path}.json")
}

/// The official contract's answer about one version.
pub fn official(name: &ServerName, version: &str) -> String {
    format!(
        "/v0.1/servers/{}/versions/{}",
        segment(name.as_str()),
        segment(version)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_has_a_path_of_its_own() {
        let name = ServerName::parse("com.example/server.json").unwrap();
        for (given, expected) in [
            ("1.0.0", "/s/com.example/server.json/1.0.0"),
            ("1.0.0+build.7", "/s/com.example/server.json/1.0.0+build.7"),
            ("versions", "/s/com.example/server.json/v/versions"),
            ("v", "/s/com.example/server.json/v/v"),
            ("a/b", "/s/com.example/server.json/v/a%2Fb"),
            ("2.json", "/s/com.example/server.json/v/2.json"),
            ("50% off", "/s/com.example/server.json/50%25%20off"),
            ("", "/s/com.example/server.json/v/~"),
            ("~", "/s/com.example/server.json/v/~~"),
            ("..", "/s/com.example/server.json/v/~.."),
        ] {
            let path = version(&name, given);
            assert_eq!(path, expected);
            if let Some(encoded) = path.split_once("/v/").map(|(_, rest)| rest) {
                let decoded = percent_encoding::percent_decode_str(encoded)
                    .decode_utf8()
                    .unwrap();
                assert_eq!(version_below_v(&decoded), given);
            }
        }
    }
}

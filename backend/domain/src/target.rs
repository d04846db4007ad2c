//! Targets: the things of a version that can be looked at, in the order of its document: packages, then remotes.

use serde_json::Value;

use crate::document::{Package, Remote};

/// The kind of a target that is a URL.
pub const REMOTE: &str = "remote";

/// One package or remote of a version.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Place among the version's packages, then its remotes.
    pub position: usize,
    /// `remote`, or the registry type of the package.
    pub kind: String,
    /// `stdio`, `streamable-http`, `sse`.
    pub transport: String,
    /// URL of a remote, identifier of a package.
    pub identifier: String,
    pub version: Option<String>,
    /// The entry of the document: arguments, variables and headers stand there.
    pub declared: Value,
}

impl Target {
    /// The targets of a `server.json`.
    pub fn all(document: &Value) -> Vec<Self> {
        let list = |key: &str| {
            document
                .get(key)
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default()
        };
        let packages = list("packages").into_iter().map(|declared| {
            let package = Package::read(&declared);
            Self {
                position: 0,
                kind: package.registry_type,
                transport: package.transport.unwrap_or_default(),
                identifier: package.identifier,
                version: package.version,
                declared,
            }
        });
        let remotes = list("remotes").into_iter().map(|declared| {
            let remote = Remote::read(&declared);
            Self {
                position: 0,
                kind: REMOTE.to_owned(),
                transport: remote.transport,
                identifier: remote.url,
                version: None,
                declared,
            }
        });
        let all = packages.chain(remotes).enumerate();
        all.map(|(position, target)| Self { position, ..target })
            .collect()
    }

    /// What two versions of the same thing have in common: kind and identifier without its version.
    ///
    /// `npm:NAME`, `pypi:NAME`, `oci:REPOSITORY`, `mcpb:URL`, or the URL of a remote.
    pub fn line(&self) -> String {
        match self.kind.as_str() {
            REMOTE => self.identifier.clone(),
            "oci" => format!("oci:{}", repository(&self.identifier)),
            kind => format!("{kind}:{}", self.identifier),
        }
    }

    /// As it is written on the command line: `npm:NAME@V`, `oci:REF`, `mcpb:URL`, or the URL of a remote.
    pub fn text(&self) -> String {
        match (self.kind.as_str(), &self.version) {
            (REMOTE, _) => self.identifier.clone(),
            ("oci" | "mcpb", _) | (_, None) => format!("{}:{}", self.kind, self.identifier),
            (kind, Some(version)) => format!("{kind}:{}@{version}", self.identifier),
        }
    }
}

/// An image reference without its tag and digest.
fn repository(reference: &str) -> &str {
    let untied = reference.split_once('@').map_or(reference, |(name, _)| name);
    match untied.rsplit_once(':') {
        // A colon before the last slash is a port.
        Some((name, tag)) if !tag.contains('/') => name,
        _ => untied,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_line_outlives_its_versions() {
        let document = json!({
            "packages": [
                {"registryType": "npm", "identifier": "@a/b", "version": "1.2.3", "transport": {"type": "stdio"}},
                {"registryType": "oci", "identifier": "host.example:5000/a/b:1.2@sha256:00"},
                {"registryType": "oci", "identifier": "host.example:5000/a/b"},
                {"registryType": "pypi", "identifier": "c"},
            ],
            "remotes": [{"type": "streamable-http", "url": "https://example.com/mcp"}, 3],
        });
        let targets = Target::all(&document);
        let seen: Vec<(String, String)> = targets.iter().map(|t| (t.line(), t.text())).collect();
        let expected = [
            ("npm:@a/b", "npm:@a/b@1.2.3"),
            (
                "oci:host.example:5000/a/b",
                "oci:host.example:5000/a/b:1.2@sha256:00",
            ),
            ("oci:host.example:5000/a/b", "oci:host.example:5000/a/b"),
            ("pypi:c", "pypi:c"),
            ("https://example.com/mcp", "https://example.com/mcp"),
            ("", ""),
        ];
        assert_eq!(
            seen,
            expected.map(|(line, text)| (line.to_owned(), text.to_owned()))
        );
        assert_eq!(targets[4].position, 4);
        assert_eq!(
            (targets[0].transport.as_str(), targets[4].kind.as_str()),
            ("stdio", REMOTE)
        );
    }
}

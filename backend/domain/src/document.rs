//! A lenient reading of `server.json`: what the store, pages and lists need of it. It never fails: a field of the
//! wrong type is an absent field. Whether the document is right is the validator's to say.

use serde_json::Value;

/// The top-level facts of one `server.json`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    pub schema: Option<String>,
    pub name: Option<String>,
    pub version: Option<String>,
    pub title: Option<String>,
    pub description: Option<String>,
    pub website_url: Option<String>,
    pub repository_url: Option<String>,
    pub repository_source: Option<String>,
    pub repository_subfolder: Option<String>,
    pub repository_id: Option<String>,
    pub packages: Vec<Package>,
    pub remotes: Vec<Remote>,
}

/// One entry of `packages`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Package {
    /// `npm`, `pypi`, `oci`, `mcpb`, `nuget`, `cargo`, or whatever was published.
    pub registry_type: String,
    pub registry_base_url: Option<String>,
    pub identifier: String,
    pub version: Option<String>,
    pub file_sha256: Option<String>,
    pub runtime_hint: Option<String>,
    /// `stdio`, `streamable-http`, `sse`.
    pub transport: Option<String>,
}

/// One entry of `remotes`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Remote {
    /// `streamable-http`, `sse`.
    pub transport: String,
    pub url: String,
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}

fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

impl Document {
    /// Reads what can be read of `value`.
    pub fn read(value: &Value) -> Self {
        let repository = value.get("repository").unwrap_or(&Value::Null);
        Self {
            schema: text(value, "$schema"),
            name: text(value, "name"),
            version: text(value, "version"),
            title: text(value, "title"),
            description: text(value, "description"),
            website_url: text(value, "websiteUrl"),
            repository_url: text(repository, "url"),
            repository_source: text(repository, "source"),
            repository_subfolder: text(repository, "subfolder"),
            repository_id: text(repository, "id"),
            packages: list(value, "packages").map(Package::read).collect(),
            remotes: list(value, "remotes").map(Remote::read).collect(),
        }
    }
}

impl Package {
    /// Reads what can be read of one entry.
    pub fn read(value: &Value) -> Self {
        Self {
            registry_type: text(value, "registryType").unwrap_or_default(),
            registry_base_url: text(value, "registryBaseUrl"),
            identifier: text(value, "identifier").unwrap_or_default(),
            version: text(value, "version"),
            file_sha256: text(value, "fileSha256"),
            runtime_hint: text(value, "runtimeHint"),
            transport: value
                .get("transport")
                .and_then(|transport| text(transport, "type")),
        }
    }
}

impl Remote {
    /// Reads what can be read of one entry.
    pub fn read(value: &Value) -> Self {
        Self {
            transport: text(value, "type").unwrap_or_default(),
            url: text(value, "url").unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_field_of_the_wrong_type_is_absent() {
        let read = Document::read(&json!({
            "name": 3, "version": "1.0.0", "repository": "x", "packages": {"a": 1},
            "remotes": [{"type": "sse", "url": "https://example.com"}, 7],
        }));
        assert_eq!(
            (read.name, read.version.as_deref(), read.repository_url),
            (None, Some("1.0.0"), None)
        );
        assert_eq!(read.packages.len(), 0);
        assert_eq!(read.remotes[0].url, "https://example.com");
    }
}

//! What a package's own bounds resolved to: a list, its digest, and the text its client needs to get the same again.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolmark_domain::digest::Digest;

use super::pages::integrity;
use super::proxy::locked_at;

/// One resolved package.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Locked {
    pub name: String,
    pub version: String,
    /// As the client writes it: `sha512-…` or `sha256:…`.
    pub integrity: Option<String>,
}

/// A resolution that can be had again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lock {
    /// `npm` or `pypi`.
    pub kind: String,
    /// In order of names.
    pub packages: BTreeSet<Locked>,
    /// For the client: a lock file of npm, or requirements with digests. Names no registry.
    pub text: String,
}

impl Lock {
    /// SHA-256 of the list in canonical form.
    pub fn digest(&self) -> Digest {
        let list: Vec<Value> = self
            .packages
            .iter()
            .map(|one| json!([one.name, one.version, one.integrity]))
            .collect();
        // An array of arrays of text has one compact form.
        Digest::of(Value::from(list).to_string().as_bytes())
    }

    /// SHA-256 digests of its files, in hexadecimal.
    pub(super) fn digests(&self) -> BTreeSet<String> {
        let each = self
            .packages
            .iter()
            .filter_map(|one| one.integrity.as_deref()?.strip_prefix("sha256:"));
        each.map(str::to_owned).collect()
    }

    /// Reads a lock file of npm; addresses are left out of the text, npm asks the registry again.
    pub(super) fn npm(text: &[u8]) -> Option<Self> {
        let mut document: Value = serde_json::from_slice(text).ok()?;
        let mut packages = BTreeSet::new();
        for (path, entry) in document.get_mut("packages")?.as_object_mut()? {
            if let Some(entry) = entry.as_object_mut() {
                entry.remove("resolved");
            }
            let of = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
            let Some((_, name)) = path.rsplit_once("node_modules/") else {
                continue;
            };
            let name = of("name").unwrap_or_else(|| name.to_owned());
            packages.insert(Locked {
                name,
                version: of("version").unwrap_or_default(),
                integrity: of("integrity"),
            });
        }
        Some(Self {
            kind: "npm".to_owned(),
            packages,
            text: document.to_string(),
        })
    }

    /// The lock file of npm with places for the files whose digests are known; npm asks for the others itself.
    pub(super) fn npm_text(&self) -> String {
        let Ok(mut document) = serde_json::from_str::<Value>(&self.text) else {
            return self.text.clone();
        };
        let packages = document.get_mut("packages").and_then(Value::as_object_mut);
        for (path, entry) in packages.into_iter().flatten() {
            let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
            let folder = path.rsplit_once("node_modules/").map(|(_, name)| name);
            let name = entry.get("name").and_then(Value::as_str).or(folder);
            let digest = integrity(text("integrity")).sha512;
            if let (Some(name), Some(digest)) = (name, digest) {
                entry["resolved"] = locked_at(name, text("version"), &digest).into();
            }
        }
        document.to_string()
    }

    /// Reads pip's report of an install.
    pub(super) fn pypi(report: &[u8]) -> Option<Self> {
        let document: Value = serde_json::from_slice(report).ok()?;
        let mut packages = BTreeSet::new();
        for entry in document.get("install")?.as_array()? {
            let of = |key: &str| entry.get("metadata")?.get(key)?.as_str().map(str::to_owned);
            let hashes = entry.pointer("/download_info/archive_info/hashes/sha256");
            packages.insert(Locked {
                name: of("name")?,
                version: of("version")?,
                integrity: hashes
                    .and_then(Value::as_str)
                    .map(|digits| format!("sha256:{digits}")),
            });
        }
        let lines = packages.iter().map(|one| {
            let hash = one.integrity.as_ref().map(|hash| format!(" --hash={hash}"));
            format!("{}=={}{}\n", one.name, one.version, hash.unwrap_or_default())
        });
        Some(Self {
            kind: "pypi".to_owned(),
            text: lines.collect(),
            packages,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_of_npm_names_no_registry() {
        let text = br#"{"name":"probe","lockfileVersion":3,"packages":{"":{"dependencies":{"a":"1"}},
            "node_modules/a":{"version":"1.0.0","resolved":"http://127.0.0.1:7999/file/0/a.tgz","integrity":"sha512-AA=="},
            "node_modules/a/node_modules/@b/c":{"version":"2.0.0"}}}"#;
        let lock = Lock::npm(text).unwrap();
        let names: Vec<&str> = lock.packages.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["@b/c", "a"]);
        assert!(!lock.text.contains("127.0.0.1") && lock.text.contains("sha512-AA=="));
        assert!(
            !lock.npm_text().contains("resolved"),
            "a digest of two bytes is none"
        );
        // Its own text gives the same lock again.
        assert_eq!(Lock::npm(lock.text.as_bytes()).unwrap().digest(), lock.digest());
    }

    #[test]
    fn a_report_of_pip_becomes_requirements() {
        let report = br#"{"version":"1","install":[
            {"download_info":{"archive_info":{"hashes":{"sha256":"bb"}}},"metadata":{"name":"b","version":"2"}},
            {"download_info":{"archive_info":{"hashes":{"sha256":"aa"}}},"metadata":{"name":"a","version":"1"}}]}"#;
        let lock = Lock::pypi(report).unwrap();
        assert_eq!(lock.text, "a==1 --hash=sha256:aa\nb==2 --hash=sha256:bb\n");
        assert!(Lock::pypi(b"{}").is_none());
    }
}

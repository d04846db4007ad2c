//! The npm registry's answers.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use crate::coordinate::{Coordinate, Kind};
use crate::error::PackageError;
use crate::http::{Read, below};
use crate::packages::Packages;
use crate::release::{File, Release, Said, VersionEntry, Versions};

#[derive(Deserialize)]
struct Manifest {
    version: String,
    dist: Dist,
    deprecated: Option<Value>,
    repository: Option<Value>,
}

#[derive(Deserialize)]
struct Dist {
    tarball: Url,
    integrity: Option<String>,
    attestations: Option<Attestations>,
}

#[derive(Deserialize)]
struct Attestations {
    url: Option<Url>,
}

#[derive(Deserialize)]
struct Packument {
    #[serde(default)]
    versions: BTreeMap<String, Marks>,
    #[serde(default)]
    time: BTreeMap<String, Value>,
    #[serde(default, rename = "dist-tags")]
    tags: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Marks {
    deprecated: Option<Value>,
}

/// An empty mark or `false` is none.
fn marked(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Bool(true) => Some(String::new()),
        _ => None,
    }
}

/// The digests of a Subresource Integrity text; weaker ones are left out.
fn integrity(text: &str) -> Said {
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
            "sha256" => said.sha256 = bytes.try_into().ok().or(said.sha256),
            "sha512" => said.sha512 = bytes.try_into().ok().or(said.sha512),
            _ => {}
        }
    }
    said
}

fn repository(value: Option<&Value>) -> Option<String> {
    let value = value?;
    let text = value.as_str().or_else(|| value.get("url")?.as_str())?;
    Some(text.to_owned())
}

pub(crate) async fn release(
    packages: &Packages,
    name: &str,
    version: Option<&str>,
) -> Result<Release, PackageError> {
    let base = packages.source(Kind::Npm).await?.base_of(name);
    let url = below(base, [name, version.unwrap_or("latest")]);
    let what = format!("npm:{name}@{}", version.unwrap_or("latest"));
    let Read { value, url, digest } = packages.json::<Manifest>(Kind::Npm, &url, None, &what).await?;
    if version.is_some_and(|version| version != value.version) {
        let fault = format!("it is about version `{}`", value.version);
        return Err(PackageError::answer(what, fault));
    }
    let file_name = value
        .dist
        .tarball
        .path_segments()
        .and_then(|mut segments| segments.next_back().map(str::to_owned));
    let mut file = File::at(
        Kind::Npm,
        file_name.unwrap_or_default(),
        value.dist.tarball.clone(),
    );
    file.said = integrity(value.dist.integrity.as_deref().unwrap_or_default());
    file.speaks_of_attestations = value.dist.attestations.is_some();
    file.attestations = value.dist.attestations.and_then(|found| found.url);
    Ok(Release {
        coordinate: Coordinate::Package {
            kind: Kind::Npm,
            name: name.to_owned(),
            version: Some(value.version),
        },
        files: vec![file],
        published_at: None,
        yanked: None,
        deprecated: marked(value.deprecated.as_ref()),
        repository: repository(value.repository.as_ref()),
        url,
        answer: digest,
    })
}

pub(crate) async fn versions(packages: &Packages, name: &str) -> Result<Versions, PackageError> {
    let base = packages.source(Kind::Npm).await?.base_of(name);
    let url = below(base, [name]);
    let what = format!("npm:{name}");
    let Read { value, url, digest } = packages.json::<Packument>(Kind::Npm, &url, None, &what).await?;
    let time = |version: &str| value.time.get(version)?.as_str().map(str::to_owned);
    let mut versions: Vec<VersionEntry> = value
        .versions
        .iter()
        .map(|(version, marks)| VersionEntry {
            version: version.clone(),
            published_at: time(version),
            yanked: None,
            deprecated: marked(marks.deprecated.as_ref()),
        })
        .collect();
    versions.sort_by(|a, b| a.published_at.cmp(&b.published_at));
    Ok(Versions {
        versions,
        latest: value.tags.get("latest").cloned(),
        url,
        answer: digest,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integrity_gives_the_strong_digests() {
        let sha512 = STANDARD.encode([7; 64]);
        let said = integrity(&format!("sha1-AAAA sha512-{sha512}?x sha256-short sha384-AAAA"));
        assert_eq!(said.sha512, Some([7; 64]));
        assert_eq!(said.sha256, None);
        assert_eq!(integrity(""), Said::default());
    }

    #[test]
    fn marks_are_texts_or_true() {
        let mark = |text: &str| marked(serde_json::from_str(text).ok().as_ref());
        assert_eq!(mark("\"use b\"").as_deref(), Some("use b"));
        assert_eq!(mark("true").as_deref(), Some(""));
        assert_eq!((mark("\"\""), mark("false"), mark("null")), (None, None, None));
    }
}

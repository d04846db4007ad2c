//! The Python index: the simple interface, as JSON where the index speaks it, else as a page.

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use toolmark_domain::limits::METADATA_BYTES;
use url::Url;

use crate::coordinate::{Coordinate, Kind};
use crate::error::PackageError;
use crate::http::{below, found};
use crate::packages::Packages;
use crate::release::{File, Release, Said, VersionEntry, Versions};
use crate::simple_page;
use toolmark_domain::digest::Digest;

const ACCEPT: &str =
    "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1";

#[derive(Deserialize)]
struct Listing {
    files: Vec<Listed>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Listed {
    filename: String,
    url: String,
    #[serde(default)]
    hashes: Hashes,
    size: Option<u64>,
    upload_time: Option<String>,
    #[serde(default)]
    yanked: Value,
    #[serde(default, deserialize_with = "given")]
    provenance: Option<Value>,
}

/// A null that is given is something else than nothing.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

#[derive(Default, Deserialize)]
struct Hashes {
    sha256: Option<String>,
    sha512: Option<String>,
}

/// A project's name as the index compares it.
fn normal(name: &str) -> String {
    let parts = name.split(['-', '_', '.']).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-").to_ascii_lowercase()
}

fn fixed<const N: usize>(text: Option<&String>) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    hex::decode_to_slice(text?, &mut bytes).ok()?;
    Some(bytes)
}

struct Page {
    files: Vec<File>,
    url: Url,
    digest: Digest,
}

async fn page(packages: &Packages, name: &str) -> Result<Page, PackageError> {
    let base = packages.source(Kind::Pypi).await?.base();
    let url = below(base, [normal(name).as_str(), ""]);
    let what = format!("pypi:{name}");
    let answer = packages
        .send(Kind::Pypi, &url, Some(ACCEPT), METADATA_BYTES)
        .await?;
    let answer = found(answer, &what)?;
    let kind = answer.headers.get("content-type");
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let files = if kind.contains("json") {
        let listing: Listing = serde_json::from_slice(&answer.body)
            .map_err(|error| PackageError::answer(&what, error.to_string()))?;
        let files = listing.files.into_iter();
        files.filter_map(|file| listed(file, &answer.url)).collect()
    } else if kind.contains("html") {
        let text = String::from_utf8_lossy(&answer.body);
        simple_page::files(&text, &answer.url)
    } else {
        let shown: String = kind.chars().take(60).collect();
        return Err(PackageError::answer(what, format!("it is of the type `{shown}`")));
    };
    Ok(Page {
        files,
        digest: Digest::of(&answer.body),
        url: answer.url,
    })
}

fn listed(listed: Listed, page: &Url) -> Option<File> {
    let mut file = File::at(Kind::Pypi, listed.filename, page.join(&listed.url).ok()?);
    file.url.set_fragment(None);
    file.bytes = listed.size;
    file.said = Said {
        sha256: fixed(listed.hashes.sha256.as_ref()),
        sha512: fixed(listed.hashes.sha512.as_ref()),
    };
    file.yanked = match listed.yanked {
        Value::String(reason) => Some(reason),
        Value::Bool(true) => Some(String::new()),
        _ => None,
    };
    file.published_at = listed.upload_time;
    file.speaks_of_attestations = listed.provenance.is_some();
    let provenance = listed.provenance.as_ref().and_then(Value::as_str);
    file.attestations = provenance.and_then(|url| page.join(url).ok());
    Some(file)
}

/// The version in a file's name, when the file is of this project.
fn version_of(file: &str, project: &str) -> Option<String> {
    if let Some(stem) = file.strip_suffix(".whl") {
        let mut parts = stem.split('-');
        let (name, version) = (parts.next()?, parts.next()?);
        return (normal(name) == project).then(|| version.to_owned());
    }
    let endings = [".tar.gz", ".zip", ".tar.bz2", ".tgz", ".tar.xz"];
    let stem = endings.iter().find_map(|ending| file.strip_suffix(ending))?;
    // The version has no hyphen in a well-formed name; in old ones the project's name may have some.
    let mut hyphens = stem.match_indices('-').map(|(at, _)| at);
    let split = hyphens.rfind(|at| normal(&stem[..*at]) == project)?;
    Some(stem[split + 1..].to_owned())
}

/// Whether two spellings are one version: `1.0` and `1.0.0`, `1.0-RC.1` and `1.0rc1`.
fn same_version(left: &str, right: &str) -> bool {
    left == right || canonical(left) == canonical(right)
}

fn canonical(version: &str) -> String {
    let lower = version.trim().to_ascii_lowercase();
    let lower = lower.strip_prefix('v').unwrap_or(&lower);
    let end = lower
        .find(|c: char| !c.is_ascii_digit() && c != '.' && c != '!')
        .unwrap_or(lower.len());
    let (release, rest) = lower.split_at(end);
    let mut numbers: Vec<&str> = release.trim_end_matches('.').split('.').collect();
    while numbers.len() > 1 && numbers.last().is_some_and(|n| n.bytes().all(|b| b == b'0')) {
        numbers.pop();
    }
    let rest: String = rest.chars().filter(|c| !"-_.".contains(*c)).collect();
    let rest = rest
        .replace("alpha", "a")
        .replace("beta", "b")
        .replace("preview", "rc")
        .replace("pre", "rc");
    format!("{}{rest}", numbers.join("."))
}

/// What an installer on Linux takes first: a wheel for every platform, a wheel for this one, a source archive.
fn preference(file: &File) -> u8 {
    let name = file.name.as_str();
    let wheel = name.strip_suffix(".whl");
    match name {
        _ if wheel.is_some_and(|stem| stem.ends_with("-none-any")) => 0,
        _ if wheel.is_some() && name.contains("manylinux") && name.contains("x86_64") => 1,
        _ if name.ends_with(".tar.gz") => 2,
        _ if wheel.is_some() => 3,
        _ => 4,
    }
}

pub(crate) async fn release(
    packages: &Packages,
    name: &str,
    version: Option<&str>,
) -> Result<Release, PackageError> {
    let page = page(packages, name).await?;
    let project = normal(name);
    let wanted = match version {
        Some(version) => version.to_owned(),
        None => latest(&page.files, &project).ok_or_else(|| PackageError::NotFound {
            what: format!("a version of pypi:{name}"),
        })?,
    };
    let mut files: Vec<File> = page
        .files
        .into_iter()
        .filter(|file| {
            version_of(&file.name, &project).is_some_and(|version| same_version(&version, &wanted))
        })
        .collect();
    if files.is_empty() {
        return Err(PackageError::NotFound {
            what: format!("pypi:{name}@{wanted}"),
        });
    }
    files.sort_by_key(|file| (file.yanked.is_some(), preference(file)));
    let all_yanked = files.iter().all(|file| file.yanked.is_some());
    Ok(Release {
        coordinate: Coordinate::Package {
            kind: Kind::Pypi,
            name: name.to_owned(),
            version: Some(wanted),
        },
        published_at: files.iter().filter_map(|file| file.published_at.clone()).min(),
        yanked: files[0].yanked.clone().filter(|_| all_yanked),
        deprecated: None,
        repository: None,
        files,
        url: page.url,
        answer: page.digest,
    })
}

/// The latest version: the one of the file uploaded last that is neither yanked nor a pre-release.
fn latest(files: &[File], project: &str) -> Option<String> {
    let mut best: Option<(Option<&String>, String)> = None;
    for file in files.iter().filter(|file| file.yanked.is_none()) {
        let Some(version) = version_of(&file.name, project) else {
            continue;
        };
        let stable = version.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let time = file.published_at.as_ref();
        if stable && best.as_ref().is_none_or(|(before, _)| *before <= time) {
            best = Some((time, version));
        }
    }
    best.map(|(_, version)| version)
}

pub(crate) async fn versions(packages: &Packages, name: &str) -> Result<Versions, PackageError> {
    let page = page(packages, name).await?;
    let project = normal(name);
    let mut versions: Vec<VersionEntry> = Vec::new();
    for file in &page.files {
        let Some(version) = version_of(&file.name, &project) else {
            continue;
        };
        let known = versions
            .iter_mut()
            .find(|known| same_version(&known.version, &version));
        match known {
            // Withdrawn only when every file is.
            Some(known) => {
                if file.yanked.is_none() {
                    known.yanked = None;
                }
                known.published_at = known.published_at.take().or_else(|| file.published_at.clone());
            }
            None => versions.push(VersionEntry {
                version,
                published_at: file.published_at.clone(),
                yanked: file.yanked.clone(),
                deprecated: None,
            }),
        }
    }
    Ok(Versions {
        latest: latest(&page.files, &project),
        versions,
        url: page.url,
        answer: page.digest,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_tells_its_version() {
        let version = |file: &str| version_of(file, "weather-mcp");
        assert_eq!(
            version("weather_mcp-1.0-py3-none-any.whl").as_deref(),
            Some("1.0")
        );
        assert_eq!(version("Weather.MCP-1.0.tar.gz").as_deref(), Some("1.0"));
        assert_eq!(version("weather-mcp-1.0rc1.zip").as_deref(), Some("1.0rc1"));
        assert_eq!(version("weather_mcp_extra-1.0-py3-none-any.whl"), None);
        assert_eq!(
            version("weather-mcp-extra-1.0.tar.gz").as_deref(),
            Some("extra-1.0")
        );
        assert_eq!(version("README"), None);
    }

    #[test]
    fn spellings_of_a_version_are_one() {
        assert!(same_version("1.0", "1.0.0"));
        assert!(same_version("v1.0-RC.1", "1.0rc1"));
        assert!(same_version("1.0.0alpha2", "1.0a2"));
        assert!(!same_version("1.0", "1.0.1"));
        assert!(!same_version("1.0", "1.0rc1"));
        assert!(!same_version("1.0", "extra-1.0"));
        assert!(!same_version("10", "1"));
    }
}

//! cargo's sparse index: one file of JSON lines for each name.

use serde::Deserialize;
use toolmark_domain::digest::Digest;
use toolmark_domain::limits::METADATA_BYTES;
use url::Url;

use crate::coordinate::{Coordinate, Kind};
use crate::error::PackageError;
use crate::http::{below, found};
use crate::packages::Packages;
use crate::release::{File, Release, VersionEntry, Versions};

#[derive(Deserialize)]
struct Line {
    vers: String,
    cksum: String,
    #[serde(default)]
    yanked: bool,
}

#[derive(Deserialize)]
struct Settings {
    dl: String,
}

/// Where a name's file is: `1/a`, `2/ab`, `3/a/abc`, `ab/cd/abcd`.
fn folders(name: &str) -> Vec<&str> {
    match name.len() {
        1 => vec!["1", name],
        2 => vec!["2", name],
        3 => vec!["3", &name[..1], name],
        _ => vec![&name[..2], &name[2..4], name],
    }
}

async fn lines(packages: &Packages, name: &str) -> Result<(Vec<Line>, Url, Digest), PackageError> {
    let base = packages.source(Kind::Cargo).await?.base();
    let lower = name.to_ascii_lowercase();
    let url = below(base, folders(&lower));
    let what = format!("cargo:{name}");
    let answer = packages.send(Kind::Cargo, &url, None, METADATA_BYTES).await?;
    let answer = found(answer, &what)?;
    let lines = answer
        .body
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    let lines = lines
        .map(serde_json::from_slice)
        .collect::<Result<Vec<Line>, _>>();
    let lines = lines.map_err(|error| PackageError::answer(what, error.to_string()))?;
    Ok((lines, answer.url, Digest::of(&answer.body)))
}

/// The address of a crate's file, from the template the index gives.
fn download(template: &str, name: &str, version: &str, checksum: &str) -> Option<Url> {
    let lower = name.to_ascii_lowercase();
    let prefix = |name: &str| {
        let mut parts = folders(name);
        parts.pop();
        parts.join("/")
    };
    let mut text = template.to_owned();
    if !template.contains('{') {
        text = format!(
            "{}/{{crate}}/{{version}}/download",
            template.trim_end_matches('/')
        );
    }
    let text = text
        .replace("{crate}", name)
        .replace("{version}", version)
        .replace("{prefix}", &prefix(name))
        .replace("{lowerprefix}", &prefix(&lower))
        .replace("{sha256-checksum}", checksum);
    Url::parse(&text).ok()
}

pub(crate) async fn release(
    packages: &Packages,
    name: &str,
    version: Option<&str>,
) -> Result<Release, PackageError> {
    let (lines, url, answer) = lines(packages, name).await?;
    // The index is in the order of publishing.
    let wanted = |line: &&Line| match version {
        Some(version) => line.vers == version,
        None => !line.yanked && !line.vers.contains('-'),
    };
    let what = format!("cargo:{name}@{}", version.unwrap_or("latest"));
    let line = lines.iter().rev().find(wanted);
    let line = line.ok_or_else(|| PackageError::NotFound { what: what.clone() })?;
    let base = packages.source(Kind::Cargo).await?.base();
    let settings = packages
        .json::<Settings>(
            Kind::Cargo,
            &below(base, ["config.json"]),
            None,
            "the index's settings",
        )
        .await?;
    let download = download(&settings.value.dl, name, &line.vers, &line.cksum);
    let download = download.ok_or_else(|| PackageError::answer(&what, "it names no address of the file"))?;
    let mut file = File::at(Kind::Cargo, format!("{name}-{}.crate", line.vers), download);
    file.said.sha256 = line.cksum.parse::<Digest>().ok().map(|digest| *digest.as_bytes());
    file.yanked = line.yanked.then(String::new);
    Ok(Release {
        coordinate: Coordinate::Package {
            kind: Kind::Cargo,
            name: name.to_owned(),
            version: Some(line.vers.clone()),
        },
        yanked: file.yanked.clone(),
        files: vec![file],
        published_at: None,
        deprecated: None,
        repository: None,
        url,
        answer,
    })
}

pub(crate) async fn versions(packages: &Packages, name: &str) -> Result<Versions, PackageError> {
    let (lines, url, answer) = lines(packages, name).await?;
    let latest = lines
        .iter()
        .rev()
        .find(|line| !line.yanked && !line.vers.contains('-'));
    Ok(Versions {
        latest: latest.map(|line| line.vers.clone()),
        versions: lines
            .iter()
            .map(|line| VersionEntry {
                version: line.vers.clone(),
                published_at: None,
                yanked: line.yanked.then(String::new),
                deprecated: None,
            })
            .collect(),
        url,
        answer,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_their_folders() {
        assert_eq!(folders("a"), ["1", "a"]);
        assert_eq!(folders("ab"), ["2", "ab"]);
        assert_eq!(folders("abc"), ["3", "a", "abc"]);
        assert_eq!(folders("abcd"), ["ab", "cd", "abcd"]);
    }

    #[test]
    fn the_template_is_filled() {
        let url = |template: &str| download(template, "Abcd", "1.0.0", "00").unwrap().to_string();
        assert_eq!(
            url("https://d.example/crates"),
            "https://d.example/crates/Abcd/1.0.0/download"
        );
        assert_eq!(
            url("https://d.example/{lowerprefix}/{crate}-{version}?{sha256-checksum}"),
            "https://d.example/ab/cd/Abcd-1.0.0?00"
        );
    }
}

//! Releases of a forge, and single files by their address.

use serde::Deserialize;
use toolmark_domain::digest::Digest;
use url::Url;

use crate::coordinate::{Coordinate, Kind};
use crate::error::PackageError;
use crate::http::{Read, below};
use crate::packages::Packages;
use crate::release::{File, Release, Said, VersionEntry, Versions};

const ACCEPT: &str = "application/vnd.github+json";

#[derive(Deserialize)]
struct Tagged {
    tag_name: String,
    published_at: Option<String>,
    #[serde(default)]
    prerelease: bool,
    #[serde(default)]
    draft: bool,
    #[serde(default)]
    assets: Vec<Asset>,
}

#[derive(Deserialize)]
struct Asset {
    name: String,
    browser_download_url: Url,
    size: Option<u64>,
    digest: Option<String>,
    created_at: Option<String>,
}

/// A file of which only the address is known.
pub(crate) fn single(coordinate: &Coordinate, url: &Url) -> Release {
    let name = coordinate.file_name().unwrap_or_default();
    Release {
        coordinate: coordinate.clone(),
        files: vec![File::at(coordinate.kind(), name, url.clone())],
        published_at: None,
        yanked: None,
        deprecated: None,
        repository: coordinate
            .as_release()
            .map(|(owner, repository)| format!("https://github.com/{owner}/{repository}")),
        url: url.clone(),
        answer: Digest::of(b""),
    }
}

pub(crate) async fn release(packages: &Packages, coordinate: &Coordinate) -> Result<Release, PackageError> {
    let Coordinate::GitHub {
        owner,
        repository,
        tag,
        file,
    } = coordinate
    else {
        return Err(PackageError::Incomplete {
            what: coordinate.to_string(),
            lacks: "release",
        });
    };
    let base = packages.source(Kind::GitHub).await?.base();
    let url = below(base, ["repos", owner, repository, "releases", "tags", tag]);
    let what = coordinate.to_string();
    let Read { value, url, digest } = packages
        .json::<Tagged>(Kind::GitHub, &url, Some(ACCEPT), &what)
        .await?;
    let wanted = |asset: &Asset| file.as_ref().is_none_or(|name| *name == asset.name);
    let assets = value.assets.into_iter().filter(wanted);
    let files: Vec<File> = assets.map(asset).collect();
    if files.is_empty() {
        return Err(PackageError::NotFound { what });
    }
    Ok(Release {
        coordinate: coordinate.clone(),
        files,
        published_at: value.published_at,
        yanked: None,
        deprecated: None,
        repository: Some(format!("https://github.com/{owner}/{repository}")),
        url,
        answer: digest,
    })
}

fn asset(asset: Asset) -> File {
    let said = asset
        .digest
        .as_deref()
        .and_then(|text| text.strip_prefix("sha256:"));
    let said = said.and_then(|text| text.parse::<Digest>().ok());
    let mut file = File::at(Kind::GitHub, asset.name, asset.browser_download_url);
    file.bytes = asset.size;
    file.published_at = asset.created_at;
    file.said = Said {
        sha256: said.map(|digest| *digest.as_bytes()),
        sha512: None,
    };
    file
}

pub(crate) async fn versions(
    packages: &Packages,
    owner: &str,
    repository: &str,
) -> Result<Versions, PackageError> {
    let base = packages.source(Kind::GitHub).await?.base();
    let mut url = below(base, ["repos", owner, repository, "releases"]);
    url.set_query(Some("per_page=100"));
    let what = format!("the releases of {owner}/{repository}");
    let Read { value, url, digest } = packages
        .json::<Vec<Tagged>>(Kind::GitHub, &url, Some(ACCEPT), &what)
        .await?;
    let released: Vec<Tagged> = value.into_iter().filter(|tagged| !tagged.draft).collect();
    let latest = released.iter().find(|tagged| !tagged.prerelease);
    Ok(Versions {
        latest: latest.map(|tagged| tagged.tag_name.clone()),
        versions: released
            .iter()
            .map(|tagged| VersionEntry {
                version: tagged.tag_name.clone(),
                published_at: tagged.published_at.clone(),
                yanked: None,
                deprecated: None,
            })
            .collect(),
        url,
        answer: digest,
    })
}

//! `NuGet`: the service index says where the files are. Tried only against recorded answers.

use serde::Deserialize;
use toolmark_domain::digest::Digest;
use url::Url;

use crate::coordinate::{Coordinate, Kind};
use crate::error::PackageError;
use crate::http::{Read, below};
use crate::packages::Packages;
use crate::release::{File, Release, VersionEntry, Versions};

#[derive(Deserialize)]
struct Service {
    resources: Vec<Resource>,
}

#[derive(Deserialize)]
struct Resource {
    #[serde(rename = "@id")]
    id: Url,
    #[serde(rename = "@type")]
    kind: String,
}

#[derive(Deserialize)]
struct List {
    versions: Vec<String>,
}

struct Found {
    versions: Vec<String>,
    /// Below it are the files of the package.
    folder: Url,
    url: Url,
    answer: Digest,
}

async fn list(packages: &Packages, name: &str) -> Result<Found, PackageError> {
    let base = packages.source(Kind::Nuget).await?.base();
    let mut index = base.clone();
    // The setting is the address of a document, not of a folder.
    index.set_path(base.path().trim_end_matches('/'));
    let what = format!("nuget:{name}");
    let service = packages.json::<Service>(Kind::Nuget, &index, None, &what).await?;
    let content = service.value.resources.into_iter();
    let content = content.filter(|resource| resource.kind.starts_with("PackageBaseAddress/3"));
    let content = content.map(|resource| resource.id).next();
    let content =
        content.ok_or_else(|| PackageError::answer(&what, "the service names no place of files"))?;
    let folder = below(&content, [name.to_ascii_lowercase().as_str()]);
    let url = below(&folder, ["index.json"]);
    let Read { value, url, digest } = packages.json::<List>(Kind::Nuget, &url, None, &what).await?;
    Ok(Found {
        versions: value.versions,
        folder,
        url,
        answer: digest,
    })
}

fn latest(versions: &[String]) -> Option<&String> {
    versions.iter().rev().find(|version| !version.contains('-'))
}

pub(crate) async fn release(
    packages: &Packages,
    name: &str,
    version: Option<&str>,
) -> Result<Release, PackageError> {
    let found = list(packages, name).await?;
    let same = |known: &&String| version.is_some_and(|version| known.eq_ignore_ascii_case(version));
    let wanted = match version {
        Some(_) => found.versions.iter().find(same),
        None => latest(&found.versions),
    };
    let wanted = wanted.ok_or_else(|| PackageError::NotFound {
        what: format!("nuget:{name}@{}", version.unwrap_or("latest")),
    })?;
    let lower = wanted.to_ascii_lowercase();
    let file = format!("{}.{lower}.nupkg", name.to_ascii_lowercase());
    let url = below(&found.folder, [lower.as_str(), file.as_str()]);
    Ok(Release {
        coordinate: Coordinate::Package {
            kind: Kind::Nuget,
            name: name.to_owned(),
            version: Some(wanted.clone()),
        },
        files: vec![File::at(Kind::Nuget, file, url)],
        published_at: None,
        yanked: None,
        deprecated: None,
        repository: None,
        url: found.url,
        answer: found.answer,
    })
}

pub(crate) async fn versions(packages: &Packages, name: &str) -> Result<Versions, PackageError> {
    let found = list(packages, name).await?;
    let entry = |version: &String| VersionEntry {
        version: version.clone(),
        published_at: None,
        yanked: None,
        deprecated: None,
    };
    Ok(Versions {
        latest: latest(&found.versions).cloned(),
        versions: found.versions.iter().map(entry).collect(),
        url: found.url,
        answer: found.answer,
    })
}

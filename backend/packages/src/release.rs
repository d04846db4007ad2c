//! What a registry of origin says of a release. Everything here is its word, not ours: digests are compared with what
//! was fetched, never taken in its place.

use toolmark_domain::digest::Digest;
use url::Url;

use crate::coordinate::{Coordinate, Kind};

/// Digests somebody gives for a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    pub sha256: Option<[u8; 32]>,
    pub sha512: Option<[u8; 64]>,
}

/// One file of a release.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    pub name: String,
    pub url: Url,
    pub bytes: Option<u64>,
    pub said: Said,
    /// Why it was withdrawn, in the registry's words; empty when it gives none.
    pub yanked: Option<String>,
    /// As the registry writes it.
    pub published_at: Option<String>,
    /// Where the registry says the file's attestations are.
    pub attestations: Option<Url>,
    /// Whether the registry's answer has a place for attestations, also where it holds none. One that has not knows
    /// nothing of them.
    pub speaks_of_attestations: bool,
    /// Which registry named it; says whose credentials may be sent.
    pub(crate) kind: Kind,
    /// Media types to ask for, where the answer depends on it.
    pub(crate) accept: Option<&'static str>,
}

impl File {
    /// A file that nothing is known of but its address.
    pub fn at(kind: Kind, name: impl Into<String>, url: Url) -> Self {
        Self {
            name: name.into(),
            url,
            bytes: None,
            said: Said::default(),
            yanked: None,
            published_at: None,
            attestations: None,
            speaks_of_attestations: false,
            kind,
            accept: None,
        }
    }
}

/// One release: a version of a package, an image, the files of a tag.
#[derive(Clone, Debug)]
pub struct Release {
    /// With the exact version, also when the latest was asked for.
    pub coordinate: Coordinate,
    /// The one a client would install stands first.
    pub files: Vec<File>,
    /// As the registry writes it; not every answer has it.
    pub published_at: Option<String>,
    /// Why the whole release was withdrawn; empty when no reason is given.
    pub yanked: Option<String>,
    /// What the registry says to those who still use it.
    pub deprecated: Option<String>,
    /// The source repository the package itself names.
    pub repository: Option<String>,
    /// Where this was read, and the digest of the answer.
    pub url: Url,
    pub answer: Digest,
}

impl Release {
    /// The file with this name, or the one a client would install.
    pub fn file(&self, name: Option<&str>) -> Option<&File> {
        match name {
            Some(name) => self.files.iter().find(|file| file.name == name),
            None => self.files.first(),
        }
    }
}

/// One version in a registry's list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionEntry {
    pub version: String,
    pub published_at: Option<String>,
    pub yanked: Option<String>,
    pub deprecated: Option<String>,
}

/// The versions a registry has of a package.
#[derive(Clone, Debug)]
pub struct Versions {
    /// In the registry's order.
    pub versions: Vec<VersionEntry>,
    /// What the registry calls the latest.
    pub latest: Option<String>,
    pub url: Url,
    pub answer: Digest,
}

//! The door to the registries of origin.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use tokio::sync::OnceCell;
use toolmark_outbound::{Answer, Client};
use url::Url;

use crate::coordinate::{Coordinate, Kind};
use crate::error::PackageError;
use crate::fetch::{Fetched, Hashing};
use crate::release::{File, Release, Versions};
use crate::sources::{self, Config, Source};
use crate::{cargo, github, npm, nuget, oci, pypi};

/// Asks registries of origin. Cheap to clone; clones share what was learnt of addresses and credentials.
#[derive(Clone)]
pub struct Packages {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) client: Client,
    pub(crate) config: Config,
    npm: OnceCell<Source>,
    pypi: OnceCell<Source>,
    cargo: OnceCell<Source>,
    nuget: OnceCell<Source>,
    forge: OnceCell<Source>,
    /// Tokens of image registries by repository.
    pub(crate) tokens: Mutex<HashMap<String, String>>,
}

impl Packages {
    /// Nothing is asked or read yet.
    pub fn new(client: Client, config: Config) -> Self {
        Self {
            inner: Arc::new(Inner {
                client,
                config,
                npm: OnceCell::new(),
                pypi: OnceCell::new(),
                cargo: OnceCell::new(),
                nuget: OnceCell::new(),
                forge: OnceCell::new(),
                tokens: Mutex::default(),
            }),
        }
    }

    /// Where a kind of package lives; learnt once. Images name their own place, so there is none for them.
    pub async fn source(&self, kind: Kind) -> Result<&Source, PackageError> {
        let cell = match kind {
            Kind::Npm => &self.inner.npm,
            Kind::Pypi => &self.inner.pypi,
            Kind::Cargo => &self.inner.cargo,
            Kind::Nuget => &self.inner.nuget,
            Kind::GitHub | Kind::Mcpb | Kind::Url => &self.inner.forge,
            Kind::Oci => return Err(PackageError::NoSource { kind }),
        };
        cell.get_or_try_init(|| sources::find(&self.inner.config, kind))
            .await
    }

    /// What the registry of origin says of a release; of its latest when the coordinate has no version.
    pub async fn release(&self, coordinate: &Coordinate) -> Result<Release, PackageError> {
        match coordinate {
            Coordinate::Package { kind, name, version } => {
                let version = version.as_deref();
                match kind {
                    Kind::Npm => npm::release(self, name, version).await,
                    Kind::Pypi => pypi::release(self, name, version).await,
                    Kind::Cargo => cargo::release(self, name, version).await,
                    _ => nuget::release(self, name, version).await,
                }
            }
            Coordinate::Image(image) => oci::release(self, image).await,
            Coordinate::GitHub { .. } => github::release(self, coordinate).await,
            Coordinate::Mcpb(url) | Coordinate::Url(url) => Ok(github::single(coordinate, url)),
        }
    }

    /// Every version the registry of origin has, with times and marks where it tells them.
    pub async fn versions(&self, coordinate: &Coordinate) -> Result<Versions, PackageError> {
        match coordinate {
            Coordinate::Package { kind, name, .. } => match kind {
                Kind::Npm => npm::versions(self, name).await,
                Kind::Pypi => pypi::versions(self, name).await,
                Kind::Cargo => cargo::versions(self, name).await,
                _ => nuget::versions(self, name).await,
            },
            Coordinate::Image(image) => oci::versions(self, image).await,
            Coordinate::GitHub {
                owner, repository, ..
            } => github::versions(self, owner, repository).await,
            Coordinate::Mcpb(_) | Coordinate::Url(_) => Err(PackageError::Incomplete {
                what: coordinate.to_string(),
                lacks: "list of versions",
            }),
        }
    }

    /// Fetches a file, hashes it while it comes and compares the digests with what the registry said. The bytes go to
    /// `to` when it is given; a file there is overwritten, and removed when the download fails.
    pub async fn fetch(&self, file: &File, to: Option<&Path>) -> Result<Fetched, PackageError> {
        let mut into = match to {
            Some(path) => Hashing::to_file(path).map_err(PackageError::Write)?,
            None => Hashing::only(),
        };
        let done = self.fetch_into(file, &mut into).await;
        if let (Err(_), Some(path)) = (&done, to) {
            // It is not whole; that it cannot be removed changes nothing about the failure.
            let _ = std::fs::remove_file(path);
        }
        let url = done?;
        into.finish(file, url).map_err(PackageError::Write)
    }

    /// One answer of a registry, whatever its status: for evidence, where "not found" is an answer. `limit` bounds the
    /// body. Credentials are added where `url` is at a configured origin.
    pub async fn ask(
        &self,
        kind: Kind,
        url: &Url,
        accept: Option<&str>,
        limit: usize,
    ) -> Result<Answer, PackageError> {
        self.send(kind, url, accept, limit).await
    }
}

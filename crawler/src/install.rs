//! Installs a package into a folder of its own, in a cage that reaches nothing but our proxy, and says how it is then
//! run. The package's own scripts run here and only here; the server later sees the folder and may not change it.
//!
//! Not for running the server: an [`Installed`] is given to the wire client, which starts it in another cage.

mod bundle;
mod files;
mod lock;
mod npm;
mod pages;
mod proxy;
mod pypi;
mod run;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;
use toolmark_domain::reason::Reason;
use toolmark_domain::snapshot::Outcome;
use toolmark_packages::{File, Kind, PackageError};

pub use bundle::unpack;
pub use lock::{Lock, Locked};
pub use toolmark_packages::{Coordinate, Packages};

use crate::launch::Launch;
use crate::placeholder::Settings;
use crate::progress::{Progress, Stage};
use crate::sandbox::{Cage, Sandbox};

/// Where an installed package lies, as it sees it.
const APP: &str = "/app";

/// Installs packages on this machine.
#[derive(Clone)]
pub struct Installer {
    sandbox: Sandbox,
    packages: Packages,
    cache: PathBuf,
}

/// A package, ready to be run.
pub struct Installed {
    /// Runs it, each time in a cage of its own.
    pub cage: Cage,
    pub launch: Launch,
    /// What it resolved to, where its client resolves.
    pub lock: Option<Lock>,
    /// What is known of the install, for the snapshot's `look`.
    pub record: Value,
    /// Removed with it.
    folder: TempDir,
}

impl Installed {
    /// Where its files lie on this machine.
    pub fn folder(&self) -> PathBuf {
        self.folder.path().join("app")
    }
}

/// Why a package was not installed.
#[derive(Debug)]
pub struct NotInstalled {
    pub outcome: Outcome,
    pub reason: Reason,
    /// The last words of its client, bounded.
    pub words: String,
    pub record: Value,
}

impl NotInstalled {
    fn new(outcome: Outcome, reason: Reason, words: impl Into<String>) -> Self {
        Self {
            outcome,
            reason,
            words: crate::mask::words(&words.into()),
            record: Value::Null,
        }
    }

    fn not_observed(reason: Reason, words: impl Into<String>) -> Self {
        Self::new(Outcome::NotObserved, reason, words)
    }

    /// Trouble of this machine.
    fn here(error: &io::Error) -> Self {
        Self::not_observed(Reason::InstallFailed, error.to_string())
    }

    fn package(error: &PackageError) -> Self {
        let reason = match error {
            PackageError::NotFound { .. } => Reason::ArtifactMissing,
            PackageError::NoSource { .. } => Reason::NoRunner,
            _ => Reason::RegistryUnreachable,
        };
        Self::not_observed(reason, error.to_string())
    }
}

impl Installer {
    /// Keeps what it fetches in `cache`, each file by its digest.
    pub fn new(sandbox: Sandbox, packages: Packages, cache: PathBuf) -> Self {
        Self {
            sandbox,
            packages,
            cache,
        }
    }

    /// Installs a package; as `lock` says where there is one.
    pub async fn install(
        &self,
        what: &Coordinate,
        settings: &Settings,
        lock: Option<&Lock>,
        progress: Progress<'_>,
    ) -> Result<Installed, NotInstalled> {
        progress.at(Stage::Resolve);
        let release = self
            .packages
            .release(what)
            .await
            .map_err(|error| NotInstalled::package(&error))?;
        let Coordinate::Package {
            kind,
            name,
            version: Some(version),
        } = &release.coordinate
        else {
            return Err(NotInstalled::not_observed(
                Reason::NoRunner,
                "nothing here runs this kind of package",
            ));
        };
        let file = release
            .file(None)
            .ok_or_else(|| NotInstalled::not_observed(Reason::ArtifactMissing, "the release has no file"))?;
        progress.at(Stage::Fetch);
        let artifact = self.artifact(file).await?;
        progress.at(Stage::Install);
        let work = Work::new(self, *kind, lock).map_err(|error| NotInstalled::here(&error))?;
        let done = match kind {
            Kind::Npm => npm::install(&work, name, version, settings, lock).await,
            Kind::Pypi => pypi::install(&work, name, version, settings, lock).await,
            _ => Err(NotInstalled::not_observed(
                Reason::NoRunner,
                "nothing here runs this kind of package",
            )),
        };
        let seen = json!({
            "artifact": artifact,
            "package": release.coordinate.to_string(),
            "fetched": work.proxy.as_ref().map(proxy::Proxy::record),
        });
        match done {
            Ok(done) => Ok(work.finish(done, seen)),
            Err(mut failure) => {
                merge(&mut failure.record, seen);
                Err(failure)
            }
        }
    }

    /// A bundle on this machine.
    pub fn bundle(&self, file: &Path, settings: &Settings) -> Result<Installed, NotInstalled> {
        bundle::install(self, file, settings)
    }

    /// The digests of the file that a client would install, by our own count.
    async fn artifact(&self, file: &File) -> Result<Value, NotInstalled> {
        let fetched = self
            .packages
            .fetch(file, None)
            .await
            .map_err(|error| NotInstalled::package(&error))?;
        if let Some(difference) = fetched.differences.first() {
            let words = format!("its {} is not what the registry says", difference.what);
            return Err(NotInstalled::not_observed(Reason::ArtifactMismatch, words));
        }
        Ok(json!({
            "name": file.name,
            "bytes": fetched.bytes,
            "sha256": hex::encode(fetched.sha256),
            "sha512": hex::encode(fetched.sha512),
        }))
    }
}

/// One install under way.
struct Work {
    sandbox: Sandbox,
    proxy: Option<proxy::Proxy>,
    folder: TempDir,
}

/// What came of it.
struct Done {
    cage: Cage,
    launch: Launch,
    lock: Option<Lock>,
    record: Value,
}

impl Work {
    fn new(installer: &Installer, kind: Kind, lock: Option<&Lock>) -> io::Result<Self> {
        let mut work = Self::without_network(installer)?;
        let packages = installer.packages.clone();
        work.proxy = Some(proxy::Proxy::start(
            packages,
            kind,
            &installer.cache,
            work.folder.path(),
            lock,
        )?);
        Ok(work)
    }

    fn without_network(installer: &Installer) -> io::Result<Self> {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = crate::sandbox::folders::make()?;
        for name in ["app", "scratch"] {
            let path = folder.path().join(name);
            std::fs::create_dir(&path)?;
            // The cage writes here as another user; nobody else may enter the folder above.
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777))?;
        }
        Ok(Self {
            sandbox: installer.sandbox.clone(),
            proxy: None,
            folder,
        })
    }

    fn app(&self) -> PathBuf {
        self.folder.path().join("app")
    }

    fn finish(self, done: Done, seen: Value) -> Installed {
        let mut record = done.record;
        merge(&mut record, seen);
        // Only what is run is kept.
        let _ = std::fs::remove_dir_all(self.folder.path().join("scratch"));
        Installed {
            cage: done.cage,
            launch: done.launch,
            lock: done.lock,
            record,
            folder: self.folder,
        }
    }
}

/// Adds the keys of one object to another.
fn merge(into: &mut Value, more: Value) {
    if let Value::Object(more) = more {
        if !into.is_object() {
            *into = json!({});
        }
        if let Some(into) = into.as_object_mut() {
            into.extend(more);
        }
    }
}

/// The variables and arguments a server gets, given what it declares.
fn launch(
    program: impl Into<OsString>,
    first: Vec<OsString>,
    settings: &Settings,
    path: &[PathBuf],
) -> Launch {
    let mut env: BTreeMap<OsString, OsString> = BTreeMap::new();
    for (name, value) in &settings.env {
        env.insert(name.into(), value.into());
    }
    if !path.is_empty() {
        env.insert("PATH".into(), search_path(path));
    }
    let mut args = first;
    args.extend(settings.package_args.iter().map(OsString::from));
    Launch {
        program: program.into(),
        args,
        env: env.into_iter().collect(),
        cwd: None,
    }
}

/// `PATH` with these folders before those of the system.
fn search_path(folders: &[PathBuf]) -> OsString {
    let system = std::env::split_paths(crate::sandbox::PATH).collect::<Vec<_>>();
    std::env::join_paths(folders.iter().chain(&system)).unwrap_or_else(|_| crate::sandbox::PATH.into())
}

//! Where each kind of package lives: the settings first, then the package client's own configuration.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use toolmark_domain::limits::PACKAGE_FIRST_BYTE_SECS;
use toolmark_outbound::HeaderValue;
use url::Url;

use crate::clients;
use crate::coordinate::Kind;
use crate::credentials::{Credential, Credentials};
use crate::error::PackageError;

/// Reads a variable of the environment, given from outside so that tests have none.
pub type Environment = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// What the operator sets. What is unset is asked of the package clients.
#[derive(Clone)]
pub struct Config {
    pub npm: Option<Url>,
    /// The index with the simple interface, such as the one `pip` is given.
    pub pypi: Option<Url>,
    /// The sparse index.
    pub cargo: Option<Url>,
    /// The service index; `NuGet` is never asked without it.
    pub nuget: Option<Url>,
    /// The API of the forge that serves releases and attestations.
    pub github_api: Option<Url>,
    /// A token for that API.
    pub github_token: Option<String>,
    /// Image registries that are reached at another address than their name.
    pub oci: Vec<(String, Url)>,
    /// Names and secrets of image registries and others, by address.
    pub credentials: Credentials,
    /// Longest wait for the head of an answer, and between two pieces of a file.
    pub first_byte: Duration,
    /// Whether the package clients may be asked; tests say no.
    pub ask_clients: bool,
    /// The home folder, and the variables the clients' files may name.
    pub home: Option<PathBuf>,
    pub environment: Environment,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            npm: None,
            pypi: None,
            cargo: None,
            nuget: None,
            github_api: None,
            github_token: None,
            oci: Vec::new(),
            credentials: Credentials::default(),
            first_byte: Duration::from_secs(PACKAGE_FIRST_BYTE_SECS),
            ask_clients: false,
            home: None,
            environment: Arc::new(|_| None),
        }
    }
}

/// Where one kind of package lives.
#[derive(Clone, Debug)]
pub struct Source {
    base: Url,
    /// Scopes of npm with a registry of their own.
    scopes: Vec<(String, Url)>,
    credentials: Credentials,
}

impl Source {
    /// The registry's address, with a slash at its end, without name and password.
    pub fn base(&self) -> &Url {
        &self.base
    }

    /// The registry of one package; npm may have another one for a scope.
    pub fn base_of(&self, package: &str) -> &Url {
        let scope = package.split_once('/').map(|(scope, _)| scope);
        let own = self.scopes.iter().find(|(name, _)| Some(name.as_str()) == scope);
        own.map_or(&self.base, |(_, url)| url)
    }

    /// The header to send to `url`, where the configuration holds a secret for it.
    pub fn authorization(&self, url: &Url) -> Option<HeaderValue> {
        self.credentials.header(url)
    }

    /// Whether `url` is at one of the registries that are configured here.
    pub fn is_own(&self, url: &Url) -> bool {
        let bases = self.scopes.iter().map(|(_, url)| url).chain([&self.base]);
        bases.into_iter().any(|base| base.origin() == url.origin())
    }

    pub(crate) fn new(base: Url, scopes: Vec<(String, Url)>, mut credentials: Credentials) -> Self {
        let base = folder(credentials.take_from(base));
        let scopes = scopes
            .into_iter()
            .map(|(scope, url)| (scope, folder(credentials.take_from(url))))
            .collect();
        Self {
            base,
            scopes,
            credentials,
        }
    }
}

/// The address with a slash at its end, so that names can be joined to it.
fn folder(mut url: Url) -> Url {
    if !url.path().ends_with('/') {
        let path = format!("{}/", url.path());
        url.set_path(&path);
    }
    url
}

/// Finds the source of one kind.
pub(crate) async fn find(config: &Config, kind: Kind) -> Result<Source, PackageError> {
    let set = match kind {
        Kind::Npm => &config.npm,
        Kind::Pypi => &config.pypi,
        Kind::Cargo => &config.cargo,
        Kind::Nuget => &config.nuget,
        Kind::GitHub | Kind::Mcpb | Kind::Url => &config.github_api,
        Kind::Oci => &None,
    };
    let mut credentials = config.credentials.clone();
    if let (Kind::GitHub | Kind::Mcpb | Kind::Url, Some(api), Some(token)) = (kind, set, &config.github_token)
    {
        credentials.add(api.clone(), Credential::Bearer(token.clone()));
    }
    let found = match kind {
        Kind::Npm if config.ask_clients => clients::npm(config).await,
        Kind::Pypi if config.ask_clients => clients::pip().await,
        Kind::Cargo if config.ask_clients => clients::cargo(config),
        _ => Ok(None),
    };
    // What is set needs no client; its secrets may still stand in the client's files.
    let found = match (set, found) {
        (Some(_), Err(_)) => None,
        (_, found) => found?,
    };
    let Some(base) = set
        .clone()
        .or_else(|| found.as_ref().map(|found| found.base.clone()))
    else {
        return Err(PackageError::NoSource { kind });
    };
    let (mut scopes, mut own) = (Vec::new(), credentials);
    if let Some(found) = found {
        scopes = found.scopes;
        for (url, credential) in found.credentials {
            own.add(url, credential);
        }
    }
    Ok(Source::new(base, scopes, own))
}

//! From the settings to the door to registries of origin, and to the check of provenance.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use toolmark_domain::limits::{KEY_LIST_BYTES, TRUSTED_ROOT_BYTES};
use toolmark_outbound::Url;
use toolmark_registry::Verifier;
use toolmark_registry::packages::{Config, Packages};
use toolmark_registry::provenance::{Checker, KeyList, Policy, TrustedRoots};

use crate::commands::read_bounded;
use crate::outcome::Failure;
use crate::settings::Settings;

/// The door to registries of origin.
pub(crate) fn packages(settings: &Settings) -> Result<Packages, Failure> {
    let given = &settings.packages;
    let mut oci = Vec::new();
    for entry in &given.oci {
        let pair = entry.split_once('=');
        let pair = pair.and_then(|(name, url)| Some((name.trim().to_owned(), Url::parse(url.trim()).ok()?)));
        let bad = || Failure::unreadable(anyhow!("`packages.oci`: `{entry}` is not `NAME=URL`"));
        oci.push(pair.ok_or_else(bad)?);
    }
    let config = Config {
        npm: given.npm.clone(),
        pypi: given.pypi.clone(),
        cargo: given.cargo.clone(),
        nuget: given.nuget.clone(),
        github_api: Some(given.github_api.clone()),
        github_token: given.github_token.clone(),
        oci,
        ask_clients: given.ask_clients,
        home: std::env::var_os("HOME").map(PathBuf::from),
        environment: Arc::new(|name| std::env::var(name).ok()),
        ..Config::default()
    };
    Ok(Packages::new(super::client()?, config))
}

/// The check with built-in roots and keys, and what the settings add.
pub(crate) fn checker(settings: &Settings) -> Result<Checker, Failure> {
    let given = &settings.provenance;
    let mut roots = TrustedRoots::pinned()
        .context("cannot use the built-in trusted roots")
        .map_err(Failure::unknown)?;
    for path in &given.trusted_roots {
        let bytes = read_bounded(Path::new(path), TRUSTED_ROOT_BYTES)?;
        roots
            .add(path, &bytes)
            .with_context(|| format!("`provenance.trusted_roots`: cannot use `{path}`"))
            .map_err(Failure::unreadable)?;
    }
    let keys = match &given.npm_keys {
        Some(path) => KeyList::read(&read_bounded(Path::new(path), KEY_LIST_BYTES)?)
            .with_context(|| format!("`provenance.npm_keys`: cannot use `{path}`")),
        None => KeyList::pinned().context("cannot use the built-in keys"),
    };
    let policy = Policy {
        builder_owners: given.builder_owners.clone(),
        npm_canonical: settings.packages.npm_canonical.clone(),
        ..Policy::default()
    };
    Ok(Checker::new(roots, keys.map_err(Failure::unreadable)?, policy))
}

/// What the background jobs check with. Statements name the public address, or where it is unset the listen address.
pub(crate) fn verifier(settings: &Settings) -> Result<Verifier, Failure> {
    let server = &settings.server;
    let name = match &server.public_url {
        Some(url) => url.to_string(),
        None => format!("http://{}/", server.listen),
    };
    Ok(Verifier {
        packages: packages(settings)?,
        checker: Arc::new(checker(settings)?),
        name,
    })
}

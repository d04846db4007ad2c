//! `toolmark verify-bundle`: the command line the Sigstore project's conformance suite speaks to a client. The suite
//! asks for the verifier's own policy; what a registry thinks of an identity has no part in it.

use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use clap::{ArgGroup, Args};
use toolmark_domain::limits::{BUNDLE_BYTES, KEY_LIST_BYTES, TRUSTED_ROOT_BYTES};
use toolmark_registry::provenance::suite::{self, SuiteArtifact, SuiteError, SuiteRoot, SuiteSigner};

use super::read_bounded;
use crate::outcome::{Failure, Outcome};

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("signer").required(true).args(["certificate_identity", "key"]))]
#[command(after_help = "\
Examples:
  toolmark verify-bundle --bundle a.txt.sigstore.json \\
    --certificate-identity https://github.com/acme/weather/.github/workflows/release.yml@refs/tags/v1.0.0 \\
    --certificate-oidc-issuer https://token.actions.githubusercontent.com a.txt
  toolmark verify-bundle --bundle a.txt.sigstore.json --key key.pub sha256:HEX

Exit status: 0 verified, 1 not verified, 2 bad usage or unreadable input")]
pub(crate) struct VerifyBundleArgs {
    /// Use the staging instance's root
    #[arg(long, conflicts_with = "trusted_root")]
    staging: bool,
    /// The signature bundle
    #[arg(long, value_name = "FILE")]
    bundle: PathBuf,
    /// The name the certificate must be for, exactly
    #[arg(long, value_name = "ID", requires = "certificate_oidc_issuer")]
    certificate_identity: Option<String>,
    /// The issuer that must have vouched for it, exactly
    #[arg(long, value_name = "URL", requires = "certificate_identity")]
    certificate_oidc_issuer: Option<String>,
    /// The public key, in PEM, that must have signed
    #[arg(long, value_name = "PEM")]
    key: Option<PathBuf>,
    /// Trusted root to use in place of the built-in one
    #[arg(long, value_name = "FILE")]
    trusted_root: Option<PathBuf>,
    /// The file that was signed, or `sha256:` and its digest
    #[arg(value_name = "FILE_OR_DIGEST")]
    artifact: String,
}

pub(crate) fn run(args: &VerifyBundleArgs) -> Result<Outcome, Failure> {
    let bundle = read_bounded(&args.bundle, BUNDLE_BYTES)?;
    let root = args.trusted_root.as_ref();
    let root = root
        .map(|path| read_bounded(path, TRUSTED_ROOT_BYTES))
        .transpose()?;
    let root = match (&root, args.staging) {
        (Some(json), _) => SuiteRoot::Given(json),
        (None, true) => SuiteRoot::Staging,
        (None, false) => SuiteRoot::Production,
    };
    let key = args.key.as_ref().map(|path| key(path)).transpose()?;
    let signer = match (&key, &args.certificate_identity, &args.certificate_oidc_issuer) {
        (Some(pem), _, _) => SuiteSigner::Key(pem),
        (None, Some(identity), Some(issuer)) => SuiteSigner::Identity { identity, issuer },
        _ => return Err(Failure::unreadable(anyhow!("no identity and no key given"))),
    };
    let content;
    let artifact = if let Some(sha256) = digest(&args.artifact) {
        SuiteArtifact::Sha256(sha256)
    } else {
        content = std::fs::read(&args.artifact)
            .with_context(|| format!("cannot read `{}`", args.artifact))
            .map_err(Failure::unreadable)?;
        SuiteArtifact::Bytes(&content)
    };
    match suite::verify_bundle(&bundle, root, signer, artifact) {
        Ok(()) => Ok(Outcome::Yes),
        Err(SuiteError::Refused(reason)) => {
            eprintln!("not verified: {}", crate::output::plain(&reason));
            Ok(Outcome::No)
        }
        Err(error) => Err(Failure::unreadable(error)),
    }
}

fn key(path: &std::path::Path) -> Result<String, Failure> {
    let bytes = read_bounded(path, KEY_LIST_BYTES)?;
    String::from_utf8(bytes)
        .with_context(|| format!("`{}` is not text", path.display()))
        .map_err(Failure::unreadable)
}

/// A digest, unless there is a file of that name.
fn digest(text: &str) -> Option<[u8; 32]> {
    let hex = text.strip_prefix("sha256:")?;
    if std::path::Path::new(text).exists() {
        return None;
    }
    let mut bytes = [0; 32];
    hex::decode_to_slice(hex, &mut bytes).ok()?;
    Some(bytes)
}

//! What the Sigstore project's conformance suite asks of a client: one bundle, one identity or key, yes or no. The
//! verifier's own policy and our strict reader; the registry's policy has no part in it.

use sigstore_trust_root::{SigstoreInstance, TrustedRoot};
use sigstore_types::{Artifact, ArtifactDigest, DerPublicKey, Sha256Hash};
use sigstore_verify::{Policy, PublicKeyVerificationPolicy, VerificationPolicy, Verifier};

use crate::bundle;
use crate::crypto;
use crate::document::strict_json;
use crate::roots::TrustedRoots;

/// Which root to check with.
#[derive(Clone, Copy, Debug)]
pub enum SuiteRoot<'a> {
    Production,
    Staging,
    Given(&'a [u8]),
}

/// Who must have signed.
#[derive(Clone, Copy, Debug)]
pub enum SuiteSigner<'a> {
    Identity {
        identity: &'a str,
        issuer: &'a str,
    },
    /// A public key in PEM.
    Key(&'a str),
}

/// What must have been signed.
#[derive(Clone, Copy, Debug)]
pub enum SuiteArtifact<'a> {
    Bytes(&'a [u8]),
    Sha256([u8; 32]),
}

/// Why the answer is no, with whether the question itself was at fault.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    #[error("the trusted root cannot be used: {0}")]
    Root(String),
    #[error("the key cannot be used: {0}")]
    Key(String),
    #[error("{0}")]
    Refused(String),
}

/// Answers the suite's question.
pub fn verify_bundle(
    bundle_json: &[u8],
    root: SuiteRoot<'_>,
    signer: SuiteSigner<'_>,
    artifact: SuiteArtifact<'_>,
) -> Result<(), SuiteError> {
    let refused = |fault: crate::report::Fault| SuiteError::Refused(fault.note);
    let value = strict_json(bundle_json, toolmark_domain::limits::BUNDLE_BYTES).map_err(refused)?;
    let strict = bundle::read(value).map_err(refused)?;
    let root_error = |error: &dyn std::fmt::Display| SuiteError::Root(error.to_string());
    let embedded = |instance| TrustedRoot::from_embedded(instance).map_err(|error| root_error(&error));
    let json: &[u8] = match root {
        SuiteRoot::Production => SigstoreInstance::PublicGood
            .embedded_trusted_root_json()
            .as_bytes(),
        SuiteRoot::Staging => SigstoreInstance::Staging.embedded_trusted_root_json().as_bytes(),
        SuiteRoot::Given(json) => json,
    };
    let roots = TrustedRoots::only("given", json).map_err(|error| root_error(&error))?;
    let trusted = match root {
        SuiteRoot::Production => embedded(SigstoreInstance::PublicGood)?,
        SuiteRoot::Staging => embedded(SigstoreInstance::Staging)?,
        SuiteRoot::Given(json) => {
            let text = std::str::from_utf8(json).map_err(|error| root_error(&error))?;
            TrustedRoot::from_json(text).map_err(|error| root_error(&error))?
        }
    };
    crypto::logs(&strict.bundle, roots.first()).map_err(|refusal| refused(refusal.fault))?;
    let verifier = Verifier::new(&trusted).map_err(|error| root_error(&error))?;
    let policy: Box<dyn Policy> = match signer {
        SuiteSigner::Identity { identity, issuer } => Box::new(VerificationPolicy::new(identity, issuer)),
        SuiteSigner::Key(pem) => {
            let key = DerPublicKey::from_pem(pem).map_err(|error| SuiteError::Key(error.to_string()))?;
            Box::new(PublicKeyVerificationPolicy::new(key))
        }
    };
    let artifact: Artifact<'_> = match artifact {
        SuiteArtifact::Bytes(bytes) => bytes.into(),
        SuiteArtifact::Sha256(digest) => ArtifactDigest::from(Sha256Hash::new(digest)).into(),
    };
    let result = verifier.verify(artifact, &strict.bundle, policy.as_ref());
    result
        .map(|_| ())
        .map_err(|error| SuiteError::Refused(error.to_string()))
}

//! The verifier in the middle: asks the Sigstore project's crates, and says in our words what they refused.

use sigstore_crypto::{KeyAlgorithm, verify_signature};
use sigstore_types::{ArtifactDigest, Bundle, DerPublicKey, DsseEnvelope, HashAlgorithm, SignatureContent};
use sigstore_verify::{
    CertificateError, Error, Policy, PublicKeyVerificationPolicy, TransparencyLogError, VerificationPolicy,
    VerificationResult,
};
use toolmark_domain::provenance::Reason;
use toolmark_domain::timestamp::Timestamp;

use crate::bundle::Strict;
use crate::certificate::Signing;
use crate::report::{Fault, StepName};
use crate::roots::{Instance, Profile, Root};
use crate::statement::Subject;

/// A refusal and the step it belongs to.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) step: StepName,
    pub(crate) fault: Fault,
}

fn refusal(step: StepName, reason: Reason, note: impl Into<String>) -> Refusal {
    Refusal {
        step,
        fault: Fault::new(reason, note),
    }
}

/// The digest of a subject, to check the cryptography of a statement by itself; whether the subject is the artifact is
/// a question of its own, asked later.
pub(crate) fn digest_of(subject: &Subject) -> Option<ArtifactDigest> {
    let sha512 = subject
        .sha512
        .map(|bytes| (HashAlgorithm::Sha2512, bytes.to_vec()));
    let sha256 = subject
        .sha256
        .map(|bytes| (HashAlgorithm::Sha2256, bytes.to_vec()));
    let (algorithm, bytes) = sha512.or(sha256)?;
    ArtifactDigest::new(algorithm, bytes).ok()
}

/// Something could say when it was signed: a timestamp, or a log entry with the log's promise of a time.
pub(crate) fn time_source(bundle: &Bundle) -> Result<(), Refusal> {
    let material = &bundle.verification_material;
    let promised = material
        .tlog_entries
        .iter()
        .any(|entry| entry.inclusion_promise.is_some() && entry.integrated_time.is_some());
    let stamped = !material.timestamp_verification_data.rfc3161_timestamps.is_empty();
    if promised || stamped || material.tlog_entries.is_empty() {
        return Ok(());
    }
    Err(refusal(
        StepName::Time,
        Reason::NoTrustedTime,
        "there is neither a timestamp nor a log's promise of a time",
    ))
}

/// Every log entry is of a log of this root, and its checkpoint is of the same log. The verifier takes a checkpoint of
/// any trusted log.
pub(crate) fn logs(bundle: &Bundle, root: &Root) -> Result<(), Refusal> {
    for entry in &bundle.verification_material.tlog_entries {
        let id = entry.log_id.key_id.as_bytes();
        if !root.logs.iter().any(|log| log == id) {
            return Err(refusal(
                StepName::Log,
                Reason::LogUnknown,
                format!("the log with id {} is not in the trusted root", hex::encode(id)),
            ));
        }
        let proof = entry.inclusion_proof.as_ref();
        let Some(checkpoint) = proof.and_then(|proof| proof.checkpoint.checkpoint()) else {
            continue;
        };
        let hints = || {
            checkpoint
                .signatures()
                .iter()
                .map(|signature| signature.key_id.as_bytes().as_slice())
        };
        let others = root.logs.iter().filter(|log| log.as_slice() != id);
        let foreign = others
            .filter_map(|log| log.get(..4))
            .any(|hint| hints().any(|h| h == hint));
        if foreign || !id.get(..4).is_some_and(|hint| hints().any(|h| h == hint)) {
            return Err(refusal(
                StepName::Log,
                Reason::LogInvalid,
                "the checkpoint is not signed by the log of the entry",
            ));
        }
    }
    Ok(())
}

/// Verifies a bundle signed by a certificate.
pub(crate) fn by_certificate(
    instance: &Instance,
    strict: &Strict,
    signing: &Signing,
    artifact: ArtifactDigest,
) -> Result<VerificationResult, Refusal> {
    let policy = match instance.profile {
        Profile::Public => VerificationPolicy::any_identity(),
        Profile::GitHub => VerificationPolicy::any_identity().skip_sct().skip_tlog_unsafe(),
    };
    let result =
        run(instance, strict, artifact, &policy).map_err(|error| refused(&error, strict, Some(signing)))?;
    let public = instance.profile == Profile::Public;
    let complete =
        result.certificate_verified() && (!public || (result.sct_verified() && result.tlog_verified()));
    if !complete {
        return Err(refusal(
            StepName::Certificate,
            Reason::ChainInvalid,
            "the verifier left out a check",
        ));
    }
    Ok(result)
}

/// Verifies a bundle signed by a key that was given.
pub(crate) fn by_key(
    instance: &Instance,
    strict: &Strict,
    key: &DerPublicKey,
    artifact: ArtifactDigest,
) -> Result<VerificationResult, Refusal> {
    let policy = PublicKeyVerificationPolicy::new(key.clone());
    let result = run(instance, strict, artifact, &policy).map_err(|error| refused(&error, strict, None))?;
    if !result.tlog_verified() {
        return Err(refusal(
            StepName::Log,
            Reason::LogInvalid,
            "the verifier left out the log",
        ));
    }
    Ok(result)
}

fn run(
    instance: &Instance,
    strict: &Strict,
    artifact: ArtifactDigest,
    policy: &dyn Policy,
) -> Result<VerificationResult, Error> {
    instance.verifier.verify(artifact, &strict.bundle, policy)
}

/// Whether an envelope's signature fits, by itself; for statements that the verifier does not read.
pub(crate) fn envelope_signature(envelope: &DsseEnvelope, key: &DerPublicKey) -> bool {
    let Ok(algorithm) = KeyAlgorithm::from_spki(key) else {
        return false;
    };
    let scheme = algorithm.default_signing_scheme();
    verify_signature(key, &envelope.pae(), &envelope.signature.sig, scheme).is_ok()
}

/// The digest a message signature names for itself.
pub(crate) fn message_digest(bundle: &Bundle) -> Option<ArtifactDigest> {
    let SignatureContent::MessageSignature(signature) = &bundle.content else {
        return None;
    };
    let digest = signature.message_digest.as_ref()?;
    ArtifactDigest::new(digest.algorithm, digest.digest.as_bytes().to_vec()).ok()
}

/// Trusted times that are later than `at`.
pub(crate) fn in_future(result: &VerificationResult, at: Timestamp) -> Option<Refusal> {
    let late = times(result).into_iter().find(|time| *time > at)?;
    Some(refusal(
        StepName::Time,
        Reason::TimeInFuture,
        format!("signed at {late}, which is later than {at}"),
    ))
}

/// The trusted times of signing.
pub(crate) fn times(result: &VerificationResult) -> Vec<Timestamp> {
    let times = result.verified_timestamps().iter();
    times
        .map(|time| Timestamp::from_micros(time.as_microsecond()))
        .collect()
}

/// The verifier's refusal in our words.
fn refused(error: &Error, strict: &Strict, signing: Option<&Signing>) -> Refusal {
    let note = error.to_string();
    let (step, reason) = match error {
        Error::SignatureInvalid(_) => (StepName::Signature, Reason::SignatureInvalid),
        Error::ArtifactMismatch(_) => (StepName::Subject, Reason::DigestMismatch),
        Error::UnsupportedArtifact(_) => (StepName::Subject, Reason::NoSupportedDigest),
        Error::Certificate(error) => certificate_refused(error, strict, signing),
        Error::TransparencyLog(error) => log_refused(error, strict, signing),
        Error::Timestamp(_) => (StepName::Time, Reason::NoTrustedTime),
        Error::UnsupportedBundle(_) => (StepName::Read, Reason::UnsupportedBundle),
        // Roots are read before anything is verified, so this one is about a root without a certificate log.
        Error::InvalidTrustRoot(_) => (StepName::Certificate, Reason::SctInvalid),
        Error::TrustRoot(_) | Error::TrustedCertificate(_) => {
            (StepName::Certificate, Reason::TrustedRootUnusable)
        }
        Error::Bundle(
            sigstore_bundle::Error::LogIndexOutOfRange { .. }
            | sigstore_bundle::Error::CheckpointRootMismatch,
        ) => (StepName::Log, Reason::LogInvalid),
        // Types, encodings, the form of the bundle, and what a later version of the verifier may add.
        _ => (StepName::Read, Reason::MalformedBundle),
    };
    // The verifier's words hold its own clock; the same question must have the same answer.
    let note = match reason {
        Reason::TimeInFuture => "the log's time is in the future".to_owned(),
        _ => note,
    };
    refusal(step, reason, note)
}

fn certificate_refused(
    error: &CertificateError,
    strict: &Strict,
    signing: Option<&Signing>,
) -> (StepName, Reason) {
    match error {
        CertificateError::Sct(_) => (StepName::Certificate, Reason::SctInvalid),
        CertificateError::NotYetValid { .. } | CertificateError::Expired { .. } => {
            (StepName::Time, Reason::TimeOutsideCertificate)
        }
        CertificateError::ChainInvalid(_) if outside(strict, signing) => {
            (StepName::Time, Reason::TimeOutsideCertificate)
        }
        _ => (StepName::Certificate, Reason::ChainInvalid),
    }
}

fn log_refused(
    error: &TransparencyLogError,
    strict: &Strict,
    signing: Option<&Signing>,
) -> (StepName, Reason) {
    match error {
        TransparencyLogError::UnknownLog { .. } => (StepName::Log, Reason::LogUnknown),
        TransparencyLogError::EntryMismatch(_) => (StepName::Log, Reason::LogEntryMismatch),
        TransparencyLogError::IntegratedTime(_) if outside(strict, signing) => {
            (StepName::Time, Reason::TimeOutsideCertificate)
        }
        TransparencyLogError::IntegratedTime(_) => (StepName::Time, Reason::TimeInFuture),
        _ => (StepName::Log, Reason::LogInvalid),
    }
}

/// Whether some time of the log lies outside the certificate's validity.
fn outside(strict: &Strict, signing: Option<&Signing>) -> bool {
    let Some(signing) = signing else {
        return false;
    };
    let entries = &strict.bundle.verification_material.tlog_entries;
    let mut times = entries.iter().filter_map(|entry| entry.integrated_time);
    times.any(|time| time < signing.info.not_before || time > signing.info.not_after)
}

//! Signatures without a statement: a file's digest, or the payload of an old cosign signature that names an image.

use serde_json::Value;
use sigstore_types::{ArtifactDigest, HashAlgorithm};
use toolmark_domain::limits::BUNDLE_BYTES;
use toolmark_domain::provenance::{Level, Reason, Warning};

use crate::attestation::{Context, bind, judge, refuse};
use crate::certificate::Signing;
use crate::checker::{Declared, Ecosystem};
use crate::crypto::Refusal;
use crate::document::{Form, strict_json};
use crate::outcome::Outcome;
use crate::report::StepName;
use crate::statement::{Statement, Subject};

/// A signature without a statement.
pub(crate) fn check(
    digest: &ArtifactDigest,
    form: &Form,
    signing: &Signing,
    context: &Context<'_>,
    outcome: &mut Outcome,
) -> Result<(), Refusal> {
    outcome
        .trail
        .skip(StepName::Statement, "signed without a statement");
    let about = match form {
        Form::Cosign {
            payload: Some(payload),
        } => cosign_image(payload)?,
        _ => message_subject(digest),
    };
    let statement = Statement {
        predicate_type: String::new(),
        predicate: Value::Null,
        subjects: vec![about],
    };
    // A bare signature holds no name, so only the digest is compared.
    let unnamed = Declared {
        ecosystem: Some(Ecosystem::Oci),
        ..Declared::default()
    };
    bind(&statement, context.artifact, &unnamed, outcome);
    judge(signing, context, outcome);
    outcome.level = Some(Level::Signature);
    outcome.warn(Warning::SignatureOnly);
    Ok(())
}

fn message_subject(digest: &ArtifactDigest) -> Subject {
    let bytes = digest.as_bytes();
    Subject {
        name: None,
        sha256: bytes
            .try_into()
            .ok()
            .filter(|_| digest.algorithm() == HashAlgorithm::Sha2256),
        sha512: bytes
            .try_into()
            .ok()
            .filter(|_| digest.algorithm() == HashAlgorithm::Sha2512),
    }
}

/// The image an old cosign payload names; the tag it hangs on proves nothing.
fn cosign_image(payload: &[u8]) -> Result<Subject, Refusal> {
    let malformed = |note: &str| refuse(StepName::Statement, Reason::MalformedStatement, note);
    let payload = strict_json(payload, BUNDLE_BYTES).map_err(|fault| malformed(&fault.note))?;
    let text = |pointer: &str| payload.pointer(pointer).and_then(Value::as_str);
    if text("/critical/type") != Some("cosign container image signature") {
        return Err(malformed("the signed payload is not about an image"));
    }
    let digest = text("/critical/image/docker-manifest-digest").and_then(|text| text.strip_prefix("sha256:"));
    let mut sha256 = [0; 32];
    digest
        .and_then(|hex| hex::decode_to_slice(hex, &mut sha256).ok())
        .ok_or_else(|| malformed("the signed payload names no image by sha256"))?;
    Ok(Subject {
        name: text("/critical/identity/docker-reference").map(str::to_owned),
        sha256: Some(sha256),
        sha512: None,
    })
}

//! What this registry signs: a verification summary for each final verdict (an in-toto statement in a DSSE envelope),
//! by keys with a time of validity, whose public halves anybody can have.

use aws_lc_rs::encoding::{AsDer as _, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _, UnparsedPublicKey,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolmark_domain::digest::Digest;
use toolmark_domain::provenance::Verdict;
use toolmark_domain::target::Target;
use toolmark_domain::timestamp::Timestamp;
use toolmark_provenance::{PlaceAnswer, Record, Report};

use crate::verify::{Verifier, VerifyError};
use crate::{Registry, StoreError};

const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
const STATEMENT: &str = "https://in-toto.io/Statement/v1";
const PREDICATE: &str = "https://slsa.dev/verification_summary/v1";
/// Where the keys are kept.
const KEYS: &str = "statement-keys";
/// The schema of [`KeyDocument`].
const KEYS_SCHEMA: &str = "toolmark.keys/1";

/// How far a key's time reaches back before it was made, in seconds: a check may take that long.
const OVERLAP_SECS: i64 = 3600;

/// A key as anybody may see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishedKey {
    /// SHA-256 of the public key.
    pub id: Digest,
    pub algorithm: String,
    /// Base64 of the DER of a `SubjectPublicKeyInfo`.
    pub public_key: String,
    pub not_before: Timestamp,
    /// Absent while it signs.
    pub not_after: Option<Timestamp>,
}

/// The list at the well-known address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyDocument {
    pub schema: String,
    pub keys: Vec<PublishedKey>,
}

/// A key as it is kept; the private half only while it signs.
#[derive(Clone, Serialize, Deserialize)]
struct StoredKey {
    #[serde(flatten)]
    public: PublishedKey,
    private: Option<String>,
}

/// What a genuine summary says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    pub schema: &'static str,
    pub result: String,
    pub levels: Vec<String>,
    pub verifier: String,
    pub resource: String,
    pub verified_at: Timestamp,
    /// Of the artifact.
    pub sha256: Option<String>,
    pub key: Digest,
}

/// What came of checking a summary.
pub type SummaryCheck = Result<Summary, SummaryError>;

/// Why a summary is not believed.
#[derive(Debug, thiserror::Error)]
pub enum SummaryError {
    #[error("it is no signed summary: {0}")]
    Malformed(&'static str),
    #[error("it is signed by the key {0}, which is not in the list")]
    UnknownKey(String),
    #[error("the signature does not fit")]
    Signature,
    #[error("its key was not valid at {0}")]
    OutsideValidity(Timestamp),
}

/// What is signed: DSSE's own encoding of type and body.
fn encoded(payload: &[u8]) -> Vec<u8> {
    let mut out = format!("DSSEv1 {} {PAYLOAD_TYPE} {} ", PAYLOAD_TYPE.len(), payload.len()).into_bytes();
    out.extend_from_slice(payload);
    out
}

fn fresh_key(at: Timestamp) -> Option<StoredKey> {
    let document =
        EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &SystemRandom::new()).ok()?;
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, document.as_ref()).ok()?;
    let der: PublicKeyX509Der<'_> = pair.public_key().as_der().ok()?;
    Some(StoredKey {
        public: PublishedKey {
            id: Digest::of(der.as_ref()),
            algorithm: "ecdsa-p256-sha256".to_owned(),
            public_key: STANDARD.encode(der.as_ref()),
            // A check that began just before the key was made is signed with it.
            not_before: at.plus_secs(-OVERLAP_SECS),
            not_after: None,
        },
        private: Some(STANDARD.encode(document.as_ref())),
    })
}

impl StoredKey {
    fn sign(&self, message: &[u8]) -> Option<Vec<u8>> {
        let private = STANDARD.decode(self.private.as_ref()?).ok()?;
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &private).ok()?;
        let signature = pair.sign(&SystemRandom::new(), message).ok()?;
        Some(signature.as_ref().to_vec())
    }
}

impl Registry {
    async fn statement_keys(&self) -> Result<Vec<StoredKey>, StoreError> {
        let now = self.now();
        let fresh: Vec<StoredKey> = fresh_key(now).into_iter().collect();
        let fresh = serde_json::to_vec(&fresh).unwrap_or_default();
        let kept = self.store().instance_value(KEYS, &fresh, now).await?;
        Ok(serde_json::from_slice(&kept).unwrap_or_default())
    }

    /// The public halves of every key that ever signed.
    pub async fn published_keys(&self) -> Result<KeyDocument, StoreError> {
        let keys = self.statement_keys().await?;
        Ok(KeyDocument {
            schema: KEYS_SCHEMA.to_owned(),
            keys: keys.into_iter().map(|key| key.public).collect(),
        })
    }

    /// Ends the key that signs and begins another one. The old one stays in the list, and its private half is forgotten.
    pub async fn rotate_statement_key(&self) -> Result<Digest, VerifyError> {
        let now = self.now();
        let mut keys = self.statement_keys().await?;
        for key in &mut keys {
            key.private = None;
            key.public.not_after.get_or_insert(now);
        }
        let fresh = fresh_key(now).ok_or(VerifyError::Sign)?;
        let id = fresh.public.id;
        keys.push(fresh);
        let kept = serde_json::to_vec(&keys)?;
        self.store().set_instance_value(KEYS, &kept, now).await?;
        Ok(id)
    }

    /// Signs the summary of a final verdict and keeps it; what could not be told is not signed.
    pub(crate) async fn summary_of(
        &self,
        verifier: &Verifier,
        target: &Target,
        report: &Report,
        record: &Record,
    ) -> Result<Option<Digest>, VerifyError> {
        if report.verdict == Verdict::Unverifiable || record.artifact.is_none() {
            return Ok(None);
        }
        let payload = serde_json::to_vec(&statement(verifier, target, report, record))?;
        let keys = self.statement_keys().await?;
        let key = keys
            .iter()
            .find(|key| key.private.is_some())
            .ok_or(VerifyError::Sign)?;
        let signature = key.sign(&encoded(&payload)).ok_or(VerifyError::Sign)?;
        let envelope = json!({
            "payloadType": PAYLOAD_TYPE,
            "payload": STANDARD.encode(&payload),
            "signatures": [{"keyid": key.public.id, "sig": STANDARD.encode(signature)}],
        });
        Ok(Some(self.keep(serde_json::to_vec(&envelope)?).await?))
    }
}

/// The statement about one artifact.
fn statement(verifier: &Verifier, target: &Target, report: &Report, record: &Record) -> Value {
    let artifact = record.artifact.as_ref();
    let mut digests = json!({"sha256": artifact.map(|artifact| artifact.sha256)});
    if let Some(sha512) = artifact
        .and_then(|artifact| artifact.sha512.as_deref())
        .filter(|_| target.kind != "oci")
    {
        digests["sha512"] = json!(sha512);
    }
    let found = record
        .places
        .iter()
        .filter(|place| place.answer == PlaceAnswer::Found);
    let inputs: Vec<Value> = found
        .filter_map(|place| Some(json!({"uri": place.url, "digest": {"sha256": place.sha256?}})))
        .collect();
    let passed = report.verdict == Verdict::Verified;
    let level = report.claims.as_ref().and_then(|claims| claims.slsa_level);
    let level = level.map_or("SLSA_BUILD_LEVEL_UNEVALUATED".to_owned(), |level| {
        format!("SLSA_BUILD_LEVEL_{level}")
    });
    let levels: Vec<String> = if passed { vec![level] } else { Vec::new() };
    json!({
        "_type": STATEMENT,
        "subject": [{"name": artifact.map(|artifact| artifact.name.as_str()), "digest": digests}],
        "predicateType": PREDICATE,
        "predicate": {
            "verifier": {"id": verifier.name, "version": {"toolmark": env!("CARGO_PKG_VERSION")}},
            "timeVerified": report.checked_at,
            "resourceUri": record.target,
            "policy": {"uri": record.rules, "digest": {"sha256": record.basis()}},
            "inputAttestations": inputs,
            "verificationResult": if passed { "PASSED" } else { "FAILED" },
            "verifiedLevels": levels,
            "slsaVersion": "1.0",
        },
    })
}

/// Checks a signed summary against a list of keys: signature, time of validity, kind of statement.
pub fn check_summary(envelope: &[u8], keys: &KeyDocument) -> SummaryCheck {
    use SummaryError as E;
    let envelope: Value = serde_json::from_slice(envelope).map_err(|_| E::Malformed("not JSON"))?;
    let text = |pointer: &str| envelope.pointer(pointer).and_then(Value::as_str);
    if text("/payloadType") != Some(PAYLOAD_TYPE) {
        return Err(E::Malformed("not an in-toto statement"));
    }
    if envelope["signatures"].as_array().map(Vec::len) != Some(1) {
        return Err(E::Malformed("not exactly one signature"));
    }
    let base64 = |pointer: &str| STANDARD.decode(text(pointer).unwrap_or_default()).ok();
    let payload = base64("/payload").ok_or(E::Malformed("no payload"))?;
    let signature = base64("/signatures/0/sig").ok_or(E::Malformed("no signature"))?;
    let id = text("/signatures/0/keyid").unwrap_or_default();
    let key = keys.keys.iter().find(|key| key.id.to_string() == id);
    let key = key.ok_or_else(|| E::UnknownKey(id.chars().take(64).collect()))?;
    let public = STANDARD
        .decode(&key.public_key)
        .map_err(|_| E::Malformed("no key"))?;
    UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &public)
        .verify(&encoded(&payload), &signature)
        .map_err(|_| E::Signature)?;
    let statement: Value = serde_json::from_slice(&payload).map_err(|_| E::Malformed("no statement"))?;
    let of = |pointer: &str| {
        statement
            .pointer(pointer)
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    if of("/_type").as_deref() != Some(STATEMENT) || of("/predicateType").as_deref() != Some(PREDICATE) {
        return Err(E::Malformed("another kind of statement"));
    }
    let at: Timestamp = of("/predicate/timeVerified")
        .and_then(|text| text.parse().ok())
        .ok_or(E::Malformed("no time"))?;
    if at < key.not_before || key.not_after.is_some_and(|end| at > end) {
        return Err(E::OutsideValidity(at));
    }
    let levels = statement
        .pointer("/predicate/verifiedLevels")
        .and_then(Value::as_array);
    let levels = levels.into_iter().flatten().filter_map(Value::as_str);
    Ok(Summary {
        schema: "toolmark.summary/1",
        result: of("/predicate/verificationResult").ok_or(E::Malformed("no result"))?,
        levels: levels.map(str::to_owned).collect(),
        verifier: of("/predicate/verifier/id").unwrap_or_default(),
        resource: of("/predicate/resourceUri").unwrap_or_default(),
        verified_at: at,
        sha256: of("/subject/0/digest/sha256"),
        key: key.id,
    })
}

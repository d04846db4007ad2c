//! The forms evidence comes in.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;
use toolmark_domain::limits::EVIDENCE_BYTES;

/// A document's form, told by the caller or by looking at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvidenceFormat {
    SigstoreBundle,
    BundleJsonl,
    NpmAttestations,
    Pep740Provenance,
    Pep740Attestation,
    DsseEnvelope,
}

impl EvidenceFormat {
    /// Every form.
    pub const ALL: [Self; 6] = [
        Self::SigstoreBundle,
        Self::BundleJsonl,
        Self::NpmAttestations,
        Self::Pep740Provenance,
        Self::Pep740Attestation,
        Self::DsseEnvelope,
    ];

    /// The form a document seems to have, by the names at its top; nothing where it has none of them.
    pub fn guess(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes.get(..bytes.len().min(EVIDENCE_BYTES))?).ok()?;
        let mut documents = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        let first = documents.next()?.ok()?;
        let has = |name: &str| first.get(name).is_some();
        if has("attestations") {
            Some(Self::NpmAttestations)
        } else if has("attestation_bundles") {
            Some(Self::Pep740Provenance)
        } else if has("envelope") && has("verification_material") {
            Some(Self::Pep740Attestation)
        } else if has("payloadType") {
            Some(Self::DsseEnvelope)
        } else if has("verificationMaterial") || has("mediaType") {
            let several = documents.next().is_some();
            Some(if several {
                Self::BundleJsonl
            } else {
                Self::SigstoreBundle
            })
        } else {
            None
        }
    }

    /// The name on the command line and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SigstoreBundle => "sigstore-bundle",
            Self::BundleJsonl => "bundle-jsonl",
            Self::NpmAttestations => "npm-attestations",
            Self::Pep740Provenance => "pep740-provenance",
            Self::Pep740Attestation => "pep740-attestation",
            Self::DsseEnvelope => "dsse-envelope",
        }
    }
}

impl fmt::Display for EvidenceFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A form that is not known.
#[derive(Debug, thiserror::Error)]
#[error("unknown form of evidence")]
pub struct UnknownFormat;

impl FromStr for EvidenceFormat {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|format| format.as_str() == text);
        known.ok_or(UnknownFormat)
    }
}

/// What is checked.
#[derive(Clone, Copy, Debug)]
pub enum Evidence<'a> {
    /// One document.
    Document { format: EvidenceFormat, bytes: &'a [u8] },
    /// Answers of an image registry by file name: `image.json`, `referrers.json`, `referrer-N.json`, `blob-N.json`,
    /// `tag-sha256-HEX.json`, `tag-sha256-HEX.sig.json`, `tag-sha256-HEX.att.json`. A file that is absent is a place
    /// that answered "not found".
    OciRecorded(&'a [(String, Vec<u8>)]),
}

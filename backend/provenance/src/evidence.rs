//! The forms evidence comes in.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use toolmark_domain::limits::EVIDENCE_BYTES;
use toolmark_domain::provenance::Reason;

/// A document's form, told by the caller or by looking at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvidenceFormat {
    SigstoreBundle,
    BundleJsonl,
    NpmAttestations,
    Pep740Provenance,
    Pep740Attestation,
    DsseEnvelope,
    /// The answer of a forge about the attestations of a digest.
    GithubAttestations,
}

impl EvidenceFormat {
    /// Every form.
    pub const ALL: [Self; 7] = [
        Self::SigstoreBundle,
        Self::BundleJsonl,
        Self::NpmAttestations,
        Self::Pep740Provenance,
        Self::Pep740Attestation,
        Self::DsseEnvelope,
        Self::GithubAttestations,
    ];

    /// The form a document seems to have, by the names at its top; nothing where it has none of them.
    pub fn guess(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes.get(..bytes.len().min(EVIDENCE_BYTES))?).ok()?;
        let mut documents = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        let first = documents.next()?.ok()?;
        let has = |name: &str| first.get(name).is_some();
        let labelled = |list: &Value| {
            list.get(0)
                .is_none_or(|first| first.get("predicateType").is_some())
        };
        if let Some(list) = first.get("attestations") {
            Some(if labelled(list) {
                Self::NpmAttestations
            } else {
                Self::GithubAttestations
            })
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
            Self::GithubAttestations => "github-attestations",
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

impl Serialize for EvidenceFormat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for EvidenceFormat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

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
    /// Everything that was found by asking every place.
    Gathered(&'a Gathered),
}

/// What was found for one artifact, and what could not be found out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gathered {
    pub documents: Vec<(EvidenceFormat, Vec<u8>)>,
    /// Answers of an image registry, as in [`Evidence::OciRecorded`].
    pub image: Vec<(String, Vec<u8>)>,
    /// Places that may hold evidence and gave no proper answer. They keep "unsigned" from being said, and nothing else.
    pub failures: Vec<Observation>,
    /// What is wrong with the artifact itself, whatever the evidence says: another digest than the one declared.
    pub contradictions: Vec<Observation>,
}

/// Something seen on the way, which counts in the verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    pub reason: Reason,
    pub note: String,
}

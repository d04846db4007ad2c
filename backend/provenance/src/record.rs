//! The trail of one check: everything it rests on, by digest. With it and the bytes it names the same report is reached
//! again, offline, at any time.

use serde::{Deserialize, Serialize};
use toolmark_domain::digest::Digest;
use toolmark_domain::timestamp::Timestamp;

use crate::checker::{Artifact, Checker, Declared, Request};
use crate::evidence::{Evidence, EvidenceFormat, Gathered, Observation};
use crate::keys::{KeyList, KeyListError};
use crate::policy::{POLICY, Policy};
use crate::report::Report;
use crate::roots::{RootError, TrustedRoots};

/// The schema of [`Record`] as JSON.
pub const RECORD_SCHEMA: &str = "toolmark.evidence/1";

/// What did the checking.
pub const VERIFIER: &str = concat!("toolmark ", env!("CARGO_PKG_VERSION"), ", sigstore-verify 0.15");

/// How a place answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlaceAnswer {
    /// It holds something.
    Found,
    /// It says properly that it holds nothing.
    None,
    /// It did not answer, or not properly.
    Failed,
}

/// One place that was asked for evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    pub what: String,
    pub url: String,
    pub at: Timestamp,
    pub status: Option<u16>,
    pub answer: PlaceAnswer,
    /// Of the body, kept byte for byte.
    pub sha256: Option<Digest>,
    pub bytes: u64,
    /// How the body was read, where it is evidence by itself.
    pub format: Option<EvidenceFormat>,
    /// Its name among the answers of an image registry.
    pub file: Option<String>,
    /// Why the place keeps "unsigned" from being said.
    pub failure: Option<Observation>,
}

/// The artifact that was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedArtifact {
    pub name: String,
    pub url: String,
    pub bytes: u64,
    pub sha256: Digest,
    /// Lower-case hex; an image has none.
    pub sha512: Option<String>,
}

/// Something by name and digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedDigest {
    pub name: String,
    pub sha256: Digest,
}

/// What the registry of origin says of the release; its word, kept to see when it changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marks {
    pub published_at: Option<String>,
    /// Why it was withdrawn; empty when no reason is given.
    pub yanked: Option<String>,
    pub deprecated: Option<String>,
}

/// Everything one check rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub schema: String,
    /// As it is written on the command line.
    pub target: String,
    /// Absent where it could not be fetched.
    pub artifact: Option<RecordedArtifact>,
    /// Absent where the registry of origin did not answer.
    pub marks: Option<Marks>,
    /// Whether the registry of origin says that there is no such release.
    pub gone: bool,
    pub declared: Declared,
    /// The time of the check.
    pub at: Timestamp,
    pub places: Vec<Place>,
    pub contradictions: Vec<Observation>,
    pub roots: Vec<NamedDigest>,
    pub npm_keys: Digest,
    /// Version of the rules, and what the operator set of them.
    pub rules: String,
    pub policy: Policy,
    pub verifier: String,
}

/// Why a check could not be made again.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error("the record has the schema `{0}`, expected `{RECORD_SCHEMA}`")]
    Schema(String),
    #[error("the bytes with the digest {0} are missing")]
    Missing(Digest),
    #[error("the bytes kept under the digest {wanted} have the digest {found}")]
    Damaged { wanted: Digest, found: Digest },
    #[error("the sha512 digest of the artifact is not one")]
    Artifact,
    #[error("the trusted root `{name}` cannot be used")]
    Root {
        name: String,
        #[source]
        source: RootError,
    },
    #[error("the keys cannot be used")]
    Keys(#[from] KeyListError),
}

impl Record {
    /// Whether the rules it was made by are those of this program. Others may lead elsewhere.
    pub fn has_our_rules(&self) -> bool {
        self.rules == POLICY
    }

    /// Every digest whose bytes are needed to make the check again, each once.
    pub fn needs(&self) -> Vec<Digest> {
        let places = self.places.iter().filter_map(|place| place.sha256);
        let roots = self.roots.iter().map(|root| root.sha256);
        let mut all: Vec<Digest> = places.chain(roots).chain([self.npm_keys]).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Makes the check again, from bytes alone: same roots, keys, rules and time.
    pub fn replay(&self, bytes: impl Fn(Digest) -> Option<Vec<u8>>) -> Result<Report, ReplayError> {
        if self.schema != RECORD_SCHEMA {
            return Err(ReplayError::Schema(self.schema.chars().take(64).collect()));
        }
        let exact = |wanted: Digest| exact(&bytes, wanted);
        let mut roots = TrustedRoots::default();
        for root in &self.roots {
            let added = roots.add(&root.name, &exact(root.sha256)?);
            added.map_err(|source| ReplayError::Root {
                name: root.name.clone(),
                source,
            })?;
        }
        let keys = KeyList::read(&exact(self.npm_keys)?)?;
        let checker = Checker::new(roots, keys, self.policy.clone());
        self.check_with(&checker, self.at, bytes)
    }

    /// Checks the same evidence with other roots, keys and rules, at another time.
    pub fn check_with(
        &self,
        checker: &Checker,
        at: Timestamp,
        bytes: impl Fn(Digest) -> Option<Vec<u8>>,
    ) -> Result<Report, ReplayError> {
        let gathered = self.gathered(|wanted| exact(&bytes, wanted))?;
        Ok(checker.check(&Request {
            evidence: Evidence::Gathered(&gathered),
            artifact: self.artifact()?,
            declared: self.declared.clone(),
            at,
        }))
    }

    /// The digest of everything but the evidence: roots, keys, rules, and what does the checking. Two checks of the same
    /// evidence on one basis give one answer.
    pub fn basis(&self) -> Digest {
        basis(
            &self.roots,
            &self.npm_keys,
            &self.rules,
            &self.policy,
            &self.verifier,
        )
    }

    /// The record of a new check of the same evidence.
    #[must_use]
    pub fn again(&self, checker: &Checker, at: Timestamp) -> Self {
        Self {
            at,
            roots: roots_of(checker),
            npm_keys: Digest::of(checker.keys().document()),
            rules: POLICY.to_owned(),
            policy: checker.policy().clone(),
            verifier: VERIFIER.to_owned(),
            ..self.clone()
        }
    }

    fn artifact(&self) -> Result<Artifact, ReplayError> {
        let Some(artifact) = &self.artifact else {
            return Ok(Artifact::default());
        };
        let sha512 = artifact.sha512.as_deref().map(|text| {
            let mut bytes = [0; 64];
            hex::decode_to_slice(text, &mut bytes)
                .map(|()| bytes)
                .map_err(|_| ReplayError::Artifact)
        });
        Ok(Artifact {
            sha256: Some(*artifact.sha256.as_bytes()),
            sha512: sha512.transpose()?,
        })
    }

    fn gathered(
        &self,
        exact: impl Fn(Digest) -> Result<Vec<u8>, ReplayError>,
    ) -> Result<Gathered, ReplayError> {
        let mut gathered = Gathered {
            contradictions: self.contradictions.clone(),
            ..Gathered::default()
        };
        for place in &self.places {
            gathered.failures.extend(place.failure.clone());
            let Some(digest) = place.sha256 else { continue };
            if let Some(file) = &place.file {
                gathered.image.push((file.clone(), exact(digest)?));
            } else if let Some(format) = place.format {
                gathered.documents.push((format, exact(digest)?));
            }
        }
        Ok(gathered)
    }
}

/// [`Record::basis`] of whatever `checker` checks now.
pub fn basis_of(checker: &Checker) -> Digest {
    let keys = Digest::of(checker.keys().document());
    basis(&roots_of(checker), &keys, POLICY, checker.policy(), VERIFIER)
}

fn basis(roots: &[NamedDigest], keys: &Digest, rules: &str, policy: &Policy, verifier: &str) -> Digest {
    let all = serde_json::json!([roots, keys, rules, policy, verifier]);
    Digest::of(all.to_string().as_bytes())
}

fn exact(bytes: impl Fn(Digest) -> Option<Vec<u8>>, wanted: Digest) -> Result<Vec<u8>, ReplayError> {
    let bytes = bytes(wanted).ok_or(ReplayError::Missing(wanted))?;
    let found = Digest::of(&bytes);
    if found == wanted {
        Ok(bytes)
    } else {
        Err(ReplayError::Damaged { wanted, found })
    }
}

/// The roots of a checker, by name and digest.
pub(crate) fn roots_of(checker: &Checker) -> Vec<NamedDigest> {
    let named = |(name, sha256, _): (&str, Digest, &[u8])| NamedDigest {
        name: name.to_owned(),
        sha256,
    };
    checker.roots().map(named).collect()
}

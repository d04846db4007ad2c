//! From a coordinate to a verdict: ask the registry of origin, fetch and hash the artifact, look for evidence in every
//! place, check it. Everything that was seen is in the record, also what was not there and what failed.

use std::collections::BTreeMap;

use toolmark_domain::digest::Digest;
use toolmark_domain::provenance::Reason;
use toolmark_domain::timestamp::Timestamp;
use toolmark_packages::{Coordinate, Fetched, File, Kind, PackageError, Packages, Release, Said};

use crate::checker::{Artifact, Checker, Declared, Ecosystem, Request};
use crate::discover;
use crate::evidence::{Evidence, Gathered, Observation};
use crate::policy::POLICY;
use crate::record::{Marks, RECORD_SCHEMA, Record, RecordedArtifact, VERIFIER, roots_of};
use crate::report::Report;

/// What is to be examined.
#[derive(Clone, Debug)]
pub struct Question {
    pub coordinate: Coordinate,
    /// One file of a release that has several; else the one a client would install.
    pub file: Option<String>,
    /// Repository and id as declared; the rest is filled in from the coordinate.
    pub declared: Declared,
    /// The digest that a `server.json` gives.
    pub file_sha256: Option<[u8; 32]>,
    pub at: Timestamp,
}

/// What came of it.
#[derive(Debug)]
pub struct Examined {
    pub report: Report,
    pub record: Record,
    /// The bytes the record names, by digest.
    pub blobs: BTreeMap<Digest, Vec<u8>>,
    /// What the registry of origin says of the release; absent where it could not be asked.
    pub release: Option<Release>,
    /// Whether asking again later may find out more.
    pub retry: bool,
}

/// Examines one artifact.
pub async fn examine(packages: &Packages, checker: &Checker, question: &Question) -> Examined {
    let mut declared = declared(question);
    let found = artifact(packages, question).await;
    let mut retry = matches!(&found, Err(error) if error.is_transient());
    let gone = matches!(&found, Err(PackageError::NotFound { .. }));
    let (release, fetched, contradictions, mut places, blobs) = match found {
        Ok((release, file, fetched)) => {
            if let Some(version) = release.coordinate.version() {
                declared.version = Some(version.to_owned());
            }
            declared.file = declared
                .file
                .or_else(|| named_by_file(&file, &question.coordinate));
            let target = release.coordinate.to_string();
            let search = discover::Subject {
                release: Some(&release),
                file: Some(&file),
                target: &target,
                sha256: Digest::from_bytes(&fetched.sha256).unwrap_or_else(|| Digest::of(b"")),
                repository: declared.repository.as_deref(),
                at: question.at,
            };
            let (places, blobs) = discover::discover(packages, &search).await;
            let contradictions = contradictions(&fetched, question);
            (
                Some(release),
                Some((file, fetched)),
                contradictions,
                places,
                blobs,
            )
        }
        Err(error) => {
            let place = discover::unreachable(&question.coordinate.to_string(), &error, question.at);
            (None, None, Vec::new(), vec![place], BTreeMap::new())
        }
    };
    retry |= places.iter().any(|place| place.failure.is_some());
    places.truncate(discover::MOST_PLACES);
    let target = release
        .as_ref()
        .map_or(&question.coordinate, |release| &release.coordinate);
    let record = Record {
        artifact: fetched.as_ref().map(|(file, fetched)| recorded(file, fetched)),
        marks: release.as_ref().map(|release| Marks {
            published_at: release.published_at.clone(),
            yanked: release.yanked.clone(),
            deprecated: release.deprecated.clone(),
        }),
        gone,
        places,
        contradictions,
        ..blank(checker, target.to_string(), declared, question.at)
    };
    finish(checker, record, blobs, release, retry)
}

/// Examines a file on this machine: the forge of the declared repository is asked for attestations of its digest.
pub async fn examine_file(
    packages: &Packages,
    checker: &Checker,
    artifact: RecordedArtifact,
    declared: Declared,
    at: Timestamp,
) -> Examined {
    let search = discover::Subject {
        release: None,
        file: None,
        target: &artifact.name,
        sha256: artifact.sha256,
        repository: declared.repository.as_deref(),
        at,
    };
    let (places, blobs) = discover::discover(packages, &search).await;
    let retry = places.iter().any(|place| place.failure.is_some());
    let target = artifact.name.clone();
    let record = Record {
        artifact: Some(artifact),
        places,
        ..blank(checker, target, declared, at)
    };
    finish(checker, record, blobs, None, retry)
}

/// A record of nothing yet.
fn blank(checker: &Checker, target: String, declared: Declared, at: Timestamp) -> Record {
    Record {
        schema: RECORD_SCHEMA.to_owned(),
        target,
        artifact: None,
        marks: None,
        gone: false,
        declared,
        at,
        places: Vec::new(),
        contradictions: Vec::new(),
        roots: roots_of(checker),
        npm_keys: Digest::of(checker.keys().document()),
        rules: POLICY.to_owned(),
        policy: checker.policy().clone(),
        verifier: VERIFIER.to_owned(),
    }
}

/// The check itself, and with the evidence the bytes of roots and keys.
fn finish(
    checker: &Checker,
    record: Record,
    mut blobs: BTreeMap<Digest, Vec<u8>>,
    release: Option<Release>,
    retry: bool,
) -> Examined {
    for (_, digest, bytes) in checker.roots() {
        blobs.insert(digest, bytes.to_vec());
    }
    blobs.insert(record.npm_keys, checker.keys().document().to_vec());
    let remade = record.check_with(checker, record.at, |digest| blobs.get(&digest).cloned());
    let report = remade.unwrap_or_else(|error| {
        // Every digest of the record was put among the bytes above; should one be missing, nothing can be told.
        let gathered = Gathered {
            failures: vec![Observation {
                reason: Reason::FetchIntegrity,
                note: error.to_string(),
            }],
            ..Gathered::default()
        };
        checker.check(&Request {
            evidence: Evidence::Gathered(&gathered),
            artifact: Artifact::default(),
            declared: record.declared.clone(),
            at: record.at,
        })
    });
    Examined {
        report,
        record,
        blobs,
        release,
        retry,
    }
}

async fn artifact(
    packages: &Packages,
    question: &Question,
) -> Result<(Release, File, Fetched), PackageError> {
    let release = packages.release(&question.coordinate).await?;
    let file = release
        .file(question.file.as_deref())
        .ok_or_else(|| PackageError::NotFound {
            what: question.file.clone().unwrap_or_default(),
        })?
        .clone();
    let fetched = packages.fetch(&file, None).await?;
    Ok((release, file, fetched))
}

/// What is compared with the evidence: who asked decides the repository, the coordinate the rest.
fn declared(question: &Question) -> Declared {
    let mut declared = question.declared.clone();
    declared.ecosystem = Some(match question.coordinate.kind() {
        Kind::Npm => Ecosystem::Npm,
        Kind::Pypi => Ecosystem::Pypi,
        Kind::Oci => Ecosystem::Oci,
        Kind::Mcpb => Ecosystem::Mcpb,
        Kind::Cargo | Kind::Nuget | Kind::GitHub | Kind::Url => Ecosystem::Release,
    });
    if let Coordinate::Package { name, version, .. } = &question.coordinate {
        declared.name = Some(name.clone());
        declared.version.clone_from(version);
    }
    declared
}

/// The name of the file, where it is part of what is attested.
fn named_by_file(file: &File, coordinate: &Coordinate) -> Option<String> {
    let by_file = !matches!(coordinate.kind(), Kind::Npm | Kind::Oci);
    by_file.then(|| file.name.clone())
}

/// Where the bytes are not what was said of them: by the registry of origin, or by the `server.json`.
fn contradictions(fetched: &Fetched, question: &Question) -> Vec<Observation> {
    let said = Said {
        sha256: question.file_sha256,
        sha512: None,
    };
    let by_registry = fetched.differences.iter().map(|difference| Observation {
        reason: Reason::FetchIntegrity,
        note: format!(
            "the registry says {} `{}`, the file has `{}`",
            difference.what, difference.said, difference.found
        ),
    });
    let by_document = fetched
        .compare(&said, None)
        .into_iter()
        .map(|difference| Observation {
            reason: Reason::DigestMismatch,
            note: format!(
                "server.json says {} `{}`, the file has `{}`",
                difference.what, difference.said, difference.found
            ),
        });
    by_registry.chain(by_document).collect()
}

fn recorded(file: &File, fetched: &Fetched) -> RecordedArtifact {
    RecordedArtifact {
        name: file.name.clone(),
        url: fetched.url.to_string(),
        bytes: fetched.bytes,
        sha256: Digest::from_bytes(&fetched.sha256).unwrap_or_else(|| Digest::of(b"")),
        sha512: Some(hex::encode(fetched.sha512)),
    }
}

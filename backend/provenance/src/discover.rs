//! Looks for evidence in every place that may hold it, and writes down how each place answered.
//!
//! "Not found" is an answer only when a place says so properly: 404, 410, or an empty list. Everything else that is no
//! evidence is a failure, and a failure is never taken for "there is none".

mod forge;
mod image;

use std::collections::BTreeMap;
use std::error::Error as _;

use serde_json::Value;
use toolmark_domain::digest::Digest;
use toolmark_domain::json;
use toolmark_domain::limits::{CLAIM_CHARS, EVIDENCE_BYTES, KEY_LIST_BYTES};
use toolmark_domain::provenance::Reason;
use toolmark_domain::timestamp::Timestamp;
use toolmark_outbound::Url;
use toolmark_packages::{Coordinate, File, Kind, PackageError, Packages, Release};

use crate::evidence::{EvidenceFormat, Observation};
use crate::record::{Place, PlaceAnswer};

/// Most places asked for one artifact.
pub(crate) const MOST_PLACES: usize = 256;

/// What evidence is looked for.
pub(crate) struct Subject<'a> {
    /// Absent for a file that is only on this machine.
    pub(crate) release: Option<&'a Release>,
    pub(crate) file: Option<&'a File>,
    /// What it is called where it was found.
    pub(crate) target: &'a str,
    pub(crate) sha256: Digest,
    /// As declared; a forge is asked about it.
    pub(crate) repository: Option<&'a str>,
    pub(crate) at: Timestamp,
}

/// The places asked so far, and the bytes of their answers.
pub(crate) struct Search<'a> {
    packages: &'a Packages,
    at: Timestamp,
    places: Vec<Place>,
    blobs: BTreeMap<Digest, Vec<u8>>,
}

/// What a body turned out to be.
enum Shape {
    Holds(EvidenceFormat),
    Empty,
    /// Nothing that a place of this kind answers with.
    Other(&'static str),
}

/// Asks every place.
pub(crate) async fn discover(
    packages: &Packages,
    subject: &Subject<'_>,
) -> (Vec<Place>, BTreeMap<Digest, Vec<u8>>) {
    let mut search = Search {
        packages,
        at: subject.at,
        places: Vec::new(),
        blobs: BTreeMap::new(),
    };
    let coordinate = subject.release.map(|release| &release.coordinate);
    match coordinate {
        Some(Coordinate::Package {
            kind: Kind::Npm,
            name,
            version,
        }) => npm(&mut search, subject, name, version.as_deref().unwrap_or_default()).await,
        Some(Coordinate::Package {
            kind: Kind::Pypi,
            name,
            version,
        }) => pypi(&mut search, subject, name, version.as_deref().unwrap_or_default()).await,
        Some(Coordinate::Image(image)) => image::ask(&mut search, image, subject.sha256).await,
        _ => forge::ask(&mut search, subject).await,
    }
    (search.places, search.blobs)
}

/// The artifact itself could not be had: nothing can be told.
pub(crate) fn unreachable(target: &str, error: &PackageError, at: Timestamp) -> Place {
    let note = match error {
        PackageError::NotFound { what } => format!("the artifact is not there: {what}"),
        error => format!("the artifact could not be fetched: {}", chain(error)),
    };
    Place {
        what: "artifact".to_owned(),
        url: target.to_owned(),
        at,
        status: error.status().map(|status| status.as_u16()),
        answer: PlaceAnswer::Failed,
        sha256: None,
        bytes: 0,
        format: None,
        file: None,
        failure: Some(failed(note)),
    }
}

fn failed(note: impl Into<String>) -> Observation {
    let note: String = note.into();
    Observation {
        reason: Reason::FetchFailed,
        note: note.chars().take(CLAIM_CHARS).collect(),
    }
}

/// An error with its causes, in one line.
fn chain(error: &PackageError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}

impl Search<'_> {
    /// Notes an answer; gives the body of a 200 and the number of the place.
    fn note(
        &mut self,
        what: &str,
        url: &Url,
        answer: Result<(u16, Vec<u8>), PackageError>,
    ) -> Option<(usize, Vec<u8>)> {
        let mut place = Place {
            what: what.to_owned(),
            url: url.to_string(),
            at: self.at,
            status: None,
            answer: PlaceAnswer::Failed,
            sha256: None,
            bytes: 0,
            format: None,
            file: None,
            failure: None,
        };
        let body = match answer {
            Ok((status, body)) => {
                place.status = Some(status);
                match status {
                    200 => Some(body),
                    404 | 410 => {
                        place.answer = PlaceAnswer::None;
                        None
                    }
                    _ => {
                        place.failure = Some(failed(format!("{what}: the answer has the status {status}")));
                        None
                    }
                }
            }
            Err(error) => {
                place.status = error.status().map(|status| status.as_u16());
                place.failure = Some(failed(format!("{what}: {}", chain(&error))));
                None
            }
        };
        self.places.push(place);
        Some((self.places.len() - 1, body?))
    }

    /// Keeps the body of a place.
    fn keep(&mut self, at: usize, body: Vec<u8>) {
        let digest = Digest::of(&body);
        let place = &mut self.places[at];
        place.sha256 = Some(digest);
        place.bytes = body.len() as u64;
        self.blobs.insert(digest, body);
    }

    /// Says what a body is, and keeps it.
    fn settle(&mut self, at: usize, body: Vec<u8>, shape: &Shape) {
        let place = &mut self.places[at];
        match shape {
            Shape::Holds(format) => {
                place.answer = PlaceAnswer::Found;
                place.format = Some(*format);
            }
            Shape::Empty => place.answer = PlaceAnswer::None,
            Shape::Other(note) => place.failure = Some(failed(format!("{}: {note}", place.what))),
        }
        self.keep(at, body);
    }

    /// A registry that does not speak of attestations at all cannot say that there is none: a mirror often leaves them
    /// out.
    fn knows_nothing(&mut self) {
        // The place of attestations is asked first. An empty list is an answer of its own.
        let place = self.places.first_mut();
        let unknown = |place: &&mut Place| place.answer == PlaceAnswer::None && place.status != Some(200);
        if let Some(place) = place.filter(unknown) {
            place.answer = PlaceAnswer::Failed;
            place.failure = Some(failed(format!(
                "{}: the registry does not serve any, so that it has none says nothing",
                place.what
            )));
        }
    }

    /// Asks one place for a document.
    async fn document(
        &mut self,
        what: &str,
        kind: Kind,
        url: &Url,
        accept: Option<&str>,
        shape: impl Fn(&[u8]) -> Shape,
    ) -> bool {
        let answer = self.packages.ask(kind, url, accept, EVIDENCE_BYTES).await;
        let answer = answer.map(|answer| (answer.status.as_u16(), answer.body.to_vec()));
        let Some((at, body)) = self.note(what, url, answer) else {
            return false;
        };
        let shape = shape(&body);
        self.settle(at, body, &shape);
        self.places[at].answer == PlaceAnswer::Found
    }
}

/// An object with a list under `name`. What is in the list is for the strict reader.
fn listing(body: &[u8], name: &str, format: EvidenceFormat) -> Shape {
    let Ok(read) = json::read(body, EVIDENCE_BYTES) else {
        return Shape::Other("the answer is not JSON");
    };
    match read.value.get(name).and_then(Value::as_array) {
        Some(list) if list.is_empty() => Shape::Empty,
        Some(_) => Shape::Holds(format),
        None => Shape::Other("the answer is no list of attestations"),
    }
}

async fn npm(search: &mut Search<'_>, subject: &Subject<'_>, name: &str, version: &str) {
    let packages = search.packages;
    let base = match packages.source(Kind::Npm).await {
        Ok(source) => source.base_of(name).clone(),
        Err(error) => {
            search
                .places
                .push(unreachable(subject.target, &error, subject.at));
            return;
        }
    };
    let shape = |body: &[u8]| listing(body, "attestations", EvidenceFormat::NpmAttestations);
    let own = below(
        &base,
        &["-", "npm", "v1", "attestations", &format!("{name}@{version}")],
    );
    let what = "attestations of the package registry";
    let mut found = search.document(what, Kind::Npm, &own, None, shape).await;
    // A mirror may leave the answer out and still name the place it knows of.
    let named = subject.file.and_then(|file| file.attestations.as_ref());
    if let Some(named) = named.filter(|named| !found && **named != own) {
        found = search
            .document(
                "attestations named by the package registry",
                Kind::Npm,
                named,
                None,
                shape,
            )
            .await;
    }
    let serves = keys(search, &base).await;
    if !found && !serves && !subject.file.is_some_and(|file| file.speaks_of_attestations) {
        search.knows_nothing();
    }
}

/// Asks for the registry's signing keys, and says whether it has some. They are kept as evidence only: keys that come
/// with what they vouch for vouch for nothing. A registry without keys has no attestations to give.
async fn keys(search: &mut Search<'_>, base: &Url) -> bool {
    let url = below(base, &["-", "npm", "v1", "keys"]);
    let answer = search.packages.ask(Kind::Npm, &url, None, KEY_LIST_BYTES).await;
    let answer = answer.map(|answer| (answer.status.as_u16(), answer.body.to_vec()));
    let noted = search.note("signing keys of the package registry", &url, answer);
    let serves = noted.is_some_and(|(at, body)| {
        let read = serde_json::from_slice::<Value>(&body).ok();
        let serves = read.is_some_and(|keys| keys.get("keys").is_some_and(Value::is_array));
        if serves {
            search.places[at].answer = PlaceAnswer::Found;
        }
        search.keep(at, body);
        serves
    });
    // Without them the built-in list decides all the same.
    if let Some(last) = search.places.last_mut() {
        last.failure = None;
    }
    serves
}

async fn pypi(search: &mut Search<'_>, subject: &Subject<'_>, name: &str, version: &str) {
    let accept = "application/vnd.pypi.integrity.v1+json, application/json;q=0.5";
    let shape = |body: &[u8]| listing(body, "attestation_bundles", EvidenceFormat::Pep740Provenance);
    let named = subject.file.and_then(|file| file.attestations.clone());
    let url = match named {
        Some(url) => url,
        None => match search.packages.source(Kind::Pypi).await {
            Ok(source) => {
                let file = subject.file.map_or("", |file| file.name.as_str());
                let root = source
                    .base()
                    .join("../")
                    .unwrap_or_else(|_| source.base().clone());
                below(&root, &["integrity", name, version, file, "provenance"])
            }
            Err(error) => {
                search
                    .places
                    .push(unreachable(subject.target, &error, subject.at));
                return;
            }
        },
    };
    let what = "provenance of the package index";
    let found = search.document(what, Kind::Pypi, &url, Some(accept), shape).await;
    if !found && !subject.file.is_some_and(|file| file.speaks_of_attestations) {
        search.knows_nothing();
    }
}

/// `base` with further path segments.
fn below(base: &Url, segments: &[&str]) -> Url {
    let mut url = base.clone();
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(segments);
    }
    url
}

//! Files that are not a package registry's: the forge's list of attestations for a digest, and files beside the file.

use toolmark_domain::limits::EVIDENCE_ATTESTATIONS;
use toolmark_outbound::Url;
use toolmark_packages::Kind;

use crate::discover::{Search, Shape, Subject, below, listing, unreachable};
use crate::evidence::EvidenceFormat;
use crate::repository::Repository;

const ACCEPT: &str = "application/vnd.github+json";
/// What hangs beside a file that is signed.
const SIDECARS: [&str; 3] = [".sigstore.json", ".sigstore", ".intoto.jsonl"];

pub(super) async fn ask(search: &mut Search<'_>, subject: &Subject<'_>) {
    for (owner, repository) in repositories(subject) {
        attestations(search, subject, &owner, &repository).await;
    }
    let (Some(release), Some(file)) = (subject.release, subject.file) else {
        return;
    };
    // What a package registry serves has no files beside it.
    if matches!(release.coordinate.kind(), Kind::Cargo | Kind::Nuget) {
        return;
    }
    for ending in SIDECARS {
        let name = format!("{}{ending}", file.name);
        let url = match release.file(Some(&name)) {
            Some(listed) => listed.url.clone(),
            // A list of files that does not name it is an answer by itself.
            None if release.files.len() > 1 => continue,
            None => beside(&file.url, ending),
        };
        let what = format!("the file `{}` beside it", ending.trim_start_matches('.'));
        search.document(&what, Kind::Url, &url, None, sidecar).await;
    }
}

/// The repositories on the forge that may have attested it: where it was released, and the declared one.
fn repositories(subject: &Subject<'_>) -> Vec<(String, String)> {
    let released = subject
        .release
        .and_then(|release| release.coordinate.as_release());
    let declared = subject
        .repository
        .and_then(Repository::parse)
        .filter(|repository| repository.host() == "github.com")
        .and_then(|repository| {
            let (owner, name) = repository.path().split_once('/')?;
            Some((owner.to_owned(), name.to_owned()))
        });
    let mut all: Vec<(String, String)> = Vec::new();
    for (owner, name) in released.into_iter().chain(declared) {
        let known = all
            .iter()
            .any(|(o, n)| o.eq_ignore_ascii_case(&owner) && n.eq_ignore_ascii_case(&name));
        if !known {
            all.push((owner, name));
        }
    }
    all
}

async fn attestations(search: &mut Search<'_>, subject: &Subject<'_>, owner: &str, repository: &str) {
    let base = match search.packages.source(Kind::GitHub).await {
        Ok(source) => source.base().clone(),
        Err(error) => {
            search
                .places
                .push(unreachable(subject.target, &error, subject.at));
            return;
        }
    };
    let digest = format!("sha256:{}", subject.sha256);
    let mut url = below(&base, &["repos", owner, repository, "attestations", &digest]);
    // One more than we read, so that a longer list is noticed by the strict reader.
    url.set_query(Some(&format!("per_page={}", EVIDENCE_ATTESTATIONS + 1)));
    let shape = |body: &[u8]| listing(body, "attestations", EvidenceFormat::GithubAttestations);
    search
        .document(
            "attestations of the forge",
            Kind::GitHub,
            &url,
            Some(ACCEPT),
            shape,
        )
        .await;
}

/// The address of a file beside another one.
fn beside(url: &Url, ending: &str) -> Url {
    let mut beside = url.clone();
    beside.set_path(&format!("{}{ending}", url.path()));
    beside
}

fn sidecar(body: &[u8]) -> Shape {
    use EvidenceFormat as F;
    match EvidenceFormat::guess(body) {
        Some(format @ (F::SigstoreBundle | F::BundleJsonl | F::DsseEnvelope)) => Shape::Holds(format),
        _ if body.is_empty() => Shape::Other("the file is empty"),
        _ => Shape::Other("the file holds no bundle"),
    }
}

//! Images: the interface for referrers, the tag that stands in for it, and the tags of cosign's first form. All are
//! asked always: one may hide what the other shows.

use serde_json::Value;
use toolmark_domain::digest::Digest;
use toolmark_domain::limits::{BUNDLE_BYTES, EVIDENCE_ATTESTATIONS};
use toolmark_outbound::Url;
use toolmark_packages::{ImageReference, OciAnswer, PackageError};

use crate::discover::{Search, failed};
use crate::oci::{is_bundle_layer, may_be_evidence};
use crate::record::PlaceAnswer;

pub(super) async fn ask(search: &mut Search<'_>, image: &ImageReference, digest: Digest) {
    let packages = search.packages;
    let named = format!("sha256:{digest}");
    let answer = packages.image_manifest(image, &named).await;
    put(search, "the image", "image.json".to_owned(), answer, image);
    let mut wanted = Wanted::default();
    let answer = packages.image_referrers(image, digest).await;
    let referrers = put(
        search,
        "referrers of the image",
        "referrers.json".to_owned(),
        answer,
        image,
    );
    wanted.index(search, referrers, "manifests");
    let tag = format!("sha256-{digest}");
    for (ending, what) in [
        ("", "the tag that stands in for referrers"),
        (".sig", "the tag of an old signature"),
        (".att", "the tag of old attestations"),
    ] {
        let answer = packages.image_manifest(image, &format!("{tag}{ending}")).await;
        let body = put(search, what, format!("tag-{tag}{ending}.json"), answer, image);
        let list = if ending.is_empty() { "manifests" } else { "layers" };
        wanted.index(search, body, list);
    }
    let mut layers = Vec::new();
    for (number, digest) in wanted.manifests.iter().enumerate() {
        let answer = packages.image_manifest(image, &format!("sha256:{digest}")).await;
        let name = format!("referrer-{number}.json");
        if let Some(body) = put(search, "a referrer", name, answer, image) {
            layers.extend(bundle_layers(&body));
        }
    }
    layers.extend(wanted.blobs);
    layers.sort_unstable();
    layers.dedup();
    if layers.len() > EVIDENCE_ATTESTATIONS {
        layers.truncate(EVIDENCE_ATTESTATIONS);
        note_more(search);
    }
    for (number, digest) in layers.into_iter().enumerate() {
        let answer = packages.image_blob(image, digest, BUNDLE_BYTES).await;
        put(search, "a layer", format!("blob-{number}.json"), answer, image);
    }
}

/// What the lists point to.
#[derive(Default)]
struct Wanted {
    manifests: Vec<Digest>,
    blobs: Vec<Digest>,
}

impl Wanted {
    /// Takes what may be evidence from an index, or every layer of an old signature.
    fn index(&mut self, search: &mut Search<'_>, body: Option<Vec<u8>>, list: &str) {
        let Some(value) = body.and_then(|body| serde_json::from_slice::<Value>(&body).ok()) else {
            return;
        };
        let entries = value.get(list).and_then(Value::as_array);
        let into = match list {
            "manifests" => &mut self.manifests,
            _ => &mut self.blobs,
        };
        for entry in entries.into_iter().flatten() {
            if list == "manifests" && !may_be_evidence(entry) {
                continue;
            }
            let digest = entry.get("digest").and_then(Value::as_str);
            if let Some(digest) = digest.and_then(|text| text.parse().ok())
                && !into.contains(&digest)
            {
                into.push(digest);
            }
        }
        if into.len() > EVIDENCE_ATTESTATIONS {
            into.truncate(EVIDENCE_ATTESTATIONS);
            note_more(search);
        }
    }
}

/// The layers of a referrer that are bundles.
fn bundle_layers(manifest: &[u8]) -> Vec<Digest> {
    let Ok(value) = serde_json::from_slice::<Value>(manifest) else {
        return Vec::new();
    };
    let layers = value.get("layers").and_then(Value::as_array);
    let layers = layers.map_or(&[][..], Vec::as_slice);
    let bundle = |layer: &&Value| is_bundle_layer(&value, layer, layers.len());
    let digest = |layer: &Value| layer.get("digest")?.as_str()?.parse().ok();
    layers.iter().filter(bundle).filter_map(digest).collect()
}

fn note_more(search: &mut Search<'_>) {
    if let Some(last) = search.places.last_mut() {
        last.failure = Some(failed(format!(
            "more than {EVIDENCE_ATTESTATIONS} things refer to the image"
        )));
    }
}

/// Notes an answer under the name the strict reader knows it by.
fn put(
    search: &mut Search<'_>,
    what: &str,
    file: String,
    answer: Result<OciAnswer, PackageError>,
    image: &ImageReference,
) -> Option<Vec<u8>> {
    let url = match &answer {
        Ok(answer) => answer.url.clone(),
        Err(_) => Url::parse(&format!("https://{}/v2/{}/", image.host, image.repository)).ok()?,
    };
    let answer = answer.map(|answer| (answer.status.as_u16(), answer.body));
    let (at, body) = search.note(what, &url, answer)?;
    search.places[at].answer = PlaceAnswer::Found;
    search.places[at].file = Some(file);
    search.keep(at, body.clone());
    Some(body)
}

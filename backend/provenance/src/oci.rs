//! Recorded answers of an image registry: which referrers and tags an image has, and the attestations behind them.
//!
//! Anybody who may push can add more, so one that verifies is enough. Every answer is held to its digest; one that
//! fails is "could not tell", never "unsigned".

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use toolmark_domain::digest::Digest;
use toolmark_domain::limits::{OCI_MANIFEST_BYTES, OCI_RECORDED_FILES};
use toolmark_domain::provenance::Reason;

use crate::bundle::V03;
use crate::checker::Artifact;
use crate::document::{Counting, Form, Item, Items, bounded, strict_json};
use crate::report::Fault;

const SIMPLE_SIGNING: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
const ENVELOPE: &str = "application/vnd.dsse.envelope.v1+json";
const V01: &str = "application/vnd.dev.sigstore.bundle+json;version=0.1";

struct Recorded<'a> {
    files: &'a [(String, Vec<u8>)],
    digests: Vec<Digest>,
}

impl<'a> Recorded<'a> {
    fn named(&self, name: &str) -> Option<&'a [u8]> {
        let found = self.files.iter().find(|(file, _)| file == name);
        found.map(|(_, bytes)| bytes.as_slice())
    }

    /// The answer for a digest. Where it is missing, but there is an answer of that kind that nothing asks for, then
    /// the registry sent something else.
    fn by_digest(&self, descriptor: &Value, kind: &str) -> Result<&'a [u8], Fault> {
        let text = descriptor
            .get("digest")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let Ok(wanted) = text.parse::<Digest>() else {
            return Err(Fault::new(
                Reason::FetchFailed,
                "an answer points to something without a sha256 digest",
            ));
        };
        if let Some(at) = self.digests.iter().position(|digest| *digest == wanted) {
            return Ok(&self.files[at].1);
        }
        let answers = self.files.iter().any(|(name, _)| name.starts_with(kind));
        let (reason, note) = if answers {
            (Reason::FetchIntegrity, "no answer has the digest")
        } else {
            (Reason::FetchFailed, "there is no answer for the digest")
        };
        Err(Fault::new(reason, format!("{note} {wanted}")))
    }
}

/// Every attestation of the image in the recorded answers.
pub(crate) fn items(files: &[(String, Vec<u8>)], artifact: &Artifact) -> Result<Items, Fault> {
    if files.len() > OCI_RECORDED_FILES {
        return Err(Fault::new(
            Reason::LimitsExceeded,
            format!("{} files, the limit is {OCI_RECORDED_FILES}", files.len()),
        ));
    }
    let recorded = Recorded {
        files,
        digests: files.iter().map(|(_, bytes)| Digest::of(bytes)).collect(),
    };
    let Some(image) = artifact.sha256 else {
        return Err(Fault::new(
            Reason::NoSupportedDigest,
            "an image is named by its sha256 digest",
        ));
    };
    if let Some(bytes) = recorded.named("image.json")
        && Digest::of(bytes).as_bytes() != &image
    {
        return Err(Fault::new(
            Reason::FetchIntegrity,
            "the recorded image is not the one with this digest",
        ));
    }
    let hex = hex::encode(image);
    let mut items = Vec::new();
    for name in ["referrers.json".to_owned(), format!("tag-sha256-{hex}.json")] {
        if let Some(bytes) = recorded.named(&name) {
            index(bytes, &recorded, &mut items)?;
        }
    }
    for name in [
        format!("tag-sha256-{hex}.sig.json"),
        format!("tag-sha256-{hex}.att.json"),
    ] {
        if let Some(bytes) = recorded.named(&name) {
            match manifest(bytes) {
                Ok(manifest) => old_cosign(&manifest, &recorded, &mut items)?,
                Err(fault) => items.push(Item::fault(fault, Form::Bundle)),
            }
        }
    }
    // The interface and the tag that stands in for it list the same things.
    let mut seen = BTreeSet::new();
    items.retain(|item| match &item.value {
        Ok(value) => seen.insert(Digest::of(value.to_string().as_bytes())),
        Err(_) => true,
    });
    Ok(Items {
        items,
        counting: Counting::Any,
    })
}

fn manifest(bytes: &[u8]) -> Result<Map<String, Value>, Fault> {
    let not = |note: &str| {
        Fault::new(
            Reason::FetchFailed,
            format!("an answer is not a manifest: {note}"),
        )
    };
    match strict_json(bytes, OCI_MANIFEST_BYTES) {
        Ok(Value::Object(map)) if map.get("schemaVersion").and_then(Value::as_u64) == Some(2) => Ok(map),
        Ok(_) => Err(not("no object of schema version 2")),
        Err(fault) if fault.reason == Reason::LimitsExceeded => Err(fault),
        Err(fault) => Err(not(&fault.note)),
    }
}

fn list<'a>(map: &'a Map<String, Value>, name: &str) -> &'a [Value] {
    map.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn media_type<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The referrers of an image, from the interface for it or from the tag that stands in for it.
fn index(bytes: &[u8], recorded: &Recorded<'_>, items: &mut Vec<Item>) -> Result<(), Fault> {
    let index = match manifest(bytes) {
        Ok(index) if index.get("manifests").is_some_and(Value::is_array) => index,
        Ok(_) => {
            let fault = Fault::new(Reason::FetchFailed, "an answer is not a list of referrers");
            items.push(Item::fault(fault, Form::Bundle));
            return Ok(());
        }
        Err(fault) => {
            items.push(Item::fault(fault, Form::Bundle));
            return Ok(());
        }
    };
    let referrers = list(&index, "manifests");
    bounded(referrers.len())?;
    for descriptor in referrers {
        if !may_be_evidence(descriptor) {
            continue;
        }
        match recorded.by_digest(descriptor, "referrer-").and_then(manifest) {
            Ok(referrer) => layers(&referrer, recorded, items)?,
            Err(fault) => items.push(Item::fault(fault, Form::Bundle)),
        }
    }
    Ok(())
}

/// Whether a referrer may hold a bundle. Without a type it may, so it is looked at.
pub(crate) fn may_be_evidence(descriptor: &Value) -> bool {
    let kind = media_type(descriptor, "artifactType");
    kind.is_empty() || kind == V03 || kind.starts_with("application/vnd.oci.")
}

/// Whether a layer of a referrer is a bundle: by its own type, or as the only one of a manifest that says so.
pub(crate) fn is_bundle_layer(referrer: &Value, layer: &Value, count: usize) -> bool {
    media_type(layer, "mediaType") == V03 || (count == 1 && media_type(referrer, "artifactType") == V03)
}

fn layers(
    referrer: &Map<String, Value>,
    recorded: &Recorded<'_>,
    items: &mut Vec<Item>,
) -> Result<(), Fault> {
    let layers = list(referrer, "layers");
    let typed = referrer.get("artifactType").and_then(Value::as_str) == Some(V03);
    for layer in layers {
        let kind = media_type(layer, "mediaType");
        if kind != V03 && !(typed && layers.len() == 1) {
            continue;
        }
        bounded(items.len() + 1)?;
        let value = recorded
            .by_digest(layer, "blob-")
            .and_then(|bytes| strict_json(bytes, toolmark_domain::limits::BUNDLE_BYTES));
        items.push(Item {
            value,
            form: Form::Bundle,
        });
    }
    Ok(())
}

/// Signatures and attestations in cosign's first form: everything in annotations of the layer.
fn old_cosign(
    manifest: &Map<String, Value>,
    recorded: &Recorded<'_>,
    items: &mut Vec<Item>,
) -> Result<(), Fault> {
    for layer in list(manifest, "layers") {
        let simple = match media_type(layer, "mediaType") {
            SIMPLE_SIGNING => true,
            ENVELOPE => false,
            _ => continue,
        };
        bounded(items.len() + 1)?;
        let blob = recorded.by_digest(layer, "blob-");
        let payload = blob.as_ref().ok().filter(|_| simple).map(|bytes| bytes.to_vec());
        let form = Form::Cosign { payload };
        items.push(Item {
            value: blob.and_then(|blob| old_bundle(layer, blob, simple)),
            form,
        });
    }
    Ok(())
}

fn malformed(note: impl Into<String>) -> Fault {
    Fault::new(Reason::MalformedBundle, note)
}

/// The annotations as a bundle of version 0.1: the log's promise, never a proof.
fn old_bundle(layer: &Value, blob: &[u8], simple: bool) -> Result<Value, Fault> {
    let annotation = |name: &str| {
        let text = layer.get("annotations").and_then(|all| all.get(name));
        text.and_then(Value::as_str)
            .ok_or_else(|| malformed(format!("there is no annotation `{name}`")))
    };
    let limit = toolmark_domain::limits::BUNDLE_BYTES;
    let certificate =
        sigstore_types::DerCertificate::from_pem(annotation("dev.sigstore.cosign/certificate")?)
            .map_err(|error| malformed(error.to_string()))?;
    let log = strict_json(annotation("dev.sigstore.cosign/bundle")?.as_bytes(), limit)?;
    let mut bundle = json!({
        "mediaType": V01,
        "verificationMaterial": {
            "x509CertificateChain": {"certificates": [{"rawBytes": certificate.to_base64()}]},
            "tlogEntries": [log_entry(&log)?],
        },
    });
    if simple {
        let digest = sigstore_types::DigestBytes::new(Digest::of(blob).as_bytes().to_vec());
        bundle["messageSignature"] = json!({
            "messageDigest": {"algorithm": "SHA2_256", "digest": digest},
            "signature": annotation("dev.cosignproject.cosign/signature")?,
        });
    } else {
        bundle["dsseEnvelope"] = strict_json(blob, limit)?;
    }
    Ok(bundle)
}

fn log_entry(log: &Value) -> Result<Value, Fault> {
    let part = |pointer: &str| {
        let value = log.pointer(pointer);
        value.ok_or_else(|| malformed(format!("the log's answer has no `{pointer}`")))
    };
    let body = part("/Payload/body")?.as_str().unwrap_or_default();
    let decoded =
        sigstore_types::CanonicalizedBody::from_base64(body).map_err(|error| malformed(error.to_string()))?;
    let entry = strict_json(decoded.as_bytes(), toolmark_domain::limits::BUNDLE_BYTES)?;
    let id = part("/Payload/logID")?
        .as_str()
        .and_then(|text| hex::decode(text).ok());
    let id = id.ok_or_else(|| malformed("the log's id is not hex"))?;
    let number = |pointer: &str| {
        let number = part(pointer)?.as_u64();
        let number = number.ok_or_else(|| malformed(format!("`{pointer}` is not a number")))?;
        Ok(number.to_string())
    };
    Ok(json!({
        "logIndex": number("/Payload/logIndex")?,
        "logId": {"keyId": sigstore_types::LogKeyId::new(id)},
        "kindVersion": {"kind": media_type(&entry, "kind"), "version": media_type(&entry, "apiVersion")},
        "integratedTime": number("/Payload/integratedTime")?,
        "inclusionPromise": {"signedEntryTimestamp": part("/SignedEntryTimestamp")?},
        "canonicalizedBody": body,
    }))
}

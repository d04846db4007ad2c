//! The strict reader in front of the verifier: what two parsers could read differently, or what costs too much, is
//! refused before any cryptography.

use serde_json::{Map, Value};
use sigstore_types::bundle::VerificationMaterialContent;
use sigstore_types::{Bundle, SignatureContent};
use toolmark_domain::limits::{
    BUNDLE_CERTIFICATES, BUNDLE_LOG_ENTRIES, BUNDLE_PROOF_HASHES, BUNDLE_TIMESTAMPS,
};
use toolmark_domain::provenance::Reason;

use crate::report::Fault;

const V01: &str = "application/vnd.dev.sigstore.bundle+json;version=0.1";
pub(crate) const V03: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
const MEDIA_TYPES: [&str; 4] = [
    V01,
    "application/vnd.dev.sigstore.bundle+json;version=0.2",
    "application/vnd.dev.sigstore.bundle+json;version=0.3",
    V03,
];

const ENTRY_KINDS: [(&str, &str); 4] = [
    ("hashedrekord", "0.0.1"),
    ("hashedrekord", "0.0.2"),
    ("dsse", "0.0.1"),
    ("intoto", "0.0.2"),
];

/// What the log gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogEvidence {
    /// A proof of inclusion for every entry.
    Proof,
    /// Only the log's promise, for some entry.
    Promise,
    None,
}

/// A bundle that passed the strict reader.
pub(crate) struct Strict {
    pub(crate) bundle: Bundle,
    pub(crate) log: LogEvidence,
}

impl Strict {
    /// The payload type and the signed bytes of an envelope.
    pub(crate) fn envelope(&self) -> Option<&sigstore_types::DsseEnvelope> {
        match &self.bundle.content {
            SignatureContent::DsseEnvelope(envelope) => Some(envelope),
            _ => None,
        }
    }

    /// The hint of the key, where a key signed and not a certificate.
    pub(crate) fn key_hint(&self) -> Option<&str> {
        match &self.bundle.verification_material.content {
            VerificationMaterialContent::PublicKey(key) => Some(&key.hint),
            _ => None,
        }
    }
}

fn malformed(note: impl Into<String>) -> Fault {
    Fault::new(Reason::MalformedBundle, note)
}

/// Reads one bundle; `value` comes from the strict JSON reader, so no key stands twice.
pub(crate) fn read(mut value: Value) -> Result<Strict, Fault> {
    let bundle = value.as_object_mut().ok_or_else(|| malformed("not an object"))?;
    let media_type = match bundle.get("mediaType") {
        Some(Value::String(text)) => text.clone(),
        Some(_) => return Err(malformed("`mediaType` is not text")),
        None => {
            return Err(Fault::new(
                Reason::UnsupportedBundle,
                "there is no `mediaType`, so its version is unknown",
            ));
        }
    };
    if !MEDIA_TYPES.contains(&media_type.as_str()) {
        return Err(Fault::new(
            Reason::UnsupportedBundle,
            "the media type is not one of a known bundle version",
        ));
    }
    if one_of(bundle, &["dsseEnvelope", "messageSignature"])? == "dsseEnvelope" {
        let signatures = bundle["dsseEnvelope"].get("signatures").and_then(Value::as_array);
        if signatures.map(Vec::len) != Some(1) {
            return Err(malformed("the envelope does not have exactly one signature"));
        }
    }
    let material = bundle
        .get_mut("verificationMaterial")
        .and_then(Value::as_object_mut)
        .ok_or_else(|| malformed("there is no `verificationMaterial`"))?;
    let log = material_bounds(material, media_type == V01)?;
    let bundle: Bundle = serde_json::from_value(value).map_err(|error| malformed(error.to_string()))?;
    Ok(Strict { bundle, log })
}

/// Which of the names is there; none or several are refused, `null` counts as absent.
fn one_of<'a>(map: &Map<String, Value>, names: &[&'a str]) -> Result<&'a str, Fault> {
    let mut present = names
        .iter()
        .filter(|name| map.get(**name).is_some_and(|v| !v.is_null()));
    match (present.next(), present.next()) {
        (Some(name), None) => Ok(name),
        (None, _) => Err(malformed(format!("none of {} is there", listed(names)))),
        (Some(_), Some(_)) => Err(malformed(format!("more than one of {} is there", listed(names)))),
    }
}

fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

/// An array that may be absent.
fn array<'a>(map: &'a mut Map<String, Value>, name: &str) -> Result<&'a mut [Value], Fault> {
    match map.get_mut(name) {
        None | Some(Value::Null) => Ok(&mut []),
        Some(Value::Array(items)) => Ok(items),
        Some(_) => Err(malformed(format!("`{name}` is not a list"))),
    }
}

fn bounded(count: usize, limit: usize, what: &str) -> Result<(), Fault> {
    if count > limit {
        return Err(Fault::new(
            Reason::LimitsExceeded,
            format!("{count} {what}, the limit is {limit}"),
        ));
    }
    Ok(())
}

fn material_bounds(material: &mut Map<String, Value>, v01: bool) -> Result<LogEvidence, Fault> {
    let key = one_of(material, &["certificate", "x509CertificateChain", "publicKey"])?;
    if key == "x509CertificateChain" {
        let chain = material["x509CertificateChain"]
            .as_object_mut()
            .ok_or_else(|| malformed("`x509CertificateChain` is not an object"))?;
        let certificates = array(chain, "certificates")?.len();
        if certificates == 0 {
            return Err(malformed("the certificate chain is empty"));
        }
        bounded(certificates, BUNDLE_CERTIFICATES, "certificates")?;
    }
    match material.get_mut("timestampVerificationData") {
        None | Some(Value::Null) => {}
        Some(Value::Object(times)) => {
            let times = array(times, "rfc3161Timestamps")?.len();
            bounded(times, BUNDLE_TIMESTAMPS, "timestamps")?;
        }
        Some(_) => return Err(malformed("`timestampVerificationData` is not an object")),
    }
    let entries = array(material, "tlogEntries")?;
    bounded(entries.len(), BUNDLE_LOG_ENTRIES, "log entries")?;
    let mut evidence = LogEvidence::None;
    for entry in entries {
        let entry = entry
            .as_object_mut()
            .ok_or_else(|| malformed("a log entry is not an object"))?;
        evidence = match (evidence, entry_evidence(entry, v01)?) {
            (LogEvidence::None, first) => first,
            (LogEvidence::Proof, LogEvidence::Proof) => LogEvidence::Proof,
            _ => LogEvidence::Promise,
        };
    }
    Ok(evidence)
}

/// What one entry gives. In a bundle of version 0.1 a proof without a checkpoint proves nothing and is dropped where
/// the log's promise is there; clients of that time wrote such.
fn entry_evidence(entry: &mut Map<String, Value>, v01: bool) -> Result<LogEvidence, Fault> {
    let kind = entry.get("kindVersion").and_then(|version| {
        let text = |name: &str| version.get(name).and_then(Value::as_str);
        Some((text("kind")?, text("version")?))
    });
    let kind = kind.ok_or_else(|| malformed("a log entry has no `kindVersion`"))?;
    if !ENTRY_KINDS.contains(&kind) {
        return Err(Fault::new(
            Reason::UnsupportedBundle,
            "a log entry is of a kind or version that is not known here",
        ));
    }
    let present = |entry: &Map<String, Value>, name: &str| entry.get(name).is_some_and(|v| !v.is_null());
    let promise = present(entry, "inclusionPromise");
    if present(entry, "inclusionProof") {
        let proof = entry["inclusionProof"]
            .as_object_mut()
            .ok_or_else(|| malformed("`inclusionProof` is not an object"))?;
        bounded(
            array(proof, "hashes")?.len(),
            BUNDLE_PROOF_HASHES,
            "hashes of a proof",
        )?;
        let checkpoint = proof
            .get("checkpoint")
            .and_then(|checkpoint| checkpoint.get("envelope"))
            .and_then(Value::as_str);
        if checkpoint.is_some_and(|text| !text.is_empty()) {
            return Ok(LogEvidence::Proof);
        }
        if !(v01 && promise) {
            return Err(malformed("an inclusion proof has no checkpoint"));
        }
        entry.remove("inclusionProof");
    }
    if promise {
        return Ok(LogEvidence::Promise);
    }
    Err(malformed("a log entry has neither a proof nor a promise"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn reason(value: Value) -> Reason {
        read(value).err().expect("refused").reason
    }

    fn envelope() -> Value {
        json!({"payload": "e30=", "payloadType": "application/vnd.in-toto+json",
               "signatures": [{"sig": "AA==", "keyid": ""}]})
    }

    fn bundle() -> Value {
        json!({
            "mediaType": V03,
            "verificationMaterial": {
                "certificate": {"rawBytes": "AA=="},
                "tlogEntries": [],
                "timestampVerificationData": {"rfc3161Timestamps": []}
            },
            "dsseEnvelope": envelope()
        })
    }

    fn entry() -> Value {
        json!({"logIndex": "1", "logId": {"keyId": "AA=="},
               "kindVersion": {"kind": "dsse", "version": "0.0.1"},
               "inclusionPromise": {"signedEntryTimestamp": "AA=="},
               "canonicalizedBody": "e30="})
    }

    #[test]
    fn each_bound_has_an_edge() {
        let at = |edit: &dyn Fn(&mut Value)| {
            let mut value = bundle();
            edit(&mut value);
            read(value).map(|_| ()).map_err(|fault| fault.reason)
        };
        let entries = |count: usize| {
            at(&|b| b["verificationMaterial"]["tlogEntries"] = Value::Array(vec![entry(); count]))
        };
        assert_eq!(entries(BUNDLE_LOG_ENTRIES), Ok(()));
        assert_eq!(entries(BUNDLE_LOG_ENTRIES + 1), Err(Reason::LimitsExceeded));
        let times = |count: usize| {
            let time = json!({"signedTimestamp": "AA=="});
            at(&|b| {
                b["verificationMaterial"]["timestampVerificationData"]["rfc3161Timestamps"] =
                    Value::Array(vec![time.clone(); count]);
            })
        };
        assert_eq!(times(BUNDLE_TIMESTAMPS), Ok(()));
        assert_eq!(times(BUNDLE_TIMESTAMPS + 1), Err(Reason::LimitsExceeded));
        let chain = |count: usize| {
            at(&|b| {
                let material = b["verificationMaterial"].as_object_mut().unwrap();
                material.remove("certificate");
                let one = json!({"rawBytes": "AA=="});
                material.insert(
                    "x509CertificateChain".into(),
                    json!({"certificates": vec![one; count]}),
                );
            })
        };
        assert_eq!(chain(BUNDLE_CERTIFICATES), Ok(()));
        assert_eq!(chain(BUNDLE_CERTIFICATES + 1), Err(Reason::LimitsExceeded));
        assert_eq!(chain(0), Err(Reason::MalformedBundle));
        let hashes = |count: usize| {
            at(&|b| {
                let mut entry = entry();
                let hash = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
                entry["inclusionProof"] = json!({"logIndex": "0", "treeSize": "1", "rootHash": hash,
                    "hashes": vec![hash; count],
                    "checkpoint": {"envelope": format!("log\n1\n{hash}\n\n— log AAAAAAAA\n")}});
                b["verificationMaterial"]["tlogEntries"] = json!([entry]);
            })
        };
        assert_eq!(hashes(BUNDLE_PROOF_HASHES), Ok(()));
        assert_eq!(hashes(BUNDLE_PROOF_HASHES + 1), Err(Reason::LimitsExceeded));
    }

    #[test]
    fn what_parsers_could_read_differently_is_refused() {
        let mut both = bundle();
        both["messageSignature"] = json!({"signature": "AA=="});
        assert_eq!(reason(both), Reason::MalformedBundle);
        let mut two_keys = bundle();
        two_keys["verificationMaterial"]["publicKey"] = json!({"hint": "x"});
        assert_eq!(reason(two_keys), Reason::MalformedBundle);
        let mut two = bundle();
        let signature = two["dsseEnvelope"]["signatures"][0].clone();
        two["dsseEnvelope"]["signatures"] = json!([signature, signature]);
        assert_eq!(reason(two), Reason::MalformedBundle);
        let mut bare = bundle();
        bare["verificationMaterial"]["tlogEntries"] = json!([entry()]);
        bare["verificationMaterial"]["tlogEntries"][0]["inclusionPromise"] = Value::Null;
        assert_eq!(reason(bare), Reason::MalformedBundle);
    }

    #[test]
    fn what_is_new_is_not_called_broken() {
        let mut version = bundle();
        version["mediaType"] = json!("application/vnd.dev.sigstore.bundle.v0.4+json");
        assert_eq!(reason(version), Reason::UnsupportedBundle);
        let mut kind = bundle();
        kind["verificationMaterial"]["tlogEntries"] = json!([entry()]);
        kind["verificationMaterial"]["tlogEntries"][0]["kindVersion"]["version"] = json!("0.0.9");
        assert_eq!(reason(kind), Reason::UnsupportedBundle);
    }

    #[test]
    fn an_unusable_proof_of_an_old_bundle_is_dropped_and_only_there() {
        let mut old = bundle();
        old["mediaType"] = json!(V01);
        old["verificationMaterial"]["tlogEntries"] = json!([entry()]);
        old["verificationMaterial"]["tlogEntries"][0]["inclusionProof"] =
            json!({"logIndex": "0", "treeSize": "1", "rootHash": "AA==", "hashes": []});
        let strict = read(old.clone()).ok().unwrap();
        assert_eq!(strict.log, LogEvidence::Promise);
        assert!(
            strict.bundle.verification_material.tlog_entries[0]
                .inclusion_proof
                .is_none()
        );
        old["mediaType"] = json!(V03);
        assert_eq!(reason(old), Reason::MalformedBundle);
    }
}

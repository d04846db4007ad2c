//! Takes a document of evidence apart into single attestations, and says how they count together.

use serde_json::Value;
use toolmark_domain::json;
use toolmark_domain::limits::{BUNDLE_BYTES, EVIDENCE_ATTESTATIONS, EVIDENCE_BYTES, EVIDENCE_VALUES};
use toolmark_domain::provenance::Reason;

use crate::checker::Artifact;
use crate::evidence::{EvidenceFormat, Gathered};
use crate::oci;
use crate::pep740::{self, Publisher};
use crate::report::Fault;

/// One attestation as found.
pub(crate) struct Item {
    pub(crate) value: Result<Value, Fault>,
    pub(crate) form: Form,
}

/// How it was wrapped.
#[derive(Clone, Debug)]
pub(crate) enum Form {
    Bundle,
    /// In an npm answer, with the label it has there.
    Npm {
        label: String,
    },
    /// In a PEP 740 object, perhaps with the publisher it is filed under.
    Pep740 {
        publisher: Option<Publisher>,
    },
    /// An envelope alone.
    Envelope,
    /// An old cosign signature or attestation; the payload, where that is what was signed.
    Cosign {
        payload: Option<Vec<u8>>,
    },
}

impl Item {
    pub(crate) fn fault(fault: Fault, form: Form) -> Self {
        Self {
            value: Err(fault),
            form,
        }
    }
}

/// How several attestations count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counting {
    /// One answer is one document: every one that is known must verify.
    All,
    /// A list that others may add to: one that verifies is enough.
    Any,
}

/// The attestations of a document.
pub(crate) struct Items {
    pub(crate) items: Vec<Item>,
    pub(crate) counting: Counting,
}

fn malformed(note: impl Into<String>) -> Fault {
    Fault::new(Reason::MalformedBundle, note)
}

/// Strict JSON of one document or bundle.
pub(crate) fn strict_json(bytes: &[u8], limit: usize) -> Result<Value, Fault> {
    strict(bytes, limit, Reason::MalformedBundle)
}

/// Strict JSON: bounded in size, depth and number of values, and no key twice; `malformed` is the reason where it is not
/// well formed.
pub(crate) fn strict(bytes: &[u8], limit: usize, malformed: Reason) -> Result<Value, Fault> {
    if bytes.len() <= limit && values(bytes) > EVIDENCE_VALUES {
        return Err(Fault::new(
            Reason::LimitsExceeded,
            format!("more than {EVIDENCE_VALUES} values"),
        ));
    }
    let read = json::read(bytes, limit).map_err(|error| match error {
        json::ReadError::TooLarge { .. } | json::ReadError::TooDeep { .. } => {
            Fault::new(Reason::LimitsExceeded, error.to_string())
        }
        other => Fault::new(malformed, format!("not JSON: {other}")),
    })?;
    let twice = |finding: &&json::Finding| matches!(finding, json::Finding::DuplicateKey { .. });
    match read.findings.iter().find(twice) {
        Some(finding) => Err(Fault::new(malformed, finding.to_string())),
        None => Ok(read.value),
    }
}

/// How many values a JSON text has at most, without reading it: every value but the first follows a comma, a bracket
/// or a brace.
fn values(bytes: &[u8]) -> usize {
    let (mut count, mut within, mut escaped) = (1, false, false);
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if within => escaped = true,
            b'"' => within = !within,
            b',' | b'[' | b'{' if !within => count += 1,
            _ => {}
        }
    }
    count
}

/// Takes `bytes` apart.
pub(crate) fn items(format: EvidenceFormat, bytes: &[u8]) -> Result<Items, Fault> {
    let (items, counting) = match format {
        EvidenceFormat::SigstoreBundle => (
            vec![Item {
                value: strict_json(bytes, BUNDLE_BYTES),
                form: Form::Bundle,
            }],
            Counting::All,
        ),
        EvidenceFormat::BundleJsonl => (lines(bytes, &Form::Bundle)?, Counting::Any),
        EvidenceFormat::DsseEnvelope => (lines(bytes, &Form::Envelope)?, Counting::Any),
        EvidenceFormat::NpmAttestations => (npm(strict_json(bytes, EVIDENCE_BYTES)?)?, Counting::All),
        EvidenceFormat::GithubAttestations => (forge(strict_json(bytes, EVIDENCE_BYTES)?)?, Counting::Any),
        EvidenceFormat::Pep740Provenance => (
            pep740::provenance(strict_json(bytes, EVIDENCE_BYTES)?)?,
            Counting::All,
        ),
        EvidenceFormat::Pep740Attestation => {
            let value = strict_json(bytes, BUNDLE_BYTES).and_then(pep740::bundle);
            let form = Form::Pep740 { publisher: None };
            (vec![Item { value, form }], Counting::All)
        }
    };
    bounded(items.len())?;
    Ok(Items { items, counting })
}

pub(crate) fn bounded(count: usize) -> Result<(), Fault> {
    if count > EVIDENCE_ATTESTATIONS {
        return Err(Fault::new(
            Reason::LimitsExceeded,
            format!("{count} attestations, the limit is {EVIDENCE_ATTESTATIONS}"),
        ));
    }
    Ok(())
}

/// JSON lines; a single document over several lines is taken too.
fn lines(bytes: &[u8], form: &Form) -> Result<Vec<Item>, Fault> {
    if bytes.len() > EVIDENCE_BYTES {
        return Err(Fault::new(
            Reason::LimitsExceeded,
            format!("{} bytes, the limit is {EVIDENCE_BYTES}", bytes.len()),
        ));
    }
    let lines: Vec<&[u8]> = bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.iter().all(u8::is_ascii_whitespace))
        .collect();
    let whole = lines.first().is_some_and(|first| first.trim_ascii() == b"{");
    if whole {
        let value = strict_json(bytes, BUNDLE_BYTES);
        let form = form.clone();
        return Ok(vec![Item { value, form }]);
    }
    bounded(lines.len())?;
    let item = |line: &&[u8]| Item {
        value: strict_json(line, BUNDLE_BYTES),
        form: form.clone(),
    };
    Ok(lines.iter().map(item).collect())
}

/// Everything that was gathered. Several places are a list that others may add to.
pub(crate) fn gathered(gathered: &Gathered, artifact: &Artifact) -> Result<Items, Fault> {
    let mut all = Vec::new();
    let mut counting = None;
    for (format, bytes) in &gathered.documents {
        match items(*format, bytes) {
            Ok(found) => {
                counting = Some(found.counting);
                all.extend(found.items);
            }
            Err(fault) => all.push(Item::fault(fault, Form::Bundle)),
        }
    }
    if !gathered.image.is_empty() {
        all.extend(oci::items(&gathered.image, artifact)?.items);
    }
    let alone = gathered.documents.len() == 1 && gathered.image.is_empty() && gathered.failures.is_empty();
    for failure in &gathered.failures {
        let fault = Fault::new(failure.reason, failure.note.as_str());
        all.push(Item::fault(fault, Form::Bundle));
    }
    bounded(all.len().saturating_sub(gathered.failures.len()))?;
    Ok(Items {
        items: all,
        counting: counting.filter(|_| alone).unwrap_or(Counting::Any),
    })
}

fn attestations(answer: Value) -> Result<Vec<Value>, Fault> {
    let Value::Object(mut answer) = answer else {
        return Err(malformed("the answer is not an object"));
    };
    let Some(Value::Array(attestations)) = answer.remove("attestations") else {
        return Err(malformed("there is no list `attestations`"));
    };
    bounded(attestations.len())?;
    Ok(attestations)
}

fn npm(answer: Value) -> Result<Vec<Item>, Fault> {
    attestations(answer)?.into_iter().map(npm_item).collect()
}

/// A forge lists bundles, each with more around it. One that is only named is not fetched from elsewhere.
fn forge(answer: Value) -> Result<Vec<Item>, Fault> {
    let item = |attestation: Value| {
        let Value::Object(mut attestation) = attestation else {
            return Err(malformed("an attestation is not an object"));
        };
        let bundle = attestation.remove("bundle").filter(|bundle| !bundle.is_null());
        let elsewhere = || Fault::new(Reason::FetchFailed, "the forge names a bundle without giving it");
        Ok(Item {
            value: bundle.ok_or_else(elsewhere),
            form: Form::Bundle,
        })
    };
    attestations(answer)?.into_iter().map(item).collect()
}

fn npm_item(attestation: Value) -> Result<Item, Fault> {
    let Value::Object(mut attestation) = attestation else {
        return Err(malformed("an attestation is not an object"));
    };
    let Some(Value::String(label)) = attestation.remove("predicateType") else {
        return Err(malformed("an attestation has no `predicateType`"));
    };
    let value = attestation
        .remove("bundle")
        .ok_or_else(|| malformed("an attestation has no `bundle`"));
    Ok(Item {
        value,
        form: Form::Npm { label },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_an_edge() {
        let lines = |count: usize| "{}\n".repeat(count);
        let count = |text: String| items(EvidenceFormat::BundleJsonl, text.as_bytes()).map(|i| i.items.len());
        assert_eq!(count(lines(EVIDENCE_ATTESTATIONS)), Ok(EVIDENCE_ATTESTATIONS));
        let over = count(lines(EVIDENCE_ATTESTATIONS + 1)).unwrap_err();
        assert_eq!(over.reason, Reason::LimitsExceeded);
        let npm = |count: usize| {
            let one = r#"{"predicateType":"x","bundle":{}}"#;
            let text = format!(r#"{{"attestations":[{}]}}"#, vec![one; count].join(","));
            items(EvidenceFormat::NpmAttestations, text.as_bytes()).map(|i| i.items.len())
        };
        assert_eq!(npm(EVIDENCE_ATTESTATIONS), Ok(EVIDENCE_ATTESTATIONS));
        assert_eq!(
            npm(EVIDENCE_ATTESTATIONS + 1).unwrap_err().reason,
            Reason::LimitsExceeded
        );
    }

    #[test]
    fn the_number_of_values_has_an_edge() {
        // A comma for each but the first, and the bracket.
        let read =
            |count: usize| strict_json(format!("[1{}]", ",1".repeat(count - 2)).as_bytes(), BUNDLE_BYTES);
        assert!(read(EVIDENCE_VALUES - 1).is_ok());
        assert!(read(EVIDENCE_VALUES).is_ok());
        assert_eq!(
            read(EVIDENCE_VALUES + 1).unwrap_err().reason,
            Reason::LimitsExceeded
        );
        let text = format!("\"{}\"", ",\\\"[".repeat(EVIDENCE_VALUES / 2));
        assert!(strict_json(text.as_bytes(), BUNDLE_BYTES).is_ok());
    }

    #[test]
    fn size_has_an_edge() {
        let text = |bytes: usize| format!("{{{}}}", " ".repeat(bytes - 2));
        let read = |bytes: usize| {
            let items = items(EvidenceFormat::SigstoreBundle, text(bytes).as_bytes()).unwrap();
            items.items.into_iter().next().unwrap().value
        };
        assert!(read(BUNDLE_BYTES).is_ok());
        assert_eq!(read(BUNDLE_BYTES + 1).unwrap_err().reason, Reason::LimitsExceeded);
        let large = vec![b'\n'; EVIDENCE_BYTES + 1];
        let error = items(EvidenceFormat::BundleJsonl, &large).err().unwrap();
        assert_eq!(error.reason, Reason::LimitsExceeded);
    }

    #[test]
    fn a_bundle_over_several_lines_is_one() {
        let text = b"{\n \"a\": 1\n}\n";
        assert_eq!(items(EvidenceFormat::BundleJsonl, text).unwrap().items.len(), 1);
        assert_eq!(
            items(EvidenceFormat::BundleJsonl, b"\n\n").unwrap().items.len(),
            0
        );
    }
}

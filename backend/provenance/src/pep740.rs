//! PEP 740 objects, as Python's package index serves them, turned into bundles.

use serde_json::{Map, Value, json};
use toolmark_domain::provenance::Reason;

use crate::bundle::V03;
use crate::document::{Form, Item, bounded};
use crate::policy::Source;
use crate::report::Fault;
use crate::repository::Repository;
use crate::statement::PAYLOAD_TYPE;

/// Who the index says may publish. Not signed, so it is compared with the certificate and decides nothing.
#[derive(Clone, Debug)]
pub(crate) struct Publisher {
    kind: String,
    repository: Option<String>,
    workflow: Option<String>,
}

fn malformed(note: impl Into<String>) -> Fault {
    Fault::new(Reason::MalformedBundle, note)
}

fn object(value: Value, what: &str) -> Result<Map<String, Value>, Fault> {
    match value {
        Value::Object(map) => Ok(map),
        _ => Err(malformed(format!("{what} is not an object"))),
    }
}

fn version_one(map: &Map<String, Value>, what: &str) -> Result<(), Fault> {
    match map.get("version").and_then(Value::as_u64) {
        Some(1) => Ok(()),
        Some(_) => Err(Fault::new(
            Reason::UnsupportedBundle,
            format!("{what} is of a version that is not known here"),
        )),
        None => Err(malformed(format!("{what} has no `version`"))),
    }
}

/// Every attestation of a provenance object.
pub(crate) fn provenance(value: Value) -> Result<Vec<Item>, Fault> {
    let mut map = object(value, "the answer")?;
    version_one(&map, "the answer")?;
    let Some(Value::Array(bundles)) = map.remove("attestation_bundles") else {
        return Err(malformed("there is no list `attestation_bundles`"));
    };
    let mut items = Vec::new();
    for bundle in bundles {
        let mut bundle = object(bundle, "an attestation bundle")?;
        let publisher = publisher(bundle.get("publisher"))?;
        let Some(Value::Array(attestations)) = bundle.remove("attestations") else {
            return Err(malformed("there is no list `attestations`"));
        };
        bounded(items.len() + attestations.len())?;
        items.extend(attestations.into_iter().map(|attestation| Item {
            value: self::bundle(attestation),
            form: Form::Pep740 {
                publisher: Some(publisher.clone()),
            },
        }));
    }
    Ok(items)
}

fn publisher(value: Option<&Value>) -> Result<Publisher, Fault> {
    let text = |name: &str| {
        let value = value.and_then(|publisher| publisher.get(name));
        value.and_then(Value::as_str).map(str::to_owned)
    };
    Ok(Publisher {
        kind: text("kind").ok_or_else(|| malformed("a publisher has no `kind`"))?,
        repository: text("repository"),
        workflow: text("workflow").or_else(|| text("workflow_filepath")),
    })
}

/// One attestation as a bundle of version 0.3.
pub(crate) fn bundle(value: Value) -> Result<Value, Fault> {
    let mut attestation = object(value, "an attestation")?;
    version_one(&attestation, "an attestation")?;
    let mut take = |name: &str| {
        let part = attestation.remove(name);
        let part = part.ok_or_else(|| malformed(format!("an attestation has no `{name}`")))?;
        object(part, name)
    };
    let mut material = take("verification_material")?;
    let mut envelope = take("envelope")?;
    let need = |map: &mut Map<String, Value>, name: &str| {
        map.remove(name)
            .ok_or_else(|| malformed(format!("an attestation has no `{name}`")))
    };
    let certificate = need(&mut material, "certificate")?;
    let entries = need(&mut material, "transparency_entries")?;
    let statement = need(&mut envelope, "statement")?;
    let signature = need(&mut envelope, "signature")?;
    Ok(json!({
        "mediaType": V03,
        "verificationMaterial": {
            "certificate": {"rawBytes": certificate},
            "tlogEntries": entries,
        },
        "dsseEnvelope": {
            "payload": statement,
            "payloadType": PAYLOAD_TYPE,
            "signatures": [{"sig": signature, "keyid": ""}],
        },
    }))
}

impl Publisher {
    /// The publisher on record is the one in the certificate.
    pub(crate) fn compare(&self, source: &Source) -> Option<Fault> {
        let (host, between) = match self.kind.as_str() {
            "GitHub" => ("github.com", "/.github/workflows/"),
            "GitLab" => ("gitlab.com", "//"),
            _ => {
                return Some(Fault::new(
                    Reason::UnsupportedBundle,
                    format!("publishers of the kind `{}` are not known here", self.kind),
                ));
            }
        };
        let conflict = |note: String| Some(Fault::new(Reason::ClaimConflict, note));
        let path = self.repository.as_deref().unwrap_or_default();
        let repository = Repository::parse(&format!("https://{host}/{path}"));
        if repository.as_ref() != Some(&source.repository) {
            return conflict(format!("the index files it under the repository `{path}`"));
        }
        let workflow = self.workflow.as_deref().unwrap_or_default();
        let config = source.config.as_deref().unwrap_or_default();
        let fits = config
            .strip_prefix(&source.uri)
            .and_then(|rest| rest.strip_prefix(between))
            .and_then(|rest| rest.strip_prefix(workflow))
            .is_some_and(|rest| rest.starts_with('@'));
        if workflow.is_empty() || !fits {
            return conflict(format!("the index files it under the workflow `{workflow}`"));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(host: &str, config: &str) -> Source {
        let uri = format!("https://{host}/acme/weather");
        Source {
            repository: Repository::parse(&uri).unwrap(),
            config: Some(format!("{uri}{config}@refs/tags/v1")),
            uri,
            id: None,
            commit: None,
            reference: None,
            runner: None,
            signer: String::new(),
        }
    }

    fn publisher(kind: &str, repository: &str, workflow: &str) -> Publisher {
        Publisher {
            kind: kind.into(),
            repository: Some(repository.into()),
            workflow: Some(workflow.into()),
        }
    }

    #[test]
    fn the_publisher_on_record_is_compared_with_the_certificate() {
        let github = source("github.com", "/.github/workflows/release.yml");
        let gitlab = source("gitlab.com", "//.gitlab-ci.yml");
        let reason = |publisher: Publisher, source| publisher.compare(source).map(|fault| fault.reason);
        assert_eq!(
            reason(publisher("GitHub", "Acme/weather", "release.yml"), &github),
            None
        );
        assert_eq!(
            reason(publisher("GitLab", "acme/weather", ".gitlab-ci.yml"), &gitlab),
            None
        );
        for other in [
            publisher("GitHub", "acme/weather2", "release.yml"),
            publisher("GitHub", "acme/weather", "release"),
            publisher("GitHub", "acme/weather", ""),
            publisher("GitLab", "acme/weather", "release.yml"),
        ] {
            assert_eq!(reason(other, &github), Some(Reason::ClaimConflict));
        }
        let other = publisher("Google", "x", "y");
        assert_eq!(reason(other, &github), Some(Reason::UnsupportedBundle));
    }
}

//! The signed in-toto statement, read strictly: what it is about and what kind of statement it is.

use serde_json::{Map, Value};
use toolmark_domain::limits::{BUNDLE_BYTES, STATEMENT_SUBJECTS, SUBJECT_DIGESTS};
use toolmark_domain::provenance::Reason;

use crate::document::strict;
use crate::report::Fault;

pub(crate) const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

const TYPES: [&str; 2] = [
    "https://in-toto.io/Statement/v0.1",
    "https://in-toto.io/Statement/v1",
];

/// The kinds of statement we know, by their exact predicate type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    SlsaV1,
    SlsaV02,
    NpmPublish,
    PypiPublish,
    GitHubRelease,
    CosignSign,
    Unknown,
}

impl Kind {
    /// Never by prefix: `…/v1-evil` is not `…/v1`.
    pub(crate) fn of(predicate_type: &str) -> Self {
        match predicate_type {
            "https://slsa.dev/provenance/v1" => Self::SlsaV1,
            "https://slsa.dev/provenance/v0.2" => Self::SlsaV02,
            "https://github.com/npm/attestation/tree/main/specs/publish/v0.1" => Self::NpmPublish,
            "https://docs.pypi.org/attestations/publish/v1" => Self::PypiPublish,
            "https://in-toto.io/attestation/release/v0.2" => Self::GitHubRelease,
            "https://sigstore.dev/cosign/sign/v1" => Self::CosignSign,
            _ => Self::Unknown,
        }
    }
}

/// What a statement is about: a name and digests of one thing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) name: Option<String>,
    pub(crate) sha256: Option<[u8; 32]>,
    pub(crate) sha512: Option<[u8; 64]>,
}

/// A statement as read.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) predicate_type: String,
    pub(crate) predicate: Value,
    pub(crate) subjects: Vec<Subject>,
}

impl Statement {
    pub(crate) fn kind(&self) -> Kind {
        Kind::of(&self.predicate_type)
    }
}

fn malformed(note: impl Into<String>) -> Fault {
    Fault::new(Reason::MalformedStatement, note)
}

/// Reads a statement from the payload of an envelope.
pub(crate) fn read(payload: &[u8]) -> Result<Statement, Fault> {
    let value = strict(payload, BUNDLE_BYTES, Reason::MalformedStatement)?;
    let Value::Object(mut statement) = value else {
        return Err(malformed("the statement is not an object"));
    };
    let text = |name: &str| statement.get(name).and_then(Value::as_str);
    if !text("_type").is_some_and(|kind| TYPES.contains(&kind)) {
        return Err(malformed("`_type` is not that of an in-toto statement"));
    }
    let predicate_type = text("predicateType")
        .ok_or_else(|| malformed("there is no `predicateType`"))?
        .to_owned();
    let Some(subjects) = statement.get("subject").and_then(Value::as_array) else {
        return Err(malformed("there is no list of subjects"));
    };
    if subjects.is_empty() {
        return Err(malformed("the statement is about nothing"));
    }
    if subjects.len() > STATEMENT_SUBJECTS {
        return Err(Fault::new(
            Reason::LimitsExceeded,
            format!("{} subjects, the limit is {STATEMENT_SUBJECTS}", subjects.len()),
        ));
    }
    let subjects = subjects.iter().map(subject).collect::<Result<_, _>>()?;
    Ok(Statement {
        predicate_type,
        predicate: statement.remove("predicate").unwrap_or(Value::Null),
        subjects,
    })
}

fn subject(value: &Value) -> Result<Subject, Fault> {
    let name = match value.get("name") {
        None | Some(Value::Null) => None,
        Some(Value::String(name)) => Some(name.clone()).filter(|name| !name.is_empty()),
        Some(_) => return Err(malformed("the name of a subject is not text")),
    };
    let digests = value
        .get("digest")
        .and_then(Value::as_object)
        .ok_or_else(|| malformed("a subject has no digests"))?;
    if digests.is_empty() {
        return Err(malformed("a subject has no digests"));
    }
    if digests.len() > SUBJECT_DIGESTS {
        return Err(Fault::new(
            Reason::LimitsExceeded,
            format!(
                "{} digests of a subject, the limit is {SUBJECT_DIGESTS}",
                digests.len()
            ),
        ));
    }
    if digests.values().any(|digest| !digest.is_string()) {
        return Err(malformed("a digest is not text"));
    }
    Ok(Subject {
        name,
        sha256: digest(digests, "sha256")?,
        sha512: digest(digests, "sha512")?,
    })
}

fn digest<const N: usize>(digests: &Map<String, Value>, name: &str) -> Result<Option<[u8; N]>, Fault> {
    let Some(text) = digests.get(name).and_then(Value::as_str) else {
        return Ok(None);
    };
    let mut bytes = [0; N];
    hex::decode_to_slice(text, &mut bytes)
        .map_err(|_| malformed(format!("a digest named `{name}` is not {N} bytes in hex")))?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn statement(subject: &Value) -> Value {
        json!({"_type": TYPES[1], "subject": subject, "predicateType": "https://slsa.dev/provenance/v1",
               "predicate": {}})
    }

    fn reason(value: &Value) -> Reason {
        read(value.to_string().as_bytes()).unwrap_err().reason
    }

    #[test]
    fn kinds_are_exact() {
        assert_eq!(Kind::of("https://slsa.dev/provenance/v1"), Kind::SlsaV1);
        for other in [
            "",
            "https://slsa.dev/provenance/v1-evil",
            "https://slsa.dev/provenance/v1?draft",
        ] {
            assert_eq!(Kind::of(other), Kind::Unknown, "{other}");
        }
    }

    #[test]
    fn subjects_and_digests_have_edges() {
        let one = json!({"name": "a", "digest": {"sha256": "00".repeat(32)}});
        let many = |count: usize| statement(&Value::Array(vec![one.clone(); count]));
        assert!(read(many(STATEMENT_SUBJECTS).to_string().as_bytes()).is_ok());
        assert_eq!(reason(&many(STATEMENT_SUBJECTS + 1)), Reason::LimitsExceeded);
        let digests = |count: usize| {
            let map: Map<String, Value> = (0..count).map(|i| (format!("d{i}"), json!("00"))).collect();
            statement(&json!([{"name": "a", "digest": map}]))
        };
        assert!(read(digests(SUBJECT_DIGESTS).to_string().as_bytes()).is_ok());
        assert_eq!(reason(&digests(SUBJECT_DIGESTS + 1)), Reason::LimitsExceeded);
    }

    #[test]
    fn a_digest_fits_its_name() {
        let subject = json!([{"name": "a", "digest": {"sha512": "00".repeat(32)}}]);
        assert_eq!(reason(&statement(&subject)), Reason::MalformedStatement);
    }

    #[test]
    fn depth_is_a_bound_and_not_an_error() {
        let deep = format!(
            r#"{{"_type":"{}","subject":[],"predicateType":"x","predicate":{}{}}}"#,
            TYPES[1],
            "[".repeat(80),
            "]".repeat(80)
        );
        assert_eq!(read(deep.as_bytes()).unwrap_err().reason, Reason::LimitsExceeded);
    }
}

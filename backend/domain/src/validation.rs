//! The one validator of `server.json`, for the server and the command line.
//!
//! Four questions, each with every finding and its place: may this body come in at all ([`gate`]), does it hold to
//! its schema and to the rules of meaning ([`validate`]), may it be published ([`publish_issues`]), and, for a file
//! in someone's hands, all of that at once ([`inspect`]). Verdicts are the official registry's but for the
//! differences named in `tests/corpus.rs` and on the docs page "Differences".

mod findings;
mod gate;
pub(crate) mod lines;
mod place;
mod ranges;
pub mod report;
pub mod schema;
mod semantic;
mod served;
mod shape;
mod templates;
mod uri;

use serde::Serialize;
use serde_json::Value;

use crate::limits::PUBLISHER_META_BYTES;
use crate::record::PUBLISHER_META;
use findings::Findings;

/// One thing the HTTP gate has against a body, in the words of the official registry.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FieldError {
    pub message: String,
    /// As `body.packages[0].transport`.
    pub location: String,
    /// What was found there; only small values are repeated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

/// The verdict on a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Validation {
    /// No issue is an error.
    pub valid: bool,
    pub issues: Vec<Issue>,
}

/// One thing found in a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Issue {
    #[serde(rename = "type")]
    pub kind: IssueKind,
    /// As `packages[0].transport.url`; empty for the whole document.
    pub path: String,
    pub message: String,
    pub severity: Severity,
    /// The rule: a name, or the address of a schema's part.
    pub reference: String,
}

/// Which kind of rule an issue is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum IssueKind {
    Json,
    Schema,
    Semantic,
    Linter,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Error,
    Warning,
    Info,
}

/// Everything the HTTP gate has against `document`; nothing when it may come in.
pub fn gate(document: &Value) -> Vec<FieldError> {
    gate::gate(document)
}

/// The full check: schema version, the rules of the schema that `$schema` names, and the rules of meaning.
pub fn validate(document: &Value) -> Validation {
    let served = served::served_form(document);
    let mut out = Findings::default();
    if let Some(schema) = schema::check_version(address(&served), &mut out) {
        schema::check(schema, &served, &mut out);
    }
    semantic::check(&served, &mut out);
    out.finish()
}

/// What stands against publishing: schema version and meaning, without the schema's own rules, as upstream; and an
/// empty repository.
pub fn publish_issues(document: &Value) -> Validation {
    let served = served::served_form(document);
    let mut out = Findings::default();
    schema::check_version(address(&served), &mut out);
    semantic::check(&served, &mut out);
    semantic::check_published(&served, &mut out);
    out.finish()
}

/// All that would stand in the way of a file on its way into a registry: the gate first, then [`validate`], without
/// saying twice what is wrong at one place.
pub fn inspect(document: &Value) -> Validation {
    let gate: Vec<Issue> = gate(document).into_iter().map(Issue::from).collect();
    let mut validation = validate(document);
    if gate.is_empty() {
        return validation;
    }
    validation.issues.retain(|issue| {
        // Issues of the schema version name the field without its sign.
        let path = if issue.path == "schema" {
            "$schema"
        } else {
            &issue.path
        };
        !gate.iter().any(|refused| refused.path == path)
    });
    validation.issues.splice(..0, gate);
    validation.valid = false;
    validation
}

/// Checks `document` against one schema alone, whatever its `$schema` says. `None` for an unknown date.
pub fn schema_issues(date: &str, document: &Value) -> Option<Validation> {
    let mut out = Findings::default();
    schema::check(schema::find(date)?, document, &mut out);
    Some(out.finish())
}

/// Whether a text has the format `uri` of the schemas, as the official registry takes it.
pub fn is_uri(text: &str) -> bool {
    uri::is_uri(text)
}

/// `document` as the official contract serves it: null and empty optional fields dropped, an empty repository and
/// the order of keys kept.
pub fn served_form(document: &Value) -> Value {
    served::served_form(document)
}

/// A publisher-provided block that is too large.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`_meta` block `{PUBLISHER_META}` has {bytes} bytes of JSON, the limit is {PUBLISHER_META_BYTES}")]
pub struct PublisherMetaError {
    pub bytes: usize,
}

/// Checks the size of the publisher-provided block, as compact JSON.
pub fn check_publisher_meta(document: &Value) -> Result<(), PublisherMetaError> {
    let Some(block) = document.get("_meta").and_then(|meta| meta.get(PUBLISHER_META)) else {
        return Ok(());
    };
    let bytes = block.to_string().len();
    if bytes > PUBLISHER_META_BYTES {
        return Err(PublisherMetaError { bytes });
    }
    Ok(())
}

fn address(document: &Value) -> &str {
    document
        .get("$schema")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

impl From<FieldError> for Issue {
    fn from(error: FieldError) -> Self {
        let path = error.location.strip_prefix("body").unwrap_or(&error.location);
        let path = path.strip_prefix('.').unwrap_or(path);
        let path = match gate::missing(&error.message) {
            Some(key) if path.is_empty() => key.to_owned(),
            Some(key) => format!("{path}.{key}"),
            None => path.to_owned(),
        };
        Self {
            kind: IssueKind::Schema,
            path,
            message: error.message,
            severity: Severity::Error,
            reference: "request-body".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;

//! Reads one element of a source: a row `{server, _meta}` or a bare `server.json`, of today's or an older form. What
//! can be kept is kept as it came; what cannot is refused with its reason and never half-read.

use serde::Deserialize;
use serde::de::{Error as _, IgnoredAny};
use serde_json::Value;
use serde_json::error::Category;
use serde_json::value::RawValue;
use toolmark_domain::document::Document;
use toolmark_domain::json::{self, Finding, ReadError};
use toolmark_domain::limits::{IMPORT_LINE_BYTES, SERVER_JSON_BYTES, STATUS_MESSAGE_CHARS};
use toolmark_domain::name::ServerName;
use toolmark_domain::record::OFFICIAL_META;
use toolmark_domain::status::Status;
use toolmark_domain::timestamp::Timestamp;
use toolmark_domain::version::VersionId;

use super::old;
use super::report::Reason;
use super::served;

/// Key of the official block in mid-2025.
const OLD_OFFICIAL_META: &str = "x-io.modelcontextprotocol.registry";

/// What a source says of one version. Times it does not give are absent.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) server: ServerName,
    pub(crate) version: VersionId,
    pub(crate) meta: Meta,
    pub(crate) document: String,
    pub(crate) raw: Vec<u8>,
    pub(crate) valid: bool,
    pub(crate) facts: Document,
}

/// The official block of a row.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Meta {
    pub(crate) status: Option<Status>,
    pub(crate) status_changed_at: Option<Timestamp>,
    pub(crate) status_message: Option<String>,
    pub(crate) published_at: Option<Timestamp>,
    pub(crate) updated_at: Option<Timestamp>,
    pub(crate) is_latest: Option<bool>,
}

impl Meta {
    /// Whether one of its times is after `at`.
    pub(crate) fn is_after(&self, at: Timestamp) -> bool {
        [self.published_at, self.updated_at, self.status_changed_at]
            .into_iter()
            .flatten()
            .any(|time| time > at)
    }
}

/// An element that is not kept.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) reason: Reason,
    /// As far as it could be read.
    pub(crate) server: Option<String>,
    pub(crate) detail: String,
}

impl Refusal {
    pub(crate) fn new(reason: Reason, detail: impl Into<String>) -> Self {
        Self {
            reason,
            server: None,
            detail: shortened(&detail.into()),
        }
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    server: Option<&'a RawValue>,
    #[serde(borrow)]
    servers: Option<Vec<&'a RawValue>>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<&'a RawValue>,
    #[serde(borrow, rename = "x-io.modelcontextprotocol.registry")]
    old_meta: Option<&'a RawValue>,
}

/// Reads an element; a list answer gives several rows, anything else one.
pub(crate) fn read(element: &[u8]) -> Vec<Result<Row, Refusal>> {
    let element = element.trim_ascii();
    match envelope(element) {
        Ok(Envelope {
            servers: Some(rows), ..
        }) => rows.iter().map(|row| read_one(row.get().as_bytes())).collect(),
        Ok(envelope) => vec![read_envelope(element, &envelope)],
        Err(refusal) => vec![Err(refusal)],
    }
}

/// Reads a row; a list is none.
pub(crate) fn read_one(element: &[u8]) -> Result<Row, Refusal> {
    read_envelope(element, &envelope(element)?)
}

fn envelope(element: &[u8]) -> Result<Envelope<'_>, Refusal> {
    let is_object = element.first() == Some(&b'{');
    let read = if is_object {
        serde_json::from_slice(element)
    } else {
        // Only to tell what is no JSON from what is no object; an array would else be read field by field.
        serde_json::from_slice::<IgnoredAny>(element)
            .and_then(|_| Err(serde_json::Error::custom("not an object")))
    };
    read.map_err(|error| {
        let detail = error.to_string();
        let reason = match error.classify() {
            Category::Data if detail.starts_with("duplicate field") => Reason::DuplicateKeys,
            Category::Data => Reason::NotAServer,
            Category::Io | Category::Syntax | Category::Eof => Reason::NotJson,
        };
        Refusal::new(reason, detail)
    })
}

fn read_envelope(element: &[u8], envelope: &Envelope<'_>) -> Result<Row, Refusal> {
    let (raw, meta) = match envelope.server {
        Some(server) => (server.get().as_bytes(), envelope.meta),
        // A bare document's own `_meta` is the publisher's, not the registry's.
        None => (element, None),
    };
    let document = json::read(raw, SERVER_JSON_BYTES).map_err(|error| refused_json(&error))?;
    let named = |refusal: Refusal| Refusal {
        server: document.value.get("name").and_then(Value::as_str).map(shortened),
        ..refusal
    };
    read_document(raw, &document, meta, envelope.old_meta).map_err(named)
}

fn refused_json(error: &ReadError) -> Refusal {
    let reason = match error {
        ReadError::TooLarge { .. } => Reason::TooLarge,
        ReadError::TooDeep { .. } => Reason::TooDeep,
        ReadError::Empty | ReadError::ByteOrderMark | ReadError::Syntax { .. } => Reason::NotJson,
    };
    Refusal::new(reason, error.to_string())
}

fn read_document(
    raw: &[u8],
    read: &json::Read,
    meta: Option<&RawValue>,
    old_meta: Option<&RawValue>,
) -> Result<Row, Refusal> {
    let document = &read.value;
    if !document.is_object() {
        return Err(Refusal::new(Reason::NotAServer, "`server` is no object"));
    }
    refuse_two_names(&read.findings)?;
    // Upstream takes keys in any letter case; the served form has them right.
    let is_old = old::is_old(document);
    let shown = if is_old {
        served::form(&old::modern(document))
    } else {
        served::form(document)
    };
    let missing = |reason, key: &str| Refusal::new(reason, format!("`{key}` is missing or no text"));
    let name = text(&shown, "name").ok_or_else(|| missing(Reason::NoName, "name"))?;
    let version = text(&shown, "version").ok_or_else(|| missing(Reason::NoVersion, "version"))?;
    let server = ServerName::parse(name).map_err(|error| Refusal::new(Reason::BadName, error.to_string()))?;
    let version =
        VersionId::parse(version).map_err(|error| Refusal::new(Reason::BadVersion, error.to_string()))?;
    let meta = read_meta(document, meta, old_meta)?;
    let ambiguous = !read.findings.is_empty();
    Ok(Row {
        server,
        version,
        meta,
        document: served::text(&shown, document, raw, is_old || ambiguous),
        raw: raw.to_vec(),
        valid: !ambiguous && served::is_valid(document),
        facts: Document::read(&shown),
    })
}

/// Which of two names would be meant is not ours to choose; other keys given twice make the document invalid only.
fn refuse_two_names(findings: &[Finding]) -> Result<(), Refusal> {
    let twice = findings.iter().find(|finding| {
        matches!(finding, Finding::DuplicateKey { pointer }
            if pointer.eq_ignore_ascii_case("/name") || pointer.eq_ignore_ascii_case("/version"))
    });
    twice.map_or(Ok(()), |finding| {
        Err(Refusal::new(Reason::DuplicateKeys, finding.to_string()))
    })
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

fn shortened(text: &str) -> String {
    text.chars().take(200).collect()
}

fn read_meta(
    document: &Value,
    meta: Option<&RawValue>,
    old_meta: Option<&RawValue>,
) -> Result<Meta, Refusal> {
    let (version, released, latest) = old::version_detail(document);
    let mut read = Meta::default();
    let (place, block) = official_block(meta, old_meta)?;
    let bad = |key: &str| Refusal::new(Reason::BadMeta, format!("`{key}` in `{place}` cannot be read"));
    let fields = Fields { block: &block };
    read.published_at = fields.time(["publishedAt", "published_at"]).map_err(bad)?;
    read.updated_at = fields.time(["updatedAt", "updated_at"]).map_err(bad)?;
    read.status_changed_at = fields
        .time(["statusChangedAt", "status_changed_at"])
        .map_err(bad)?;
    read.is_latest = fields.flag(["isLatest", "is_latest"]).map_err(bad)?;
    read.status_message = fields.message(["statusMessage", "status_message"]).map_err(bad)?;
    // Until September 2025 the status stood in the document, its word for "gone" being `removed`.
    let status = fields
        .word("status")
        .map_err(bad)?
        .or_else(|| text(document, "status"));
    read.status = match status {
        None => None,
        Some("removed") => Some(Status::Deleted),
        Some(word) => Some(Status::parse(word).ok_or_else(|| bad("status"))?),
    };
    if version.is_some() && block.is_null() {
        read.published_at = released.and_then(|text| text.parse().ok());
        read.is_latest = latest;
    }
    Ok(read)
}

/// The official block with its name, null where there is none.
fn official_block(
    meta: Option<&RawValue>,
    old_meta: Option<&RawValue>,
) -> Result<(&'static str, Value), Refusal> {
    let read = |raw: &RawValue, place: &str| {
        let read = json::read(raw.get().as_bytes(), IMPORT_LINE_BYTES);
        read.map(|read| read.value)
            .map_err(|error| Refusal::new(Reason::BadMeta, format!("`{place}`: {error}")))
    };
    let (place, block) = match (meta, old_meta) {
        (Some(meta), _) => {
            let mut meta = read(meta, "_meta")?;
            (
                OFFICIAL_META,
                meta.get_mut(OFFICIAL_META).map_or(Value::Null, Value::take),
            )
        }
        (None, Some(old)) => (OLD_OFFICIAL_META, read(old, OLD_OFFICIAL_META)?),
        (None, None) => (OFFICIAL_META, Value::Null),
    };
    if block.is_null() || block.is_object() {
        Ok((place, block))
    } else {
        Err(Refusal::new(Reason::BadMeta, format!("`{place}` is no object")))
    }
}

/// Fields of the official block; absent and null are the same, anything else of the wrong type is an error.
struct Fields<'a> {
    block: &'a Value,
}

impl<'a> Fields<'a> {
    fn get(&self, key: &str) -> Option<&'a Value> {
        self.block.get(key).filter(|value| !value.is_null())
    }

    fn first(&self, keys: [&'static str; 2]) -> Option<(&'static str, &'a Value)> {
        keys.into_iter().find_map(|key| Some((key, self.get(key)?)))
    }

    fn time(&self, keys: [&'static str; 2]) -> Result<Option<Timestamp>, &'static str> {
        let Some((key, value)) = self.first(keys) else {
            return Ok(None);
        };
        value
            .as_str()
            .and_then(|text| text.parse().ok())
            .map(Some)
            .ok_or(key)
    }

    fn flag(&self, keys: [&'static str; 2]) -> Result<Option<bool>, &'static str> {
        let Some((key, value)) = self.first(keys) else {
            return Ok(None);
        };
        value.as_bool().map(Some).ok_or(key)
    }

    fn message(&self, keys: [&'static str; 2]) -> Result<Option<String>, &'static str> {
        let Some((key, value)) = self.first(keys) else {
            return Ok(None);
        };
        let fits = |text: &&str| text.chars().count() <= STATUS_MESSAGE_CHARS && !text.contains('\0');
        value
            .as_str()
            .filter(fits)
            .map(|text| Some(text.to_owned()))
            .ok_or(key)
    }

    fn word(&self, key: &'static str) -> Result<Option<&'a str>, &'static str> {
        self.get(key).map(|value| value.as_str().ok_or(key)).transpose()
    }
}

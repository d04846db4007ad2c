//! The forms a manifest is given in: our snapshot, a bare list result, or a captured object with the result of
//! discovery beside its lists.

use serde_json::Value;
use serde_json::value::RawValue;

use super::parse::{Fact, parse};
use super::{Era, Item, ItemKind, Manifest, ServerRecord};
use crate::digest::Digest;
use crate::json::Members;
use crate::limits::{MANIFEST_BYTES, MANIFEST_ITEMS};

/// Bytes that are no manifest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    #[error("{bytes} bytes, the limit is {MANIFEST_BYTES}")]
    TooLarge { bytes: usize },
    #[error("not UTF-8 from byte {at} on")]
    Encoding { at: usize },
    #[error("{message}")]
    Syntax { message: String },
    #[error(
        "not a manifest: expected an object that holds `tools`, `prompts`, `resources` or `resource_templates`"
    )]
    NoLists,
    #[error("`{list}` has {count} entries, the limit is {MANIFEST_ITEMS}")]
    TooMany { list: &'static str, count: usize },
}

/// Reads a manifest in any of its forms.
pub fn read(bytes: &[u8]) -> Result<Manifest, InputError> {
    if bytes.len() > MANIFEST_BYTES {
        return Err(InputError::TooLarge { bytes: bytes.len() });
    }
    let text = std::str::from_utf8(bytes).map_err(|error| InputError::Encoding {
        at: error.valid_up_to(),
    })?;
    let document: Members<'_> =
        serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| InputError::Syntax {
            message: error.to_string(),
        })?;
    let mut manifest = Manifest::default();
    repeated(&document, "", &mut manifest.facts);
    for kind in ItemKind::ALL {
        let named = match kind {
            ItemKind::Template => document
                .get(kind.list())
                .or_else(|| document.get("resourceTemplates")),
            _ => document.get(kind.list()),
        };
        if let Some(raw) = named {
            list(kind, raw, &mut manifest)?;
        }
    }
    if manifest.lists.is_empty() && manifest.facts.is_empty() {
        return Err(InputError::NoLists);
    }
    manifest.server = server(&document, &mut manifest.facts);
    if let Some(raw) = document.get("volatile") {
        let pointers = serde_json::from_str(raw).unwrap_or_default();
        manifest.set_volatile(pointers);
    }
    Ok(manifest)
}

fn repeated(members: &Members<'_>, place: &str, facts: &mut Vec<Fact>) {
    let doubled = members.repeated().into_iter().map(|key| Fact {
        kind: super::FactKind::DuplicateKey,
        pointer: format!("{place}/{}", super::parse::escaped(key)),
        what: "key given twice".to_owned(),
    });
    facts.extend(doubled);
}

/// Takes one list, given as such or inside the answer of the server that held it.
fn list(kind: ItemKind, raw: &str, manifest: &mut Manifest) -> Result<(), InputError> {
    let inside = Members::object(raw).and_then(|answer| {
        let own = if kind == ItemKind::Template {
            "resourceTemplates"
        } else {
            kind.list()
        };
        answer.get(own)
    });
    let Ok(entries) = serde_json::from_str::<Vec<&RawValue>>(inside.unwrap_or(raw)) else {
        let pointer = format!("/{}", kind.list());
        manifest.facts.push(Fact::shape(pointer, "not a list"));
        return Ok(());
    };
    if entries.len() > MANIFEST_ITEMS {
        return Err(InputError::TooMany {
            list: kind.list(),
            count: entries.len(),
        });
    }
    manifest.lists.push(kind);
    for (index, entry) in entries.into_iter().enumerate() {
        manifest.items.push(Item::from_raw(kind, index, entry.get()));
    }
    Ok(())
}

/// What the server says of itself, wherever the form keeps it.
fn server(document: &Members<'_>, facts: &mut Vec<Fact>) -> ServerRecord {
    let captured = document.get("discover_or_initialize").and_then(Members::object);
    let nested = |name: &str| captured.as_ref().and_then(|c| c.get(name));
    let discover = document.get("discover").or_else(|| nested("discover"));
    let initialize = document.get("initialize").or_else(|| nested("initialize"));
    let era = match document.get("era") {
        Some("\"modern\"") => Some(Era::Modern),
        Some("\"legacy\"") => Some(Era::Legacy),
        _ => None,
    };
    // A capture without a word on its era took its lists after `initialize` where it has that.
    let chosen = if era == Some(Era::Modern) {
        discover.or(initialize)
    } else {
        initialize.or(discover)
    };
    let mut record = ServerRecord {
        era,
        ..ServerRecord::default()
    };
    let Some(chosen) = chosen else {
        return record;
    };
    let Some(members) = Members::object(chosen) else {
        facts.push(Fact::shape("/server", "not an object"));
        return record;
    };
    let mut raw_leaf = b"raw-server\0".to_vec();
    for (name, place) in [
        ("capabilities", &mut record.capabilities),
        ("instructions", &mut record.instructions),
    ] {
        let raw = members.get(name);
        raw_leaf.extend_from_slice(Digest::of(raw.unwrap_or_default().as_bytes()).as_bytes());
        if let Some((value, found)) = raw.map(parse) {
            let placed = |fact: Fact| Fact {
                pointer: format!("/{name}{}", fact.pointer),
                ..fact
            };
            record.facts.extend(found.into_iter().map(placed));
            *place = Some(value);
        }
    }
    record.raw_leaf = (!record.facts.is_empty()).then_some(raw_leaf);
    let value = |name: &str| members.get(name).map(|raw| parse(raw).0);
    record.protocol_version = value("protocolVersion").and_then(|v| v.as_str().map(str::to_owned));
    record.info = value("serverInfo").or_else(|| {
        let meta = value("_meta")?;
        meta.get("io.modelcontextprotocol/serverInfo").cloned()
    });
    if let Some(Value::Array(versions)) = value("supportedVersions") {
        let texts = versions.iter().filter_map(Value::as_str);
        record.supported_versions = texts.map(str::to_owned).collect();
    }
    record
}

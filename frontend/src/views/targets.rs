//! Packages and remotes of a version, as rows with what a client needs.

use serde::Serialize;
use serde_json::Value;
use toolmark_domain::document::{Package, Remote};
use toolmark_domain::limits::{SHOWN_SETTINGS, SHOWN_TARGETS};

use crate::foreign::{Excerpt, Foreign};
use crate::links::Link;
use crate::snippets::{Snippet, of_package, of_remote, snippets};

/// Bytes of the document's `packages`, and as many of its `remotes`, that a page goes into.
const TARGET_BYTES: usize = 16 * 1024;

/// Something that can or must be set: an argument, a variable of the environment, a header.
#[derive(Clone, Debug, Serialize)]
pub struct SettingRow {
    /// `environment`, `argument`, `runtime argument`, `header`, `variable`.
    pub kind: &'static str,
    pub name: Foreign,
    pub description: Option<Excerpt>,
    pub required: bool,
    pub secret: bool,
    /// What it is when not set; never shown for a secret.
    pub default: Option<Foreign>,
}

/// A package.
#[derive(Clone, Debug, Serialize)]
pub struct PackageRow {
    pub registry_type: Foreign,
    pub identifier: Foreign,
    pub version: Option<Foreign>,
    pub transport: Option<Foreign>,
    pub registry_base_url: Option<Foreign>,
    /// As the document claims it; not compared with the file.
    pub file_sha256: Option<Foreign>,
    /// Where a bundle is, when its identifier is an address.
    pub download: Option<Link>,
    pub settings: Vec<SettingRow>,
    pub install: Vec<Snippet>,
    /// Why there is nothing to install from.
    pub no_install: Option<String>,
}

/// A remote.
#[derive(Clone, Debug, Serialize)]
pub struct RemoteRow {
    pub transport: Foreign,
    pub url: Foreign,
    pub settings: Vec<SettingRow>,
    pub install: Vec<Snippet>,
    pub no_install: Option<String>,
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

/// The entries of a list that a page shows: so many, and so many bytes.
pub(crate) fn shown<'a>(document: &'a Value, key: &str) -> Vec<&'a Value> {
    let mut left = TARGET_BYTES;
    let entries = document.get(key).and_then(Value::as_array);
    entries
        .into_iter()
        .flatten()
        .take(SHOWN_TARGETS)
        .take_while(|entry| {
            let size = entry.to_string().len();
            let fits = size <= left;
            left = left.saturating_sub(size);
            fits
        })
        .collect()
}

/// How many entries a list has.
pub(crate) fn count(document: &Value, key: &str) -> usize {
    document.get(key).and_then(Value::as_array).map_or(0, Vec::len)
}

fn setting(kind: &'static str, field: &Value) -> Option<SettingRow> {
    let name = text(field, "name")
        .or_else(|| text(field, "valueHint"))
        .or_else(|| text(field, "value"))?;
    let flag = |key| field.get(key).and_then(Value::as_bool).unwrap_or(false);
    let secret = flag("isSecret");
    let default = text(field, "value").or_else(|| text(field, "default"));
    Some(SettingRow {
        kind,
        name: Foreign::line(name),
        description: text(field, "description").map(Excerpt::short),
        required: flag("isRequired"),
        secret,
        default: default
            .filter(|default| !secret && *default != name)
            .map(Foreign::line),
    })
}

fn settings(entry: &Value, lists: &[(&'static str, &str)]) -> Vec<SettingRow> {
    let mut rows = Vec::new();
    for (kind, key) in lists {
        for field in entry.get(key).and_then(Value::as_array).into_iter().flatten() {
            rows.extend(setting(kind, field));
        }
    }
    for (name, variable) in entry
        .get("variables")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let mut named = variable.clone();
        if let Some(object) = named.as_object_mut() {
            object.insert("name".to_owned(), name.clone().into());
        }
        rows.extend(setting("variable", &named));
    }
    rows.truncate(SHOWN_SETTINGS);
    rows
}

impl PackageRow {
    pub(crate) fn new(local_name: &str, entry: &Value) -> Self {
        let package = Package::read(entry);
        let (install, no_install) = match of_package(entry) {
            Ok(launch) => (snippets(local_name, &launch), None),
            Err(why) => (Vec::new(), Some(why.to_string())),
        };
        let lists = [
            ("environment", "environmentVariables"),
            ("argument", "packageArguments"),
            ("runtime argument", "runtimeArguments"),
        ];
        let bundle = package.registry_type == "mcpb";
        Self {
            registry_type: Foreign::line(&package.registry_type),
            identifier: Foreign::line(&package.identifier),
            version: package.version.as_deref().map(Foreign::line),
            transport: package.transport.as_deref().map(Foreign::line),
            registry_base_url: package.registry_base_url.as_deref().map(Foreign::line),
            file_sha256: package.file_sha256.as_deref().map(Foreign::line),
            download: bundle.then(|| Link::new("bundle", &package.identifier)),
            settings: settings(entry, &lists),
            install,
            no_install,
        }
    }
}

impl RemoteRow {
    pub(crate) fn new(local_name: &str, entry: &Value) -> Self {
        let remote = Remote::read(entry);
        let (install, no_install) = match of_remote(entry) {
            Ok(launch) => (snippets(local_name, &launch), None),
            Err(why) => (Vec::new(), Some(why.to_string())),
        };
        Self {
            transport: Foreign::line(&remote.transport),
            url: Foreign::line(&remote.url),
            settings: settings(entry, &[("header", "headers")]),
            install,
            no_install,
        }
    }
}

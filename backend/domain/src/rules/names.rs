//! Names that are taken for others.

use std::collections::{BTreeMap, HashMap};

use unicode_normalization::UnicodeNormalization as _;

use super::characters::{looks_like, unseen};
use crate::finding::{Finding, Place, Severity};
use crate::manifest::{Item, Manifest};

/// What a name looks like: without what cannot be seen, in plain letters, lower case.
pub fn skeleton(name: &str) -> String {
    let visible = name.nfkc().filter(|c| !unseen(*c));
    let plain = visible.map(|c| looks_like(c).unwrap_or(c));
    plain.flat_map(char::to_lowercase).collect()
}

/// Names given twice, and names of this list that look alike.
pub(crate) fn within(manifest: &Manifest) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut exact: BTreeMap<(crate::manifest::ItemKind, &str), usize> = BTreeMap::new();
    for item in &manifest.items {
        *exact.entry((item.kind, item.key.as_str())).or_default() += 1;
    }
    let mut alike: HashMap<String, Vec<&Item>> = HashMap::new();
    let mut seen = std::collections::HashSet::new();
    for item in &manifest.items {
        let count = exact[&(item.kind, item.key.as_str())];
        if !seen.insert((item.kind, item.key.as_str())) || item.key.is_empty() {
            continue;
        }
        if count > 1 {
            let said = format!(
                "`{}` stands {count} times in the list",
                crate::finding::excerpt(&item.key)
            );
            findings.push(Place::of(item).finding("T05", "", said).severity(Severity::High));
        }
        if item.kind == crate::manifest::ItemKind::Tool {
            alike.entry(skeleton(&item.key)).or_default().push(item);
        }
    }
    for item in manifest.tools() {
        let group = &alike[&skeleton(&item.key)];
        if let [first, .., last] = group.as_slice()
            && std::ptr::eq(*last, item)
        {
            findings.push(look_alike(item, &first.key, Severity::Critical));
        }
    }
    findings
}

fn look_alike(item: &Item, other: &str, severity: Severity) -> Finding {
    let said = format!(
        "the name looks like `{}` and is another",
        crate::finding::excerpt(other)
    );
    let name = serde_json::Value::String(item.key.clone());
    Place::of(item)
        .finding("T04", "/name", said)
        .severity(severity)
        .after(Some(name))
}

/// Names of tools that servers other than this one are known for: the ground for shadowing.
#[derive(Clone, Debug, Default)]
pub struct KnownNames {
    by_skeleton: HashMap<String, (String, String)>,
}

impl KnownNames {
    /// From pairs of a tool's name and the server known for it.
    pub fn new<'a>(names: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let pairs = names.into_iter();
        let entries = pairs.map(|(tool, server)| (skeleton(tool), (tool.to_owned(), server.to_owned())));
        Self {
            by_skeleton: entries.collect(),
        }
    }

    /// Tools of `manifest`, a server called `own`, whose names look like a known tool of another server, or are one.
    /// Short and common words are nobody's.
    pub fn shadowed(&self, manifest: &Manifest, own: &str) -> Vec<Finding> {
        let mut findings = Vec::new();
        for item in manifest.tools() {
            let Some((tool, server)) = self.by_skeleton.get(&skeleton(&item.key)) else {
                continue;
            };
            if server == own || super::parameters::parts(tool).len() < 3 {
                continue;
            }
            let severity = if *tool == item.key {
                Severity::Medium
            } else {
                Severity::High
            };
            let mut finding = look_alike(item, tool, severity);
            finding.summary = format!("`{tool}` is known as a tool of `{server}`");
            findings.push(finding);
        }
        findings
    }
}

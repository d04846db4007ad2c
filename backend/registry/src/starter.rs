//! The starter list: well-known public servers by their coordinates, so that a new registry has something to show.
//!
//! Coordinates are facts, the one-line descriptions are ours. The publishers were not asked, which is what the origin
//! `listed` says; nothing here is observed or verified. An entry published or imported later takes its place.

use serde_json::Value;
use toolmark_domain::document::Document;
use toolmark_domain::name::ServerName;
use toolmark_domain::version::VersionId;

/// The list: an array of whole `server.json` documents, sorted by name.
const LIST: &str = include_str!("starter.json");

/// One entry of the starter list.
#[derive(Clone, Debug)]
pub struct StarterEntry {
    pub server: ServerName,
    pub version: VersionId,
    /// The `server.json`, as one line of JSON.
    pub document: String,
    pub facts: Document,
}

/// Every entry, in the order of the list.
pub fn entries() -> Vec<StarterEntry> {
    let list: Vec<Value> = serde_json::from_str(LIST).expect("the starter list is JSON; a test reads it");
    list.iter().map(entry).collect()
}

fn entry(value: &Value) -> StarterEntry {
    let facts = Document::read(value);
    let name = facts.name.as_deref().unwrap_or_default();
    let version = facts.version.as_deref().unwrap_or_default();
    StarterEntry {
        server: ServerName::parse(name).expect("each name of the starter list parses; a test reads it"),
        version: VersionId::parse(version).expect("each version of the starter list parses; a test reads it"),
        document: value.to_string(),
        facts,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use toolmark_domain::limits::DESCRIPTION_CHARS;

    use super::*;

    #[test]
    fn about_forty_servers_each_with_a_way_to_run_it() {
        let entries = entries();
        assert!((40..=50).contains(&entries.len()), "{}", entries.len());
        for entry in &entries {
            let ways = entry.facts.packages.len() + entry.facts.remotes.len();
            assert!(ways > 0, "{} cannot be run", entry.server);
            assert!(
                !entry.version.as_str().is_empty(),
                "{} has no version",
                entry.server
            );
        }
    }

    #[test]
    fn names_and_addresses_are_unique_and_sorted() {
        let entries = entries();
        let names: Vec<String> = entries
            .iter()
            .map(|entry| entry.server.as_str().to_lowercase())
            .collect();
        assert!(names.is_sorted());
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        let urls: Vec<_> = entries
            .iter()
            .flat_map(|entry| &entry.facts.remotes)
            .map(|r| &r.url)
            .collect();
        assert_eq!(urls.iter().collect::<BTreeSet<_>>().len(), urls.len());
    }

    #[test]
    fn descriptions_are_one_short_line() {
        for entry in entries() {
            let description = entry.facts.description.unwrap_or_default();
            let chars = description.chars().count();
            assert!(
                (20..=DESCRIPTION_CHARS).contains(&chars),
                "{}: {description}",
                entry.server
            );
            assert!(
                !description.ends_with('.') && !description.contains('\n'),
                "{}",
                entry.server
            );
        }
    }

    #[test]
    fn a_package_is_pinned_to_the_version_of_its_entry() {
        for entry in entries() {
            for package in &entry.facts.packages {
                let pinned = match &package.version {
                    Some(version) => version == entry.version.as_str(),
                    None => package.registry_type == "oci" && package.identifier.contains(':'),
                };
                assert!(pinned, "{}: {}", entry.server, package.identifier);
                assert_eq!(package.registry_base_url, None);
            }
        }
    }
}

//! The starter list: well-known public servers by their coordinates, so that a new registry has something to show.
//!
//! Coordinates are facts, the one-line descriptions are ours. The publishers were not asked, which is what the origin
//! `listed` says; nothing here is observed or verified. An entry published or imported later takes its place.

use serde_json::Value;
use toolmark_domain::document::Document;
use toolmark_domain::name::ServerName;
use toolmark_domain::record::Origin;
use toolmark_domain::status::Status;
use toolmark_domain::timestamp::Timestamp;
use toolmark_domain::validation;
use toolmark_domain::version::VersionId;
use toolmark_store::{ImportRow, RowOutcome, StoreError};

use crate::{Registry, jobs};

/// The list: an array of whole `server.json` documents, sorted by name.
const LIST: &str = include_str!("starter.json");

/// One entry of the starter list.
#[derive(Clone, Debug)]
pub struct StarterEntry {
    pub server: ServerName,
    pub version: VersionId,
    /// The `server.json`.
    pub document: Value,
    pub facts: Document,
    /// Whether the validator finds no error in it.
    pub valid: bool,
}

/// What became of the starter list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StarterOutcome {
    /// So many servers are listed now.
    Listed(usize),
    /// Something was in the store already, so nothing was added.
    NotEmpty,
}

impl Registry {
    /// Lists the starter entries in a store where nothing has happened yet; changes nothing in any other.
    pub async fn fill_with_starter(&self) -> Result<StarterOutcome, StoreError> {
        if self.head().await? > 0 {
            return Ok(StarterOutcome::NotEmpty);
        }
        let now = self.now();
        let rows: Vec<ImportRow> = starter_entries()
            .into_iter()
            .map(|entry| self.row(entry, now))
            .collect();
        let outcomes = self.store().import_batch(&rows, now, None).await?;
        let listed = outcomes.iter().filter(|outcome| **outcome == RowOutcome::Added);
        Ok(StarterOutcome::Listed(listed.count()))
    }

    fn row(&self, entry: StarterEntry, now: Timestamp) -> ImportRow {
        let document = entry.document.to_string();
        ImportRow {
            jobs: jobs::of_new_version(&entry.server, &entry.version, &entry.document, now),
            hidden: self.is_blocked(entry.server.namespace()),
            server: entry.server,
            version: entry.version,
            status: Status::Active,
            status_changed_at: now,
            status_message: None,
            published_at: now,
            updated_at: now,
            is_latest: None,
            origin: Origin::Listed,
            raw: document.clone().into_bytes(),
            document,
            valid: entry.valid,
            facts: entry.facts,
        }
    }
}

/// Every entry, in the order of the list.
pub fn starter_entries() -> Vec<StarterEntry> {
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
        document: value.clone(),
        facts,
        valid: validation::publish_issues(value).valid && validation::inspect(value).valid,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use toolmark_domain::limits::DESCRIPTION_CHARS;
    use toolmark_store::{Database, StoreSettings};

    use crate::{RegistrySettings, SystemClock};

    use super::*;

    #[test]
    fn about_forty_servers_each_with_a_way_to_run_it() {
        let entries = starter_entries();
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
    fn every_entry_could_be_published() {
        for entry in starter_entries() {
            let document = entry.document;
            let found = validation::inspect(&document).issues;
            assert!(entry.valid && found.is_empty(), "{}: {found:?}", entry.server);
            assert!(validation::publish_issues(&document).valid, "{}", entry.server);
            assert!(
                entry.facts.schema.unwrap().contains("/2025-12-11/"),
                "{}",
                entry.server
            );
        }
    }

    #[tokio::test]
    async fn the_list_fills_an_empty_store_once() {
        let folder = tempfile::tempdir().unwrap();
        let registry = Registry::open(
            RegistrySettings {
                blobs: crate::BlobPlace::Directory(folder.path().join("blobs")),
                store: StoreSettings {
                    database: Database::Sqlite(folder.path().join("registry.db")),
                    connections: 1,
                },
                index_folder: None,
                search_mode: toolmark_search::Mode::Default,
                dev_auth: false,
                blocked_namespaces: Vec::new(),
                allow_local_remotes: false,
            },
            Arc::new(SystemClock),
        )
        .await
        .unwrap();
        let count = starter_entries().len();
        assert_eq!(
            registry.fill_with_starter().await.unwrap(),
            StarterOutcome::Listed(count)
        );
        assert_eq!(
            registry.fill_with_starter().await.unwrap(),
            StarterOutcome::NotEmpty
        );
        let playwright = registry
            .current("io.github.microsoft/playwright-mcp")
            .await
            .unwrap()
            .unwrap();
        assert_eq!((playwright.origin, playwright.valid), (Origin::Listed, true));
        registry.close().await;
    }

    #[test]
    fn names_and_addresses_are_unique_and_sorted() {
        let entries = starter_entries();
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
        for entry in starter_entries() {
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
        for entry in starter_entries() {
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

//! `toolmark import`, run as its users run it, against a registry that pages the real corpus and misbehaves.

mod files;
mod killed;
mod postgres;
mod registry;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use toolmark_domain::name::ServerName;
use toolmark_domain::record::{OFFICIAL_META, Version};
use toolmark_registry::{Database, StoreSettings};
use toolmark_store::{ImportCursor, PageKey, Store, VersionFilter};
use toolmark_tests::fake_official::FakeOfficial;
use toolmark_tests::program::{self, Ended, toolmark};

/// What upstream says of one version.
#[derive(Debug, PartialEq, Eq)]
struct Fact {
    status: String,
    status_changed_at: String,
    published_at: String,
    updated_at: String,
    is_latest: bool,
}

type Facts = BTreeMap<(String, String), Fact>;

/// What a data folder holds, read after the program has ended.
struct Held {
    versions: Vec<Version>,
    events: Vec<Value>,
    names: Vec<String>,
    cursor: Option<ImportCursor>,
}

fn held(data_dir: &Path, fake: &FakeOfficial) -> Held {
    held_in(Database::Sqlite(data_dir.join("registry.db")), fake)
}

#[tokio::main(flavor = "current_thread")]
async fn held_in(database: Database, fake: &FakeOfficial) -> Held {
    let store = Store::open(&StoreSettings {
        database,
        connections: 2,
    })
    .await
    .unwrap();
    let everything = VersionFilter {
        include_deleted: true,
        ..VersionFilter::default()
    };
    assert_eq!(store.inconsistencies().await.unwrap(), []);
    let mut versions: Vec<Version> = Vec::new();
    loop {
        let after = versions.last().map(|version| PageKey {
            name: version.server.as_str().into(),
            version: Some(version.version.as_str().into()),
        });
        let page = store
            .list_versions(&everything, after.as_ref(), 100)
            .await
            .unwrap();
        if page.is_empty() {
            break;
        }
        versions.extend(page);
    }
    let mut events = Vec::new();
    let mut seq = 0;
    loop {
        let page = store.events_after(seq, 1000).await.unwrap();
        let Some(last) = page.last() else { break };
        seq = last.seq;
        events.extend(page.into_iter().map(|event| event.body));
    }
    let mut names = Vec::new();
    let upstream_names = fake.rows(|rows| rows.keys().map(|(name, _)| name.clone()).collect::<Vec<_>>());
    for name in upstream_names {
        names.extend(
            store
                .canonical_name(&name)
                .await
                .unwrap()
                .map(|name| name.to_string()),
        );
    }
    names.dedup();
    let cursor = store
        .import_cursor(&format!("{}/v0.1/servers", fake.base_url()))
        .await
        .unwrap();
    store.close().await;
    Held {
        versions,
        events,
        names,
        cursor,
    }
}

impl Held {
    fn facts(&self) -> Facts {
        let fact = |version: &Version| Fact {
            status: version.status.as_str().into(),
            status_changed_at: version.status_changed_at.to_string(),
            published_at: version.published_at.to_string(),
            updated_at: version.updated_at.to_string(),
            is_latest: version.is_latest,
        };
        let key = |version: &Version| (version.server.to_string(), version.version.to_string());
        self.versions
            .iter()
            .map(|version| (key(version), fact(version)))
            .collect()
    }

    /// One event for each version and the other way round, numbered without gaps, and no server without a version.
    fn assert_whole(&self) {
        let seqs: Vec<i64> = self
            .events
            .iter()
            .map(|event| event["seq"].as_i64().unwrap())
            .collect();
        assert_eq!(seqs, (1..=i64::try_from(seqs.len()).unwrap()).collect::<Vec<_>>());
        let mut told: Vec<(&str, &str)> = self
            .events
            .iter()
            .map(|event| {
                (
                    event["server"].as_str().unwrap(),
                    event["version"].as_str().unwrap(),
                )
            })
            .collect();
        told.sort_unstable();
        let kept: Vec<(&str, &str)> = self
            .versions
            .iter()
            .map(|version| (version.server.as_str(), version.version.as_str()))
            .collect();
        assert_eq!(told, kept);
        let mut names: Vec<&str> = kept.iter().map(|(name, _)| *name).collect();
        names.dedup();
        assert_eq!(self.names, names);
        let current = self.versions.iter().filter(|version| version.is_current).count();
        assert_eq!(current, names.len(), "each server has one current version");
    }
}

/// What upstream says, of the rows whose names can be kept.
fn upstream_facts(fake: &FakeOfficial) -> Facts {
    let time = |value: &Value| {
        let at = value
            .as_str()
            .unwrap()
            .parse::<toolmark_domain::timestamp::Timestamp>();
        at.unwrap().to_string()
    };
    fake.rows(|rows| {
        let kept = rows
            .iter()
            .filter(|((name, _), _)| ServerName::parse(name).is_ok());
        let facts = kept.map(|(key, row)| {
            let meta = &row["_meta"][OFFICIAL_META];
            let changed_at = meta.get("statusChangedAt").unwrap_or(&meta["publishedAt"]);
            let fact = Fact {
                status: meta["status"].as_str().unwrap_or("active").into(),
                status_changed_at: time(changed_at),
                published_at: time(&meta["publishedAt"]),
                updated_at: time(&meta["updatedAt"]),
                is_latest: meta["isLatest"].as_bool().unwrap(),
            };
            (key.clone(), fact)
        });
        facts.collect()
    })
}

fn import(data_dir: &Path, arguments: &[&str]) -> Ended {
    program::run(
        toolmark(data_dir)
            .args(["import", "--format", "json"])
            .args(arguments),
    )
}

fn import_official(data_dir: &Path, fake: &FakeOfficial) -> Ended {
    import(data_dir, &["official", "--base-url", &fake.base_url()])
}

/// Added, updated, unchanged, skipped.
fn counts(ended: &Ended) -> [u64; 4] {
    let report = ended.json();
    let skipped = report["skipped"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["count"].as_u64().unwrap());
    let skipped = skipped.sum();
    let [added, updated, unchanged] =
        ["added", "updated", "unchanged"].map(|key| report[key].as_u64().unwrap());
    [added, updated, unchanged, skipped]
}

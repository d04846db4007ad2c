//! Reading: lists, single versions, the feed, counts.

use std::sync::Mutex;
use std::time::Duration;

use toolmark_domain::event::Event;
use toolmark_domain::limits::EVENTS_PAGE_MAX;
use toolmark_domain::name::ServerName;
use toolmark_domain::record::{Outline, ServerSummary, Stats, Version};
use toolmark_domain::status::Status;
use toolmark_domain::timestamp::Timestamp;
use toolmark_domain::version::VersionId;
use toolmark_store::{PageKey, ServerFilter, StoreError, VersionFilter};

use crate::Registry;

/// The word that stands for the version upstream calls latest.
pub(crate) const LATEST: &str = "latest";

/// Counting everything costs time that grows with the catalogue; nobody needs it fresher than this.
const STATS_SECS: i64 = 10;

#[derive(Default)]
pub(crate) struct StatsCache(Mutex<Option<(Timestamp, Stats)>>);

impl StatsCache {
    fn fresh(&self, now: Timestamp) -> Option<Stats> {
        let kept = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (at, stats) = kept.as_ref()?;
        (now < at.plus_secs(STATS_SECS)).then(|| stats.clone())
    }

    fn keep(&self, now: Timestamp, stats: Stats) {
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some((now, stats));
    }
}

impl Registry {
    /// The newest event number: what every derived answer can be keyed by.
    pub async fn head(&self) -> Result<i64, StoreError> {
        self.store().head().await
    }

    /// The newest event number this process has seen; its own writes are in it at once.
    pub fn head_seen(&self) -> i64 {
        self.store().head_seen()
    }

    /// A page of the official list: by name, then by version as text, strictly after `after`.
    pub async fn list_versions(
        &self,
        filter: &VersionFilter,
        after: Option<&PageKey>,
        limit: u32,
    ) -> Result<Vec<Version>, StoreError> {
        self.store().list_versions(filter, after, limit).await
    }

    /// All versions of a server, newest publication first; none when there is no such server.
    pub async fn versions_of(&self, name: &str, include_deleted: bool) -> Result<Vec<Version>, StoreError> {
        let mut versions = self.store().versions_of(name).await?;
        if !include_deleted {
            versions.retain(|version| version.status != Status::Deleted);
        }
        Ok(versions)
    }

    /// The outlines of all versions of a server, the greatest first, deleted ones too; none when there is no such
    /// server.
    pub async fn outlines(&self, name: &str) -> Result<Vec<Outline>, StoreError> {
        self.store().outlines(name).await
    }

    /// Some versions of a server, in no order; those that are not there are left out.
    pub async fn versions_named(&self, name: &str, wanted: &[VersionId]) -> Result<Vec<Version>, StoreError> {
        self.store().versions_named(name, wanted).await
    }

    /// One version; `latest` is upstream's latest.
    pub async fn version(
        &self,
        name: &str,
        version: &str,
        include_deleted: bool,
    ) -> Result<Option<Version>, StoreError> {
        let found = if version == LATEST {
            self.store().latest(name).await?
        } else {
            self.store().version(name, version).await?
        };
        Ok(found.filter(|found| include_deleted || found.status != Status::Deleted))
    }

    /// The version people and agents should see; also when every version is deleted.
    pub async fn current(&self, name: &str) -> Result<Option<Version>, StoreError> {
        self.store().current(name).await
    }

    /// The server whose name differs from `name` at most by case; the exact one first.
    pub async fn canonical_name(&self, name: &str) -> Result<Option<ServerName>, StoreError> {
        self.store().canonical_name(name).await
    }

    /// The namespace of a listed server that differs from `namespace` at most by case; the exact one first.
    pub async fn canonical_namespace(&self, namespace: &str) -> Result<Option<String>, StoreError> {
        self.store().canonical_namespace(namespace).await
    }

    /// Servers by name, strictly after `after`, each by its current version.
    pub async fn list_servers(
        &self,
        filter: &ServerFilter,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<ServerSummary>, StoreError> {
        let versions = self.store().list_servers(filter, after, limit).await?;
        Ok(versions.iter().map(ServerSummary::of).collect())
    }

    /// The servers whose current version changed last.
    pub async fn list_recent(&self, limit: u32) -> Result<Vec<ServerSummary>, StoreError> {
        Ok(self
            .store()
            .list_recent(limit)
            .await?
            .iter()
            .map(ServerSummary::of)
            .collect())
    }

    /// Names of servers and when they last changed, by name: for the sitemap.
    pub async fn list_names(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<(String, Timestamp)>, StoreError> {
        let names = self.store().list_names(after, limit).await?;
        Ok(names
            .into_iter()
            .map(|(name, at)| (name, Timestamp::from_micros(at)))
            .collect())
    }

    /// The bytes of a version's `server.json` as received.
    pub async fn raw_document(&self, name: &str, version: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.store().raw_document(name, version).await
    }

    /// Events after a number, in order.
    pub async fn events_after(&self, after: i64, limit: u32) -> Result<Vec<Event>, StoreError> {
        self.store().events_after(after, limit.min(EVENTS_PAGE_MAX)).await
    }

    /// Waits until the feed is past `seq`, at most so long; returns the newest number.
    pub async fn wait_past(&self, seq: i64, at_most: Duration) -> Result<i64, StoreError> {
        self.store().wait_past(seq, at_most).await
    }

    /// Counts of the catalogue, at most ten seconds old.
    pub async fn stats(&self) -> Result<Stats, StoreError> {
        let now = self.now();
        if let Some(stats) = self.inner.stats.fresh(now) {
            return Ok(stats);
        }
        let stats = self.store().stats().await?;
        self.inner.stats.keep(now, stats.clone());
        Ok(stats)
    }

    /// How many jobs wait, run and are dead.
    pub async fn job_counts(&self) -> Result<[i64; 3], StoreError> {
        self.store().job_counts().await
    }

    /// Whether no server is kept at all.
    pub async fn is_empty(&self) -> Result<bool, StoreError> {
        self.store().is_empty().await
    }

    /// Whether the store answers.
    pub async fn ready(&self) -> Result<(), StoreError> {
        self.store().head().await.map(|_| ())
    }
}

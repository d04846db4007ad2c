//! Reading what was observed: looks, changes, and any two looks compared.

use toolmark_domain::alert::filter::Facts;
use toolmark_domain::diff::{self, Diff};
use toolmark_store::{ChangeFilter, ItemHistory, StoreError, StoredChange, StoredSnapshot};
use uuid::Uuid;

use crate::Registry;
use crate::observe::{ObserveError, blocking};

impl Registry {
    /// The looks at all targets of one version, newest first.
    pub async fn snapshots_of(
        &self,
        name: &str,
        version: &str,
        limit: u32,
    ) -> Result<Vec<StoredSnapshot>, StoreError> {
        self.store().snapshots_of(name, version, limit).await
    }

    /// Of each target of one version the last look and, where that is another, the one shown; by position.
    pub async fn last_looks(&self, name: &str, version: &str) -> Result<Vec<StoredSnapshot>, StoreError> {
        self.store().last_looks(name, version).await
    }

    /// What is shown of the current version of a server: its first target that has a manifest.
    pub async fn current_snapshot(&self, name: &str) -> Result<Option<StoredSnapshot>, StoreError> {
        self.store().current_snapshot(name).await
    }

    /// Changes, newest first, strictly before the event number `before`.
    pub async fn list_changes(
        &self,
        filter: &ChangeFilter,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<StoredChange>, StoreError> {
        self.store().list_changes(filter, before, limit).await
    }

    /// Every item ever seen of a server, those that are gone too.
    pub async fn items_of(&self, name: &str) -> Result<Vec<ItemHistory>, StoreError> {
        self.store().items_of(name).await
    }

    /// Compares two looks with the rules of this release.
    pub async fn compare(&self, from: &StoredSnapshot, to: &StoredSnapshot) -> Result<Diff, ObserveError> {
        let (old, new) = (self.manifest_of(from).await?, self.manifest_of(to).await?);
        Ok(blocking(move || diff::diff(&old, &new)).await)
    }
}

/// Changes read at one time for a saved filter, and how many are read in all before a page is cut short.
const SCANNED: (u32, usize) = (200, 2000);

impl Registry {
    /// Changes that are news, newest first; of a subscription's filter those it fits. History that was looked at
    /// late is left out: it is not news.
    pub async fn told_changes(
        &self,
        filter: &ChangeFilter,
        saved: Option<Uuid>,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<StoredChange>, StoreError> {
        let wanted = match saved {
            Some(id) => self.saved_filter(id).await?.map(|(_, filter)| filter),
            None => None,
        };
        let (batch, most) = SCANNED;
        let (mut before, mut scanned, mut told) = (before, 0, Vec::new());
        while scanned < most {
            let changes = self.store().list_changes(filter, before, batch).await?;
            let Some(last) = changes.last().map(|change| change.seq) else {
                break;
            };
            let complete = changes.len() < batch as usize;
            scanned += changes.len();
            before = Some(last);
            for change in changes.into_iter().filter(|change| !change.backfill) {
                let fits = wanted
                    .as_ref()
                    .is_none_or(|filter| Facts::read(&change.event).is_some_and(|facts| filter.fits(&facts)));
                if fits {
                    told.push(change);
                }
                if told.len() >= limit as usize {
                    return Ok(told);
                }
            }
            if complete {
                break;
            }
        }
        Ok(told)
    }
}

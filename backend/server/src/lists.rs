//! The cache of list pages, keyed by what was asked and by the newest event: a page is valid exactly until something
//! is published, so nothing ever has to be thrown out by name or by clock.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::HeaderValue;
use moka::future::Cache;
use toolmark_registry::{Registry, StoreError};

use crate::answer::{Entry, JSON};
use crate::problem::Problem;

/// How long a head read from the store answers for all requests. Bounds what another process's write may be late;
/// our own writes are seen at once.
const HEAD_FRESH: Duration = Duration::from_millis(5);

pub(crate) struct Lists {
    pages: Cache<(i64, String), Arc<Entry>>,
    head: Mutex<Head>,
    /// Held while the head is read, so that many requests make one query.
    reading: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Head {
    value: i64,
    read_at: Option<Instant>,
    /// Counts our own writes: a read that began before one does not count as fresh after it.
    writes: u64,
}

impl Lists {
    pub(crate) fn new(bytes: u64) -> Self {
        let pages = Cache::builder()
            .weigher(|(_, key): &(i64, String), entry: &Arc<Entry>| {
                entry
                    .weight()
                    .saturating_add(u32::try_from(key.len()).unwrap_or(u32::MAX))
            })
            .max_capacity(bytes)
            .time_to_idle(Duration::from_mins(10))
            .build();
        Self {
            pages,
            head: Mutex::new(Head::default()),
            reading: tokio::sync::Mutex::new(()),
        }
    }

    /// The JSON page under `key`, made by `make` when it is not there for the present head.
    pub(crate) async fn page(
        &self,
        registry: &Registry,
        key: String,
        make: impl Future<Output = Result<String, StoreError>>,
    ) -> Result<Arc<Entry>, Problem> {
        self.page_as(registry, key, JSON, make).await
    }

    /// The same for another media type.
    pub(crate) async fn page_as(
        &self,
        registry: &Registry,
        key: String,
        media_type: HeaderValue,
        make: impl Future<Output = Result<String, StoreError>>,
    ) -> Result<Arc<Entry>, Problem> {
        let head = self.head(registry).await.map_err(|error| store_problem(&error))?;
        let key = (head, key);
        if let Some(found) = self.pages.get(&key).await {
            return Ok(found);
        }
        let entry = async { make.await.map(|body| Arc::new(Entry::new(body, media_type))) };
        self.pages
            .try_get_with(key, entry)
            .await
            .map_err(|error| store_problem(&error))
    }

    /// The newest event number, at most a few milliseconds old.
    pub(crate) async fn head(&self, registry: &Registry) -> Result<i64, StoreError> {
        if let Some(head) = self.fresh() {
            return Ok(head);
        }
        let _reading = self.reading.lock().await;
        if let Some(head) = self.fresh() {
            return Ok(head);
        }
        let writes = self.locked(|head| head.writes);
        let value = registry.head().await?;
        self.locked(|head| {
            head.value = value;
            head.read_at = (head.writes == writes).then(Instant::now);
        });
        Ok(value)
    }

    /// To be called after each write through this process.
    pub(crate) fn wrote(&self) {
        self.locked(|head| {
            head.writes += 1;
            head.read_at = None;
        });
    }

    fn fresh(&self) -> Option<i64> {
        self.locked(|head| {
            let fresh = head.read_at.is_some_and(|at| at.elapsed() < HEAD_FRESH);
            fresh.then_some(head.value)
        })
    }

    fn locked<T>(&self, f: impl FnOnce(&mut Head) -> T) -> T {
        f(&mut self.head.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The store failed: logged once, said without its words.
pub(crate) fn store_problem(error: &StoreError) -> Problem {
    Problem::internal(error)
}

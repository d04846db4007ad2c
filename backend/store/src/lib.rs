//! What the registry keeps: rows in SQLite or PostgreSQL, bytes in a directory or an S3-compatible store.
//!
//! Every method of [`Store`] is a whole unit of work. Transactions and rows do not leave this crate, domain types do.
//! Each statement is written once for both engines; where they truly differ, `dialect` says so.

#[macro_use]
mod pools;
#[macro_use]
mod rows;

mod alerts;
mod audit;
mod blobs;
mod changes;
mod consistency;
mod cursors;
mod error;
mod events;
mod ids;
mod import;
mod instance;
mod jobs;
mod migrations;
mod observations;
mod publish;
mod search;
mod servers;
mod snapshots;
mod stats;
mod status;
mod targets;
mod tokens;
mod upkeep;
mod verdicts;
mod version_set;
mod versions;
mod visibility;

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::watch;

pub use alerts::{
    AttemptFacts, Claimed, Delivery, DeliveryFilter, DeliveryState, Endpoint, EndpointState, Finished, Match,
    NewEndpoint, NewSubscription, Resend, StoredAttempt, Subscription, Verdict, Watcher,
};
pub use audit::{AuditEntry, AuditOutcome};
pub use blobs::{BlobError, Blobs};
pub use changes::{ChangeFilter, ItemHistory, StoredChange};
pub use error::StoreError;
pub use import::{ImportCursor, ImportRow, RowOutcome};
pub use jobs::{Job, JobOutcome, NewJob};
pub use migrations::{MigrationState, MigrationStep};
pub use observations::{NewChange, NewItem, NewSnapshot, RecordConflict, Recorded};
pub use pools::Engine;
pub use publish::{By, EditConflict, NewVersion, PublishConflict};
pub use servers::ServerFilter;
pub use snapshots::StoredSnapshot;
pub use status::{StatusChange, StatusConflict};
pub use tokens::{NewToken, StoredToken};
pub use verdicts::{NewVerdict, StoredVerdict, VerdictCause};
pub use versions::{PageKey, VersionChoice, VersionFilter};

use pools::Pools;

/// Where the rows are.
#[derive(Clone, Debug)]
pub enum Database {
    /// A SQLite file; made when absent.
    Sqlite(PathBuf),
    /// A `postgres://` URL.
    Postgres(String),
}

/// How to open a store.
#[derive(Clone, Debug)]
pub struct StoreSettings {
    pub database: Database,
    /// Connections that read (SQLite), or all of them (PostgreSQL).
    pub connections: u32,
}

/// The rows of the registry. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    pools: Pools,
    /// The newest event number this process knows of; moved by its own writes at once.
    head: watch::Sender<i64>,
}

impl Store {
    /// Opens the store and applies what migrations are missing. Any number of processes may do this at once.
    pub async fn open(settings: &StoreSettings) -> Result<Self, StoreError> {
        migrations::migrate(settings).await?;
        Self::open_migrated(settings).await
    }

    /// Opens the store as it is.
    pub async fn open_migrated(settings: &StoreSettings) -> Result<Self, StoreError> {
        let pools = Pools::open(settings).await?;
        let store = Self {
            inner: Arc::new(Inner {
                pools,
                head: watch::Sender::new(0),
            }),
        };
        store.head().await?;
        Ok(store)
    }

    /// Which migrations are applied and which are not, without applying any. Reads an absent SQLite file as new.
    pub async fn migration_state(settings: &StoreSettings) -> Result<MigrationState, StoreError> {
        migrations::state(settings).await
    }

    /// Which engine holds the rows.
    pub fn engine(&self) -> Engine {
        self.inner.pools.engine()
    }

    /// Waits for running statements and closes every connection.
    pub async fn close(&self) {
        self.inner.pools.close().await;
    }

    fn pools(&self) -> &Pools {
        &self.inner.pools
    }

    fn dialect<T>(&self, sqlite: T, postgres: T) -> T {
        match self.engine() {
            Engine::Sqlite => sqlite,
            Engine::Postgres => postgres,
        }
    }
}

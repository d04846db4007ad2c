//! The use cases of the registry: what handlers, pages, commands and jobs call. HTTP and the command line are thin
//! doors to [`Registry`]; rules are in `toolmark-domain`, rows in `toolmark-store`.

mod auth;
mod clock;
mod import;
mod policy;
mod publish;
mod reads;
mod settings;
mod starter;
mod status;
mod tokens;
mod upkeep;

use std::sync::Arc;

use toolmark_domain::timestamp::Timestamp;
use toolmark_store::Store;

pub use auth::{Actor, AuthError, RegistryToken};
pub use clock::{Clock, HandClock, SystemClock};
pub use import::{
    Example, ImportError, ImportOptions, ImportProgress, ImportReport, Place, ProgressFn, Reason, Skipped,
    Stop,
};
pub use policy::NamespacePattern;
pub use publish::{Draft, DraftError, PublishError};
pub use settings::{OpenError, RegistrySettings};
pub use starter::{StarterEntry, StarterOutcome, starter_entries};
pub use status::StatusError;
pub use tokens::{TokenError, TokenRequest};
/// The check of evidence, for commands that need no registry to run.
pub use toolmark_provenance as provenance;
/// The ranking, for commands that need no registry to run.
pub use toolmark_search as search;
pub use toolmark_store::{
    AuditEntry, AuditOutcome, By, Database, Engine, MigrationState, MigrationStep, PageKey, ServerFilter,
    StatusChange, StoreError, StoreSettings, StoredToken, VersionChoice, VersionFilter,
};

/// The registry. Cheap to clone.
#[derive(Clone)]
pub struct Registry {
    inner: Arc<Inner>,
}

struct Inner {
    store: Store,
    clock: Arc<dyn Clock>,
    settings: RegistrySettings,
    keys: auth::SigningKeys,
    stats: reads::StatsCache,
}

impl Registry {
    /// Opens the store (migrating it when needed), applies the operator's blocked namespaces, loads the signing seed.
    pub async fn open(settings: RegistrySettings, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        let store = Store::open(&settings.store).await?;
        let hidden = store
            .apply_blocked(|namespace| policy::blocked(&settings.blocked_namespaces, namespace))
            .await?;
        if hidden > 0 {
            tracing::info!(
                servers.count = hidden,
                "applied the blocked namespaces to {hidden} servers"
            );
        }
        let keys = auth::SigningKeys::load(&store, clock.now()).await?;
        let stats = reads::StatsCache::default();
        Ok(Self {
            inner: Arc::new(Inner {
                store,
                clock,
                settings,
                keys,
                stats,
            }),
        })
    }

    /// Which migrations are applied, without applying any.
    pub async fn migration_state(settings: &StoreSettings) -> Result<MigrationState, StoreError> {
        Store::migration_state(settings).await
    }

    /// Which engine holds the rows.
    pub fn engine(&self) -> Engine {
        self.store().engine()
    }

    /// What it was opened with.
    pub fn settings(&self) -> &RegistrySettings {
        &self.inner.settings
    }

    /// Waits for running statements and closes the store.
    pub async fn close(&self) {
        self.store().close().await;
    }

    pub(crate) fn store(&self) -> &Store {
        &self.inner.store
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }
}

//! The use cases of the registry: what handlers, pages, commands and jobs call. HTTP and the command line are thin
//! doors to [`Registry`]; rules are in `toolmark-domain`, rows in `toolmark-store`.

mod alerts;
mod auth;
mod check;
mod clock;
mod find;
mod found;
mod import;
mod index;
mod jobs;
mod observe;
mod observed;
mod policy;
mod publish;
mod reads;
mod settings;
mod starter;
mod statements;
mod status;
mod tokens;
mod upkeep;
mod verdicts;
mod verify;
mod worker;

use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use toolmark_domain::timestamp::Timestamp;
use toolmark_store::Store;

pub use alerts::{
    AlertSettings, EndpointError, EndpointRequest, OwnerError, ReplayError, Secret, SubscriptionError,
    SubscriptionRequest,
};
pub use auth::{Actor, AuthError, RegistryToken};
pub use check::{Checked, CurrentFacts, PinAsked};
pub use clock::{Clock, HandClock, SystemClock};
pub use find::{Completions, ListedTool, ServerPage, ToolPage};
pub use found::FindError;
pub use import::{
    Example, ImportError, ImportOptions, ImportProgress, ImportReport, Place, ProgressFn, Reason, Skipped,
    Stop,
};
pub use index::IndexError;
pub use jobs::crawl::{Crawl, CrawlError, CrawlRequest};
pub use observe::{Observation, ObserveError, Observed};
pub use policy::NamespacePattern;
pub use publish::{Draft, DraftError, PublishError};
pub use settings::{BlobPlace, OpenError, RegistrySettings};
pub use starter::{StarterEntry, StarterOutcome, starter_entries};
pub use statements::{KeyDocument, PublishedKey, Summary, SummaryCheck, SummaryError, check_summary};
pub use status::StatusError;
pub use tokens::{TokenError, TokenRequest};
/// Where packages come from, for commands that need no registry to run.
pub use toolmark_packages as packages;
/// The check of evidence, for commands that need no registry to run.
pub use toolmark_provenance as provenance;
/// The ranking, for commands that need no registry to run.
pub use toolmark_search as search;
pub use toolmark_store::{
    AuditEntry, AuditOutcome, BlobError, Blobs, By, ChangeFilter, Database, Delivery, DeliveryFilter,
    DeliveryState, Endpoint, EndpointState, Engine, ItemHistory, MigrationState, MigrationStep, PageKey,
    Resend, ServerFilter, StatusChange, StoreError, StoreSettings, StoredAttempt, StoredChange,
    StoredSnapshot, StoredToken, StoredVerdict, Subscription, VerdictCause, VersionChoice, VersionFilter,
};
pub use verdicts::{Replayed, VerdictDocuments};
pub use verify::{Verifier, VerifyError};
pub use worker::WorkerSettings;

/// The registry. Cheap to clone.
#[derive(Clone)]
pub struct Registry {
    inner: Arc<Inner>,
}

struct Inner {
    store: Store,
    blobs: Blobs,
    clock: Arc<dyn Clock>,
    settings: RegistrySettings,
    keys: auth::SigningKeys,
    stats: reads::StatsCache,
    alerts: OnceLock<alerts::Kit>,
    index: index::SearchIndex,
    looks: found::Looks,
    /// What may not be published to, and is hidden when it is imported.
    blocked: RwLock<Vec<NamespacePattern>>,
}

/// Where the blocked namespaces that are in force are kept, so that every process knows them.
const BLOCKED: &str = "blocked-namespaces";

impl Registry {
    /// Opens the store (migrating it when needed) and loads the signing seed. What is blocked is what these settings
    /// block, and what the last server that applied its settings did.
    pub async fn open(settings: RegistrySettings, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        let store = Store::open(&settings.store).await?;
        let applied = store.read_instance_value(BLOCKED).await?.unwrap_or_default();
        let applied = String::from_utf8_lossy(&applied)
            .lines()
            .filter_map(NamespacePattern::parse)
            .collect::<Vec<_>>();
        let blobs = settings.blobs.open()?;
        let blocked = RwLock::new([settings.blocked_namespaces.clone(), applied].concat());
        let keys = auth::SigningKeys::load(&store, clock.now()).await?;
        let stats = reads::StatsCache::default();
        let index = index::SearchIndex::new(settings.index_folder.clone());
        Ok(Self {
            inner: Arc::new(Inner {
                store,
                blobs,
                clock,
                settings,
                keys,
                stats,
                alerts: OnceLock::new(),
                index,
                looks: found::Looks::default(),
                blocked,
            }),
        })
    }

    /// Makes the blocked namespaces of these settings, and no others, those in force: a server does this when it
    /// starts. Returns how many servers were hidden or shown.
    pub async fn apply_policy(&self) -> Result<usize, StoreError> {
        let patterns = &self.settings().blocked_namespaces;
        let text: Vec<&str> = patterns.iter().map(NamespacePattern::as_str).collect();
        let now = self.now();
        self.store()
            .set_instance_value(BLOCKED, text.join("\n").as_bytes(), now)
            .await?;
        self.inner
            .blocked
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .clone_from(patterns);
        let changed = self
            .store()
            .apply_blocked(|namespace| policy::blocked(patterns, namespace), now)
            .await?;
        if changed > 0 {
            tracing::info!(
                servers.count = changed,
                "applied the blocked namespaces to {changed} servers"
            );
        }
        Ok(changed)
    }

    /// Whether the operator blocks `namespace`.
    pub(crate) fn is_blocked(&self, namespace: &str) -> bool {
        let patterns = self.inner.blocked.read().unwrap_or_else(PoisonError::into_inner);
        policy::blocked(&patterns, namespace)
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

    pub(crate) fn search_index(&self) -> &index::SearchIndex {
        &self.inner.index
    }

    pub(crate) fn store(&self) -> &Store {
        &self.inner.store
    }

    /// Where documents and artifacts are kept, by their digest.
    pub fn blobs(&self) -> &Blobs {
        &self.inner.blobs
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }
}

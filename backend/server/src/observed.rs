//! What a version declares, as pages show it: read once from its documents and kept while there is room. A look
//! never changes, so nothing kept is ever stale.

use std::sync::Arc;

use moka::future::Cache;
use toolmark_domain::limits::DECLARED_CACHE_BYTES;
use toolmark_domain::profile::profile;
use toolmark_domain::scan::scan;
use toolmark_frontend::views::{Declared, Look};
use toolmark_registry::{ObserveError, Registry, StoredSnapshot};

use crate::problem::Problem;
use crate::state::App;

/// Kept declarations, by the id of their look.
pub(crate) struct Declarations(Cache<uuid::Uuid, (u32, Arc<Declared>)>);

impl Declarations {
    pub(crate) fn new() -> Self {
        let cache = Cache::builder()
            .max_capacity(DECLARED_CACHE_BYTES)
            .weigher(|_, (bytes, _): &(u32, Arc<Declared>)| *bytes);
        Self(cache.build())
    }

    async fn of(&self, registry: &Registry, row: &StoredSnapshot) -> Result<Arc<Declared>, ObserveError> {
        if let Some((_, kept)) = self.0.get(&row.id).await {
            return Ok(kept);
        }
        let snapshot = registry.snapshot_document(row).await?;
        let look = look(row);
        let work = move || {
            let manifest = snapshot.manifest()?;
            // Values in memory take about four times their text.
            let bytes = snapshot.to_bytes().len().saturating_mul(4);
            let declared = Declared {
                look,
                profile: profile(&manifest),
                findings: scan(&manifest).findings,
                egress: snapshot.egress,
                manifest,
            };
            Ok::<_, ObserveError>((u32::try_from(bytes).unwrap_or(u32::MAX), Arc::new(declared)))
        };
        let made = tokio::task::spawn_blocking(work).await;
        let made = made.unwrap_or_else(|failed| std::panic::resume_unwind(failed.into_panic()))?;
        self.0.insert(row.id, made.clone()).await;
        Ok(made.1)
    }
}

fn look(row: &StoredSnapshot) -> Look {
    Look {
        target: row.target.clone(),
        outcome: row.outcome,
        reason: row.reason.clone(),
        observed_at: row.observed_at,
        protocol_version: row.protocol_version.clone(),
        tools: usize::try_from(row.tools).unwrap_or_default(),
        confirmed: row.confirmed,
    }
}

/// The last looks at a version, and what is shown of it: its first target with a manifest.
pub(crate) struct Looked {
    pub(crate) looks: Vec<Look>,
    pub(crate) shown: Option<(StoredSnapshot, Arc<Declared>)>,
}

/// What a failure to read an observation is to a client.
pub(crate) fn observe_problem(error: &ObserveError) -> Problem {
    match error {
        ObserveError::Store(error) => crate::lists::store_problem(error),
        other => Problem::internal(other),
    }
}

pub(crate) async fn looked(app: &App, name: &str, version: &str) -> Result<Looked, Problem> {
    let rows = app.registry.last_looks(name, version).await;
    let rows = rows.map_err(|error| crate::lists::store_problem(&error))?;
    let looks = rows.iter().filter(|row| row.is_last).map(look).collect();
    let shown = match rows.into_iter().find(|row| row.is_shown) {
        Some(row) => {
            let declared = app.declarations.of(&app.registry, &row).await;
            let declared = declared.map_err(|error| observe_problem(&error))?;
            Some((row, declared))
        }
        None => None,
    };
    Ok(Looked { looks, shown })
}

//! Checking every stored verdict again when roots, keys, rules or the program changed: from the stored evidence alone.

use toolmark_domain::limits::CRAWL_ATTEMPTS;
use toolmark_provenance::basis_of;
use toolmark_store::NewJob;

use crate::verify::Verifier;
use crate::{Registry, StoreError};

/// The name of the job.
pub(crate) const NAME: &str = "recheck";

impl Registry {
    /// Asks for a re-check on the basis of `verifier`; one that was done finds nothing to do.
    pub(crate) async fn ask_to_recheck(&self, verifier: &Verifier) -> Result<bool, StoreError> {
        let now = self.now();
        let job = NewJob {
            name: NAME,
            key: basis_of(&verifier.checker).to_string(),
            payload: "{}".to_owned(),
            priority: 0,
            run_at: now,
            max_attempts: CRAWL_ATTEMPTS,
        };
        self.store().enqueue(&job, now).await
    }

    /// Runs one job of this kind.
    pub(crate) async fn run_recheck(&self, verifier: &Verifier) -> Result<(), String> {
        let done = self.recheck(verifier).await.map_err(|error| error.to_string())?;
        if done.checked > 0 {
            tracing::info!(
                verdicts.count = done.checked,
                verdicts.changed = done.changed,
                "checked {} verdicts again, {} changed",
                done.checked,
                done.changed
            );
        }
        Ok(())
    }
}

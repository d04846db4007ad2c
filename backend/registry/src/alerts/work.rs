//! The loops that run beside the jobs: follow, send, gather digests, mend. Any number of processes may run them.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use toolmark_domain::limits::{DELIVERIES_AT_ONCE, DELIVERIES_AT_ONCE_PER_ENDPOINT, DELIVERY_LOG_SECS};
use toolmark_store::{Finished, StoreError};
use uuid::Uuid;

use super::follow::FOLLOWER;
use crate::Registry;

/// How long a delivery is a sender's without a word of it, in seconds: what a killed one held goes out after this.
const LEASE_SECS: i64 = 6;
/// How often a sender says that it is still at it.
const KEEP: Duration = Duration::from_secs(2);
/// How often a sender looks for what became due by time, or was added by another process.
const LOOK: Duration = Duration::from_millis(250);
/// How often digests are gathered.
const DIGESTS: Duration = Duration::from_secs(5);
/// How often lines are mended and old deliveries forgotten.
const MEND: Duration = Duration::from_secs(30);
/// Longest wait for a new event before the feed is asked again.
const FOLLOW: Duration = Duration::from_secs(20);
/// Events told in the digests gathered in one transaction.
const GATHERED: u32 = 10_000;

impl Registry {
    /// Follows, sends and mends until `stop`; what is being sent then is finished.
    pub async fn run_alerts(&self, stop: CancellationToken) {
        if self.kit().is_none() {
            stop.cancelled().await;
            return;
        }
        tokio::join!(
            self.follow_until(&stop),
            self.deliver_until(&stop),
            self.upkeep_until(&stop)
        );
    }

    async fn follow_until(&self, stop: &CancellationToken) {
        while !stop.is_cancelled() {
            let news = async {
                self.follow_alerts().await?;
                let cursor = self.store().follower_cursor(FOLLOWER).await?;
                self.store().wait_past(cursor, FOLLOW).await
            };
            tokio::select! {
                done = news => if let Err(error) = done {
                    complain(&error, "cannot follow the feed");
                    pause(stop, LOOK * 8).await;
                },
                () = stop.cancelled() => {}
            }
        }
    }

    async fn deliver_until(&self, stop: &CancellationToken) {
        let Some(kit) = self.kit() else { return };
        while !stop.is_cancelled() {
            if let Err(error) = self.deliver_while(|| !stop.is_cancelled()).await {
                complain(&error, "cannot deliver");
                pause(stop, LOOK * 8).await;
            }
            tokio::select! {
                () = kit.added.notified() => {}
                () = tokio::time::sleep(LOOK) => {}
                () = stop.cancelled() => {}
            }
        }
    }

    async fn upkeep_until(&self, stop: &CancellationToken) {
        let mut since_mended = MEND;
        while !stop.is_cancelled() {
            let done = async {
                self.gather_digests().await?;
                if since_mended >= MEND {
                    self.mend_deliveries().await?;
                }
                Ok::<(), StoreError>(())
            };
            if let Err(error) = done.await {
                complain(&error, "cannot keep deliveries up");
            }
            since_mended = if since_mended >= MEND {
                Duration::ZERO
            } else {
                since_mended
            };
            since_mended += DIGESTS;
            pause(stop, DIGESTS).await;
        }
    }

    /// Makes the digests that are due; gives how many.
    pub async fn gather_digests(&self) -> Result<u64, StoreError> {
        let now = self.now();
        if !self.store().digests_due(now).await? {
            return Ok(0);
        }
        let made = self.store().gather_digests(now, GATHERED).await?;
        self.tell_added();
        Ok(made)
    }

    /// Lets lines go on that were left standing, and forgets old deliveries.
    pub async fn mend_deliveries(&self) -> Result<(), StoreError> {
        let now = self.now();
        let mended = self.store().mend_lines(now).await?;
        if mended > 0 {
            tracing::info!(
                deliveries.count = mended,
                "{mended} deliveries were left standing and go on"
            );
            self.tell_added();
        }
        self.store()
            .prune_deliveries(now.plus_secs(-DELIVERY_LOG_SECS))
            .await?;
        Ok(())
    }

    /// Sends everything that is due; gives how many attempts were made.
    pub async fn deliver_due(&self) -> Result<usize, StoreError> {
        self.deliver_while(|| true).await
    }

    /// Sends what is due, many at a time; takes no new ones once `on` says no, and finishes what was begun.
    async fn deliver_while(&self, on: impl Fn() -> bool) -> Result<usize, StoreError> {
        let Some(kit) = self.kit() else { return Ok(0) };
        let worker = format!("sender-{}", Uuid::now_v7());
        let settings = Arc::new(kit.settings.clone());
        let mut running: JoinSet<Finished> = JoinSet::new();
        let mut kept = tokio::time::Instant::now();
        let mut count = 0;
        loop {
            let free = DELIVERIES_AT_ONCE - running.len();
            let now = self.now();
            if on() && free > 0 && self.store().deliveries_due(now).await? {
                let per_endpoint = DELIVERIES_AT_ONCE_PER_ENDPOINT;
                let claimed = self
                    .store()
                    .claim_deliveries(&worker, now, LEASE_SECS, free, per_endpoint)
                    .await?;
                for claimed in claimed {
                    let (registry, settings) = (self.clone(), Arc::clone(&settings));
                    running.spawn(async move { registry.attempt(&settings, claimed).await });
                }
            }
            if running.is_empty() {
                return Ok(count);
            }
            let mut finished = Vec::new();
            tokio::select! {
                Some(done) = running.join_next() => finished.extend(done.ok()),
                () = tokio::time::sleep(LOOK) => {}
            }
            while let Some(done) = running.try_join_next() {
                finished.extend(done.ok());
            }
            count += finished.len();
            if !finished.is_empty() {
                self.store()
                    .finish_deliveries(&worker, &finished, self.now())
                    .await?;
            }
            if kept.elapsed() >= KEEP && !running.is_empty() {
                self.store()
                    .keep_deliveries(&worker, self.now(), LEASE_SECS)
                    .await?;
                kept = tokio::time::Instant::now();
            }
        }
    }
}

async fn pause(stop: &CancellationToken, time: Duration) {
    tokio::select! {
        () = tokio::time::sleep(time) => {}
        () = stop.cancelled() => {}
    }
}

fn complain(error: &StoreError, what: &str) {
    tracing::error!(error = error as &dyn std::error::Error, "{what}");
}

//! Runs jobs: any number of workers, in any number of processes; a job is held by one of them for a lease.

use std::sync::Arc;
use std::time::Duration;

use toolmark_domain::limits::{JOB_LEASE_SECS, JOB_RETRY_SECS};
use toolmark_store::{Job, JobOutcome, StoreError};
use uuid::Uuid;

use crate::Registry;
use crate::jobs::crawl::{self, Crawl};
use crate::jobs::{recheck, verify};
use crate::verify::Verifier;

/// How often an idle worker asks for due jobs.
const IDLE: Duration = Duration::from_secs(1);

/// What a worker can do.
#[derive(Clone, Default)]
pub struct WorkerSettings {
    /// Jobs at one time; at least one.
    pub concurrency: usize,
    /// Who looks at targets; jobs that need it wait while there is none.
    pub crawler: Option<Arc<dyn Crawl>>,
    /// Who checks provenance; jobs that need it wait while there is none.
    pub verifier: Option<Arc<Verifier>>,
}

impl WorkerSettings {
    /// The jobs that can be done here.
    fn names(&self) -> Vec<&'static str> {
        let mut names = Vec::new();
        if self.crawler.is_some() {
            names.push(crawl::NAME);
        }
        if self.verifier.is_some() {
            names.extend([verify::NAME, recheck::NAME]);
        }
        names
    }
}

impl Registry {
    /// Runs jobs, and follows and sends alerts, until `stop` is done; what runs then is finished.
    pub async fn work(&self, settings: &WorkerSettings, stop: impl Future<Output = ()>) {
        if let Some(verifier) = &settings.verifier
            && let Err(error) = self.ask_to_recheck(verifier).await
        {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "cannot ask for a re-check"
            );
        }
        let (told, stopped) = tokio::sync::watch::channel(false);
        let mut hands = tokio::task::JoinSet::new();
        for _ in 0..settings.concurrency.max(1) {
            let (registry, settings, stopped) = (self.clone(), settings.clone(), stopped.clone());
            hands.spawn(async move { registry.hand(&settings, stopped).await });
        }
        let alerts = tokio_util::sync::CancellationToken::new();
        let (registry, until) = (self.clone(), alerts.clone());
        hands.spawn(async move { registry.run_alerts(until).await });
        stop.await;
        let _ = told.send(true);
        alerts.cancel();
        while hands.join_next().await.is_some() {}
    }

    async fn hand(&self, settings: &WorkerSettings, mut stopped: tokio::sync::watch::Receiver<bool>) {
        let name = format!("worker-{}", Uuid::now_v7());
        while !*stopped.borrow() {
            let wait = match self.run_one(&name, settings).await {
                Ok(true) => continue,
                Ok(false) => IDLE,
                Err(error) => {
                    tracing::error!(error = &error as &dyn std::error::Error, "cannot take a job");
                    IDLE * 5
                }
            };
            tokio::select! {
                _ = stopped.wait_for(|stopped| *stopped) => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Runs every due job, one after the other; returns how many.
    pub async fn run_due_jobs(&self, settings: &WorkerSettings) -> Result<usize, StoreError> {
        let name = format!("once-{}", Uuid::now_v7());
        let mut count = 0;
        while self.run_one(&name, settings).await? {
            count += 1;
        }
        Ok(count)
    }

    /// Takes one due job and runs it; false when there is none.
    async fn run_one(&self, worker: &str, settings: &WorkerSettings) -> Result<bool, StoreError> {
        let names = settings.names();
        if names.is_empty() {
            return Ok(false);
        }
        let Some(job) = self
            .store()
            .claim_job(worker, &names, self.now(), JOB_LEASE_SECS)
            .await?
        else {
            return Ok(false);
        };
        let (registry, doing, settings) = (self.clone(), job.clone(), settings.clone());
        // A task of its own, so that a panic ends the job and not the worker.
        let done = tokio::spawn(async move { registry.run_job(&doing, &settings).await }).await;
        let outcome = match done.unwrap_or_else(|_| Err("the job panicked".to_owned())) {
            Ok(()) => JobOutcome::Done,
            Err(error) => {
                tracing::warn!(job.name = %job.name, job.key = %job.key, %error, "a job failed");
                JobOutcome::Failed {
                    error,
                    retry_at: self.now().plus_secs(JOB_RETRY_SECS << job.attempts.clamp(0, 10)),
                }
            }
        };
        self.store()
            .finish_job(job.id, worker, &outcome, self.now())
            .await?;
        Ok(true)
    }

    async fn run_job(&self, job: &Job, settings: &WorkerSettings) -> Result<(), String> {
        match (job.name.as_str(), &settings.crawler, &settings.verifier) {
            (crawl::NAME, Some(crawler), _) => self.run_crawl(crawler.as_ref(), &job.payload).await,
            (verify::NAME, _, Some(verifier)) => self.run_verify(verifier, &job.payload).await,
            (recheck::NAME, _, Some(verifier)) => self.run_recheck(verifier).await,
            (name, ..) => Err(format!("no such job: {name}")),
        }
    }
}

//! Looking at the targets of a version: at once when it is new, again on a schedule.

use std::future::Future;
use std::pin::Pin;

use serde::{Deserialize, Serialize};
use toolmark_domain::limits::{PACKAGE_RELOOK_SECS, REMOTE_RELOOK_SECS, SECOND_LOOK_SECS, TARGETS_LOOKED_AT};
use toolmark_domain::name::ServerName;
use toolmark_domain::record::Version;
use toolmark_domain::snapshot::{Outcome, Snapshot};
use toolmark_domain::status::Status;
use toolmark_domain::target::{REMOTE, Target};
use toolmark_domain::timestamp::Timestamp;
use toolmark_domain::version::VersionId;
use toolmark_store::NewJob;

use super::{AGAIN, NEW, about, told};
use crate::observe::{Observation, ObserveError, Observed};
use crate::{Registry, StoreError};

/// The name of the job.
pub(crate) const NAME: &str = "crawl";

/// What is to be looked at.
#[derive(Clone, Debug)]
pub struct CrawlRequest {
    pub target: Target,
    /// Values that moved by themselves in earlier looks at the same artifact.
    pub known_volatile: Vec<String>,
}

/// Looks at a target: the crawler, as this crate knows it.
pub trait Crawl: Send + Sync {
    /// One look; whatever goes wrong is an outcome.
    fn look(&self, request: CrawlRequest) -> Pin<Box<dyn Future<Output = Snapshot> + Send + '_>>;
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Crawling {
    server: String,
    version: String,
    /// All targets where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    position: Option<usize>,
    #[serde(default)]
    second_look: bool,
}

impl Crawling {
    fn job(&self, priority: i64, run_at: Timestamp) -> NewJob {
        let of = (self.server.as_str(), self.version.as_str(), self.position);
        about(NAME, of, self, priority, run_at)
    }
}

/// The job that looks at all targets of a version.
pub(crate) fn of_new_version(server: &ServerName, version: &VersionId, at: Timestamp) -> NewJob {
    let all = Crawling {
        server: server.to_string(),
        version: version.to_string(),
        position: None,
        second_look: false,
    };
    all.job(NEW, at)
}

/// When and how to look again after a look.
pub(crate) fn next(look: &Observation<'_>, confirmed: bool, now: Timestamp) -> Vec<NewJob> {
    let remote = look.target.kind == REMOTE;
    let again = match look.snapshot.outcome {
        _ if !confirmed => SECOND_LOOK_SECS,
        // What cannot be looked at here does not change by waiting.
        Outcome::NotObserved => return Vec::new(),
        _ if remote => REMOTE_RELOOK_SECS,
        _ => PACKAGE_RELOOK_SECS,
    };
    let crawling = Crawling {
        server: look.server.to_string(),
        version: look.version.to_string(),
        position: Some(look.target.position),
        second_look: !confirmed,
    };
    // Spread over a tenth of the time, the same for a target each time.
    let spread = i64::from(look.target.text().bytes().fold(0_u16, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u16::from(byte))
    }));
    let jitter = if confirmed {
        again / 10 * spread / i64::from(u16::MAX)
    } else {
        0
    };
    vec![crawling.job(AGAIN, now.plus_secs(again + jitter))]
}

/// Why a target was not looked at.
#[derive(Debug, thiserror::Error)]
pub enum CrawlError {
    #[error("`{server}@{version}` is not there")]
    NoVersion { server: String, version: String },
    #[error("cannot record what was seen")]
    Observe(#[from] ObserveError),
    #[error("the store failed")]
    Store(#[from] StoreError),
}

fn targets(version: &Version) -> Vec<Target> {
    let document = serde_json::from_str(&version.document).unwrap_or_default();
    let mut targets = Target::all(&document);
    targets.truncate(TARGETS_LOOKED_AT);
    targets
}

impl Registry {
    /// Looks at every target of a version now and records what was seen, in the order of the document.
    pub async fn crawl(
        &self,
        crawler: &dyn Crawl,
        server: &str,
        version: &str,
    ) -> Result<Vec<(Target, Snapshot, Observed)>, CrawlError> {
        let found = self.version(server, version, false).await?;
        let found = found.ok_or_else(|| CrawlError::NoVersion {
            server: server.to_owned(),
            version: version.to_owned(),
        })?;
        let mut seen = Vec::new();
        for target in targets(&found) {
            let (snapshot, observed) = self.look_at(crawler, &found, &target, false).await?;
            seen.push((target, snapshot, observed));
        }
        Ok(seen)
    }

    async fn look_at(
        &self,
        crawler: &dyn Crawl,
        version: &Version,
        target: &Target,
        second_look: bool,
    ) -> Result<(Snapshot, Observed), CrawlError> {
        let request = CrawlRequest {
            target: target.clone(),
            known_volatile: self.known_volatile(version, target).await?,
        };
        let snapshot = crawler.look(request).await;
        let look = Observation {
            server: &version.server,
            version: &version.version,
            target,
            snapshot: &snapshot,
            second_look,
        };
        let observed = self.observe(look).await?;
        Ok((snapshot, observed))
    }

    async fn known_volatile(&self, version: &Version, target: &Target) -> Result<Vec<String>, CrawlError> {
        let looks = self
            .store()
            .last_looks(version.server.as_str(), version.version.as_str())
            .await?;
        let position = i64::try_from(target.position).unwrap_or(i64::MAX);
        let shown = looks
            .iter()
            .find(|look| look.is_shown && look.position == position && look.line == target.line());
        match shown {
            Some(row) => Ok(self.snapshot_document(row).await?.volatile),
            None => Ok(Vec::new()),
        }
    }

    /// Runs one job of this kind.
    pub(crate) async fn run_crawl(&self, crawler: &dyn Crawl, payload: &str) -> Result<(), String> {
        let crawling: Crawling = serde_json::from_str(payload).map_err(|error| error.to_string())?;
        let done = self.crawl_one(crawler, &crawling).await;
        done.map_err(|error| told(&error))
    }

    async fn crawl_one(&self, crawler: &dyn Crawl, crawling: &Crawling) -> Result<(), CrawlError> {
        let found = self.store().version(&crawling.server, &crawling.version).await?;
        let Some(found) = found.filter(|found| found.status != Status::Deleted) else {
            return Ok(());
        };
        let targets = targets(&found);
        let Some(position) = crawling.position else {
            for target in &targets {
                let one = Crawling {
                    server: crawling.server.clone(),
                    version: crawling.version.clone(),
                    position: Some(target.position),
                    second_look: false,
                };
                let now = self.now();
                self.store().enqueue(&one.job(NEW, now), now).await?;
            }
            return Ok(());
        };
        let Some(target) = targets.get(position) else {
            return Ok(());
        };
        match self.look_at(crawler, &found, target, crawling.second_look).await {
            // Taken down while we looked.
            Err(CrawlError::Observe(ObserveError::NoVersion { .. })) => Ok(()),
            looked => looked.map(|_| ()),
        }
    }
}

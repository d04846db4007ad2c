//! Work that must happen once for a fact, each kind in its own file. A job row is written with its cause; running one
//! twice is harmless.

pub(crate) mod crawl;
pub(crate) mod recheck;
pub(crate) mod verify;

use serde::Serialize;
use serde_json::Value;
use toolmark_domain::limits::CRAWL_ATTEMPTS;
use toolmark_domain::name::ServerName;
use toolmark_domain::timestamp::Timestamp;
use toolmark_domain::version::VersionId;
use toolmark_store::NewJob;

/// Urgency: what is new, then looking again.
const NEW: i64 = 10;
const AGAIN: i64 = 0;

/// What of a version a job is about: one target, or all of them where `position` is absent.
fn about(
    name: &'static str,
    (server, version, position): (&str, &str, Option<usize>),
    payload: &impl Serialize,
    priority: i64,
    run_at: Timestamp,
) -> NewJob {
    let place = position.map(|position| format!("#{position}"));
    NewJob {
        name,
        key: format!("{server}@{version}{}", place.unwrap_or_default()),
        payload: serde_json::to_string(payload).unwrap_or_default(),
        priority,
        run_at,
        max_attempts: CRAWL_ATTEMPTS,
    }
}

/// An error with its causes, for the row of the job.
fn told(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// What must follow a new version: a look at all its targets, and a check of who built its packages.
pub(crate) fn of_new_version(
    server: &ServerName,
    version: &VersionId,
    document: &Value,
    at: Timestamp,
) -> Vec<NewJob> {
    let check = verify::of_new_version(server, version, document, at);
    [crawl::of_new_version(server, version, at)]
        .into_iter()
        .chain(check)
        .collect()
}

//! Checking who built the packages of a version: at once when it is new, again when a place failed to answer, and at a
//! slow pace for what changes about old releases.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolmark_domain::limits::{
    TARGETS_LOOKED_AT, VERIFY_RELOOK_SECS, VERIFY_RETRY_LATER_SECS, VERIFY_RETRY_SECS,
};
use toolmark_domain::name::ServerName;
use toolmark_domain::status::Status;
use toolmark_domain::target::Target;
use toolmark_domain::timestamp::Timestamp;
use toolmark_domain::version::VersionId;
use toolmark_store::{NewJob, VerdictCause};

use super::{AGAIN, NEW, about, told};
use crate::Registry;
use crate::verify::{Verifier, VerifyError, checkable};

/// The name of the job.
pub(crate) const NAME: &str = "verify";

#[derive(Debug, Serialize, Deserialize)]
struct Verifying {
    server: String,
    version: String,
    /// All targets where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    position: Option<usize>,
    /// How often in a row a place failed to answer.
    #[serde(default)]
    failures: u32,
    #[serde(default)]
    again: bool,
}

impl Verifying {
    fn job(&self, priority: i64, run_at: Timestamp) -> NewJob {
        let of = (self.server.as_str(), self.version.as_str(), self.position);
        about(NAME, of, self, priority, run_at)
    }
}

/// The job that checks all packages of a version; none where there is nothing to check.
pub(crate) fn of_new_version(
    server: &ServerName,
    version: &VersionId,
    document: &Value,
    at: Timestamp,
) -> Option<NewJob> {
    if !Target::all(document).iter().any(checkable) {
        return None;
    }
    let all = Verifying {
        server: server.to_string(),
        version: version.to_string(),
        position: None,
        failures: 0,
        again: false,
    };
    Some(all.job(NEW, at))
}

/// When and how to check again: soon after a failure, later when it keeps failing, seldom otherwise.
pub(crate) fn next(
    server: &ServerName,
    version: &VersionId,
    target: &Target,
    failures: u32,
    now: Timestamp,
) -> NewJob {
    let after = match failures {
        0 => VERIFY_RELOOK_SECS,
        1..=3 => VERIFY_RETRY_SECS << (failures - 1),
        _ => VERIFY_RETRY_LATER_SECS,
    };
    let one = Verifying {
        server: server.to_string(),
        version: version.to_string(),
        position: Some(target.position),
        failures,
        again: true,
    };
    one.job(AGAIN, now.plus_secs(after))
}

impl Registry {
    /// Runs one job of this kind.
    pub(crate) async fn run_verify(&self, verifier: &Verifier, payload: &str) -> Result<(), String> {
        let verifying: Verifying = serde_json::from_str(payload).map_err(|error| error.to_string())?;
        let done = self.verify_as_asked(verifier, &verifying).await;
        done.map_err(|error| told(&error))
    }

    async fn verify_as_asked(&self, verifier: &Verifier, asked: &Verifying) -> Result<(), VerifyError> {
        let found = self.store().version(&asked.server, &asked.version).await?;
        let Some(found) = found.filter(|found| found.status != Status::Deleted) else {
            return Ok(());
        };
        let document: Value = serde_json::from_str(&found.document).unwrap_or_default();
        let cause = match (asked.failures, asked.again) {
            (0, false) => VerdictCause::New,
            (0, true) => VerdictCause::Look,
            _ => VerdictCause::Retry,
        };
        let targets = Target::all(&document).into_iter().take(TARGETS_LOOKED_AT);
        for target in targets.filter(checkable) {
            if asked.position.is_none_or(|position| position == target.position) {
                self.verify_target(verifier, &found, &document, &target, (cause, asked.failures))
                    .await?;
            }
        }
        Ok(())
    }
}

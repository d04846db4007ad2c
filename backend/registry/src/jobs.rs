//! Work that must happen once for a fact, each kind in its own file. A job row is written with its cause; running one
//! twice is harmless.

pub(crate) mod crawl;
pub(crate) mod recheck;
pub(crate) mod verify;

use serde_json::Value;
use toolmark_domain::name::ServerName;
use toolmark_domain::timestamp::Timestamp;
use toolmark_domain::version::VersionId;
use toolmark_store::NewJob;

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

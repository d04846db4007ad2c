//! Counts of the whole catalogue.

use serde::Serialize;

use crate::{Store, StoreError};

/// What the catalogue holds, hidden rows apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stats {
    pub servers: i64,
    pub versions: i64,
    /// Current versions by kind of target, `remote` among them; a server with two kinds counts in both.
    pub by_kind: Vec<(String, i64)>,
    /// Targets of current versions by transport.
    pub by_transport: Vec<(String, i64)>,
    pub by_origin: Vec<(String, i64)>,
    pub by_status: Vec<(String, i64)>,
    /// Versions in whose document the validator found an error.
    pub invalid_versions: i64,
    /// The newest event number.
    pub events: i64,
}

impl Store {
    /// Counts everything; the cost grows with the catalogue, so callers keep the answer for a while.
    pub async fn stats(&self) -> Result<Stats, StoreError> {
        const SERVERS: &str =
            "select count(*) from versions where is_current and not hidden and status <> 'deleted'";
        const VERSIONS: &str = "select count(*) from versions where not hidden";
        const INVALID: &str = "select count(*) from versions where not hidden and not valid";
        const KINDS: &str = "select t.kind, count(distinct t.server_id) from targets t \
             join versions v on v.id = t.version_id \
             where v.is_current and not v.hidden and v.status <> 'deleted' group by t.kind order by 2 desc, 1 limit 50";
        const TRANSPORTS: &str = "select t.transport, count(*) from targets t \
             join versions v on v.id = t.version_id \
             where v.is_current and not v.hidden and v.status <> 'deleted' group by t.transport order by 2 desc, 1 limit 50";
        const ORIGINS: &str =
            "select origin, count(*) from versions where not hidden group by origin order by 2 desc, 1";
        const STATUSES: &str =
            "select status, count(*) from versions where not hidden group by status order by 2 desc, 1";
        Ok(Stats {
            servers: on!(read self, db => sqlx::query_scalar(SERVERS).fetch_one(db).await)?,
            versions: on!(read self, db => sqlx::query_scalar(VERSIONS).fetch_one(db).await)?,
            by_kind: on!(read self, db => sqlx::query_as(KINDS).fetch_all(db).await)?,
            by_transport: on!(read self, db => sqlx::query_as(TRANSPORTS).fetch_all(db).await)?,
            by_origin: on!(read self, db => sqlx::query_as(ORIGINS).fetch_all(db).await)?,
            by_status: on!(read self, db => sqlx::query_as(STATUSES).fetch_all(db).await)?,
            invalid_versions: on!(read self, db => sqlx::query_scalar(INVALID).fetch_one(db).await)?,
            events: self.head().await?,
        })
    }
}

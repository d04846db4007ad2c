//! Counts of the whole catalogue.

use toolmark_domain::record::{Origin, Stats};

use crate::{Store, StoreError};

impl Store {
    /// Counts everything that is not hidden; the cost grows with the catalogue, so callers keep the answer for a
    /// while.
    pub async fn stats(&self) -> Result<Stats, StoreError> {
        const SERVERS: &str =
            "select count(*) from versions where is_current and not hidden and status <> 'deleted'";
        const VERSIONS: &str = "select count(*) from versions where not hidden and status <> 'deleted'";
        const KINDS: &str = "select t.kind, count(distinct t.server_id) from targets t \
             join versions v on v.id = t.version_id where t.kind <> 'remote' \
             and v.is_current and not v.hidden and v.status <> 'deleted' group by t.kind order by 2 desc, 1 limit 50";
        const TRANSPORTS: &str = "select t.transport, count(distinct t.server_id) from targets t \
             join versions v on v.id = t.version_id where t.kind = 'remote' \
             and v.is_current and not v.hidden and v.status <> 'deleted' \
             group by t.transport order by 2 desc, 1 limit 50";
        const ORIGINS: &str = "select origin, count(*) from versions \
             where is_current and not hidden and status <> 'deleted' group by origin order by 2 desc, 1";
        let origins: Vec<(String, i64)> = on!(read self, db => sqlx::query_as(ORIGINS).fetch_all(db).await)?;
        let origin = |(word, count): (String, i64)| match Origin::parse(&word) {
            Some(origin) => Ok((origin, count)),
            None => Err(StoreError::inconsistent("versions", format!("origin `{word}`"))),
        };
        Ok(Stats {
            servers: on!(read self, db => sqlx::query_scalar(SERVERS).fetch_one(db).await)?,
            versions: on!(read self, db => sqlx::query_scalar(VERSIONS).fetch_one(db).await)?,
            events: self.head().await?,
            by_registry_type: on!(read self, db => sqlx::query_as(KINDS).fetch_all(db).await)?,
            by_remote_transport: on!(read self, db => sqlx::query_as(TRANSPORTS).fetch_all(db).await)?,
            by_origin: origins.into_iter().map(origin).collect::<Result<_, _>>()?,
        })
    }
}

//! What must always hold between rows, whatever crashed in between: asked by `doctor` and by the crash tests.

use crate::{Store, StoreError};

/// One rule: what it is called, and a count of the rows that break it.
const RULES: [(&str, &str); 8] = [
    (
        "versions whose server is gone",
        "select count(*) from versions v where not exists (select 1 from servers s where s.id = v.server_id)",
    ),
    (
        "versions under another name than their server",
        "select count(*) from versions v join servers s on s.id = v.server_id where s.name <> v.name",
    ),
    (
        "targets whose version is gone",
        "select count(*) from targets t where not exists (select 1 from versions v where v.id = t.version_id)",
    ),
    (
        "servers without a version",
        "select count(*) from servers s where not exists (select 1 from versions v where v.server_id = s.id)",
    ),
    (
        "servers without exactly one latest version",
        "select count(*) from servers s \
         where (select count(*) from versions v where v.server_id = s.id and v.is_latest) <> 1",
    ),
    (
        "servers without exactly one current version",
        "select count(*) from servers s \
         where (select count(*) from versions v where v.server_id = s.id and v.is_current) <> 1",
    ),
    (
        "versions no event tells of",
        "select count(*) from versions v where not exists (select 1 from events e \
         where e.server = v.name and e.version = v.version and e.kind in ('version.published', 'version.imported'))",
    ),
    (
        "numbers missing from the feed",
        "select f.seq - (select count(*) from events) + (select count(*) from events where seq > f.seq or seq < 1) \
         from feed f",
    ),
];

impl Store {
    /// Counts rows that break what must always hold; empty when all is well. Reads the whole catalogue.
    pub async fn inconsistencies(&self) -> Result<Vec<(&'static str, i64)>, StoreError> {
        let mut found = Vec::new();
        for (what, rule) in RULES {
            let count: i64 = on!(read self, db => sqlx::query_scalar(rule).fetch_one(db).await)?;
            if count != 0 {
                found.push((what, count));
            }
        }
        Ok(found)
    }
}

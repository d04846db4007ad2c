//! Targets: the packages and remotes of a version, one row each.

use sqlx::QueryBuilder;
use toolmark_domain::document::Document;
use uuid::Uuid;

use crate::pools::Tx;
use crate::{Store, StoreError, ids};

/// The kind of a target that is a URL.
pub(crate) const REMOTE: &str = "remote";

pub(crate) struct TargetRow {
    version_id: Uuid,
    server_id: Uuid,
    position: i64,
    kind: String,
    transport: String,
    identifier: String,
    package_version: Option<String>,
}

/// NUL cannot be kept as text in PostgreSQL; where a foreign string holds one, it is not a name anyone can use.
fn clean(text: &str) -> String {
    text.replace('\0', "")
}

pub(crate) fn rows(server_id: Uuid, version_id: Uuid, facts: &Document) -> Vec<TargetRow> {
    let packages = facts.packages.iter().map(|package| {
        let transport = package.transport.as_deref().map(clean).unwrap_or_default();
        let version = package.version.as_deref().map(clean);
        (
            clean(&package.registry_type),
            transport,
            clean(&package.identifier),
            version,
        )
    });
    let remotes = facts.remotes.iter().map(|remote| {
        (
            REMOTE.to_owned(),
            clean(&remote.transport),
            clean(&remote.url),
            None,
        )
    });
    (0_i64..)
        .zip(packages.chain(remotes))
        .map(
            |(position, (kind, transport, identifier, package_version))| TargetRow {
                version_id,
                server_id,
                position,
                kind,
                transport,
                identifier,
                package_version,
            },
        )
        .collect()
}

impl Tx {
    pub(crate) async fn insert_targets(&mut self, rows: Vec<TargetRow>) -> Result<(), StoreError> {
        let mut rows = rows.into_iter().peekable();
        while rows.peek().is_some() {
            let chunk: Vec<TargetRow> = rows.by_ref().take(200).collect();
            on!(tx self, db => {
                let mut insert = QueryBuilder::new(
                    "insert into targets \
                     (id, version_id, server_id, position, kind, transport, identifier, package_version) ");
                insert.push_values(chunk, |mut row, target| {
                    row.push_bind(ids::new_id())
                        .push_bind(target.version_id)
                        .push_bind(target.server_id)
                        .push_bind(target.position)
                        .push_bind(target.kind)
                        .push_bind(target.transport)
                        .push_bind(target.identifier)
                        .push_bind(target.package_version);
                });
                insert.build().execute(db).await.map(|_| ())
            })?;
        }
        Ok(())
    }

    pub(crate) async fn delete_targets(&mut self, version_id: Uuid) -> Result<(), StoreError> {
        const DELETE: &str = "delete from targets where version_id = $1";
        on!(tx self, db => sqlx::query(DELETE).bind(version_id).execute(db).await.map(|_| ()))?;
        Ok(())
    }

    /// The other server whose active latest version claims `url`, if any.
    pub(crate) async fn remote_claimed(
        &mut self,
        url: &str,
        by_other_than: &str,
    ) -> Result<Option<String>, StoreError> {
        const CLAIMED: &str = "select v.name from targets t join versions v on v.id = t.version_id \
             where t.identifier = $1 and t.kind = 'remote' and v.is_latest and v.status = 'active' \
             and not v.hidden and v.name <> $2 order by v.name limit 1";
        Ok(on!(tx self, db =>
            sqlx::query_scalar(CLAIMED).bind(url).bind(by_other_than).fetch_optional(db).await)?)
    }
}

impl Store {
    /// The server that lists a package or remote, and its version that names this version of the package; the one whose
    /// name sorts first among several. Deleted versions too: whoever has it should be told.
    pub async fn server_with_target(
        &self,
        kind: &str,
        identifier: &str,
        package_version: Option<&str>,
    ) -> Result<Option<(String, Option<String>)>, StoreError> {
        const EXACT: &str = "select v.name, v.version from targets t join versions v on v.id = t.version_id \
             where t.identifier = $1 and t.kind = $2 and t.package_version = $3 and not v.hidden \
             order by v.name, v.published_at desc limit 1";
        const ANY: &str = "select v.name from targets t join versions v on v.id = t.version_id \
             where t.identifier = $1 and t.kind = $2 and not v.hidden order by v.name limit 1";
        if let Some(version) = package_version {
            let exact: Option<(String, String)> = on!(read self, db => sqlx::query_as(EXACT)
                .bind(identifier).bind(kind).bind(version).fetch_optional(db).await)?;
            if let Some((name, version)) = exact {
                return Ok(Some((name, Some(version))));
            }
        }
        let any: Option<String> = on!(read self, db => sqlx::query_scalar(ANY)
            .bind(identifier).bind(kind).fetch_optional(db).await)?;
        // The version is the package's: as a version of the server it may be known or not.
        Ok(any.map(|name| (name, package_version.map(str::to_owned))))
    }
}

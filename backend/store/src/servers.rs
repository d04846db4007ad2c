//! Reading servers, each by its current version.

use sqlx::{FromRow, QueryBuilder};
use toolmark_domain::name::ServerName;
use toolmark_domain::record::Version;

use crate::rows::{self, VersionRow};
use crate::{Store, StoreError, search};

/// Filters of a list of servers; they all must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ServerFilter {
    /// Words, each of which must stand in the name, title or description, without regard to case.
    pub search: Option<String>,
    pub namespace: Option<String>,
    /// `npm`, `pypi`, …, or `remote`: some target of the current version is of this kind.
    pub kind: Option<String>,
}

#[derive(FromRow)]
struct SitemapRow {
    name: String,
    updated_at: i64,
}

impl Store {
    /// The current versions of servers, by name, strictly after `after`. Servers whose every version is deleted are
    /// left out.
    pub async fn list_servers(
        &self,
        filter: &ServerFilter,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<Version>, StoreError> {
        let found: Vec<VersionRow> = on!(read self, db => {
            let mut query = QueryBuilder::new(concat!(
                "select ", version_columns!(), " from servers s \
                 join versions v on v.server_id = s.id and v.is_current \
                 where not s.hidden and v.status <> 'deleted'"));
            if let Some(text) = &filter.search {
                for word in search::words(text) {
                    query.push(self.dialect(" and instr(s.search_text, ", " and strpos(s.search_text, "));
                    query.push_bind(word).push(") > 0");
                }
            }
            if let Some(namespace) = &filter.namespace {
                query.push(" and s.namespace = ").push_bind(namespace);
            }
            if let Some(kind) = &filter.kind {
                query.push(" and exists (select 1 from targets t where t.version_id = v.id and t.kind = ");
                query.push_bind(kind).push(")");
            }
            if let Some(after) = after {
                query.push(" and s.name > ").push_bind(after);
            }
            query.push(" order by s.name limit ").push_bind(i64::from(limit));
            query.build_query_as().fetch_all(db).await
        })?;
        rows::versions(found)
    }

    /// The current versions that changed last.
    pub async fn list_recent(&self, limit: u32) -> Result<Vec<Version>, StoreError> {
        const RECENT: &str = concat!(
            "select ",
            version_columns!(),
            " from versions v where v.is_current and not v.hidden and v.status <> 'deleted' \
             order by v.updated_at desc, v.name limit $1"
        );
        let found: Vec<VersionRow> =
            on!(read self, db => sqlx::query_as(RECENT).bind(i64::from(limit)).fetch_all(db).await)?;
        rows::versions(found)
    }

    /// The name of the server whose name differs from `name` at most by case; the exact one first.
    pub async fn canonical_name(&self, name: &str) -> Result<Option<ServerName>, StoreError> {
        const CANONICAL: &str = "select name from servers where name_folded = $1 and not hidden \
             order by case when name = $2 then 0 else 1 end, name limit 1";
        let found: Option<String> = on!(read self, db => sqlx::query_scalar(CANONICAL)
            .bind(name.to_ascii_lowercase()).bind(name).fetch_optional(db).await)?;
        found.map(|name| rows::server_name("servers", &name)).transpose()
    }

    /// The namespace of a listed server that differs from `namespace` at most by case; the exact one first.
    pub async fn canonical_namespace(&self, namespace: &str) -> Result<Option<String>, StoreError> {
        // Names below the namespace, which the index on folded names finds: `0` follows `/`.
        const CANONICAL: &str = "select s.namespace from servers s \
             join versions v on v.server_id = s.id and v.is_current \
             where s.name_folded > $1 and s.name_folded < $2 and not s.hidden and v.status <> 'deleted' \
             order by case when s.namespace = $3 then 0 else 1 end, s.namespace limit 1";
        let folded = namespace.to_ascii_lowercase();
        let (from, to) = (format!("{folded}/"), format!("{folded}0"));
        let found: Option<String> = on!(read self, db => sqlx::query_scalar(CANONICAL)
            .bind(&from).bind(&to).bind(namespace).fetch_optional(db).await)?;
        Ok(found)
    }

    /// Names and times of the last change (microseconds) of servers, by name: for the sitemap.
    pub async fn list_names(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<(String, i64)>, StoreError> {
        const NAMES: &str = "select v.name, v.updated_at from servers s \
             join versions v on v.server_id = s.id and v.is_current \
             where not s.hidden and v.status <> 'deleted' and s.name > $1 order by s.name limit $2";
        let found: Vec<SitemapRow> = on!(read self, db => sqlx::query_as(NAMES)
            .bind(after.unwrap_or("")).bind(i64::from(limit)).fetch_all(db).await)?;
        Ok(found.into_iter().map(|row| (row.name, row.updated_at)).collect())
    }

    /// Whether no server is listed at all.
    pub async fn is_empty(&self) -> Result<bool, StoreError> {
        const ANY: &str = "select count(*) from (select 1 as one from servers limit 1) as some";
        let count: i64 = on!(read self, db => sqlx::query_scalar(ANY).fetch_one(db).await)?;
        Ok(count == 0)
    }
}

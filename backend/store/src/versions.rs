//! Reading versions: the official list, one version, all of a server.

use sqlx::QueryBuilder;
use toolmark_domain::record::{Outline, Version};
use toolmark_domain::timestamp::Timestamp;
use toolmark_domain::version::VersionId;

use crate::rows::{self, VersionRow};
use crate::{Store, StoreError, search};

/// Which version of each server a list shows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum VersionChoice {
    /// The rows upstream marks isLatest.
    Latest,
    /// Rows with exactly this version.
    Exact(String),
}

/// Filters of the official list; they all must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct VersionFilter {
    pub include_deleted: bool,
    /// Words, each of which must stand in the server's name, title or description, without regard to case.
    pub search: Option<String>,
    pub version: Option<VersionChoice>,
    /// Strictly greater than `updated_at`.
    pub updated_since: Option<Timestamp>,
    /// Only this server, by its exact name.
    pub name: Option<String>,
}

/// The last row of the page before.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PageKey {
    pub name: String,
    /// `None`: every version of the name is before the page.
    pub version: Option<String>,
}

/// Up to this many recently updated rows are sorted instead of walking the whole list for them.
const RECENT_ROWS: i64 = 2000;

const BY_NAME_VERSION: &str = concat!(
    "select ",
    version_columns!(),
    " from versions v where v.name = $1 and v.version = $2 and not v.hidden"
);
const LATEST: &str = concat!(
    "select ",
    version_columns!(),
    " from versions v where v.name = $1 and v.is_latest and not v.hidden"
);
const CURRENT: &str = concat!(
    "select ",
    version_columns!(),
    " from versions v where v.name = $1 and v.is_current and not v.hidden"
);
const OF_SERVER: &str = concat!(
    "select ",
    version_columns!(),
    " from versions v where v.server_id = (select id from servers where name = $1) and not v.hidden \
     order by v.published_at desc, v.version desc"
);

/// Names in one statement.
const NAMES: usize = 200;

impl Store {
    /// The current version of each of these servers that may be seen and is not deleted.
    pub async fn current_of(&self, names: &[String]) -> Result<Vec<Version>, StoreError> {
        let mut found = Vec::new();
        for names in names.chunks(NAMES) {
            let rows: Vec<VersionRow> = on!(read self, db => {
                let mut query = QueryBuilder::new(concat!(
                    "select ",
                    version_columns!(),
                    " from versions v where v.is_current and not v.hidden and v.status <> 'deleted' and v.name in ("
                ));
                let mut list = query.separated(", ");
                for name in names {
                    list.push_bind(name);
                }
                query.push(")");
                query.build_query_as().fetch_all(db).await
            })?;
            found.extend(rows);
        }
        rows::versions(found)
    }

    /// A page of the official list: by name, then by version as text, strictly after `after`.
    pub async fn list_versions(
        &self,
        filter: &VersionFilter,
        after: Option<&PageKey>,
        limit: u32,
    ) -> Result<Vec<Version>, StoreError> {
        let recent = match filter.updated_since {
            Some(since) => self.updated_few(since).await?,
            None => false,
        };
        let rows: Vec<VersionRow> = on!(read self, db => {
            let mut query = QueryBuilder::new("");
            if recent && let Some(since) = filter.updated_since {
                query.push(concat!(
                    "with v as materialized (select ",
                    version_columns!(),
                    ", v.server_id, v.hidden from versions v where v.updated_at > "
                ));
                query.push_bind(since.as_micros()).push(") ");
            }
            query.push(concat!("select ", version_columns!(), " from "));
            query.push(if recent { "v where not v.hidden" } else { "versions v where not v.hidden" });
            if !filter.include_deleted {
                query.push(" and v.status <> 'deleted'");
            }
            if let Some(name) = &filter.name {
                query.push(" and v.name = ").push_bind(name);
            }
            match &filter.version {
                Some(VersionChoice::Latest) => { query.push(" and v.is_latest"); }
                Some(VersionChoice::Exact(version)) => { query.push(" and v.version = ").push_bind(version); }
                None => {}
            }
            if let (false, Some(since)) = (recent, filter.updated_since) {
                query.push(" and v.updated_at > ").push_bind(since.as_micros());
            }
            if let Some(text) = &filter.search {
                query.push(" and v.server_id in (select id from servers where not hidden");
                for word in search::words(text) {
                    query.push(self.dialect(" and instr(search_text, ", " and strpos(search_text, "));
                    query.push_bind(word).push(") > 0");
                }
                query.push(")");
            }
            match after {
                Some(PageKey { name, version: Some(version) }) => {
                    query.push(" and (v.name, v.version) > (").push_bind(name).push(", ").push_bind(version).push(")");
                }
                Some(PageKey { name, version: None }) => { query.push(" and v.name > ").push_bind(name); }
                None => {}
            }
            query.push(" order by v.name, v.version limit ").push_bind(i64::from(limit));
            query.build_query_as().fetch_all(db).await
        })?;
        rows::versions(rows)
    }

    /// Whether so few rows changed after `since` that sorting them beats walking the list.
    async fn updated_few(&self, since: Timestamp) -> Result<bool, StoreError> {
        const COUNT: &str =
            "select count(*) from (select 1 as one from versions where updated_at > $1 limit 2001) as recent";
        let count: i64 =
            on!(read self, db => sqlx::query_scalar(COUNT).bind(since.as_micros()).fetch_one(db).await)?;
        Ok(count <= RECENT_ROWS)
    }

    /// One version by its exact name and version. Deleted ones too: the caller decides.
    pub async fn version(&self, name: &str, version: &str) -> Result<Option<Version>, StoreError> {
        let row: Option<VersionRow> = on!(read self, db =>
            sqlx::query_as(BY_NAME_VERSION).bind(name).bind(version).fetch_optional(db).await)?;
        row.map(Version::try_from).transpose()
    }

    /// The version upstream would call latest, whatever its status.
    pub async fn latest(&self, name: &str) -> Result<Option<Version>, StoreError> {
        let row: Option<VersionRow> =
            on!(read self, db => sqlx::query_as(LATEST).bind(name).fetch_optional(db).await)?;
        row.map(Version::try_from).transpose()
    }

    /// The version people and agents should see, whatever its status.
    pub async fn current(&self, name: &str) -> Result<Option<Version>, StoreError> {
        let row: Option<VersionRow> =
            on!(read self, db => sqlx::query_as(CURRENT).bind(name).fetch_optional(db).await)?;
        row.map(Version::try_from).transpose()
    }

    /// The outlines of all versions of a server, the greatest first, deleted ones too.
    pub async fn outlines(&self, name: &str) -> Result<Vec<Outline>, StoreError> {
        const OUTLINES: &str = "select v.version, v.status, v.published_at, v.is_current from versions v \
             where v.server_id = (select id from servers where name = $1) and not v.hidden";
        let rows: Vec<(String, String, i64, bool)> =
            on!(read self, db => sqlx::query_as(OUTLINES).bind(name).fetch_all(db).await)?;
        let outlines = rows
            .into_iter()
            .map(|(version, status, published_at, is_current)| {
                Ok(Outline {
                    version: rows::version_id("versions", &version)?,
                    status: rows::status(&status)?,
                    published_at: Timestamp::from_micros(published_at),
                    is_current,
                })
            });
        let mut outlines = outlines.collect::<Result<Vec<_>, StoreError>>()?;
        outlines.sort_by(Outline::newest_first);
        Ok(outlines)
    }

    /// Some versions of a server, in no order; those that are not there are left out.
    pub async fn versions_named(&self, name: &str, wanted: &[VersionId]) -> Result<Vec<Version>, StoreError> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let rows: Vec<VersionRow> = on!(read self, db => {
            let mut query = QueryBuilder::new(concat!(
                "select ",
                version_columns!(),
                " from versions v where not v.hidden and v.name = "
            ));
            query.push_bind(name).push(" and v.version in (");
            let mut list = query.separated(", ");
            for version in wanted {
                list.push_bind(version.as_str());
            }
            query.push(")");
            query.build_query_as().fetch_all(db).await
        })?;
        rows::versions(rows)
    }

    /// All versions of a server, newest publication first, deleted ones too.
    pub async fn versions_of(&self, name: &str) -> Result<Vec<Version>, StoreError> {
        let rows: Vec<VersionRow> =
            on!(read self, db => sqlx::query_as(OF_SERVER).bind(name).fetch_all(db).await)?;
        rows::versions(rows)
    }

    /// The bytes of a version's `server.json` as received.
    pub async fn raw_document(&self, name: &str, version: &str) -> Result<Option<Vec<u8>>, StoreError> {
        const RAW: &str =
            "select document, raw from versions where name = $1 and version = $2 and not hidden";
        let row: Option<(String, Option<Vec<u8>>)> =
            on!(read self, db => sqlx::query_as(RAW).bind(name).bind(version).fetch_optional(db).await)?;
        Ok(row.map(|(document, raw)| raw.unwrap_or_else(|| document.into_bytes())))
    }
}

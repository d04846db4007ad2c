//! Reading what was observed: the looks at one version, and what each server is shown with.

use sqlx::{FromRow, QueryBuilder};
use toolmark_domain::digest::Digest;
use toolmark_domain::event::Severity;
use toolmark_domain::manifest::Era;
use toolmark_domain::name::ServerName;
use toolmark_domain::snapshot::Outcome;
use toolmark_domain::timestamp::Timestamp;
use toolmark_domain::version::VersionId;
use uuid::Uuid;

use crate::{Store, StoreError, rows};

/// One look at one target, without its documents.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredSnapshot {
    pub id: Uuid,
    pub server: ServerName,
    pub version: VersionId,
    /// Place among the version's targets.
    pub position: i64,
    pub line: String,
    pub target: String,
    pub observed_at: Timestamp,
    pub took_ms: i64,
    pub outcome: Outcome,
    pub reason: Option<String>,
    pub era: Option<Era>,
    pub protocol_version: Option<String>,
    /// `manifest/1`; none where there is no manifest.
    pub manifest: Option<Digest>,
    /// Of the snapshot document, in the blob store.
    pub document: Digest,
    /// Of the answer of the scan, in the blob store.
    pub scan: Option<Digest>,
    /// Of the artifact that was run.
    pub artifact: Option<Digest>,
    /// The gravest finding of the scan.
    pub severity: Option<Severity>,
    pub tools: i64,
    pub prompts: i64,
    pub resources: i64,
    pub templates: i64,
    pub token_cost: i64,
    pub confirmed: bool,
    /// The last look at its target, however it ended.
    pub is_last: bool,
    /// The last confirmed look with a manifest: what is shown.
    pub is_shown: bool,
}

/// The columns of [`SnapshotRow`], of a table aliased `s`.
macro_rules! snapshot_columns {
    () => {
        "s.id, s.server, s.version, s.position, s.line, s.target, s.observed_at, s.took_ms, s.outcome, s.reason, \
         s.era, s.protocol_version, s.manifest, s.document, s.scan, s.artifact, s.severity, s.tools, s.prompts, \
         s.resources, s.templates, s.token_cost, s.confirmed, s.is_last, s.is_shown"
    };
}

#[derive(FromRow)]
pub(crate) struct SnapshotRow {
    id: Uuid,
    server: String,
    version: String,
    position: i64,
    line: String,
    target: String,
    observed_at: i64,
    took_ms: i64,
    outcome: String,
    reason: Option<String>,
    era: Option<String>,
    protocol_version: Option<String>,
    manifest: Option<Vec<u8>>,
    document: Vec<u8>,
    scan: Option<Vec<u8>>,
    artifact: Option<Vec<u8>>,
    severity: Option<String>,
    tools: i64,
    prompts: i64,
    resources: i64,
    templates: i64,
    token_cost: i64,
    confirmed: bool,
    is_last: bool,
    is_shown: bool,
}

pub(crate) fn digest(table: &'static str, bytes: &[u8]) -> Result<Digest, StoreError> {
    Digest::from_bytes(bytes).ok_or_else(|| StoreError::inconsistent(table, "digest of another length"))
}

pub(crate) fn severity(table: &'static str, text: Option<&str>) -> Result<Option<Severity>, StoreError> {
    let Some(text) = text else { return Ok(None) };
    let read = Severity::parse(text);
    read.map(Some)
        .ok_or_else(|| StoreError::inconsistent(table, format!("severity `{text}`")))
}

impl TryFrom<SnapshotRow> for StoredSnapshot {
    type Error = StoreError;

    fn try_from(row: SnapshotRow) -> Result<Self, StoreError> {
        let maybe = |bytes: Option<Vec<u8>>| bytes.map(|b| digest("snapshots", &b)).transpose();
        Ok(Self {
            id: row.id,
            server: rows::server_name("snapshots", &row.server)?,
            version: rows::version_id("snapshots", &row.version)?,
            position: row.position,
            line: row.line,
            target: row.target,
            observed_at: Timestamp::from_micros(row.observed_at),
            took_ms: row.took_ms,
            outcome: Outcome::parse(&row.outcome)
                .ok_or_else(|| StoreError::inconsistent("snapshots", format!("outcome `{}`", row.outcome)))?,
            reason: row.reason,
            era: match row.era.as_deref() {
                Some("modern") => Some(Era::Modern),
                Some("legacy") => Some(Era::Legacy),
                _ => None,
            },
            protocol_version: row.protocol_version,
            manifest: maybe(row.manifest)?,
            document: digest("snapshots", &row.document)?,
            scan: maybe(row.scan)?,
            artifact: maybe(row.artifact)?,
            severity: severity("snapshots", row.severity.as_deref())?,
            tools: row.tools,
            prompts: row.prompts,
            resources: row.resources,
            templates: row.templates,
            token_cost: row.token_cost,
            confirmed: row.confirmed,
            is_last: row.is_last,
            is_shown: row.is_shown,
        })
    }
}

pub(crate) fn all(rows: Vec<SnapshotRow>) -> Result<Vec<StoredSnapshot>, StoreError> {
    rows.into_iter().map(StoredSnapshot::try_from).collect()
}

const BY_ID: &str = concat!(
    "select ",
    snapshot_columns!(),
    " from snapshots s join versions v on v.id = s.version_id where s.id = $1 and not v.hidden"
);
const OF_VERSION: &str = concat!(
    "select ",
    snapshot_columns!(),
    " from snapshots s join versions v on v.id = s.version_id where v.name = $1 and v.version = $2 \
     and not v.hidden order by s.observed_at desc, s.id desc limit $3"
);
const LAST_OF_VERSION: &str = concat!(
    "select ",
    snapshot_columns!(),
    " from snapshots s join versions v on v.id = s.version_id where v.name = $1 and v.version = $2 \
     and not v.hidden and (s.is_last or s.is_shown) order by s.position, s.observed_at desc, s.id desc"
);
const SHOWN_OF_LINE: &str = concat!(
    "select ",
    snapshot_columns!(),
    " from snapshots s join servers r on r.id = s.server_id where r.name = $1 and s.line = $2 and s.is_shown"
);
const SHOWN_OF_SERVER: &str = concat!(
    "select ",
    snapshot_columns!(),
    " from snapshots s join versions v on v.id = s.version_id where s.server_id = (select id from servers where name = $1) \
     and s.is_shown and not v.hidden and v.status <> 'deleted' order by s.position, s.observed_at desc"
);
const CURRENT_OF_SERVER: &str = concat!(
    "select ",
    snapshot_columns!(),
    " from snapshots s join versions v on v.id = s.version_id where v.name = $1 and v.is_current and not v.hidden \
     and v.status <> 'deleted' and s.is_shown order by s.position limit 1"
);
const CURRENT_AFTER: &str = concat!(
    "select ",
    snapshot_columns!(),
    " from versions v join snapshots s on s.version_id = v.id where v.is_current and not v.hidden \
     and v.status <> 'deleted' and s.is_shown and v.name > $1 and s.position = (select min(p.position) \
     from snapshots p where p.version_id = v.id and p.is_shown) order by v.name limit $2"
);

impl Store {
    /// One look by its id.
    pub async fn snapshot(&self, id: Uuid) -> Result<Option<StoredSnapshot>, StoreError> {
        let row: Option<SnapshotRow> =
            on!(read self, db => sqlx::query_as(BY_ID).bind(id).fetch_optional(db).await)?;
        row.map(StoredSnapshot::try_from).transpose()
    }

    /// The looks at all targets of one version, newest first.
    pub async fn snapshots_of(
        &self,
        name: &str,
        version: &str,
        limit: u32,
    ) -> Result<Vec<StoredSnapshot>, StoreError> {
        let rows: Vec<SnapshotRow> = on!(read self, db => sqlx::query_as(OF_VERSION)
            .bind(name).bind(version).bind(i64::from(limit)).fetch_all(db).await)?;
        all(rows)
    }

    /// Of each target of one version the last look and, where that is another, the one shown; by position.
    pub async fn last_looks(&self, name: &str, version: &str) -> Result<Vec<StoredSnapshot>, StoreError> {
        let rows: Vec<SnapshotRow> = on!(read self, db => sqlx::query_as(LAST_OF_VERSION)
            .bind(name).bind(version).fetch_all(db).await)?;
        all(rows)
    }

    /// What is shown of every version with a target on this line; deleted versions too, in no order.
    pub async fn shown_on_line(&self, name: &str, line: &str) -> Result<Vec<StoredSnapshot>, StoreError> {
        let rows: Vec<SnapshotRow> = on!(read self, db => sqlx::query_as(SHOWN_OF_LINE)
            .bind(name).bind(line).fetch_all(db).await)?;
        all(rows)
    }

    /// What is shown of every version of a server that is not deleted, by position.
    pub async fn shown_of(&self, name: &str) -> Result<Vec<StoredSnapshot>, StoreError> {
        let rows: Vec<SnapshotRow> =
            on!(read self, db => sqlx::query_as(SHOWN_OF_SERVER).bind(name).fetch_all(db).await)?;
        all(rows)
    }

    /// What is shown of the current version of a server: its first target that has a manifest.
    pub async fn current_snapshot(&self, name: &str) -> Result<Option<StoredSnapshot>, StoreError> {
        let row: Option<SnapshotRow> =
            on!(read self, db => sqlx::query_as(CURRENT_OF_SERVER).bind(name).fetch_optional(db).await)?;
        row.map(StoredSnapshot::try_from).transpose()
    }

    /// A page of [`Self::current_snapshot`] of all servers, by name, strictly after `after`.
    pub async fn list_current_snapshots(
        &self,
        after: &str,
        limit: u32,
    ) -> Result<Vec<StoredSnapshot>, StoreError> {
        let rows: Vec<SnapshotRow> = on!(read self, db => sqlx::query_as(CURRENT_AFTER)
            .bind(after).bind(i64::from(limit)).fetch_all(db).await)?;
        all(rows)
    }

    /// [`Self::current_snapshot`] of each of these servers that has one.
    pub async fn current_snapshots_of(&self, names: &[String]) -> Result<Vec<StoredSnapshot>, StoreError> {
        let mut found = Vec::new();
        for names in names.chunks(NAMES) {
            let rows: Vec<SnapshotRow> = on!(read self, db => {
                let mut query = QueryBuilder::new(concat!(
                    "select ",
                    snapshot_columns!(),
                    " from versions v join snapshots s on s.version_id = v.id where v.is_current and not v.hidden \
                     and v.status <> 'deleted' and s.is_shown and v.name in ("
                ));
                let mut list = query.separated(", ");
                for name in names {
                    list.push_bind(name);
                }
                query.push(") order by v.name, s.position");
                query.build_query_as().fetch_all(db).await
            })?;
            found.extend(rows);
        }
        // Of several targets the first that has a manifest stands for the version.
        found.dedup_by(|next, kept| next.server == kept.server);
        all(found)
    }
}

/// Names in one statement.
const NAMES: usize = 200;

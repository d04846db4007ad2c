//! Reading what changed, and when each item was first seen and last changed.

use serde_json::Value;
use sqlx::{FromRow, QueryBuilder};
use toolmark_domain::digest::Digest;
use toolmark_domain::event::Severity;
use toolmark_domain::finding::Label;
use toolmark_domain::manifest::ItemKind;
use toolmark_domain::name::ServerName;
use toolmark_domain::timestamp::Timestamp;
use toolmark_domain::version::VersionId;
use uuid::Uuid;

use crate::snapshots::{digest, severity};
use crate::{Store, StoreError, events, rows};

/// One step between two looks.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredChange {
    pub id: Uuid,
    /// The number of its event, by which changes are ordered.
    pub seq: i64,
    pub server: ServerName,
    pub line: String,
    pub at: Timestamp,
    pub from_snapshot: Uuid,
    pub to_snapshot: Uuid,
    pub from_version: VersionId,
    pub to_version: VersionId,
    pub label: Label,
    pub severity: Option<Severity>,
    /// Between two versions of which a later one was seen before.
    pub backfill: bool,
    pub rules: Vec<String>,
    /// Of the answer of the comparison, in the blob store.
    pub document: Digest,
    /// The event that told it: its head, for people.
    pub event: Value,
}

/// Which changes; all must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ChangeFilter {
    pub server: Option<String>,
    pub namespace: Option<String>,
    /// At least this grave.
    pub severity: Option<Severity>,
    pub rule: Option<String>,
    pub label: Option<Label>,
    /// Not before this.
    pub since: Option<Timestamp>,
}

/// When an item came and last changed on a line, as we saw it.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemHistory {
    pub line: String,
    pub kind: ItemKind,
    pub key: String,
    pub tool: Digest,
    pub contract: Digest,
    pub first_seen_at: Timestamp,
    pub first_seen_version: VersionId,
    pub changed_at: Timestamp,
    pub changed_version: VersionId,
    /// When it was first missing.
    pub gone_at: Option<Timestamp>,
}

#[derive(FromRow)]
struct ChangeRow {
    id: Uuid,
    seq: i64,
    server: String,
    line: String,
    at: i64,
    from_snapshot: Uuid,
    to_snapshot: Uuid,
    from_version: String,
    to_version: String,
    label: String,
    severity: Option<String>,
    backfill: bool,
    rules: String,
    document: Vec<u8>,
    body: Option<String>,
}

impl TryFrom<ChangeRow> for StoredChange {
    type Error = StoreError;

    fn try_from(row: ChangeRow) -> Result<Self, StoreError> {
        let label = Label::ALL.into_iter().find(|label| label.as_str() == row.label);
        Ok(Self {
            id: row.id,
            seq: row.seq,
            server: rows::server_name("changes", &row.server)?,
            line: row.line,
            at: Timestamp::from_micros(row.at),
            from_snapshot: row.from_snapshot,
            to_snapshot: row.to_snapshot,
            from_version: rows::version_id("changes", &row.from_version)?,
            to_version: rows::version_id("changes", &row.to_version)?,
            label: label
                .ok_or_else(|| StoreError::inconsistent("changes", format!("label `{}`", row.label)))?,
            severity: severity("changes", row.severity.as_deref())?,
            backfill: row.backfill,
            rules: row.rules.split_whitespace().map(str::to_owned).collect(),
            document: digest("changes", &row.document)?,
            event: events::body(row.seq, row.body.as_deref())?,
        })
    }
}

#[derive(FromRow)]
struct HistoryRow {
    line: String,
    kind: String,
    key: String,
    tool: Vec<u8>,
    contract: Vec<u8>,
    first_seen_at: i64,
    first_seen_version: String,
    changed_at: i64,
    changed_version: String,
    gone_at: Option<i64>,
}

impl TryFrom<HistoryRow> for ItemHistory {
    type Error = StoreError;

    fn try_from(row: HistoryRow) -> Result<Self, StoreError> {
        let kind = ItemKind::ALL.into_iter().find(|kind| kind.as_str() == row.kind);
        Ok(Self {
            line: row.line,
            kind: kind.ok_or_else(|| StoreError::inconsistent("items", format!("kind `{}`", row.kind)))?,
            key: row.key,
            tool: digest("items", &row.tool)?,
            contract: digest("items", &row.contract)?,
            first_seen_at: Timestamp::from_micros(row.first_seen_at),
            first_seen_version: rows::version_id("items", &row.first_seen_version)?,
            changed_at: Timestamp::from_micros(row.changed_at),
            changed_version: rows::version_id("items", &row.changed_version)?,
            gone_at: row.gone_at.map(Timestamp::from_micros),
        })
    }
}

impl Store {
    /// Changes of servers that may be seen, newest first, strictly before the event number `before`.
    pub async fn list_changes(
        &self,
        filter: &ChangeFilter,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<StoredChange>, StoreError> {
        let rows: Vec<ChangeRow> = on!(read self, db => {
            let mut query = QueryBuilder::new(
                "select c.id, c.seq, c.server, c.line, c.at, c.from_snapshot, c.to_snapshot, c.from_version, \
                 c.to_version, c.label, c.severity, c.backfill, c.rules, c.document, e.body \
                 from changes c join servers s on s.id = c.server_id join events e on e.seq = c.seq where not s.hidden");
            if let Some(server) = &filter.server {
                query.push(" and s.name = ").push_bind(server);
            }
            if let Some(namespace) = &filter.namespace {
                query.push(" and s.namespace = ").push_bind(namespace);
            }
            if let Some(least) = filter.severity {
                query.push(" and c.severity in (");
                let mut list = query.separated(", ");
                for severity in Severity::ALL.into_iter().filter(|severity| *severity >= least) {
                    list.push_bind(severity.as_str());
                }
                query.push(")");
            }
            if let Some(rule) = &filter.rule {
                query.push(self.dialect(" and instr(c.rules, ", " and strpos(c.rules, "));
                query.push_bind(format!(" {rule} ")).push(") > 0");
            }
            if let Some(label) = filter.label {
                query.push(" and c.label = ").push_bind(label.as_str());
            }
            if let Some(since) = filter.since {
                query.push(" and c.at >= ").push_bind(since.as_micros());
            }
            if let Some(before) = before {
                query.push(" and c.seq < ").push_bind(before);
            }
            query.push(" order by c.seq desc limit ").push_bind(i64::from(limit));
            query.build_query_as().fetch_all(db).await
        })?;
        rows.into_iter().map(StoredChange::try_from).collect()
    }

    /// Every item ever seen of a server, by line, kind and key; those that are gone too.
    pub async fn items_of(&self, name: &str) -> Result<Vec<ItemHistory>, StoreError> {
        const ITEMS: &str = "select i.line, i.kind, i.key, i.tool, i.contract, i.first_seen_at, i.first_seen_version, \
             i.changed_at, i.changed_version, i.gone_at from items i join servers s on s.id = i.server_id \
             where s.name = $1 and not s.hidden order by i.line, i.kind, i.key";
        let rows: Vec<HistoryRow> =
            on!(read self, db => sqlx::query_as(ITEMS).bind(name).fetch_all(db).await)?;
        rows.into_iter().map(ItemHistory::try_from).collect()
    }

    /// Of each of these names of tools the server that was first seen with it, other than `own`.
    pub async fn tool_owners(
        &self,
        names: &[String],
        own: &str,
    ) -> Result<Vec<(String, String)>, StoreError> {
        let mut owners = Vec::new();
        for chunk in names.chunks(200) {
            let rows: Vec<(String, String)> = on!(read self, db => {
                let mut query = QueryBuilder::new(
                    "select i.key, s.name from items i join servers s on s.id = i.server_id \
                     where i.kind = 'tool' and i.gone_at is null and not s.hidden and s.name <> ");
                query.push_bind(own).push(" and i.key in (");
                let mut list = query.separated(", ");
                for name in chunk {
                    list.push_bind(name);
                }
                query.push(") order by i.first_seen_at, s.name limit 2000");
                query.build_query_as().fetch_all(db).await
            })?;
            for (tool, server) in rows {
                if !owners.iter().any(|(known, _)| *known == tool) {
                    owners.push((tool, server));
                }
            }
        }
        Ok(owners)
    }
}

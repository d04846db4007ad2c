//! Recording one look at a target: the snapshot, the items, the change against the look before, the events and the
//! jobs that follow, in one transaction.

use serde_json::{Map, Value, json};
use sqlx::{FromRow, QueryBuilder};
use toolmark_domain::digest::Digest;
use toolmark_domain::event::{EventKind, Severity};
use toolmark_domain::finding::Label;
use toolmark_domain::manifest::{Era, ItemKind};
use toolmark_domain::name::ServerName;
use toolmark_domain::snapshot::Outcome;
use toolmark_domain::timestamp::Timestamp;
use toolmark_domain::version::VersionId;
use uuid::Uuid;

use crate::jobs::NewJob;
use crate::pools::Tx;
use crate::publish::lock_key;
use crate::{Store, StoreError, events, ids};

/// Rows in one statement: far below both engines' limits on bound values.
const CHUNK: usize = 100;

/// A look to be recorded. Its documents are in the blob store already.
#[derive(Clone, Debug)]
pub struct NewSnapshot {
    pub server: ServerName,
    pub version: VersionId,
    pub position: i64,
    pub line: String,
    pub target: String,
    pub took_ms: i64,
    pub outcome: Outcome,
    pub reason: Option<String>,
    pub era: Option<Era>,
    pub protocol_version: Option<String>,
    pub manifest: Option<Digest>,
    pub document: Digest,
    pub scan: Option<Digest>,
    pub artifact: Option<Digest>,
    pub severity: Option<Severity>,
    pub token_cost: i64,
    pub confirmed: bool,
    pub items: Vec<NewItem>,
    /// Whether a later version on the line was seen before: then the items of the line stay as they are.
    pub backfill: bool,
    /// More facts for the event of the look.
    pub told: Map<String, Value>,
}

/// One item of a look.
#[derive(Clone, Debug)]
pub struct NewItem {
    pub kind: ItemKind,
    pub key: String,
    pub tool: Digest,
    pub contract: Digest,
}

/// What changed against another look.
#[derive(Clone, Debug)]
pub struct NewChange {
    pub from: Uuid,
    pub from_version: VersionId,
    pub label: Label,
    pub severity: Option<Severity>,
    /// Each once.
    pub rules: Vec<String>,
    /// Of the answer of the comparison, in the blob store.
    pub document: Digest,
    /// Facts for the event.
    pub told: Map<String, Value>,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    pub snapshot: Uuid,
    /// The number of the change's event.
    pub change: Option<i64>,
}

/// Why a look cannot be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordConflict {
    /// The version is gone, hidden or taken down.
    NoVersion,
    /// Another look at the line was recorded since the comparison was made: compare again.
    Moved,
}

#[derive(FromRow)]
struct ItemRow {
    kind: String,
    key: String,
    tool: Vec<u8>,
    gone_at: Option<i64>,
}

impl NewSnapshot {
    fn count(&self, kind: ItemKind) -> i64 {
        let count = self.items.iter().filter(|item| item.kind == kind).count();
        i64::try_from(count).unwrap_or(i64::MAX)
    }

    fn shown(&self) -> bool {
        self.confirmed && self.manifest.is_some()
    }
}

fn bytes(digest: &Digest) -> Vec<u8> {
    digest.as_bytes().to_vec()
}

impl Tx {
    /// Server and version of a look, when both may be seen.
    async fn looked_at(&mut self, new: &NewSnapshot) -> Result<Option<(Uuid, Uuid)>, StoreError> {
        const IDS: &str =
            "select server_id, id from versions where name = $1 and version = $2 and not hidden";
        Ok(on!(tx self, db => sqlx::query_as(IDS)
            .bind(new.server.as_str()).bind(new.version.as_str()).fetch_optional(db).await)?)
    }

    /// The newest look shown on a line, by the time it was recorded.
    async fn newest_on_line(&mut self, server_id: Uuid, line: &str) -> Result<Option<Uuid>, StoreError> {
        const NEWEST: &str = "select id from snapshots where server_id = $1 and line = $2 and is_shown \
             order by observed_at desc, id desc limit 1";
        Ok(on!(tx self, db =>
            sqlx::query_scalar(NEWEST).bind(server_id).bind(line).fetch_optional(db).await)?)
    }

    async fn insert_snapshot(
        &mut self,
        new: &NewSnapshot,
        (server_id, version_id): (Uuid, Uuid),
        at: Timestamp,
    ) -> Result<Uuid, StoreError> {
        const NOT_LAST: &str =
            "update snapshots set is_last = false where version_id = $1 and position = $2 and is_last";
        const NOT_SHOWN: &str =
            "update snapshots set is_shown = false where version_id = $1 and position = $2 and is_shown";
        const INSERT: &str = "insert into snapshots (id, server_id, version_id, server, version, position, line, \
             target, observed_at, took_ms, outcome, reason, era, protocol_version, manifest, document, scan, artifact, \
             severity, tools, prompts, resources, templates, token_cost, confirmed, is_last, is_shown) \
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, \
             $22, $23, $24, $25, true, $26)";
        let id = ids::new_id();
        on!(tx self, db => sqlx::query(NOT_LAST)
            .bind(version_id).bind(new.position).execute(db).await.map(|_| ()))?;
        if new.shown() {
            on!(tx self, db => sqlx::query(NOT_SHOWN)
                .bind(version_id).bind(new.position).execute(db).await.map(|_| ()))?;
        }
        let era = new.era.map(|era| match era {
            Era::Modern => "modern",
            Era::Legacy => "legacy",
        });
        on!(tx self, db => sqlx::query(INSERT)
            .bind(id).bind(server_id).bind(version_id)
            .bind(new.server.as_str()).bind(new.version.as_str())
            .bind(new.position).bind(new.line.as_str()).bind(new.target.as_str())
            .bind(at.as_micros()).bind(new.took_ms)
            .bind(new.outcome.as_str()).bind(new.reason.as_deref()).bind(era).bind(new.protocol_version.as_deref())
            .bind(new.manifest.as_ref().map(bytes)).bind(bytes(&new.document))
            .bind(new.scan.as_ref().map(bytes)).bind(new.artifact.as_ref().map(bytes))
            .bind(new.severity.map(Severity::as_str))
            .bind(new.count(ItemKind::Tool)).bind(new.count(ItemKind::Prompt))
            .bind(new.count(ItemKind::Resource)).bind(new.count(ItemKind::Template))
            .bind(new.token_cost).bind(new.confirmed).bind(new.shown())
            .execute(db).await.map(|_| ()))?;
        Ok(id)
    }

    /// Brings the items of a line up to date with the newest look.
    async fn write_items(
        &mut self,
        server_id: Uuid,
        new: &NewSnapshot,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        const KNOWN: &str = "select kind, key, tool, gone_at from items where server_id = $1 and line = $2";
        const GONE: &str =
            "update items set gone_at = $1 where server_id = $2 and line = $3 and kind = $4 and key = $5";
        let known: Vec<ItemRow> = on!(tx self, db =>
            sqlx::query_as(KNOWN).bind(server_id).bind(new.line.as_str()).fetch_all(db).await)?;
        // Of several items with one key the least digest stands for it.
        let mut seen = std::collections::BTreeMap::new();
        for item in &new.items {
            let kept = seen
                .entry((item.kind.as_str(), item.key.as_str()))
                .or_insert(item);
            if item.tool < kept.tool {
                *kept = item;
            }
        }
        for row in &known {
            let found = seen.get(&(row.kind.as_str(), row.key.as_str()));
            if found.is_none() && row.gone_at.is_none() {
                on!(tx self, db => sqlx::query(GONE).bind(at.as_micros()).bind(server_id)
                    .bind(new.line.as_str()).bind(row.kind.as_str()).bind(row.key.as_str())
                    .execute(db).await.map(|_| ()))?;
            }
            if found.is_some_and(|item| row.gone_at.is_none() && row.tool == item.tool.as_bytes()) {
                seen.remove(&(row.kind.as_str(), row.key.as_str()));
            }
        }
        let news: Vec<&NewItem> = seen.into_values().collect();
        for chunk in news.chunks(CHUNK) {
            self.upsert_items(server_id, new, chunk, at).await?;
        }
        Ok(())
    }

    async fn upsert_items(
        &mut self,
        server_id: Uuid,
        new: &NewSnapshot,
        items: &[&NewItem],
        at: Timestamp,
    ) -> Result<(), StoreError> {
        on!(tx self, db => {
            let mut insert = QueryBuilder::new(
                "insert into items (id, server_id, line, kind, key, tool, contract, first_seen_at, \
                 first_seen_version, changed_at, changed_version) ");
            insert.push_values(items, |mut row, item| {
                row.push_bind(ids::new_id())
                    .push_bind(server_id)
                    .push_bind(new.line.as_str())
                    .push_bind(item.kind.as_str())
                    .push_bind(item.key.as_str())
                    .push_bind(bytes(&item.tool))
                    .push_bind(bytes(&item.contract))
                    .push_bind(at.as_micros())
                    .push_bind(new.version.as_str())
                    .push_bind(at.as_micros())
                    .push_bind(new.version.as_str());
            });
            insert.push(" on conflict (server_id, line, kind, key) do update set tool = excluded.tool, \
                 contract = excluded.contract, changed_at = excluded.changed_at, \
                 changed_version = excluded.changed_version, gone_at = null");
            insert.build().execute(db).await.map(|_| ())
        })?;
        Ok(())
    }

    async fn insert_change(
        &mut self,
        server_id: Uuid,
        to: (&NewSnapshot, Uuid),
        change: &NewChange,
        seq: i64,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        const INSERT: &str = "insert into changes (id, server_id, server, line, at, from_snapshot, to_snapshot, \
             from_version, to_version, label, severity, backfill, rules, document, seq) \
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)";
        let (new, id) = to;
        on!(tx self, db => sqlx::query(INSERT)
            .bind(ids::new_id()).bind(server_id).bind(new.server.as_str()).bind(new.line.as_str())
            .bind(at.as_micros()).bind(change.from).bind(id)
            .bind(change.from_version.as_str()).bind(new.version.as_str())
            .bind(change.label.as_str()).bind(change.severity.map(Severity::as_str))
            .bind(new.backfill).bind(format!(" {} ", change.rules.join(" ")))
            .bind(bytes(&change.document)).bind(seq)
            .execute(db).await.map(|_| ()))?;
        Ok(())
    }
}

impl Store {
    /// Records a look, and the change against `compared`, the newest look shown on the line when the comparison was
    /// made. Nothing is written when something stands in the way.
    pub async fn record_snapshot(
        &self,
        new: &NewSnapshot,
        change: Option<&NewChange>,
        compared: Option<Uuid>,
        jobs: &[NewJob],
        at: Timestamp,
    ) -> Result<Result<Recorded, RecordConflict>, StoreError> {
        let mut tx = self.begin().await?;
        tx.lock(&[lock_key(&new.server)]).await?;
        let Some(place) = tx.looked_at(new).await? else {
            return Ok(Err(RecordConflict::NoVersion));
        };
        if new.manifest.is_some() && tx.newest_on_line(place.0, &new.line).await? != compared {
            return Ok(Err(RecordConflict::Moved));
        }
        let id = tx.insert_snapshot(new, place, at).await?;
        if new.shown() && !new.backfill {
            tx.write_items(place.0, new, at).await?;
        }
        for job in jobs {
            tx.enqueue(job, at).await?;
        }
        let mut look = events::event(EventKind::SnapshotRecorded, at, &new.server, Some(&new.version));
        look.target = Some(new.target.clone());
        look.data.clone_from(&new.told);
        // The first look at a line is news as a whole; later ones only by what changed.
        if compared.is_none() && !new.backfill {
            look.severity = new.severity.unwrap_or(Severity::Info);
        }
        look.data.insert("snapshot".into(), json!(id));
        look.data.insert("outcome".into(), json!(new.outcome));
        look.data.insert("reason".into(), json!(new.reason));
        look.data.insert("manifest".into(), json!(new.manifest));
        look.data.insert("confirmed".into(), json!(new.confirmed));
        look.data.insert("tools".into(), json!(new.count(ItemKind::Tool)));
        let mut news = vec![look];
        if let Some(change) = change {
            let mut step = events::event(EventKind::ChangeRecorded, at, &new.server, Some(&new.version));
            step.target = Some(new.target.clone());
            step.severity = change.severity.unwrap_or(Severity::Info);
            step.data.clone_from(&change.told);
            step.data.insert("snapshot".into(), json!(id));
            step.data.insert("label".into(), json!(change.label));
            step.data.insert("rules".into(), json!(change.rules));
            step.data.insert(
                "from".into(),
                json!({"version": change.from_version, "snapshot": change.from}),
            );
            step.data.insert("backfill".into(), json!(new.backfill));
            news.push(step);
        }
        let seq = tx.append_events(&news).await?;
        if let Some(change) = change {
            tx.insert_change(place.0, (new, id), change, seq, at).await?;
        }
        self.commit_with(tx, seq).await?;
        Ok(Ok(Recorded {
            snapshot: id,
            change: change.map(|_| seq),
        }))
    }
}

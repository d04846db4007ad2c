//! Taking over rows of another registry: one transaction a batch, which also holds where the import stands.

use std::collections::{BTreeMap, HashMap};

use serde_json::json;
use sqlx::{FromRow, QueryBuilder};
use toolmark_domain::digest::Digest;
use toolmark_domain::document::Document;
use toolmark_domain::event::{EventKind, NewEvent};
use toolmark_domain::name::ServerName;
use toolmark_domain::record::Origin;
use toolmark_domain::status::Status;
use toolmark_domain::timestamp::Timestamp;
use toolmark_domain::version::VersionId;
use uuid::Uuid;

use crate::jobs::NewJob;
use crate::pools::Tx;
use crate::publish::{lock_key, raw_if_other};
use crate::version_set::VersionSet;
use crate::{Store, StoreError, events, ids, search, targets};

/// Rows in one insert: far below both engines' limits on bound values.
const CHUNK: usize = 100;

/// One version as another registry has it.
#[derive(Clone, Debug)]
pub struct ImportRow {
    pub server: ServerName,
    pub version: VersionId,
    pub status: Status,
    pub status_changed_at: Timestamp,
    pub status_message: Option<String>,
    pub published_at: Timestamp,
    pub updated_at: Timestamp,
    /// Upstream's flag, where the source has it.
    pub is_latest: Option<bool>,
    pub origin: Origin,
    /// As served.
    pub document: String,
    /// As received.
    pub raw: Vec<u8>,
    pub valid: bool,
    pub facts: Document,
    /// The operator's settings hide this name.
    pub hidden: bool,
    /// What must follow when the row is written and is its server's current version.
    pub jobs: Vec<NewJob>,
}

/// What became of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOutcome {
    Added,
    Updated,
    Unchanged,
    /// We have a newer state of it.
    Older,
    /// It was published here, by its publisher; another registry's copy does not replace that.
    PublishedHere,
    /// An operator took the server down.
    TakenDown,
}

/// Where an import stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportCursor {
    /// What is imported: a base URL.
    pub source: String,
    /// The page to ask for next; `None` when the last run ended.
    pub cursor: Option<String>,
    /// Rows changed after this are asked for.
    pub since: Option<Timestamp>,
    /// When the run (that stands at `cursor`, or that ended) started.
    pub started_at: Timestamp,
}

#[derive(Clone, FromRow)]
struct KnownRow {
    id: Uuid,
    name: String,
    version: String,
    status: String,
    status_changed_at: i64,
    status_message: Option<String>,
    published_at: i64,
    updated_at: i64,
    told_latest: Option<bool>,
    origin: String,
    digest: Vec<u8>,
}

impl KnownRow {
    fn same_as(&self, row: &ImportRow, digest: &Digest) -> bool {
        self.digest == digest.as_bytes()
            && self.status == row.status.as_str()
            && self.status_message == row.status_message
            && self.status_changed_at == row.status_changed_at.as_micros()
            && self.published_at == row.published_at.as_micros()
            && self.updated_at == row.updated_at.as_micros()
            && self.origin == row.origin.as_str()
            && row.is_latest.is_none_or(|told| self.told_latest == Some(told))
    }
}

/// What a batch knows of one server.
#[derive(Clone, Copy)]
struct Known {
    id: Uuid,
    taken_down: bool,
}

fn decide(
    server: Known,
    known: &HashMap<(&str, &str), &KnownRow>,
    row: &ImportRow,
    digest: &Digest,
) -> RowOutcome {
    if server.taken_down {
        return RowOutcome::TakenDown;
    }
    let Some(old) = known.get(&(row.server.as_str(), row.version.as_str())) else {
        return RowOutcome::Added;
    };
    if old.same_as(row, digest) {
        return RowOutcome::Unchanged;
    }
    match Origin::parse(&old.origin) {
        Some(Origin::Published) => RowOutcome::PublishedHere,
        // Whoever publishes says more than our own list.
        Some(Origin::Listed) if row.origin != Origin::Listed => RowOutcome::Updated,
        _ if old.updated_at > row.updated_at.as_micros() => RowOutcome::Older,
        _ => RowOutcome::Updated,
    }
}

impl Tx {
    async fn import_servers(
        &mut self,
        rows: &[&ImportRow],
        at: Timestamp,
    ) -> Result<BTreeMap<String, Known>, StoreError> {
        // By name, so that two importers insert in the same order.
        let by_name: BTreeMap<&str, &&ImportRow> =
            rows.iter().map(|row| (row.server.as_str(), row)).collect();
        let names: Vec<&str> = by_name.keys().copied().collect();
        let mut known = BTreeMap::new();
        for chunk in names.chunks(CHUNK) {
            let found: Vec<(String, Uuid, Option<i64>)> = on!(tx self, db => {
                let mut query = QueryBuilder::new("select name, id, taken_down_at from servers where name in (");
                let mut list = query.separated(", ");
                for name in chunk {
                    list.push_bind(*name);
                }
                query.push(")").build_query_as().fetch_all(db).await
            })?;
            known.extend(found.into_iter().map(|(name, id, down)| {
                (
                    name,
                    Known {
                        id,
                        taken_down: down.is_some(),
                    },
                )
            }));
        }
        let missing: Vec<(Uuid, &ImportRow)> = by_name
            .iter()
            .filter(|(name, _)| !known.contains_key(**name))
            .map(|(_, row)| (ids::new_id(), **row))
            .collect();
        for chunk in missing.chunks(CHUNK) {
            on!(tx self, db => {
                let mut insert = QueryBuilder::new(
                    "insert into servers (id, name, name_folded, namespace, search_text, created_at, hidden) ");
                insert.push_values(chunk, |mut values, (id, row)| {
                    values.push_bind(*id)
                        .push_bind(row.server.as_str())
                        .push_bind(row.server.folded())
                        .push_bind(row.server.namespace())
                        .push_bind(search::text(row.server.as_str(), &row.facts))
                        .push_bind(at.as_micros())
                        .push_bind(row.hidden);
                });
                insert.build().execute(db).await.map(|_| ())
            })?;
        }
        known.extend(missing.iter().map(|(id, row)| {
            (
                row.server.as_str().to_owned(),
                Known {
                    id: *id,
                    taken_down: false,
                },
            )
        }));
        Ok(known)
    }

    async fn known_versions(&mut self, rows: &[&ImportRow]) -> Result<Vec<KnownRow>, StoreError> {
        let mut known = Vec::new();
        for chunk in rows.chunks(CHUNK) {
            let found: Vec<KnownRow> = on!(tx self, db => {
                let mut query = QueryBuilder::new(
                    "select id, name, version, status, status_changed_at, status_message, published_at, updated_at, \
                     told_latest, origin, digest from versions where (name, version) in (");
                query.push_values(chunk, |mut tuple, row| {
                    tuple.push_bind(row.server.as_str()).push_bind(row.version.as_str());
                });
                query.push(")").build_query_as().fetch_all(db).await
            })?;
            known.extend(found);
        }
        Ok(known)
    }

    async fn insert_imported(&mut self, rows: &[&News<'_>]) -> Result<(), StoreError> {
        for chunk in rows.chunks(CHUNK) {
            on!(tx self, db => {
                let mut insert = QueryBuilder::new(
                    "insert into versions (id, server_id, name, version, status, status_changed_at, status_message, \
                     published_at, updated_at, told_latest, is_latest, is_current, origin, valid, digest, document, raw, hidden) ");
                insert.push_values(chunk, |mut values, news| {
                    let row = news.row;
                    values.push_bind(news.id)
                        .push_bind(news.server_id)
                        .push_bind(row.server.as_str())
                        .push_bind(row.version.as_str())
                        .push_bind(row.status.as_str())
                        .push_bind(row.status_changed_at.as_micros())
                        .push_bind(row.status_message.as_deref())
                        .push_bind(row.published_at.as_micros())
                        .push_bind(row.updated_at.as_micros())
                        .push_bind(row.is_latest)
                        .push_bind(false)
                        .push_bind(false)
                        .push_bind(row.origin.as_str())
                        .push_bind(row.valid)
                        .push_bind(news.digest.as_bytes().to_vec())
                        .push_bind(row.document.as_str())
                        .push_bind(raw_if_other(&row.document, &row.raw))
                        .push_bind(row.hidden);
                });
                insert.build().execute(db).await.map(|_| ())
            })?;
        }
        Ok(())
    }

    async fn write_news(&mut self, news: &[News<'_>]) -> Result<(), StoreError> {
        let (added, updated): (Vec<_>, Vec<_>) =
            news.iter().partition(|news| news.outcome == RowOutcome::Added);
        for news in updated {
            self.update_imported(news.id, news.row, &news.digest).await?;
        }
        self.insert_imported(&added).await?;
        let targets = news
            .iter()
            .flat_map(|news| targets::rows(news.server_id, news.id, &news.row.facts));
        self.insert_targets(targets.collect()).await
    }

    async fn update_imported(
        &mut self,
        id: Uuid,
        row: &ImportRow,
        digest: &Digest,
    ) -> Result<(), StoreError> {
        const UPDATE: &str = "update versions set status = $1, status_changed_at = $2, status_message = $3, \
             published_at = $4, updated_at = $5, origin = $6, valid = $7, digest = $8, document = $9, raw = $10, \
             told_latest = $11 where id = $12";
        on!(tx self, db => sqlx::query(UPDATE)
            .bind(row.status.as_str())
            .bind(row.status_changed_at.as_micros())
            .bind(row.status_message.as_deref())
            .bind(row.published_at.as_micros())
            .bind(row.updated_at.as_micros())
            .bind(row.origin.as_str())
            .bind(row.valid)
            .bind(digest.as_bytes().to_vec())
            .bind(row.document.as_str())
            .bind(raw_if_other(&row.document, &row.raw))
            .bind(row.is_latest)
            .bind(id)
            .execute(db).await.map(|_| ()))?;
        self.delete_targets(id).await
    }

    /// Flags and search text of one touched server; returns its current version.
    async fn settle(
        &mut self,
        name: &str,
        server_id: Uuid,
        rows: &[(&ImportRow, RowOutcome)],
    ) -> Result<Option<String>, StoreError> {
        let mut set = VersionSet::load(self, server_id).await?;
        let counted = |outcome: RowOutcome| matches!(outcome, RowOutcome::Added | RowOutcome::Updated);
        let told = rows
            .iter()
            .filter(|(row, outcome)| row.is_latest == Some(true) && counted(*outcome))
            .map(|(row, _)| row.version.as_str())
            .next_back();
        let told = told
            .and_then(|told| set.members.iter().position(|member| member.version == told))
            .filter(|told| !set.published_here_is_greater(*told));
        // A source that has no flags is ruled by our own computation; one that has them is believed.
        let flags_given = rows.iter().any(|(row, _)| row.is_latest.is_some());
        let flagged = set
            .flagged_latest()
            .filter(|index| flags_given && set.members[*index].status != Status::Deleted);
        let latest = told.or(flagged).or_else(|| set.computed_latest());
        let current = set.computed_current();
        set.flag(self, latest, current).await?;
        set.refresh_search_text(self, name).await?;
        Ok(set.current_version().map(str::to_owned))
    }

    async fn save_import_cursor(&mut self, progress: &ImportCursor) -> Result<(), StoreError> {
        const SAVE: &str = "insert into import_cursors (source, cursor, since, started_at) values ($1, $2, $3, $4) \
             on conflict (source) do update set cursor = excluded.cursor, since = excluded.since, \
             started_at = excluded.started_at";
        on!(tx self, db => sqlx::query(SAVE)
            .bind(progress.source.as_str())
            .bind(progress.cursor.as_deref())
            .bind(progress.since.map(Timestamp::as_micros))
            .bind(progress.started_at.as_micros())
            .execute(db).await.map(|_| ()))?;
        Ok(())
    }
}

/// A row that is added or updated.
struct News<'a> {
    row: &'a ImportRow,
    outcome: RowOutcome,
    digest: Digest,
    id: Uuid,
    server_id: Uuid,
}

impl News<'_> {
    fn event(&self, current: Option<&str>, at: Timestamp) -> NewEvent {
        let mut event = events::event(
            EventKind::VersionImported,
            at,
            &self.row.server,
            Some(&self.row.version),
        );
        event.data.insert("sha256".into(), json!(self.digest));
        event.data.insert("valid".into(), json!(self.row.valid));
        event
            .data
            .insert("origin".into(), json!(self.row.origin.as_str()));
        event
            .data
            .insert("status".into(), json!(self.row.status.as_str()));
        event
            .data
            .insert("new".into(), json!(self.outcome == RowOutcome::Added));
        event.data.insert("current".into(), json!(current));
        event
    }
}

/// Of two rows of one batch for the same version, the one updated last stands, and of equal ones the later.
fn last_of_each(rows: &[ImportRow]) -> Vec<usize> {
    let mut last: HashMap<(&str, &str), usize> = HashMap::new();
    for (index, row) in rows.iter().enumerate() {
        let slot = last
            .entry((row.server.as_str(), row.version.as_str()))
            .or_insert(index);
        if rows[*slot].updated_at <= row.updated_at {
            *slot = index;
        }
    }
    let mut kept: Vec<usize> = last.into_values().collect();
    kept.sort_unstable();
    kept
}

impl Store {
    /// Takes over a batch of rows in one transaction, with the place the import has reached. The outcomes are in the
    /// order of the rows.
    pub async fn import_batch(
        &self,
        rows: &[ImportRow],
        at: Timestamp,
        progress: Option<&ImportCursor>,
    ) -> Result<Vec<RowOutcome>, StoreError> {
        let kept_at = last_of_each(rows);
        let kept: Vec<&ImportRow> = kept_at.iter().map(|index| &rows[*index]).collect();
        let mut tx = self.begin().await?;
        tx.lock(&kept.iter().map(|row| lock_key(&row.server)).collect::<Vec<_>>())
            .await?;
        let servers = tx.import_servers(&kept, at).await?;
        let known_rows = tx.known_versions(&kept).await?;
        let known: HashMap<(&str, &str), &KnownRow> = known_rows
            .iter()
            .map(|row| ((row.name.as_str(), row.version.as_str()), row))
            .collect();

        let mut outcomes = vec![RowOutcome::Older; rows.len()];
        let mut touched: BTreeMap<&str, Vec<(&ImportRow, RowOutcome)>> = BTreeMap::new();
        let mut news: Vec<News<'_>> = Vec::new();
        for (index, row) in kept_at.iter().zip(&kept) {
            let digest = Digest::of(&row.raw);
            let outcome = decide(servers[row.server.as_str()], &known, row, &digest);
            outcomes[*index] = outcome;
            let id = match outcome {
                RowOutcome::Added => ids::new_id(),
                RowOutcome::Updated => known[&(row.server.as_str(), row.version.as_str())].id,
                _ => continue,
            };
            touched
                .entry(row.server.as_str())
                .or_default()
                .push((row, outcome));
            news.push(News {
                row,
                outcome,
                digest,
                id,
                server_id: servers[row.server.as_str()].id,
            });
        }
        tx.write_news(&news).await?;
        let mut current: HashMap<&str, Option<String>> = HashMap::new();
        for (name, rows) in touched {
            current.insert(name, tx.settle(name, servers[name].id, &rows).await?);
        }
        if let Some(progress) = progress {
            tx.save_import_cursor(progress).await?;
        }
        let current_of = |news: &News<'_>| current.get(news.row.server.as_str()).and_then(Option::as_deref);
        let of_current = |news: &&News<'_>| current_of(news) == Some(news.row.version.as_str());
        tx.enqueue_all(news.iter().filter(of_current).flat_map(|news| &news.row.jobs), at)
            .await?;
        let events: Vec<NewEvent> = news.iter().map(|news| news.event(current_of(news), at)).collect();
        if events.is_empty() {
            tx.commit().await?;
        } else {
            let seq = tx.append_events(&events).await?;
            self.commit_with(tx, seq).await?;
        }
        Ok(outcomes)
    }

    /// Where the import of `source` stands.
    pub async fn import_cursor(&self, source: &str) -> Result<Option<ImportCursor>, StoreError> {
        const READ: &str = "select source, cursor, since, started_at from import_cursors where source = $1";
        let row: Option<(String, Option<String>, Option<i64>, i64)> =
            on!(read self, db => sqlx::query_as(READ).bind(source).fetch_optional(db).await)?;
        Ok(row.map(|(source, cursor, since, started_at)| ImportCursor {
            source,
            cursor,
            since: since.map(Timestamp::from_micros),
            started_at: Timestamp::from_micros(started_at),
        }))
    }
}

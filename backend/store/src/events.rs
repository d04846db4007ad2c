//! The gap-free feed. Numbers come from one row whose lock is held until the transaction ends, so a number never
//! becomes visible after a higher one, and a rolled-back writer leaves no gap.

use std::time::Duration;

use serde_json::{Value, json};
use sqlx::{FromRow, QueryBuilder};
use toolmark_domain::digest::Digest;
use toolmark_domain::event::{EVENT_SCHEMA, Event, EventKind, NewEvent, Severity, leaf_bytes};
use toolmark_domain::name::ServerName;
use toolmark_domain::timestamp::Timestamp;
use toolmark_domain::version::VersionId;

use crate::pools::Tx;
use crate::{Store, StoreError, ids};

/// Rows in one insert: far below both engines' limits on bound values.
const CHUNK: usize = 200;
/// How often a waiting reader asks for events of other processes.
const POLL: Duration = Duration::from_millis(200);

#[derive(FromRow)]
struct EventRow {
    seq: i64,
    body: Option<String>,
    leaf_hash: Vec<u8>,
}

impl TryFrom<EventRow> for Event {
    type Error = StoreError;

    fn try_from(row: EventRow) -> Result<Self, StoreError> {
        let body = body(row.seq, row.body.as_deref())?;
        let leaf_hash = Digest::from_bytes(&row.leaf_hash)
            .ok_or_else(|| StoreError::inconsistent("events", format!("event {}: leaf hash", row.seq)))?;
        Ok(Self {
            seq: row.seq,
            body,
            leaf_hash,
        })
    }
}

/// The object of an event; of a blanked one what is left.
pub(crate) fn body(seq: i64, kept: Option<&str>) -> Result<Value, StoreError> {
    match kept {
        Some(text) => serde_json::from_str(text)
            .map_err(|e| StoreError::inconsistent("events", format!("event {seq}: {e}"))),
        None => Ok(json!({ "schema": EVENT_SCHEMA, "seq": seq, "blanked": true })),
    }
}

/// An event about a version, with an id of its own.
pub(crate) fn event(
    kind: EventKind,
    at: Timestamp,
    server: &ServerName,
    version: Option<&VersionId>,
) -> NewEvent {
    NewEvent {
        id: ids::new_id().to_string(),
        kind,
        at,
        server: server.clone(),
        version: version.cloned(),
        target: None,
        severity: Severity::Info,
        data: serde_json::Map::new(),
    }
}

impl Tx {
    /// Numbers `events` and writes them; returns the newest number. Call it last: from here to the end of the
    /// transaction no other writer can number its events.
    pub(crate) async fn append_events(&mut self, events: &[NewEvent]) -> Result<i64, StoreError> {
        const TAKE: &str = "update feed set seq = seq + $1 where id = 1 returning seq";
        let count = i64::try_from(events.len()).unwrap_or(i64::MAX);
        let last: i64 = on!(tx self, db => sqlx::query_scalar(TAKE).bind(count).fetch_one(db).await)?;
        let mut seq = last - count;
        for chunk in events.chunks(CHUNK) {
            let rows: Vec<_> = chunk
                .iter()
                .map(|event| {
                    seq += 1;
                    let body = leaf_bytes(&event.numbered(seq));
                    let hash = Digest::of_leaf(&body);
                    (
                        seq,
                        event,
                        String::from_utf8(body).expect("canonical JSON is UTF-8"),
                        hash,
                    )
                })
                .collect();
            on!(tx self, db => {
                let mut insert = QueryBuilder::new(
                    "insert into events (seq, id, kind, at, server, version, target, severity, body, leaf_hash) ");
                insert.push_values(rows, |mut row, (seq, event, body, hash)| {
                    row.push_bind(seq)
                        .push_bind(uuid::Uuid::parse_str(&event.id).unwrap_or_else(|_| ids::new_id()))
                        .push_bind(event.kind.as_str())
                        .push_bind(event.at.as_micros())
                        .push_bind(event.server.as_str())
                        .push_bind(event.version.as_ref().map(VersionId::as_str))
                        .push_bind(event.target.as_deref())
                        .push_bind(event.severity.as_str())
                        .push_bind(body)
                        .push_bind(hash.as_bytes().to_vec());
                });
                insert.build().execute(db).await.map(|_| ())
            })?;
        }
        Ok(last)
    }
}

impl Store {
    /// Commits, and tells waiting readers of this process that the feed reaches `seq`.
    pub(crate) async fn commit_with(&self, tx: Tx, seq: i64) -> Result<(), StoreError> {
        tx.commit().await?;
        self.saw(seq);
        Ok(())
    }

    fn saw(&self, seq: i64) {
        self.inner.head.send_if_modified(|head| {
            let newer = seq > *head;
            *head = (*head).max(seq);
            newer
        });
    }

    /// The newest event number.
    pub async fn head(&self) -> Result<i64, StoreError> {
        const HEAD: &str = "select seq from feed where id = 1";
        let seq = on!(read self, db => sqlx::query_scalar(HEAD).fetch_one(db).await)?;
        self.saw(seq);
        Ok(seq)
    }

    /// The newest event number this process has seen, without asking the database. Its own writes are in it at once.
    pub fn head_seen(&self) -> i64 {
        *self.inner.head.borrow()
    }

    /// Up to `limit` events after `after`, in order, without gaps. Those of a server that the operator hides are shown
    /// blanked; they come back when it does.
    pub async fn events_after(&self, after: i64, limit: u32) -> Result<Vec<Event>, StoreError> {
        const AFTER: &str = "select e.seq, case when s.hidden and s.taken_down_at is null then null else e.body end as body, \
             e.leaf_hash from events e left join servers s on s.name = e.server \
             where e.seq > $1 order by e.seq limit $2";
        let rows: Vec<EventRow> = on!(read self, db =>
            sqlx::query_as(AFTER).bind(after).bind(i64::from(limit)).fetch_all(db).await)?;
        rows.into_iter().map(Event::try_from).collect()
    }

    /// Which server each event after `after` is about, in order: also where the event itself is blanked.
    pub async fn servers_touched(&self, after: i64, limit: u32) -> Result<Vec<(i64, String)>, StoreError> {
        const TOUCHED: &str = "select seq, server from events where seq > $1 order by seq limit $2";
        Ok(on!(read self, db =>
            sqlx::query_as(TOUCHED).bind(after).bind(i64::from(limit)).fetch_all(db).await)?)
    }

    /// Waits until the feed is past `seq`, at most so long; returns the newest number.
    pub async fn wait_past(&self, seq: i64, at_most: Duration) -> Result<i64, StoreError> {
        let mut seen = self.inner.head.subscribe();
        let deadline = tokio::time::Instant::now() + at_most;
        loop {
            let head = self.head().await?;
            let left = deadline.saturating_duration_since(tokio::time::Instant::now());
            if head > seq || left.is_zero() {
                return Ok(head);
            }
            let _ = tokio::time::timeout(left.min(POLL), seen.wait_for(|head| *head > seq)).await;
        }
    }
}

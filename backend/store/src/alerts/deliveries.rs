//! The delivery log.

use sqlx::FromRow;
use toolmark_domain::alert::Cadence;
use toolmark_domain::timestamp::Timestamp;
use uuid::Uuid;

use crate::{Store, StoreError};

/// Where a delivery stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryState {
    /// Kept for a digest.
    Held,
    /// Told in a digest.
    Gathered,
    /// Behind another one, or its endpoint is paused.
    Queued,
    Waiting,
    Sending,
    Delivered,
    /// Given up.
    Dead,
}

impl DeliveryState {
    /// Every state.
    pub const ALL: [Self; 7] = [
        Self::Held,
        Self::Gathered,
        Self::Queued,
        Self::Waiting,
        Self::Sending,
        Self::Delivered,
        Self::Dead,
    ];

    /// The word in JSON and SQL.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Gathered => "gathered",
            Self::Queued => "queued",
            Self::Waiting => "waiting",
            Self::Sending => "sending",
            Self::Delivered => "delivered",
            Self::Dead => "dead",
        }
    }

    /// Reads the word back.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }
}

/// One message, and how far it has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub id: Uuid,
    pub endpoint: Uuid,
    /// `event`, `digest` or `test`.
    pub kind: String,
    /// 0 for a test.
    pub event_seq: i64,
    /// Empty for a digest and a test.
    pub server: String,
    pub cadence: Cadence,
    pub state: DeliveryState,
    pub due_at: Timestamp,
    pub attempts: i64,
    /// The digest that told it.
    pub digest: Option<Uuid>,
    pub last_error: Option<String>,
    pub created_at: Timestamp,
    pub finished_at: Option<Timestamp>,
}

/// One attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAttempt {
    pub at: Timestamp,
    pub took_ms: i64,
    pub status: Option<i64>,
    pub error: Option<String>,
    pub answer: Option<String>,
}

/// Which deliveries are listed.
#[derive(Clone, Debug, Default)]
pub struct DeliveryFilter {
    pub owner: Option<String>,
    pub endpoint: Option<Uuid>,
    pub state: Option<DeliveryState>,
}

#[derive(FromRow)]
struct DeliveryRow {
    id: Uuid,
    endpoint_id: Uuid,
    kind: String,
    event_seq: i64,
    server: String,
    cadence: String,
    state: String,
    due_at: i64,
    attempts: i64,
    digest_id: Option<Uuid>,
    last_error: Option<String>,
    created_at: i64,
    finished_at: Option<i64>,
}

impl TryFrom<DeliveryRow> for Delivery {
    type Error = StoreError;

    fn try_from(row: DeliveryRow) -> Result<Self, StoreError> {
        let odd = |text: &str| StoreError::inconsistent("deliveries", format!("`{text}` in {}", row.id));
        Ok(Self {
            id: row.id,
            endpoint: row.endpoint_id,
            cadence: Cadence::parse(&row.cadence).ok_or_else(|| odd(&row.cadence))?,
            state: DeliveryState::parse(&row.state).ok_or_else(|| odd(&row.state))?,
            kind: row.kind,
            event_seq: row.event_seq,
            server: row.server,
            due_at: Timestamp::from_micros(row.due_at),
            attempts: row.attempts,
            digest: row.digest_id,
            last_error: row.last_error,
            created_at: Timestamp::from_micros(row.created_at),
            finished_at: row.finished_at.map(Timestamp::from_micros),
        })
    }
}

/// The columns of [`DeliveryRow`], of a table aliased `d`.
macro_rules! delivery_columns {
    () => {
        "d.id, d.endpoint_id, d.kind, d.event_seq, d.server, d.cadence, d.state, d.due_at, d.attempts, d.digest_id, \
         d.last_error, d.created_at, d.finished_at"
    };
}

impl Store {
    /// The log, newest first, strictly before `before`.
    pub async fn list_deliveries(
        &self,
        filter: &DeliveryFilter,
        before: Option<(Timestamp, Uuid)>,
        limit: u32,
    ) -> Result<Vec<Delivery>, StoreError> {
        const LIST: &str = concat!(
            "select ",
            delivery_columns!(),
            " from deliveries d join alert_endpoints e on e.id = d.endpoint_id \
             where (d.created_at, d.id) < ($1, $2) and ($3 is null or e.owner = $4) \
             and ($5 is null or d.endpoint_id = $6) and ($7 is null or d.state = $8) \
             order by d.created_at desc, d.id desc limit $9"
        );
        let (at, id) = before.map_or((i64::MAX, Uuid::max()), |(at, id)| (at.as_micros(), id));
        let state = filter.state.map(DeliveryState::as_str);
        let rows: Vec<DeliveryRow> = on!(read self, db => sqlx::query_as(LIST)
            .bind(at)
            .bind(id)
            .bind(filter.owner.as_deref())
            .bind(filter.owner.as_deref())
            .bind(filter.endpoint)
            .bind(filter.endpoint)
            .bind(state)
            .bind(state)
            .bind(i64::from(limit))
            .fetch_all(db).await)?;
        rows.into_iter().map(Delivery::try_from).collect()
    }

    /// One delivery.
    pub async fn delivery(&self, id: Uuid) -> Result<Option<Delivery>, StoreError> {
        const BY_ID: &str = concat!(
            "select ",
            delivery_columns!(),
            " from deliveries d where d.id = $1"
        );
        let row: Option<DeliveryRow> =
            on!(read self, db => sqlx::query_as(BY_ID).bind(id).fetch_optional(db).await)?;
        row.map(Delivery::try_from).transpose()
    }

    /// The attempts of a delivery, oldest first.
    pub async fn delivery_attempts(&self, id: Uuid) -> Result<Vec<StoredAttempt>, StoreError> {
        const ATTEMPTS: &str = "select at, took_ms, status, error, answer from delivery_attempts \
             where delivery_id = $1 order by at, id limit 1000";
        type Row = (i64, i64, Option<i64>, Option<String>, Option<String>);
        let rows: Vec<Row> = on!(read self, db => sqlx::query_as(ATTEMPTS).bind(id).fetch_all(db).await)?;
        let attempt = |(at, took_ms, status, error, answer): Row| StoredAttempt {
            at: Timestamp::from_micros(at),
            took_ms,
            status,
            error,
            answer,
        };
        Ok(rows.into_iter().map(attempt).collect())
    }

    /// The numbers of the events a digest tells, in order, and how many there are.
    pub async fn digest_events(&self, digest: Uuid, limit: u32) -> Result<(Vec<i64>, i64), StoreError> {
        const SEQS: &str =
            "select event_seq from deliveries where digest_id = $1 order by event_seq limit $2";
        const COUNT: &str = "select count(*) from deliveries where digest_id = $1";
        let seqs: Vec<i64> = on!(read self, db => sqlx::query_scalar(SEQS)
            .bind(digest).bind(i64::from(limit)).fetch_all(db).await)?;
        let count = on!(read self, db => sqlx::query_scalar(COUNT).bind(digest).fetch_one(db).await)?;
        Ok((seqs, count))
    }

    /// Forgets deliveries that ended before `before`, a bounded number at a time; gives how many.
    pub async fn prune_deliveries(&self, before: Timestamp) -> Result<u64, StoreError> {
        const PRUNE: &str = "delete from deliveries where id in (select id from deliveries \
             where finished_at is not null and finished_at < $1 limit 1000)";
        let mut tx = self.begin().await?;
        let gone = on!(tx &mut tx, db => sqlx::query(PRUNE)
            .bind(before.as_micros()).execute(db).await.map(|done| done.rows_affected()))?;
        tx.commit().await?;
        Ok(gone)
    }

    /// How many deliveries stand in each state.
    pub async fn delivery_counts(&self) -> Result<Vec<(String, i64)>, StoreError> {
        const COUNTS: &str = "select state, count(*) from deliveries group by state order by state";
        Ok(on!(read self, db => sqlx::query_as(COUNTS).fetch_all(db).await)?)
    }
}

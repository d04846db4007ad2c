//! Sending: who holds a delivery, and how each attempt ended.

use std::collections::BTreeSet;

use sqlx::FromRow;
use toolmark_domain::timestamp::Timestamp;
use uuid::Uuid;

use super::matches::line_key;
use crate::pools::Tx;
use crate::{Store, StoreError, ids};

/// A delivery a sender holds.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Claimed {
    pub id: Uuid,
    pub endpoint_id: Uuid,
    /// `event`, `digest` or `test`.
    pub kind: String,
    pub event_seq: i64,
    pub server: String,
    pub cadence: String,
    /// This one included.
    pub attempts: i64,
    pub first_attempt_at: i64,
}

/// What is kept of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptFacts {
    pub at: Timestamp,
    pub took_ms: i64,
    pub status: Option<i64>,
    pub error: Option<String>,
    pub answer: Option<String>,
}

/// What follows from an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Taken,
    /// Again at this time.
    Retry(Timestamp),
    /// The endpoint is paused, and keeps it.
    Pause(String),
    /// Given up; the next of the line goes on.
    Dead,
}

/// How an attempt ended.
#[derive(Clone, Debug)]
pub struct Finished {
    pub claimed: Claimed,
    pub attempt: AttemptFacts,
    pub verdict: Verdict,
}

impl Store {
    /// Takes up to `limit` due deliveries, at most `per_endpoint` of one endpoint at a time. Those of a sender that
    /// stopped are due again.
    pub async fn claim_deliveries(
        &self,
        worker: &str,
        at: Timestamp,
        lease_secs: i64,
        limit: usize,
        per_endpoint: usize,
    ) -> Result<Vec<Claimed>, StoreError> {
        const EXPIRE: &str = "update deliveries set state = case when kind = 'test' or exists (select 1 \
             from alert_endpoints e where e.id = deliveries.endpoint_id and e.state = 'active') then 'waiting' \
             else 'queued' end, worker = null, lease_until = null where state = 'sending' and lease_until < $1";
        const CLAIM: &str = "with due as (select d.id, d.endpoint_id, d.due_at, row_number() over \
             (partition by d.endpoint_id order by d.due_at, d.event_seq) as place from deliveries d \
             where d.state = 'waiting' and d.due_at <= $1) \
             update deliveries set state = 'sending', worker = $2, lease_until = $3, attempts = attempts + 1, \
             first_attempt_at = coalesce(first_attempt_at, $4) where state = 'waiting' and id in (select due.id from due \
             where due.place <= $5 - (select count(*) from deliveries s where s.endpoint_id = due.endpoint_id \
             and s.state = 'sending') order by due.due_at limit $6) \
             returning id, endpoint_id, kind, event_seq, server, cadence, attempts, first_attempt_at";
        let number = |size: usize| i64::try_from(size).unwrap_or(i64::MAX);
        let mut tx = self.begin().await?;
        on!(tx &mut tx, db => sqlx::query(EXPIRE).bind(at.as_micros()).execute(db).await.map(|_| ()))?;
        let claimed: Vec<Claimed> = on!(tx &mut tx, db => sqlx::query_as(CLAIM)
            .bind(at.as_micros())
            .bind(worker)
            .bind(at.plus_secs(lease_secs).as_micros())
            .bind(at.as_micros())
            .bind(number(per_endpoint))
            .bind(number(limit))
            .fetch_all(db).await)?;
        tx.commit().await?;
        Ok(claimed)
    }

    /// Lets the first of every line go whose endpoint gets messages: mends what a race of two processes may have left
    /// standing. Gives how many there were.
    pub async fn mend_lines(&self, at: Timestamp) -> Result<u64, StoreError> {
        const MEND: &str = "update deliveries set state = 'waiting', due_at = $1 where state = 'queued' \
             and kind <> 'test' and exists (select 1 from alert_endpoints e where e.id = deliveries.endpoint_id \
             and e.state = 'active') and not exists (select 1 from deliveries o \
             where o.endpoint_id = deliveries.endpoint_id and o.server = deliveries.server and o.kind <> 'test' \
             and (o.state in ('waiting', 'sending') or (o.state = 'queued' and o.event_seq < deliveries.event_seq)))";
        let mut tx = self.begin().await?;
        let mended = on!(tx &mut tx, db => sqlx::query(MEND)
            .bind(at.as_micros()).execute(db).await.map(|done| done.rows_affected()))?;
        tx.commit().await?;
        Ok(mended)
    }

    /// Whether anything is due or held past its time, without taking the write lock.
    pub async fn deliveries_due(&self, at: Timestamp) -> Result<bool, StoreError> {
        const DUE: &str = "select case when exists (select 1 from deliveries where state = 'waiting' and due_at <= $1) \
             or exists (select 1 from deliveries where state = 'sending' and lease_until < $2) then 1 else 0 end";
        let due: i32 = on!(read self, db => sqlx::query_scalar(DUE)
            .bind(at.as_micros()).bind(at.as_micros()).fetch_one(db).await)?;
        Ok(due == 1)
    }

    /// Whether a digest is due.
    pub async fn digests_due(&self, at: Timestamp) -> Result<bool, StoreError> {
        const DUE: &str = "select case when exists (select 1 from deliveries where state = 'held' and due_at <= $1) then 1 else 0 end";
        let due: i32 =
            on!(read self, db => sqlx::query_scalar(DUE).bind(at.as_micros()).fetch_one(db).await)?;
        Ok(due == 1)
    }

    /// The sender is still at it.
    pub async fn keep_deliveries(
        &self,
        worker: &str,
        at: Timestamp,
        lease_secs: i64,
    ) -> Result<(), StoreError> {
        const KEEP: &str = "update deliveries set lease_until = $1 where state = 'sending' and worker = $2";
        let mut tx = self.begin().await?;
        on!(tx &mut tx, db => sqlx::query(KEEP)
            .bind(at.plus_secs(lease_secs).as_micros()).bind(worker).execute(db).await.map(|_| ()))?;
        tx.commit().await
    }

    /// Writes how attempts ended; those a sender no longer holds are left as they are.
    pub async fn finish_deliveries(
        &self,
        worker: &str,
        finished: &[Finished],
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let servers: BTreeSet<String> = finished
            .iter()
            .map(|done| line_key(&done.claimed.server))
            .collect();
        let mut tx = self.begin().await?;
        tx.lock(&servers.into_iter().collect::<Vec<_>>()).await?;
        for done in finished {
            tx.finish_delivery(worker, done, at).await?;
        }
        tx.commit().await
    }
}

impl Tx {
    async fn finish_delivery(
        &mut self,
        worker: &str,
        done: &Finished,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        const END: &str = "update deliveries set state = $1, finished_at = $2, lease_until = null, worker = null, \
             last_error = $3 where id = $4 and worker = $5 and state = 'sending'";
        const AGAIN: &str = "update deliveries set state = case when exists (select 1 from alert_endpoints e \
             where e.id = deliveries.endpoint_id and e.state = 'active') then 'waiting' else 'queued' end, due_at = $1, \
             lease_until = null, worker = null, last_error = $2 where id = $3 and worker = $4 and state = 'sending'";
        const KEPT: &str = "update deliveries set state = 'queued', attempts = 0, first_attempt_at = null, due_at = $1, \
             lease_until = null, worker = null, last_error = $2 where id = $3 and worker = $4 and state = 'sending'";
        let claimed = &done.claimed;
        let error = done.attempt.error.as_deref();
        let changed = match &done.verdict {
            Verdict::Taken | Verdict::Dead => {
                let state = if done.verdict == Verdict::Taken {
                    "delivered"
                } else {
                    "dead"
                };
                on!(tx self, db => sqlx::query(END)
                    .bind(state).bind(at.as_micros()).bind(error).bind(claimed.id).bind(worker)
                    .execute(db).await.map(|done| done.rows_affected()))?
            }
            Verdict::Retry(due_at) => on!(tx self, db => sqlx::query(AGAIN)
                .bind(due_at.as_micros()).bind(error).bind(claimed.id).bind(worker)
                .execute(db).await.map(|done| done.rows_affected()))?,
            Verdict::Pause(_) => on!(tx self, db => sqlx::query(KEPT)
                .bind(at.as_micros()).bind(error).bind(claimed.id).bind(worker)
                .execute(db).await.map(|done| done.rows_affected()))?,
        };
        if changed == 0 {
            return Ok(());
        }
        self.add_attempt(claimed.id, &done.attempt).await?;
        if claimed.kind == "test" {
            return Ok(());
        }
        if let Verdict::Pause(reason) = &done.verdict {
            self.pause(claimed.endpoint_id, reason, at).await?;
            return Ok(());
        }
        self.note_health(claimed.endpoint_id, &done.verdict, at).await?;
        if matches!(done.verdict, Verdict::Taken | Verdict::Dead) {
            self.promote(claimed.endpoint_id, &claimed.server).await?;
        }
        Ok(())
    }

    async fn note_health(
        &mut self,
        endpoint: Uuid,
        verdict: &Verdict,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        const WELL: &str =
            "update alert_endpoints set failing_since = null, last_success_at = $1 where id = $2";
        const ILL: &str =
            "update alert_endpoints set failing_since = coalesce(failing_since, $1) where id = $2";
        let sql = if *verdict == Verdict::Taken { WELL } else { ILL };
        on!(tx self, db => sqlx::query(sql).bind(at.as_micros()).bind(endpoint).execute(db).await.map(|_| ()))?;
        Ok(())
    }

    async fn add_attempt(&mut self, delivery: Uuid, attempt: &AttemptFacts) -> Result<(), StoreError> {
        const INSERT: &str = "insert into delivery_attempts (id, delivery_id, at, took_ms, status, error, answer) \
             values ($1, $2, $3, $4, $5, $6, $7)";
        on!(tx self, db => sqlx::query(INSERT)
            .bind(ids::new_id())
            .bind(delivery)
            .bind(attempt.at.as_micros())
            .bind(attempt.took_ms)
            .bind(attempt.status)
            .bind(attempt.error.as_deref())
            .bind(attempt.answer.as_deref())
            .execute(db).await.map(|_| ()))?;
        Ok(())
    }

    /// The first of a line that nobody is before may go, if its endpoint gets messages.
    pub(super) async fn promote(&mut self, endpoint: Uuid, server: &str) -> Result<(), StoreError> {
        const PROMOTE: &str = "update deliveries set state = 'waiting' where id = (select d.id from deliveries d \
             join alert_endpoints e on e.id = d.endpoint_id where d.endpoint_id = $1 and d.server = $2 \
             and d.state = 'queued' and d.kind <> 'test' and e.state = 'active' order by d.event_seq, d.id limit 1) \
             and not exists (select 1 from deliveries o where o.endpoint_id = $3 and o.server = $4 \
             and o.kind <> 'test' and o.state in ('waiting', 'sending'))";
        on!(tx self, db => sqlx::query(PROMOTE)
            .bind(endpoint).bind(server).bind(endpoint).bind(server)
            .execute(db).await.map(|_| ()))?;
        Ok(())
    }
}

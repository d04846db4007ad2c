//! From events to deliveries: each event and endpoint at most once, in the transaction that moves the cursor.

use std::collections::BTreeSet;

use toolmark_domain::alert::Cadence;
use toolmark_domain::timestamp::Timestamp;
use uuid::Uuid;

use crate::pools::Tx;
use crate::{Store, StoreError, ids};

/// An event that somebody wants.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Match {
    pub event_seq: i64,
    pub endpoint: Uuid,
    /// Of several that fit the fastest one is kept.
    pub cadence: Cadence,
    pub server: String,
    pub due_at: Timestamp,
}

/// What happens to a message that was sent already, when events are asked for again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resend {
    /// Only what was not delivered is sent.
    Missing,
    /// All of it, under the ids it had.
    All,
}

/// A message is the head of its line when the endpoint gets messages and nothing of the same server is before it.
const INSERT: &str = "insert into deliveries (id, endpoint_id, kind, event_seq, server, cadence, state, due_at, created_at) \
     select $1, e.id, 'event', $2, $3, $4, case when e.state = 'active' and not exists (select 1 from deliveries o \
     where o.endpoint_id = e.id and o.server = $5 and o.kind <> 'test' and o.state in ('queued', 'waiting', 'sending')) \
     then 'waiting' else 'queued' end, $6, $7 from alert_endpoints e where e.id = $8 and e.state <> 'unconfirmed' \
     on conflict (event_seq, endpoint_id) where kind = 'event' do nothing";
/// For a digest it waits aside.
const HOLD: &str = "insert into deliveries (id, endpoint_id, kind, event_seq, server, cadence, state, due_at, created_at) \
     select $1, e.id, 'event', $2, $3, $4, 'held', $5, $6 from alert_endpoints e where e.id = $7 \
     and e.state <> 'unconfirmed' on conflict (event_seq, endpoint_id) where kind = 'event' do nothing";

impl Tx {
    async fn insert_match(&mut self, found: &Match, at: Timestamp) -> Result<u64, StoreError> {
        if found.cadence != Cadence::Instant {
            return Ok(on!(tx self, db => sqlx::query(HOLD)
                .bind(ids::new_id())
                .bind(found.event_seq)
                .bind(found.server.as_str())
                .bind(found.cadence.as_str())
                .bind(found.due_at.as_micros())
                .bind(at.as_micros())
                .bind(found.endpoint)
                .execute(db).await.map(|done| done.rows_affected()))?);
        }
        Ok(on!(tx self, db => sqlx::query(INSERT)
            .bind(ids::new_id())
            .bind(found.event_seq)
            .bind(found.server.as_str())
            .bind(found.cadence.as_str())
            .bind(found.server.as_str())
            .bind(found.due_at.as_micros())
            .bind(at.as_micros())
            .bind(found.endpoint)
            .execute(db).await.map(|done| done.rows_affected()))?)
    }

    /// Whoever adds to a server's lines waits for whoever ends something in them.
    async fn lock_lines(&mut self, matches: &[Match]) -> Result<(), StoreError> {
        let servers: BTreeSet<String> = matches.iter().map(|found| line_key(&found.server)).collect();
        self.lock(&servers.into_iter().collect::<Vec<_>>()).await
    }
}

/// What is locked for the lines of a server.
pub(super) fn line_key(server: &str) -> String {
    format!("line:{server}")
}

impl Store {
    /// Writes the deliveries of the events up to `to` and moves the follower's cursor from `from`; none, and nothing
    /// written, when another process was there first. Gives how many messages are new.
    pub async fn record_matches(
        &self,
        follower: &str,
        from: i64,
        to: i64,
        matches: &[Match],
        at: Timestamp,
    ) -> Result<Option<u64>, StoreError> {
        const START: &str =
            "insert into cursors (name, seq, updated_at) values ($1, 0, $2) on conflict (name) do nothing";
        const MOVE: &str = "update cursors set seq = $1, updated_at = $2 where name = $3 and seq = $4";
        let mut tx = self.begin().await?;
        tx.lock(&[format!("follower:{follower}")]).await?;
        on!(tx &mut tx, db => sqlx::query(START)
            .bind(follower).bind(at.as_micros()).execute(db).await.map(|_| ()))?;
        let moved = on!(tx &mut tx, db => sqlx::query(MOVE)
            .bind(to).bind(at.as_micros()).bind(follower).bind(from)
            .execute(db).await.map(|done| done.rows_affected()))?;
        if moved == 0 {
            return Ok(None);
        }
        tx.lock_lines(matches).await?;
        let mut added = 0;
        for found in matches {
            added += tx.insert_match(found, at).await?;
        }
        tx.commit().await?;
        Ok(Some(added))
    }

    /// Sends what fits again, in order: what was never matched, what was not delivered, and with [`Resend::All`] what
    /// was delivered too. Gives how many messages will go out.
    pub async fn replay_matches(
        &self,
        matches: &[Match],
        resend: Resend,
        at: Timestamp,
    ) -> Result<u64, StoreError> {
        // `due_at` is now, and the first of the line decides about the others.
        const AGAIN: &str = "update deliveries set state = 'queued', due_at = $1, attempts = 0, first_attempt_at = null, \
             last_error = null, finished_at = null where event_seq = $2 and endpoint_id = $3 and kind = 'event' \
             and (state = 'dead' or (state in ('delivered', 'gathered') and $4 = 1))";
        let mut tx = self.begin().await?;
        tx.lock_lines(matches).await?;
        let all = i64::from(resend == Resend::All);
        let mut count = 0;
        for found in matches {
            let instant = Match {
                cadence: Cadence::Instant,
                due_at: at,
                ..found.clone()
            };
            count += tx.insert_match(&instant, at).await?;
            count += on!(tx &mut tx, db => sqlx::query(AGAIN)
                .bind(at.as_micros()).bind(found.event_seq).bind(found.endpoint).bind(all)
                .execute(db).await.map(|done| done.rows_affected()))?;
        }
        let lines: BTreeSet<(Uuid, &str)> = matches
            .iter()
            .map(|found| (found.endpoint, found.server.as_str()))
            .collect();
        for (endpoint, server) in lines {
            tx.promote(endpoint, server).await?;
        }
        tx.commit().await?;
        Ok(count)
    }

    /// A test message; none when there is no such endpoint.
    pub async fn add_test_delivery(&self, endpoint: Uuid, at: Timestamp) -> Result<Option<Uuid>, StoreError> {
        const INSERT: &str = "insert into deliveries (id, endpoint_id, kind, event_seq, server, cadence, state, due_at, \
             created_at) select $1, e.id, 'test', 0, '', 'instant', 'waiting', $2, $3 from alert_endpoints e \
             where e.id = $4";
        let id = ids::new_id();
        let mut tx = self.begin().await?;
        let added = on!(tx &mut tx, db => sqlx::query(INSERT)
            .bind(id).bind(at.as_micros()).bind(at.as_micros()).bind(endpoint)
            .execute(db).await.map(|done| done.rows_affected()))?;
        tx.commit().await?;
        Ok((added > 0).then_some(id))
    }

    /// Makes one message of all that an endpoint holds for a digest that is due. Gives how many messages there are.
    pub async fn gather_digests(&self, at: Timestamp, most: u32) -> Result<u64, StoreError> {
        const DUE: &str = "select endpoint_id, cadence, max(event_seq) from (select endpoint_id, cadence, event_seq \
             from deliveries where state = 'held' and due_at <= $1 order by due_at, event_seq limit $2) due \
             group by endpoint_id, cadence";
        const INSERT: &str = "insert into deliveries (id, endpoint_id, kind, event_seq, server, cadence, state, due_at, \
             created_at) select $1, e.id, 'digest', $2, '', $3, 'queued', $4, $5 from alert_endpoints e where e.id = $6";
        const GATHER: &str = "update deliveries set state = 'gathered', digest_id = $1, finished_at = $2 \
             where endpoint_id = $3 and cadence = $4 and state = 'held' and due_at <= $5 and event_seq <= $6";
        let mut tx = self.begin().await?;
        tx.lock(&[line_key("")]).await?;
        let due: Vec<(Uuid, String, i64)> = on!(tx &mut tx, db => sqlx::query_as(DUE)
            .bind(at.as_micros()).bind(i64::from(most)).fetch_all(db).await)?;
        for (endpoint, cadence, last) in &due {
            let id = ids::new_id();
            on!(tx &mut tx, db => sqlx::query(INSERT)
                .bind(id).bind(last).bind(cadence.as_str()).bind(at.as_micros()).bind(at.as_micros()).bind(*endpoint)
                .execute(db).await.map(|_| ()))?;
            on!(tx &mut tx, db => sqlx::query(GATHER)
                .bind(id).bind(at.as_micros()).bind(*endpoint).bind(cadence.as_str()).bind(at.as_micros()).bind(last)
                .execute(db).await.map(|_| ()))?;
            tx.promote(*endpoint, "").await?;
        }
        tx.commit().await?;
        Ok(due.len() as u64)
    }
}

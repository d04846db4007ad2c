//! Where messages go, and the keys that sign them.

use sqlx::FromRow;
use toolmark_domain::alert::{Channel, Shape};
use toolmark_domain::timestamp::Timestamp;
use uuid::Uuid;

use crate::audit::{self, AuditOutcome};
use crate::publish::By;
use crate::{Store, StoreError, ids};

/// An endpoint to be kept.
#[derive(Clone, Debug)]
pub struct NewEndpoint {
    pub owner: String,
    pub label: String,
    pub channel: Channel,
    /// An https URL or a mail address.
    pub address: String,
    pub shape: Shape,
    /// The first key of a webhook.
    pub secret: Option<Vec<u8>>,
    /// What confirms a mail address.
    pub code: Option<String>,
}

/// Whether messages are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointState {
    Unconfirmed,
    Active,
    Paused,
}

impl EndpointState {
    /// The word in JSON and SQL.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unconfirmed => "unconfirmed",
            Self::Active => "active",
            Self::Paused => "paused",
        }
    }

    fn parse(text: &str) -> Result<Self, StoreError> {
        [Self::Unconfirmed, Self::Active, Self::Paused]
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| StoreError::inconsistent("alert_endpoints", format!("state `{text}`")))
    }
}

/// An endpoint as kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub id: Uuid,
    pub owner: String,
    pub label: String,
    pub channel: Channel,
    pub address: String,
    pub shape: Shape,
    pub state: EndpointState,
    /// Why it is paused.
    pub state_reason: Option<String>,
    pub state_at: Timestamp,
    pub code: Option<String>,
    pub failing_since: Option<Timestamp>,
    pub last_success_at: Option<Timestamp>,
    pub created_at: Timestamp,
}

#[derive(FromRow)]
struct EndpointRow {
    id: Uuid,
    owner: String,
    label: String,
    channel: String,
    address: String,
    shape: String,
    state: String,
    state_reason: Option<String>,
    state_at: i64,
    code: Option<String>,
    failing_since: Option<i64>,
    last_success_at: Option<i64>,
    created_at: i64,
}

impl TryFrom<EndpointRow> for Endpoint {
    type Error = StoreError;

    fn try_from(row: EndpointRow) -> Result<Self, StoreError> {
        let odd = |what: &str, text: &str| {
            StoreError::inconsistent("alert_endpoints", format!("{what} `{text}` of {}", row.id))
        };
        Ok(Self {
            id: row.id,
            channel: Channel::parse(&row.channel).ok_or_else(|| odd("channel", &row.channel))?,
            shape: Shape::parse(&row.shape).ok_or_else(|| odd("shape", &row.shape))?,
            state: EndpointState::parse(&row.state)?,
            owner: row.owner,
            label: row.label,
            address: row.address,
            state_reason: row.state_reason,
            state_at: Timestamp::from_micros(row.state_at),
            code: row.code,
            failing_since: row.failing_since.map(Timestamp::from_micros),
            last_success_at: row.last_success_at.map(Timestamp::from_micros),
            created_at: Timestamp::from_micros(row.created_at),
        })
    }
}

/// The columns of [`EndpointRow`].
macro_rules! endpoint_columns {
    () => {
        "id, owner, label, channel, address, shape, state, state_reason, state_at, code, failing_since, \
         last_success_at, created_at"
    };
}

impl Store {
    /// Keeps an endpoint; none when the owner has as many as allowed.
    pub async fn create_endpoint(
        &self,
        new: &NewEndpoint,
        most: i64,
        by: &By,
        at: Timestamp,
    ) -> Result<Option<Endpoint>, StoreError> {
        const COUNT: &str = "select count(*) from alert_endpoints where owner = $1";
        const INSERT: &str = "insert into alert_endpoints (id, owner, label, channel, address, shape, state, state_at, \
             code, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
        let id = ids::new_id();
        let state = if new.code.is_some() {
            EndpointState::Unconfirmed
        } else {
            EndpointState::Active
        };
        let mut tx = self.begin().await?;
        if tx.lock_owner(&new.owner, COUNT).await? >= most {
            return Ok(None);
        }
        on!(tx &mut tx, db => sqlx::query(INSERT)
            .bind(id)
            .bind(new.owner.as_str())
            .bind(new.label.as_str())
            .bind(new.channel.as_str())
            .bind(new.address.as_str())
            .bind(new.shape.as_str())
            .bind(state.as_str())
            .bind(at.as_micros())
            .bind(new.code.as_deref())
            .bind(at.as_micros())
            .execute(db).await.map(|_| ()))?;
        if let Some(secret) = &new.secret {
            tx.add_secret(id, secret, at).await?;
        }
        let audited = audit::entry(by, at, "endpoint.create", &new.label, AuditOutcome::Done);
        tx.audit(audited).await?;
        tx.commit().await?;
        self.endpoint(id).await
    }

    /// One endpoint.
    pub async fn endpoint(&self, id: Uuid) -> Result<Option<Endpoint>, StoreError> {
        const BY_ID: &str = concat!(
            "select ",
            endpoint_columns!(),
            " from alert_endpoints where id = $1"
        );
        let row: Option<EndpointRow> =
            on!(read self, db => sqlx::query_as(BY_ID).bind(id).fetch_optional(db).await)?;
        row.map(Endpoint::try_from).transpose()
    }

    /// The endpoints of an owner (of all owners where none is named), by id, strictly after `after`.
    pub async fn list_endpoints(
        &self,
        owner: Option<&str>,
        after: Option<Uuid>,
        limit: u32,
    ) -> Result<Vec<Endpoint>, StoreError> {
        const LIST: &str = concat!(
            "select ",
            endpoint_columns!(),
            " from alert_endpoints where ($1 is null or owner = $2) and id > $3 order by id limit $4"
        );
        let rows: Vec<EndpointRow> = on!(read self, db => sqlx::query_as(LIST)
            .bind(owner)
            .bind(owner)
            .bind(after.unwrap_or(Uuid::nil()))
            .bind(i64::from(limit))
            .fetch_all(db).await)?;
        rows.into_iter().map(Endpoint::try_from).collect()
    }

    /// Removes an endpoint with its subscriptions, deliveries and keys; false when there is none.
    pub async fn delete_endpoint(&self, id: Uuid, by: &By, at: Timestamp) -> Result<bool, StoreError> {
        const DELETE: &str = "delete from alert_endpoints where id = $1";
        self.delete_watched(DELETE, id, ("endpoint.delete", by), at).await
    }

    /// Sends again to an endpoint that was paused or not confirmed; what waited goes out in order. False when it was
    /// active or there is none.
    pub async fn activate_endpoint(&self, id: Uuid, by: &By, at: Timestamp) -> Result<bool, StoreError> {
        const ACTIVATE: &str = "update alert_endpoints set state = 'active', state_reason = null, state_at = $1, \
             failing_since = null where id = $2 and state <> 'active'";
        // The first of each line; the others follow it.
        const HEADS: &str = "update deliveries set state = 'waiting', due_at = $1 where endpoint_id = $2 \
             and state = 'queued' and kind <> 'test' and not exists (select 1 from deliveries o \
             where o.endpoint_id = deliveries.endpoint_id and o.server = deliveries.server and o.kind <> 'test' \
             and o.state in ('queued', 'waiting', 'sending') and o.event_seq < deliveries.event_seq)";
        let mut tx = self.begin().await?;
        tx.lock_endpoint(id).await?;
        let changed = on!(tx &mut tx, db => sqlx::query(ACTIVATE)
            .bind(at.as_micros()).bind(id).execute(db).await.map(|done| done.rows_affected()))?;
        if changed > 0 {
            on!(tx &mut tx, db => sqlx::query(HEADS)
                .bind(at.as_micros()).bind(id).execute(db).await.map(|_| ()))?;
            tx.raise_alert_revision().await?;
            let audited = audit::entry(by, at, "endpoint.resume", &id.to_string(), AuditOutcome::Done);
            tx.audit(audited).await?;
        }
        tx.commit().await?;
        Ok(changed > 0)
    }

    /// Stops sending to an endpoint and keeps what waits; false when it was not active.
    pub async fn pause_endpoint(
        &self,
        id: Uuid,
        reason: &str,
        by: &By,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin().await?;
        tx.lock_endpoint(id).await?;
        let changed = tx.pause(id, reason, at).await?;
        if changed {
            let mut audited = audit::entry(by, at, "endpoint.pause", &id.to_string(), AuditOutcome::Done);
            reason.clone_into(&mut audited.detail);
            tx.audit(audited).await?;
        }
        tx.commit().await?;
        Ok(changed)
    }

    /// The keys that sign at `at`, the newest first.
    pub async fn endpoint_secrets(&self, id: Uuid, at: Timestamp) -> Result<Vec<Vec<u8>>, StoreError> {
        const VALID: &str = "select secret from alert_secrets where endpoint_id = $1 \
             and (expires_at is null or expires_at > $2) order by created_at desc, id desc";
        Ok(on!(read self, db => sqlx::query_scalar(VALID)
            .bind(id).bind(at.as_micros()).fetch_all(db).await)?)
    }

    /// Adds a key; the others sign too until `until`. False when there is no such endpoint.
    pub async fn rotate_secret(
        &self,
        id: Uuid,
        secret: &[u8],
        until: Timestamp,
        by: &By,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        const KNOWN: &str = "select count(*) from alert_endpoints where id = $1 and channel = 'webhook'";
        const EXPIRE: &str = "update alert_secrets set expires_at = $1 where endpoint_id = $2 \
             and (expires_at is null or expires_at > $3)";
        const FORGET: &str = "delete from alert_secrets where endpoint_id = $1 and expires_at <= $2";
        let mut tx = self.begin().await?;
        tx.lock_endpoint(id).await?;
        let known: i64 = on!(tx &mut tx, db => sqlx::query_scalar(KNOWN).bind(id).fetch_one(db).await)?;
        if known == 0 {
            return Ok(false);
        }
        on!(tx &mut tx, db => sqlx::query(EXPIRE)
            .bind(until.as_micros()).bind(id).bind(until.as_micros()).execute(db).await.map(|_| ()))?;
        on!(tx &mut tx, db => sqlx::query(FORGET)
            .bind(id).bind(at.as_micros()).execute(db).await.map(|_| ()))?;
        tx.add_secret(id, secret, at).await?;
        let audited = audit::entry(by, at, "endpoint.rotate", &id.to_string(), AuditOutcome::Done);
        tx.audit(audited).await?;
        tx.commit().await?;
        Ok(true)
    }
}

impl crate::pools::Tx {
    /// Writers of one endpoint's line wait for each other.
    pub(super) async fn lock_endpoint(&mut self, id: Uuid) -> Result<(), StoreError> {
        self.lock(&[format!("endpoint:{id}")]).await
    }

    async fn add_secret(&mut self, endpoint: Uuid, secret: &[u8], at: Timestamp) -> Result<(), StoreError> {
        const INSERT: &str =
            "insert into alert_secrets (id, endpoint_id, secret, created_at) values ($1, $2, $3, $4)";
        on!(tx self, db => sqlx::query(INSERT)
            .bind(ids::new_id()).bind(endpoint).bind(secret).bind(at.as_micros())
            .execute(db).await.map(|_| ()))?;
        Ok(())
    }

    /// The endpoint gets nothing from now on, and what was due stands in line.
    pub(super) async fn pause(&mut self, id: Uuid, reason: &str, at: Timestamp) -> Result<bool, StoreError> {
        const PAUSE: &str = "update alert_endpoints set state = 'paused', state_reason = $1, state_at = $2 \
             where id = $3 and state = 'active'";
        const HOLD: &str = "update deliveries set state = 'queued' where endpoint_id = $1 and state = 'waiting' \
             and kind <> 'test'";
        let changed = on!(tx self, db => sqlx::query(PAUSE)
            .bind(reason).bind(at.as_micros()).bind(id).execute(db).await.map(|done| done.rows_affected()))?;
        if changed > 0 {
            on!(tx self, db => sqlx::query(HOLD).bind(id).execute(db).await.map(|_| ()))?;
            self.raise_alert_revision().await?;
        }
        Ok(changed > 0)
    }
}

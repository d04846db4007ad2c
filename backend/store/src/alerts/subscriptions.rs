//! Who wants which events.

use sqlx::FromRow;
use toolmark_domain::alert::Cadence;
use toolmark_domain::alert::filter::Filter;
use toolmark_domain::timestamp::Timestamp;
use uuid::Uuid;

use crate::audit::{self, AuditOutcome};
use crate::publish::By;
use crate::{Store, StoreError, ids};

/// A subscription to be kept.
#[derive(Clone, Debug)]
pub struct NewSubscription {
    pub owner: String,
    pub endpoint: Uuid,
    pub label: String,
    pub filter: Filter,
    pub cadence: Cadence,
}

/// A subscription as kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    pub id: Uuid,
    pub owner: String,
    pub endpoint: Uuid,
    pub label: String,
    pub filter: Filter,
    pub cadence: Cadence,
    /// Events with a greater number are told.
    pub since_seq: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// What the follower needs of a subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watcher {
    pub endpoint: Uuid,
    pub cadence: Cadence,
    pub since_seq: i64,
}

#[derive(FromRow)]
struct SubscriptionRow {
    id: Uuid,
    owner: String,
    endpoint_id: Uuid,
    label: String,
    filter: String,
    cadence: String,
    since_seq: i64,
    created_at: i64,
    updated_at: i64,
}

fn cadence(text: &str) -> Result<Cadence, StoreError> {
    Cadence::parse(text)
        .ok_or_else(|| StoreError::inconsistent("alert_subscriptions", format!("cadence `{text}`")))
}

fn filter(id: Uuid, text: &str) -> Result<Filter, StoreError> {
    serde_json::from_str(text)
        .map_err(|error| StoreError::inconsistent("alert_subscriptions", format!("filter of {id}: {error}")))
}

impl TryFrom<SubscriptionRow> for Subscription {
    type Error = StoreError;

    fn try_from(row: SubscriptionRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.id,
            endpoint: row.endpoint_id,
            filter: filter(row.id, &row.filter)?,
            cadence: cadence(&row.cadence)?,
            owner: row.owner,
            label: row.label,
            since_seq: row.since_seq,
            created_at: Timestamp::from_micros(row.created_at),
            updated_at: Timestamp::from_micros(row.updated_at),
        })
    }
}

/// The columns of [`SubscriptionRow`].
macro_rules! subscription_columns {
    () => {
        "id, owner, endpoint_id, label, filter, cadence, since_seq, created_at, updated_at"
    };
}

impl Store {
    /// Keeps a subscription from the newest event on; none when the owner has as many as allowed.
    pub async fn create_subscription(
        &self,
        new: &NewSubscription,
        most: i64,
        by: &By,
        at: Timestamp,
    ) -> Result<Option<Subscription>, StoreError> {
        const COUNT: &str = "select count(*) from alert_subscriptions where owner = $1";
        const INSERT: &str = "insert into alert_subscriptions (id, owner, endpoint_id, label, filter, cadence, since_seq, \
             created_at, updated_at) select $1, $2, $3, $4, $5, $6, seq, $7, $8 from feed where id = 1";
        let id = ids::new_id();
        let filter = serde_json::to_string(&new.filter).expect("a filter is plain strings");
        let mut tx = self.begin().await?;
        if tx.lock_owner(&new.owner, COUNT).await? >= most {
            return Ok(None);
        }
        on!(tx &mut tx, db => sqlx::query(INSERT)
            .bind(id)
            .bind(new.owner.as_str())
            .bind(new.endpoint)
            .bind(new.label.as_str())
            .bind(filter)
            .bind(new.cadence.as_str())
            .bind(at.as_micros())
            .bind(at.as_micros())
            .execute(db).await.map(|_| ()))?;
        tx.raise_alert_revision().await?;
        let audited = audit::entry(by, at, "subscription.create", &new.label, AuditOutcome::Done);
        tx.audit(audited).await?;
        tx.commit().await?;
        self.subscription(id).await
    }

    /// One subscription.
    pub async fn subscription(&self, id: Uuid) -> Result<Option<Subscription>, StoreError> {
        const BY_ID: &str = concat!(
            "select ",
            subscription_columns!(),
            " from alert_subscriptions where id = $1"
        );
        let row: Option<SubscriptionRow> =
            on!(read self, db => sqlx::query_as(BY_ID).bind(id).fetch_optional(db).await)?;
        row.map(Subscription::try_from).transpose()
    }

    /// The subscriptions of an owner (of all owners where none is named), by id, strictly after `after`.
    pub async fn list_subscriptions(
        &self,
        owner: Option<&str>,
        after: Option<Uuid>,
        limit: u32,
    ) -> Result<Vec<Subscription>, StoreError> {
        const LIST: &str = concat!(
            "select ",
            subscription_columns!(),
            " from alert_subscriptions where ($1 is null or owner = $2) and id > $3 order by id limit $4"
        );
        let rows: Vec<SubscriptionRow> = on!(read self, db => sqlx::query_as(LIST)
            .bind(owner)
            .bind(owner)
            .bind(after.unwrap_or(Uuid::nil()))
            .bind(i64::from(limit))
            .fetch_all(db).await)?;
        rows.into_iter().map(Subscription::try_from).collect()
    }

    /// Replaces label, filter and cadence; false when there is none.
    pub async fn change_subscription(
        &self,
        id: Uuid,
        label: &str,
        filter: &Filter,
        cadence: Cadence,
        by: &By,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        const CHANGE: &str = "update alert_subscriptions set label = $1, filter = $2, cadence = $3, updated_at = $4 \
             where id = $5";
        let text = serde_json::to_string(filter).expect("a filter is plain strings");
        let mut tx = self.begin().await?;
        let changed = on!(tx &mut tx, db => sqlx::query(CHANGE)
            .bind(label).bind(text).bind(cadence.as_str()).bind(at.as_micros()).bind(id)
            .execute(db).await.map(|done| done.rows_affected()))?;
        if changed > 0 {
            tx.raise_alert_revision().await?;
            let audited = audit::entry(by, at, "subscription.change", label, AuditOutcome::Done);
            tx.audit(audited).await?;
        }
        tx.commit().await?;
        Ok(changed > 0)
    }

    /// Ends a subscription; what was already matched is still sent. False when there is none.
    pub async fn delete_subscription(&self, id: Uuid, by: &By, at: Timestamp) -> Result<bool, StoreError> {
        const DELETE: &str = "delete from alert_subscriptions where id = $1";
        self.delete_watched(DELETE, id, ("subscription.delete", by), at)
            .await
    }

    /// Every subscription whose endpoint is confirmed, for matching.
    pub async fn watchers(&self) -> Result<Vec<(Watcher, Filter)>, StoreError> {
        const ALL: &str = "select s.id, s.endpoint_id, s.filter, s.cadence, s.since_seq from alert_subscriptions s \
             join alert_endpoints e on e.id = s.endpoint_id where e.state <> 'unconfirmed'";
        let rows: Vec<(Uuid, Uuid, String, String, i64)> =
            on!(read self, db => sqlx::query_as(ALL).fetch_all(db).await)?;
        rows.into_iter()
            .map(|(id, endpoint, text, word, since_seq)| {
                let watcher = Watcher {
                    endpoint,
                    cadence: cadence(&word)?,
                    since_seq,
                };
                Ok((watcher, filter(id, &text)?))
            })
            .collect()
    }
}

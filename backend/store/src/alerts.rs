//! Subscriptions, endpoints, and what is delivered: one file each.

mod claims;
mod deliveries;
mod endpoints;
mod matches;
mod subscriptions;

pub use claims::{AttemptFacts, Claimed, Finished, Verdict};
pub use deliveries::{Delivery, DeliveryFilter, DeliveryState, StoredAttempt};
pub use endpoints::{Endpoint, EndpointState, NewEndpoint};
pub use matches::{Match, Resend};
pub use subscriptions::{NewSubscription, Subscription, Watcher};

use toolmark_domain::timestamp::Timestamp;
use uuid::Uuid;

use crate::audit::{self, AuditOutcome};
use crate::pools::Tx;
use crate::publish::By;
use crate::{Store, StoreError};

impl Tx {
    /// Says that the set of subscriptions is another one.
    async fn raise_alert_revision(&mut self) -> Result<(), StoreError> {
        const RAISE: &str = "update alert_revision set revision = revision + 1 where id = 1";
        on!(tx self, db => sqlx::query(RAISE).execute(db).await.map(|_| ()))?;
        Ok(())
    }
}

impl Tx {
    /// Makes writers of an owner's list wait for each other, and counts it by `count`.
    async fn lock_owner(&mut self, owner: &str, count: &'static str) -> Result<i64, StoreError> {
        self.lock(&[format!("alert-owner:{owner}")]).await?;
        Ok(on!(tx self, db => sqlx::query_scalar(count).bind(owner).fetch_one(db).await)?)
    }
}

impl Store {
    /// Deletes a row that matching depends on, by `statement`, and writes the audit line; false when there is none.
    async fn delete_watched(
        &self,
        statement: &'static str,
        id: Uuid,
        (action, by): (&str, &By),
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin().await?;
        let gone = on!(tx &mut tx, db =>
            sqlx::query(statement).bind(id).execute(db).await.map(|done| done.rows_affected()))?;
        if gone > 0 {
            tx.raise_alert_revision().await?;
            let audited = audit::entry(by, at, action, &id.to_string(), AuditOutcome::Done);
            tx.audit(audited).await?;
        }
        tx.commit().await?;
        Ok(gone > 0)
    }

    /// A number that is another one after every change of subscriptions or endpoints.
    pub async fn alert_revision(&self) -> Result<i64, StoreError> {
        const REVISION: &str = "select revision from alert_revision where id = 1";
        Ok(on!(read self, db => sqlx::query_scalar(REVISION).fetch_one(db).await)?)
    }
}

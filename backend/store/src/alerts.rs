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

use crate::pools::Tx;
use crate::{Store, StoreError};

impl Tx {
    /// Says that the set of subscriptions is another one.
    async fn raise_alert_revision(&mut self) -> Result<(), StoreError> {
        const RAISE: &str = "update alert_revision set revision = revision + 1 where id = 1";
        on!(tx self, db => sqlx::query(RAISE).execute(db).await.map(|_| ()))?;
        Ok(())
    }
}

impl Store {
    /// A number that is another one after every change of subscriptions or endpoints.
    pub async fn alert_revision(&self) -> Result<i64, StoreError> {
        const REVISION: &str = "select revision from alert_revision where id = 1";
        Ok(on!(read self, db => sqlx::query_scalar(REVISION).fetch_one(db).await)?)
    }
}

//! Which events an owner wants.

use toolmark_domain::alert::Cadence;
use toolmark_domain::alert::filter::{Filter, FilterError};
use toolmark_domain::limits::{ALERT_LABEL_CHARS, SUBSCRIPTIONS_PER_OWNER};
use toolmark_store::{NewSubscription, StoreError, Subscription};
use uuid::Uuid;

use super::endpoints::is_label;
use super::{OwnerError, owner, owner_listed};
use crate::{Actor, Registry};

/// A subscription asked for.
#[derive(Clone, Debug)]
pub struct SubscriptionRequest {
    pub endpoint: Uuid,
    pub label: String,
    pub filter: Filter,
    pub cadence: Cadence,
}

/// Why a subscription cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum SubscriptionError {
    #[error(transparent)]
    Owner(#[from] OwnerError),
    #[error("a label has 1 to {ALERT_LABEL_CHARS} characters")]
    BadLabel,
    /// At least one.
    #[error("the filter can never fit")]
    BadFilter(Vec<FilterError>),
    #[error("no such endpoint")]
    NoEndpoint,
    #[error("an owner has at most {0} subscriptions")]
    TooMany(i64),
    #[error("no such subscription")]
    NotFound,
    #[error("the store failed")]
    Store(#[from] StoreError),
}

fn check(label: &str, filter: &Filter) -> Result<(), SubscriptionError> {
    if !is_label(label) {
        return Err(SubscriptionError::BadLabel);
    }
    let faults = filter.check();
    if faults.is_empty() {
        Ok(())
    } else {
        Err(SubscriptionError::BadFilter(faults))
    }
}

impl Registry {
    /// Subscribes an endpoint to what fits, from the newest event on.
    pub async fn create_subscription(
        &self,
        actor: &Actor,
        request: SubscriptionRequest,
    ) -> Result<Subscription, SubscriptionError> {
        let endpoint = self.store().endpoint(request.endpoint).await?;
        let endpoint = endpoint
            .filter(|endpoint| owner(actor, Some(&endpoint.owner)).is_ok())
            .ok_or(SubscriptionError::NoEndpoint)?;
        check(&request.label, &request.filter)?;
        let new = NewSubscription {
            owner: endpoint.owner,
            endpoint: endpoint.id,
            label: request.label,
            filter: request.filter,
            cadence: request.cadence,
        };
        let most = SUBSCRIPTIONS_PER_OWNER;
        let made = self
            .store()
            .create_subscription(&new, most, &actor.by(), self.now())
            .await?;
        made.ok_or(SubscriptionError::TooMany(most))
    }

    /// A subscription the actor may manage.
    pub async fn subscription(&self, actor: &Actor, id: Uuid) -> Result<Subscription, SubscriptionError> {
        let found = self.store().subscription(id).await?;
        found
            .filter(|subscription| owner(actor, Some(&subscription.owner)).is_ok())
            .ok_or(SubscriptionError::NotFound)
    }

    /// The subscriptions of an owner, by id, strictly after `after`.
    pub async fn list_subscriptions(
        &self,
        actor: &Actor,
        named: Option<&str>,
        after: Option<Uuid>,
        limit: u32,
    ) -> Result<Vec<Subscription>, SubscriptionError> {
        let owner = owner_listed(actor, named)?;
        Ok(self
            .store()
            .list_subscriptions(owner.as_deref(), after, limit)
            .await?)
    }

    /// Replaces label, filter and cadence; the endpoint stays.
    pub async fn change_subscription(
        &self,
        actor: &Actor,
        id: Uuid,
        label: &str,
        filter: &Filter,
        cadence: Cadence,
    ) -> Result<Subscription, SubscriptionError> {
        self.subscription(actor, id).await?;
        check(label, filter)?;
        let changed = self
            .store()
            .change_subscription(id, label, filter, cadence, &actor.by(), self.now())
            .await?;
        if !changed {
            return Err(SubscriptionError::NotFound);
        }
        self.subscription(actor, id).await
    }

    /// Ends a subscription; what it matched already is still sent.
    pub async fn delete_subscription(&self, actor: &Actor, id: Uuid) -> Result<(), SubscriptionError> {
        self.subscription(actor, id).await?;
        let gone = self
            .store()
            .delete_subscription(id, &actor.by(), self.now())
            .await?;
        if gone {
            Ok(())
        } else {
            Err(SubscriptionError::NotFound)
        }
    }

    /// The filter of a subscription, for whoever has its id: what a feed of it shows is public.
    pub async fn saved_filter(&self, id: Uuid) -> Result<Option<(String, Filter)>, StoreError> {
        let found = self.store().subscription(id).await?;
        Ok(found.map(|subscription| (subscription.label, subscription.filter)))
    }
}

//! Where an owner's messages go.

use toolmark_domain::alert::{Channel, Shape};
use toolmark_domain::limits::{ALERT_LABEL_CHARS, ENDPOINT_ADDRESS_CHARS, ENDPOINTS_PER_OWNER};
use toolmark_domain::timestamp::Timestamp;
use toolmark_outbound::{Mailer, Policy, Url};
use toolmark_store::{By, Delivery, DeliveryFilter, Endpoint, NewEndpoint, StoreError, StoredAttempt};
use uuid::Uuid;

use super::{OwnerError, owner, owner_listed, sign};
use crate::{Actor, Registry};

/// Bytes of a key.
const SECRET_BYTES: usize = 32;
/// How long an old key signs beside the new one unless asked otherwise, and at most, in seconds.
pub(crate) const OVERLAP_SECS: (i64, i64) = (24 * 3600, 30 * 24 * 3600);

/// An endpoint asked for.
#[derive(Clone, Debug)]
pub struct EndpointRequest {
    /// None: the only one the token names.
    pub owner: Option<String>,
    pub label: String,
    pub channel: Channel,
    pub address: String,
    pub shape: Shape,
}

/// A key, shown once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret(pub String);

/// Why an endpoint cannot be kept or used.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    #[error(transparent)]
    Owner(#[from] OwnerError),
    #[error("a label has 1 to {ALERT_LABEL_CHARS} characters")]
    BadLabel,
    /// Not an address of its channel, or one that may not be reached.
    #[error("{0}")]
    BadAddress(String),
    /// The operator set up no mail server.
    #[error("this registry sends no mail")]
    NoMail,
    #[error("only a webhook has a shape")]
    NoShape,
    #[error("an owner has at most {0} endpoints")]
    TooMany(i64),
    #[error("no such endpoint")]
    NotFound,
    #[error("only a webhook has a key")]
    NoKey,
    #[error("the overlap is 0 to {0} seconds")]
    BadOverlap(i64),
    /// It is paused or not confirmed already, or it is active.
    #[error("the endpoint is {0}")]
    State(&'static str),
    #[error("the store failed")]
    Store(#[from] StoreError),
}

pub(super) fn is_label(label: &str) -> bool {
    let chars = label.chars().count();
    (1..=ALERT_LABEL_CHARS).contains(&chars) && !label.chars().any(char::is_control)
}

impl Registry {
    /// Keeps an endpoint; the key of a webhook is given once. A mail address is asked to confirm first.
    pub async fn create_endpoint(
        &self,
        actor: &Actor,
        request: EndpointRequest,
    ) -> Result<(Endpoint, Option<Secret>), EndpointError> {
        let owner = owner(actor, request.owner.as_deref())?;
        if !is_label(&request.label) {
            return Err(EndpointError::BadLabel);
        }
        self.check_address(&request).await?;
        let secret: [u8; SECRET_BYTES] = rand::random();
        let webhook = request.channel == Channel::Webhook;
        let code = || hex::encode(rand::random::<[u8; 20]>());
        let new = NewEndpoint {
            owner,
            label: request.label,
            channel: request.channel,
            address: request.address,
            shape: request.shape,
            secret: webhook.then(|| secret.to_vec()),
            code: (!webhook).then(code),
        };
        let now = self.now();
        let made = self
            .store()
            .create_endpoint(&new, ENDPOINTS_PER_OWNER, &actor.by(), now)
            .await?;
        let made = made.ok_or(EndpointError::TooMany(ENDPOINTS_PER_OWNER))?;
        if !webhook {
            self.store().add_test_delivery(made.id, now).await?;
            self.tell_added();
        }
        Ok((made, webhook.then(|| Secret(sign::shown(&secret)))))
    }

    async fn check_address(&self, request: &EndpointRequest) -> Result<(), EndpointError> {
        let bad = |what: &str| Err(EndpointError::BadAddress(what.to_owned()));
        if request.address.chars().count() > ENDPOINT_ADDRESS_CHARS {
            return bad("the address is too long");
        }
        let kit = self.kit();
        match request.channel {
            Channel::Email => {
                if request.shape != Shape::Standard {
                    return Err(EndpointError::NoShape);
                }
                if kit.is_none_or(|kit| kit.settings.mailer.is_none()) {
                    return Err(EndpointError::NoMail);
                }
                if !Mailer::is_address(&request.address) {
                    return bad("not a mail address");
                }
                Ok(())
            }
            Channel::Webhook => {
                let Ok(url) = Url::parse(&request.address) else {
                    return bad("not a URL");
                };
                if url.fragment().is_some() {
                    return bad("the url has a fragment");
                }
                let Some(kit) = kit else {
                    return bad("this registry sends no webhooks");
                };
                let checked = kit.settings.client.check(Policy::Public, &url).await;
                checked.map_err(|error| EndpointError::BadAddress(error.to_string()))
            }
        }
    }

    /// An endpoint the actor may manage.
    pub async fn endpoint(&self, actor: &Actor, id: Uuid) -> Result<Endpoint, EndpointError> {
        let found = self.store().endpoint(id).await?;
        // Whose it is must not be told to others: to them there is none.
        found
            .filter(|endpoint| owner(actor, Some(&endpoint.owner)).is_ok())
            .ok_or(EndpointError::NotFound)
    }

    /// The endpoints of an owner, by id, strictly after `after`.
    pub async fn list_endpoints(
        &self,
        actor: &Actor,
        named: Option<&str>,
        after: Option<Uuid>,
        limit: u32,
    ) -> Result<Vec<Endpoint>, EndpointError> {
        let owner = owner_listed(actor, named)?;
        Ok(self
            .store()
            .list_endpoints(owner.as_deref(), after, limit)
            .await?)
    }

    /// Removes an endpoint, with its subscriptions and its log.
    pub async fn delete_endpoint(&self, actor: &Actor, id: Uuid) -> Result<(), EndpointError> {
        self.endpoint(actor, id).await?;
        let gone = self.store().delete_endpoint(id, &actor.by(), self.now()).await?;
        if gone {
            Ok(())
        } else {
            Err(EndpointError::NotFound)
        }
    }

    /// A new key; the ones before sign too for `overlap` seconds.
    pub async fn rotate_secret(
        &self,
        actor: &Actor,
        id: Uuid,
        overlap: Option<i64>,
    ) -> Result<(Secret, Timestamp), EndpointError> {
        let endpoint = self.endpoint(actor, id).await?;
        if endpoint.channel != Channel::Webhook {
            return Err(EndpointError::NoKey);
        }
        let (usual, most) = OVERLAP_SECS;
        let overlap = overlap.unwrap_or(usual);
        if !(0..=most).contains(&overlap) {
            return Err(EndpointError::BadOverlap(most));
        }
        let secret: [u8; SECRET_BYTES] = rand::random();
        let now = self.now();
        let until = now.plus_secs(overlap);
        let done = self
            .store()
            .rotate_secret(id, &secret, until, &actor.by(), now)
            .await?;
        if !done {
            return Err(EndpointError::NotFound);
        }
        Ok((Secret(sign::shown(&secret)), until))
    }

    /// Sends a test message soon; gives its id.
    pub async fn test_endpoint(&self, actor: &Actor, id: Uuid) -> Result<Uuid, EndpointError> {
        self.endpoint(actor, id).await?;
        let made = self.store().add_test_delivery(id, self.now()).await?;
        self.tell_added();
        made.ok_or(EndpointError::NotFound)
    }

    /// Sends again to a paused endpoint, what waits first.
    pub async fn resume_endpoint(&self, actor: &Actor, id: Uuid) -> Result<(), EndpointError> {
        let endpoint = self.endpoint(actor, id).await?;
        if endpoint.state != toolmark_store::EndpointState::Paused {
            return Err(EndpointError::State(endpoint.state.as_str()));
        }
        self.store()
            .activate_endpoint(id, &actor.by(), self.now())
            .await?;
        self.tell_added();
        Ok(())
    }

    /// Stops sending to an endpoint and keeps what waits.
    pub async fn pause_endpoint(&self, actor: &Actor, id: Uuid) -> Result<(), EndpointError> {
        let endpoint = self.endpoint(actor, id).await?;
        let paused = self
            .store()
            .pause_endpoint(id, "paused by its owner", &actor.by(), self.now())
            .await?;
        if paused {
            Ok(())
        } else {
            Err(EndpointError::State(endpoint.state.as_str()))
        }
    }

    /// The endpoint a reader of its mail proves to have read; none when the code is not its own.
    pub async fn endpoint_of_reader(&self, id: Uuid, code: &str) -> Result<Option<Endpoint>, StoreError> {
        let found = self.store().endpoint(id).await?;
        Ok(found.filter(|endpoint| {
            let kept = endpoint.code.as_deref().unwrap_or_default();
            // By digest, so that the time taken says nothing.
            let same = toolmark_domain::digest::Digest::of(kept.as_bytes())
                == toolmark_domain::digest::Digest::of(code.as_bytes());
            !kept.is_empty() && same
        }))
    }

    /// The reader of a mail address confirms it, or after a stop wants messages again.
    pub async fn confirm_endpoint(&self, id: Uuid, code: &str) -> Result<bool, StoreError> {
        let Some(endpoint) = self.endpoint_of_reader(id, code).await? else {
            return Ok(false);
        };
        let changed = self
            .store()
            .activate_endpoint(endpoint.id, &reader(), self.now())
            .await?;
        if changed {
            self.tell_added();
        }
        Ok(true)
    }

    /// The reader of a mail address wants no more messages.
    pub async fn stop_endpoint(&self, id: Uuid, code: &str) -> Result<bool, StoreError> {
        let Some(endpoint) = self.endpoint_of_reader(id, code).await? else {
            return Ok(false);
        };
        self.store()
            .pause_endpoint(endpoint.id, "stopped by its reader", &reader(), self.now())
            .await?;
        Ok(true)
    }

    /// The delivery log of an owner, newest first.
    pub async fn list_deliveries(
        &self,
        actor: &Actor,
        named: Option<&str>,
        mut filter: DeliveryFilter,
        before: Option<(Timestamp, Uuid)>,
        limit: u32,
    ) -> Result<Vec<Delivery>, EndpointError> {
        match filter.endpoint {
            // The endpoint says whose it is.
            Some(id) => filter.owner = Some(self.endpoint(actor, id).await?.owner),
            None => filter.owner = owner_listed(actor, named)?,
        }
        Ok(self.store().list_deliveries(&filter, before, limit).await?)
    }

    /// One delivery with its attempts.
    pub async fn delivery(
        &self,
        actor: &Actor,
        id: Uuid,
    ) -> Result<(Delivery, Vec<StoredAttempt>), EndpointError> {
        let found = self.store().delivery(id).await?.ok_or(EndpointError::NotFound)?;
        self.endpoint(actor, found.endpoint).await?;
        let attempts = self.store().delivery_attempts(id).await?;
        Ok((found, attempts))
    }

    pub(super) fn tell_added(&self) {
        if let Some(kit) = self.kit() {
            kit.added.notify_one();
        }
    }
}

/// Whoever read the mail, for the audit log.
fn reader() -> By {
    By {
        actor: "reader".into(),
        method: "code".into(),
    }
}

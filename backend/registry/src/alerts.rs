//! Alerts: endpoints and subscriptions of their owners, the follower that matches events, and the sender.

mod endpoints;
mod follow;
mod judge;
mod replay;
mod send;
mod sign;
mod subscriptions;
mod work;

use std::sync::{Arc, Mutex};

use toolmark_domain::alert::matcher::Matcher;
use toolmark_domain::permission::Action;
use toolmark_outbound::{Client, Mailer};
use toolmark_store::{StoreError, Watcher};

use crate::{Actor, Registry};

pub use endpoints::{EndpointError, EndpointRequest, Secret};
pub use replay::ReplayError;
pub use subscriptions::{SubscriptionError, SubscriptionRequest};

/// What sending needs.
#[derive(Clone)]
pub struct AlertSettings {
    /// For webhooks.
    pub client: Client,
    /// For mail; without one no mail address can be an endpoint.
    pub mailer: Option<Mailer>,
    /// Where people reach this registry, for links; empty when it is not known.
    pub base: String,
    /// Seconds after which an endpoint that never takes anything is paused.
    pub pause_after_secs: i64,
}

/// The settings, and what is kept between two events.
pub(crate) struct Kit {
    pub(crate) settings: AlertSettings,
    /// The prepared filters, with the revision they are of.
    matcher: Mutex<Option<(i64, Arc<Matcher<Watcher>>)>>,
    /// Told when deliveries were added.
    added: tokio::sync::Notify,
}

/// Longest name of an owner, in characters.
const OWNER_CHARS: usize = 100;

/// Why somebody may not manage an owner's alerts.
#[derive(Debug, thiserror::Error)]
pub enum OwnerError {
    /// The token has no permission for it.
    #[error("the token does not allow to manage alerts of `{0}`")]
    Forbidden(String),
    /// The token allows none, or several and none was named.
    #[error("say whose alerts are meant")]
    Unnamed,
    #[error("an owner's name has 1 to 100 letters, digits, `.`, `-` or `_`")]
    BadName,
}

/// Whose alerts an actor means: the one named, else the only one the token names.
pub(crate) fn owner(actor: &Actor, named: Option<&str>) -> Result<String, OwnerError> {
    let Some(named) = named else {
        let mut own = actor
            .permissions
            .iter()
            .filter(|grant| grant.action == Action::Subscribe);
        return match (own.next(), own.next()) {
            (Some(one), None) if !one.resource.contains('*') => Ok(one.resource.clone()),
            (None, _) => Err(OwnerError::Forbidden("anyone".into())),
            _ => Err(OwnerError::Unnamed),
        };
    };
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    if named.is_empty() || named.len() > OWNER_CHARS || !named.bytes().all(plain) {
        return Err(OwnerError::BadName);
    }
    if actor.may(Action::Subscribe, named) {
        Ok(named.to_owned())
    } else {
        Err(OwnerError::Forbidden(named.to_owned()))
    }
}

/// Whose alerts are listed: none stands for everyone's, for a token that may.
pub(crate) fn owner_listed(actor: &Actor, named: Option<&str>) -> Result<Option<String>, OwnerError> {
    let everyone = actor
        .permissions
        .iter()
        .any(|grant| grant.action == Action::Subscribe && grant.resource == "*");
    match named {
        None if everyone => Ok(None),
        named => owner(actor, named).map(Some),
    }
}

impl Registry {
    /// Says how alerts are sent; once, before anything is served.
    pub fn set_up_alerts(&self, settings: AlertSettings) {
        let kit = Kit {
            settings,
            matcher: Mutex::new(None),
            added: tokio::sync::Notify::new(),
        };
        if self.inner.alerts.set(kit).is_err() {
            tracing::warn!("alerts were set up before; the first settings stay");
        }
    }

    pub(crate) fn kit(&self) -> Option<&Kit> {
        self.inner.alerts.get()
    }

    /// How many deliveries stand in each state.
    pub async fn delivery_counts(&self) -> Result<Vec<(String, i64)>, StoreError> {
        self.store().delivery_counts().await
    }
}

#[cfg(test)]
mod tests {
    use toolmark_domain::permission::Permission;

    use super::*;

    fn actor(resources: &[&str]) -> Actor {
        let grant = |resource: &&str| Permission {
            action: Action::Subscribe,
            resource: (*resource).to_owned(),
        };
        Actor {
            label: "t".into(),
            method: "token".into(),
            permissions: resources.iter().map(grant).collect(),
        }
    }

    #[test]
    fn the_owner_is_the_one_named_or_the_only_one() {
        let of = |resources: &[&str], named| owner(&actor(resources), named).ok();
        assert_eq!(of(&["team-a"], None).as_deref(), Some("team-a"));
        assert_eq!(of(&["team-a"], Some("team-a")).as_deref(), Some("team-a"));
        assert_eq!(of(&["team-a"], Some("team-b")), None);
        assert_eq!(of(&["team-a", "team-b"], None), None);
        assert_eq!(of(&["*"], None), None);
        assert_eq!(of(&["*"], Some("team-b")).as_deref(), Some("team-b"));
        assert_eq!(of(&["*"], Some("a b")), None);
        assert_eq!(of(&[], None), None);
        assert_eq!(owner_listed(&actor(&["*"]), None).unwrap(), None);
        assert_eq!(
            owner_listed(&actor(&["team-a"]), None).unwrap().as_deref(),
            Some("team-a")
        );
    }
}

//! Sending events again.

use toolmark_domain::alert::filter::Facts;
use toolmark_domain::alert::{Cadence, filter::Filter};
use toolmark_domain::limits::REPLAY_EVENTS;
use toolmark_store::{Match, Resend, StoreError};
use uuid::Uuid;

use super::EndpointError;
use crate::{Actor, Registry};

/// Events read at one time.
const BATCH: u32 = 500;

/// Why nothing is sent again.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    #[error("a replay is of event numbers `from` to `to`, at most {REPLAY_EVENTS} of them")]
    BadRange,
    /// The message has no event of its own, or is to be sent anyway.
    #[error("a delivery that is {0} cannot be sent again")]
    NotOver(&'static str),
    #[error("the store failed")]
    Store(#[from] StoreError),
}

impl Registry {
    /// Sends the events `from` to `to` again that the endpoint's subscriptions fit, also those from before they were
    /// made; under the ids they had. Gives how many messages go out.
    pub async fn replay_events(
        &self,
        actor: &Actor,
        endpoint: Uuid,
        from: i64,
        to: i64,
        resend: Resend,
    ) -> Result<u64, ReplayError> {
        let endpoint = self.endpoint(actor, endpoint).await?;
        if from < 1 || to < from || to - from >= REPLAY_EVENTS {
            return Err(ReplayError::BadRange);
        }
        let watchers = self.store().watchers().await?;
        let filters: Vec<Filter> = watchers
            .into_iter()
            .filter(|(watcher, _)| watcher.endpoint == endpoint.id)
            .map(|(_, filter)| filter)
            .collect();
        let mut sent = 0;
        let mut after = from - 1;
        while after < to {
            let events = self.store().events_after(after, BATCH).await?;
            let Some(last) = events.last().map(|event| event.seq) else {
                break;
            };
            let now = self.now();
            let facts = events.iter().filter_map(|event| Facts::read(&event.body));
            let found: Vec<Match> = facts
                .filter(|facts| facts.seq <= to && filters.iter().any(|filter| filter.fits(facts)))
                .map(|facts| Match {
                    event_seq: facts.seq,
                    endpoint: endpoint.id,
                    cadence: Cadence::Instant,
                    server: facts.server,
                    due_at: now,
                })
                .collect();
            sent += self.store().replay_matches(&found, resend, now).await?;
            after = last;
        }
        self.tell_added();
        Ok(sent)
    }

    /// Sends one delivery again, under its id; one that was delivered only with [`Resend::All`].
    pub async fn replay_delivery(&self, actor: &Actor, id: Uuid, resend: Resend) -> Result<(), ReplayError> {
        let (delivery, _) = self.delivery(actor, id).await?;
        if delivery.kind != "event" {
            return Err(ReplayError::NotOver("not of one event"));
        }
        let found = Match {
            event_seq: delivery.event_seq,
            endpoint: delivery.endpoint,
            cadence: Cadence::Instant,
            server: delivery.server,
            due_at: self.now(),
        };
        if self.store().replay_matches(&[found], resend, self.now()).await? == 0 {
            return Err(ReplayError::NotOver(delivery.state.as_str()));
        }
        self.tell_added();
        Ok(())
    }
}

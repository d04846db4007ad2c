//! Follows the feed and writes what is to be delivered: each event and endpoint at most once, whoever does it.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use serde_json::Value;
use toolmark_domain::alert::Cadence;
use toolmark_domain::alert::filter::Facts;
use toolmark_domain::alert::matcher::Matcher;
use toolmark_domain::timestamp::Timestamp;
use toolmark_store::{Match, StoreError, Watcher};
use uuid::Uuid;

use super::Kit;
use crate::Registry;

/// The name of its cursor.
pub(super) const FOLLOWER: &str = "alerts";
/// Events looked at in one transaction.
const BATCH: u32 = 500;

/// Who gets what of these events. Of several subscriptions of one endpoint the fastest counts.
fn matches(matcher: &Matcher<Watcher>, bodies: &[Value], now: Timestamp) -> Vec<Match> {
    let mut found = Vec::new();
    for facts in bodies.iter().filter_map(Facts::read) {
        let mut best: BTreeMap<Uuid, Cadence> = BTreeMap::new();
        for watcher in matcher.matches(&facts) {
            if watcher.since_seq < facts.seq {
                let cadence = best.entry(watcher.endpoint).or_insert(watcher.cadence);
                *cadence = (*cadence).min(watcher.cadence);
            }
        }
        found.extend(best.into_iter().map(|(endpoint, cadence)| Match {
            event_seq: facts.seq,
            endpoint,
            cadence,
            server: facts.server.clone(),
            due_at: cadence.due(now),
        }));
    }
    found
}

impl Kit {
    /// The prepared filters; made anew when subscriptions changed.
    async fn matcher(&self, registry: &Registry) -> Result<Arc<Matcher<Watcher>>, StoreError> {
        let revision = registry.store().alert_revision().await?;
        let kept = self
            .matcher
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if let Some((of, matcher)) = kept
            && of == revision
        {
            return Ok(matcher);
        }
        let matcher = Arc::new(Matcher::new(registry.store().watchers().await?));
        *self.matcher.lock().unwrap_or_else(PoisonError::into_inner) = Some((revision, Arc::clone(&matcher)));
        Ok(matcher)
    }
}

impl Registry {
    /// Writes the deliveries of all events that are not looked at yet; gives how many messages are new.
    pub async fn follow_alerts(&self) -> Result<u64, StoreError> {
        let Some(kit) = self.kit() else { return Ok(0) };
        let mut added = 0;
        loop {
            let from = self.store().follower_cursor(FOLLOWER).await?;
            let events = self.store().events_after(from, BATCH).await?;
            let Some(last) = events.last().map(|event| event.seq) else {
                return Ok(added);
            };
            // After the events: whoever subscribed before one of them is in it.
            let matcher = kit.matcher(self).await?;
            let now = self.now();
            let (to, found) = if matcher.is_empty() {
                (self.store().head().await?.max(last), Vec::new())
            } else {
                let bodies: Vec<Value> = events.into_iter().map(|event| event.body).collect();
                (last, matches(&matcher, &bodies, now))
            };
            // Another process may have been here first: then it all starts over from its cursor.
            if let Some(new) = self
                .store()
                .record_matches(FOLLOWER, from, to, &found, now)
                .await?
            {
                added += new;
                if new > 0 {
                    tracing::info!(
                        deliveries.count = new,
                        event.seq = to,
                        "{new} messages are to be sent"
                    );
                    kit.added.notify_one();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolmark_domain::alert::filter::Filter;

    use super::*;

    #[test]
    fn an_endpoint_gets_an_event_once_and_as_fast_as_its_fastest_subscription() {
        let watcher = |endpoint: u128, cadence, since_seq| {
            let watcher = Watcher {
                endpoint: Uuid::from_u128(endpoint),
                cadence,
                since_seq,
            };
            (watcher, Filter::default())
        };
        let matcher = Matcher::new(vec![
            watcher(1, Cadence::Daily, 0),
            watcher(1, Cadence::Instant, 0),
            watcher(2, Cadence::Hourly, 0),
            watcher(3, Cadence::Instant, 7),
        ]);
        let event = |seq: i64| json!({"schema": "toolmark.event/1", "seq": seq, "kind": "version.published", "server": "a/b", "severity": "info"});
        let blanked = json!({"schema": "toolmark.event/1", "seq": 6, "blanked": true});
        let now: Timestamp = "2026-03-01T12:34:56Z".parse().unwrap();
        let found = matches(&matcher, &[event(5), blanked, event(8)], now);
        let shown: Vec<_> = found
            .iter()
            .map(|m| (m.event_seq, m.endpoint.as_u128(), m.cadence))
            .collect();
        assert_eq!(
            shown,
            [
                (5, 1, Cadence::Instant),
                (5, 2, Cadence::Hourly),
                (8, 1, Cadence::Instant),
                (8, 2, Cadence::Hourly),
                (8, 3, Cadence::Instant)
            ]
        );
        assert_eq!(found[1].due_at.to_string(), "2026-03-01T13:00:00Z");
    }
}

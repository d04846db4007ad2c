//! What follows from an attempt.

use toolmark_domain::alert::schedule;
use toolmark_domain::timestamp::Timestamp;
use toolmark_store::{Claimed, Endpoint, Verdict};

/// How an attempt went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// Taken.
    Taken,
    /// The receiver says that it is gone, or that it never takes mail.
    Never(String),
    /// It may work later; the receiver may ask for a wait in seconds.
    Failed(Option<i64>),
    /// There is nothing to be sent any more.
    Nothing,
}

/// What follows. An endpoint that takes nothing for `pause_after` seconds is paused and keeps its messages; a message
/// that it refused to the end while it took others is given up.
pub(super) fn verdict(
    ending: &Ending,
    claimed: &Claimed,
    endpoint: &Endpoint,
    pause_after: i64,
    now: Timestamp,
    chance: f64,
) -> Verdict {
    let asked = match ending {
        Ending::Taken => return Verdict::Taken,
        Ending::Nothing => return Verdict::Dead,
        _ if claimed.kind == "test" => return Verdict::Dead,
        Ending::Never(reason) => return Verdict::Pause(reason.clone()),
        Ending::Failed(asked) => *asked,
    };
    let failing_for = endpoint
        .failing_since
        .map(|since| now.as_secs() - since.as_secs());
    if let Some(secs) = failing_for.filter(|secs| *secs >= pause_after) {
        return Verdict::Pause(format!("nothing was taken for {} hours", secs / 3600));
    }
    if let Some(wait) = schedule::wait_secs(claimed.attempts, asked, chance) {
        return Verdict::Retry(now.plus_secs(wait));
    }
    let first = Timestamp::from_micros(claimed.first_attempt_at);
    if endpoint.last_success_at.is_some_and(|at| at > first) {
        Verdict::Dead
    } else {
        Verdict::Pause(format!("{} attempts failed", claimed.attempts))
    }
}

#[cfg(test)]
mod tests {
    use toolmark_domain::alert::{Channel, Shape};
    use toolmark_store::EndpointState;
    use uuid::Uuid;

    use super::*;

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_micros(secs * 1_000_000)
    }

    fn endpoint(failing_since: Option<i64>, last_success: Option<i64>) -> Endpoint {
        Endpoint {
            id: Uuid::nil(),
            owner: "o".into(),
            label: "l".into(),
            channel: Channel::Webhook,
            address: "https://a.example".into(),
            shape: Shape::Standard,
            state: EndpointState::Active,
            state_reason: None,
            state_at: at(0),
            code: None,
            failing_since: failing_since.map(at),
            last_success_at: last_success.map(at),
            created_at: at(0),
        }
    }

    fn claimed(kind: &str, attempts: i64) -> Claimed {
        Claimed {
            id: Uuid::nil(),
            endpoint_id: Uuid::nil(),
            kind: kind.into(),
            event_seq: 1,
            server: "a/b".into(),
            cadence: "instant".into(),
            attempts,
            first_attempt_at: at(100).as_micros(),
        }
    }

    #[test]
    fn what_follows_from_an_attempt() {
        let judge = |ending: Ending, kind: &str, attempts, endpoint: &Endpoint, now| {
            verdict(
                &ending,
                &claimed(kind, attempts),
                endpoint,
                3 * 86_400,
                at(now),
                0.0,
            )
        };
        let well = endpoint(None, None);
        assert_eq!(judge(Ending::Taken, "event", 1, &well, 100), Verdict::Taken);
        assert_eq!(judge(Ending::Nothing, "event", 1, &well, 100), Verdict::Dead);
        let gone = || Ending::Never("gone".into());
        assert_eq!(
            judge(gone(), "event", 1, &well, 100),
            Verdict::Pause("gone".into())
        );
        assert_eq!(judge(gone(), "test", 1, &well, 100), Verdict::Dead);
        assert_eq!(
            judge(Ending::Failed(None), "event", 1, &well, 100),
            Verdict::Retry(at(105))
        );
        assert_eq!(
            judge(Ending::Failed(Some(600)), "event", 2, &well, 100),
            Verdict::Retry(at(700))
        );
        assert_eq!(judge(Ending::Failed(None), "test", 1, &well, 100), Verdict::Dead);
        let failing = endpoint(Some(0), None);
        assert_eq!(
            judge(Ending::Failed(None), "event", 3, &failing, 3 * 86_400 - 1),
            Verdict::Retry(at(3 * 86_400 - 1 + 1800))
        );
        assert_eq!(
            judge(Ending::Failed(None), "event", 3, &failing, 3 * 86_400),
            Verdict::Pause("nothing was taken for 72 hours".into())
        );
        // To the end: others were taken since, or none was.
        let last = schedule::ATTEMPTS;
        assert_eq!(
            judge(
                Ending::Failed(None),
                "event",
                last,
                &endpoint(None, Some(101)),
                200
            ),
            Verdict::Dead
        );
        assert_eq!(
            judge(
                Ending::Failed(None),
                "event",
                last,
                &endpoint(None, Some(99)),
                200
            ),
            Verdict::Pause("10 attempts failed".into())
        );
    }
}

//! Subscriptions, endpoints, and the lines of deliveries.

use std::collections::BTreeSet;

use toolmark_domain::alert::filter::Filter;
use toolmark_domain::alert::{Cadence, Channel, Shape};
use toolmark_domain::event::Severity;
use toolmark_store::{
    AttemptFacts, Claimed, DeliveryFilter, DeliveryState, Endpoint, EndpointState, Finished, Match,
    NewEndpoint, NewSubscription, Resend, Store, Subscription, Verdict,
};
use uuid::Uuid;

use crate::support::{Fresh, at, by, contract, publish};

contract! {
    endpoints_and_subscriptions_are_kept_listed_changed_and_removed
    an_owner_has_a_bounded_number_of_them
    an_event_and_an_endpoint_meet_once
    a_failing_delivery_holds_back_only_its_own_line
    what_a_stopped_sender_held_is_due_again_under_the_same_id
    a_paused_endpoint_keeps_what_waits_and_gets_it_in_order
    one_endpoint_never_takes_every_place
    events_for_a_digest_are_told_together
    events_are_sent_again_under_their_ids_only_when_asked
    two_keys_sign_while_one_is_replaced
    a_mail_address_gets_nothing_until_confirmed
    many_senders_never_hold_one_delivery_twice
    the_log_is_newest_first_pages_and_forgets
}

const HOUR: i64 = 3_600_000_000;

async fn endpoint(store: &Store, label: &str) -> Endpoint {
    let new = NewEndpoint {
        owner: "team-a".into(),
        label: label.into(),
        channel: Channel::Webhook,
        address: "https://hooks.example/a".into(),
        shape: Shape::Standard,
        secret: Some(vec![7; 32]),
        code: None,
    };
    store
        .create_endpoint(&new, 100, &by(), at(0))
        .await
        .unwrap()
        .unwrap()
}

fn found(seq: i64, endpoint: &Endpoint, server: &str) -> Match {
    Match {
        event_seq: seq,
        endpoint: endpoint.id,
        cadence: Cadence::Instant,
        server: server.into(),
        due_at: at(seq),
    }
}

async fn record(store: &Store, from: i64, matches: &[Match]) -> u64 {
    let to = matches.iter().map(|found| found.event_seq).max().unwrap();
    let added = store
        .record_matches("alerts", from, to, matches, at(to))
        .await
        .unwrap();
    added.expect("nobody else moved the cursor")
}

async fn claim(store: &Store, n: i64) -> Vec<Claimed> {
    let mut claimed = store.claim_deliveries("w", at(n), 6, 100, 4).await.unwrap();
    claimed.sort_by_key(|claimed| claimed.event_seq);
    claimed
}

fn seqs(claimed: &[Claimed]) -> Vec<i64> {
    claimed.iter().map(|claimed| claimed.event_seq).collect()
}

async fn finish(store: &Store, claimed: &Claimed, verdict: Verdict, n: i64) {
    let failed = verdict != Verdict::Taken;
    let done = Finished {
        claimed: claimed.clone(),
        attempt: AttemptFacts {
            at: at(n),
            took_ms: 3,
            status: Some(if failed { 500 } else { 200 }),
            error: failed.then(|| "answered 500".to_owned()),
            answer: Some("text".into()),
        },
        verdict,
    };
    store.finish_deliveries("w", &[done], at(n)).await.unwrap();
}

async fn states(store: &Store) -> Vec<(i64, &'static str)> {
    let all = store
        .list_deliveries(&DeliveryFilter::default(), None, 100)
        .await
        .unwrap();
    let mut states: Vec<_> = all.iter().map(|d| (d.event_seq, d.state.as_str())).collect();
    states.sort_unstable();
    states
}

async fn endpoints_and_subscriptions_are_kept_listed_changed_and_removed(fresh: &Fresh) {
    let store = &fresh.store;
    publish(store, "com.example/a", "1.0.0", 1).await;
    let endpoint = endpoint(store, "ours").await;
    assert_eq!(
        (endpoint.state, endpoint.owner.as_str()),
        (EndpointState::Active, "team-a")
    );
    let before = store.alert_revision().await.unwrap();
    let new = NewSubscription {
        owner: "team-a".into(),
        endpoint: endpoint.id,
        label: "high ones".into(),
        filter: Filter {
            namespaces: vec!["com.*".into()],
            severity: Severity::High,
            ..Filter::default()
        },
        cadence: Cadence::Instant,
    };
    let made = store
        .create_subscription(&new, 10, &by(), at(1))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (made.since_seq, &made.filter),
        (1, &new.filter),
        "from the newest event on"
    );
    assert!(store.alert_revision().await.unwrap() > before);
    let second = store
        .create_subscription(&new, 10, &by(), at(2))
        .await
        .unwrap()
        .unwrap();
    let page = store.list_subscriptions(Some("team-a"), None, 1).await.unwrap();
    assert_eq!(page, std::slice::from_ref(&made));
    let page = store
        .list_subscriptions(Some("team-a"), Some(made.id), 1)
        .await
        .unwrap();
    assert_eq!(page, std::slice::from_ref(&second));
    assert_eq!(
        store.list_subscriptions(Some("team-b"), None, 9).await.unwrap(),
        []
    );
    assert_eq!(store.list_subscriptions(None, None, 9).await.unwrap().len(), 2);
    changed_and_removed(store, &endpoint, &made, &second).await;
}

async fn changed_and_removed(store: &Store, endpoint: &Endpoint, made: &Subscription, second: &Subscription) {
    let changed = store
        .change_subscription(made.id, "all", &Filter::default(), Cadence::Daily, &by(), at(3))
        .await
        .unwrap();
    assert!(changed);
    let watchers = store.watchers().await.unwrap();
    assert_eq!(watchers.len(), 2);
    assert!(
        watchers
            .iter()
            .any(|(watcher, filter)| watcher.cadence == Cadence::Daily && *filter == Filter::default())
    );
    assert!(store.delete_subscription(second.id, &by(), at(4)).await.unwrap());
    assert!(!store.delete_subscription(second.id, &by(), at(4)).await.unwrap());
    assert!(store.delete_endpoint(endpoint.id, &by(), at(5)).await.unwrap());
    assert_eq!(
        store.subscription(made.id).await.unwrap(),
        None,
        "it went with its endpoint"
    );
    assert_eq!(store.list_endpoints(None, None, 9).await.unwrap(), []);
    let audited = store.list_audit(None, 20).await.unwrap();
    let actions: BTreeSet<&str> = audited.iter().map(|entry| entry.action.as_str()).collect();
    for action in [
        "endpoint.create",
        "endpoint.delete",
        "subscription.create",
        "subscription.change",
        "subscription.delete",
    ] {
        assert!(actions.contains(action), "{action}");
    }
}

async fn an_owner_has_a_bounded_number_of_them(fresh: &Fresh) {
    let store = &fresh.store;
    let first = endpoint(store, "first").await;
    let new = NewEndpoint {
        owner: "team-a".into(),
        label: "second".into(),
        channel: Channel::Webhook,
        address: "https://hooks.example/b".into(),
        shape: Shape::Slack,
        secret: None,
        code: None,
    };
    assert_eq!(store.create_endpoint(&new, 1, &by(), at(1)).await.unwrap(), None);
    let subscription = NewSubscription {
        owner: "team-a".into(),
        endpoint: first.id,
        label: String::new(),
        filter: Filter::default(),
        cadence: Cadence::Instant,
    };
    assert!(
        store
            .create_subscription(&subscription, 1, &by(), at(1))
            .await
            .unwrap()
            .is_some()
    );
    assert!(
        store
            .create_subscription(&subscription, 1, &by(), at(1))
            .await
            .unwrap()
            .is_none()
    );
}

async fn an_event_and_an_endpoint_meet_once(fresh: &Fresh) {
    let store = &fresh.store;
    let (a, b) = (endpoint(store, "a").await, endpoint(store, "b").await);
    let matches = [found(1, &a, "x/y"), found(1, &a, "x/y"), found(1, &b, "x/y")];
    assert_eq!(record(store, 0, &matches).await, 2);
    assert_eq!(store.follower_cursor("alerts").await.unwrap(), 1);
    let late = store
        .record_matches("alerts", 0, 5, &[found(5, &a, "x/y")], at(5))
        .await
        .unwrap();
    assert_eq!(late, None, "another process was there first");
    assert_eq!(states(store).await, [(1, "waiting"), (1, "waiting")]);
    assert_eq!(
        store.record_matches("alerts", 1, 9, &[], at(9)).await.unwrap(),
        Some(0)
    );
    assert_eq!(store.follower_cursor("alerts").await.unwrap(), 9);
}

async fn a_failing_delivery_holds_back_only_its_own_line(fresh: &Fresh) {
    let store = &fresh.store;
    let (a, b) = (endpoint(store, "a").await, endpoint(store, "b").await);
    let matches = [
        found(1, &a, "x/slow"),
        found(2, &a, "x/slow"),
        found(3, &a, "x/other"),
        found(4, &b, "x/slow"),
    ];
    record(store, 0, &matches).await;
    let first = claim(store, 10).await;
    assert_eq!(seqs(&first), [1, 3, 4], "2 waits behind 1");
    assert!(!store.deliveries_due(at(10)).await.unwrap());
    finish(store, &first[0], Verdict::Retry(at(1000)), 11).await;
    finish(store, &first[1], Verdict::Taken, 11).await;
    finish(store, &first[2], Verdict::Taken, 11).await;
    assert_eq!(claim(store, 999).await, []);
    let failing = store.endpoint(a.id).await.unwrap().unwrap();
    assert_eq!(failing.last_success_at, Some(at(11)));
    let again = claim(store, 1000).await;
    assert_eq!(seqs(&again), [1]);
    assert_eq!(
        (again[0].id, again[0].attempts, again[0].first_attempt_at),
        (first[0].id, 2, at(10).as_micros())
    );
    finish(store, &again[0], Verdict::Taken, 1001).await;
    let next = claim(store, 1002).await;
    assert_eq!(seqs(&next), [2]);
    finish(store, &next[0], Verdict::Dead, 1003).await;
    assert_eq!(
        states(store).await,
        [(1, "delivered"), (2, "dead"), (3, "delivered"), (4, "delivered")]
    );
    let attempts = store.delivery_attempts(first[0].id).await.unwrap();
    let kept: Vec<_> = attempts.iter().map(|attempt| attempt.status).collect();
    assert_eq!(kept, [Some(500), Some(200)]);
}

async fn what_a_stopped_sender_held_is_due_again_under_the_same_id(fresh: &Fresh) {
    let store = &fresh.store;
    let a = endpoint(store, "a").await;
    record(store, 0, &[found(1, &a, "x/y")]).await;
    let first = claim(store, 10).await;
    assert_eq!(claim(store, 20).await, []);
    store.keep_deliveries("w", at(5_000_000), 6).await.unwrap();
    assert_eq!(claim(store, 10_000_000).await, [], "it was kept");
    let second = store
        .claim_deliveries("other", at(12_000_000), 6, 9, 4)
        .await
        .unwrap();
    assert_eq!((second[0].id, second[0].attempts), (first[0].id, 2));
    // The first sender comes back late: its word no longer counts.
    finish(store, &first[0], Verdict::Dead, 12_000_001).await;
    assert_eq!(states(store).await, [(1, "sending")]);
}

async fn a_paused_endpoint_keeps_what_waits_and_gets_it_in_order(fresh: &Fresh) {
    let store = &fresh.store;
    let a = endpoint(store, "a").await;
    record(store, 0, &[found(1, &a, "x/y"), found(2, &a, "x/z")]).await;
    let claimed = claim(store, 10).await;
    finish(store, &claimed[0], Verdict::Pause("it is gone (410)".into()), 11).await;
    finish(store, &claimed[1], Verdict::Retry(at(20)), 12).await;
    record(store, 2, &[found(3, &a, "x/y"), found(4, &a, "x/new")]).await;
    let paused = store.endpoint(a.id).await.unwrap().unwrap();
    assert_eq!(
        (paused.state, paused.state_reason.as_deref()),
        (EndpointState::Paused, Some("it is gone (410)"))
    );
    assert_eq!(
        states(store).await,
        [(1, "queued"), (2, "queued"), (3, "queued"), (4, "queued")]
    );
    assert_eq!(claim(store, HOUR).await, []);
    assert_eq!(store.mend_lines(at(HOUR)).await.unwrap(), 0);
    let test = store.add_test_delivery(a.id, at(HOUR)).await.unwrap().unwrap();
    let claimed = claim(store, HOUR).await;
    assert_eq!(claimed[0].id, test, "a test is sent to a paused endpoint too");
    finish(store, &claimed[0], Verdict::Taken, HOUR).await;
    assert!(store.activate_endpoint(a.id, &by(), at(HOUR)).await.unwrap());
    assert!(!store.activate_endpoint(a.id, &by(), at(HOUR)).await.unwrap());
    let claimed = claim(store, HOUR + 1).await;
    assert_eq!(seqs(&claimed), [1, 2, 4]);
    assert_eq!(claimed[0].attempts, 1, "it starts anew");
    for claimed in &claimed {
        finish(store, claimed, Verdict::Taken, HOUR + 2).await;
    }
    assert_eq!(seqs(&claim(store, HOUR + 3).await), [3]);
    assert_eq!(store.add_test_delivery(Uuid::nil(), at(1)).await.unwrap(), None);
}

async fn one_endpoint_never_takes_every_place(fresh: &Fresh) {
    let store = &fresh.store;
    let (a, b) = (endpoint(store, "a").await, endpoint(store, "b").await);
    let mut matches: Vec<Match> = (1..=20).map(|n| found(n, &a, &format!("x/s{n}"))).collect();
    matches.push(found(21, &b, "x/s1"));
    record(store, 0, &matches).await;
    let claimed = store.claim_deliveries("w", at(100), 6, 10, 4).await.unwrap();
    let of = |endpoint: &Endpoint| claimed.iter().filter(|c| c.endpoint_id == endpoint.id).count();
    assert_eq!((of(&a), of(&b)), (4, 1));
    assert_eq!(claim(store, 101).await, [], "those of the first take time");
}

async fn events_for_a_digest_are_told_together(fresh: &Fresh) {
    let store = &fresh.store;
    let a = endpoint(store, "a").await;
    let hourly = |seq: i64| Match {
        cadence: Cadence::Hourly,
        due_at: at(HOUR),
        ..found(seq, &a, "x/y")
    };
    record(store, 0, &[hourly(1), hourly(2), found(3, &a, "x/y")]).await;
    assert_eq!(
        seqs(&claim(store, 10).await),
        [3],
        "an instant one does not wait for them"
    );
    assert!(!store.digests_due(at(10)).await.unwrap());
    assert_eq!(store.gather_digests(at(10), 100).await.unwrap(), 0);
    assert!(store.digests_due(at(HOUR)).await.unwrap());
    assert_eq!(store.gather_digests(at(HOUR), 100).await.unwrap(), 1);
    assert_eq!(store.gather_digests(at(HOUR), 100).await.unwrap(), 0);
    let all = store
        .list_deliveries(&DeliveryFilter::default(), None, 9)
        .await
        .unwrap();
    let digest = all.iter().find(|delivery| delivery.kind == "digest").unwrap();
    assert_eq!(
        (digest.event_seq, digest.state, digest.cadence),
        (2, DeliveryState::Waiting, Cadence::Hourly)
    );
    assert_eq!(store.digest_events(digest.id, 1).await.unwrap(), (vec![1], 2));
    assert_eq!(store.digest_events(digest.id, 9).await.unwrap(), (vec![1, 2], 2));
}

async fn events_are_sent_again_under_their_ids_only_when_asked(fresh: &Fresh) {
    let store = &fresh.store;
    let a = endpoint(store, "a").await;
    record(store, 0, &[found(1, &a, "x/y"), found(2, &a, "x/y")]).await;
    let mut ids = Vec::new();
    for (n, verdict) in [(10, Verdict::Taken), (11, Verdict::Dead)] {
        let claimed = claim(store, n).await;
        ids.push(claimed[0].id);
        finish(store, &claimed[0], verdict, n).await;
    }
    let all = [found(1, &a, "x/y"), found(2, &a, "x/y"), found(3, &a, "x/y")];
    assert_eq!(
        store.replay_matches(&all, Resend::Missing, at(20)).await.unwrap(),
        2
    );
    assert_eq!(
        states(store).await,
        [(1, "delivered"), (2, "waiting"), (3, "queued")]
    );
    let claimed = claim(store, 21).await;
    assert_eq!((claimed[0].id, claimed[0].attempts), (ids[1], 1));
    finish(store, &claimed[0], Verdict::Taken, 22).await;
    let claimed = claim(store, 23).await;
    finish(store, &claimed[0], Verdict::Taken, 24).await;
    assert_eq!(
        store.replay_matches(&all, Resend::Missing, at(30)).await.unwrap(),
        0
    );
    assert_eq!(store.replay_matches(&all, Resend::All, at(30)).await.unwrap(), 3);
    let claimed = claim(store, 31).await;
    assert_eq!((claimed[0].id, seqs(&claimed)), (ids[0], vec![1]));
}

async fn two_keys_sign_while_one_is_replaced(fresh: &Fresh) {
    let store = &fresh.store;
    let a = endpoint(store, "a").await;
    assert!(
        store
            .rotate_secret(a.id, &[8; 32], at(HOUR), &by(), at(10))
            .await
            .unwrap()
    );
    let keys = async |n| store.endpoint_secrets(a.id, at(n)).await.unwrap();
    assert_eq!(keys(11).await, [vec![8; 32], vec![7; 32]]);
    assert_eq!(keys(HOUR).await, [vec![8; 32]]);
    // An early end.
    assert!(
        store
            .rotate_secret(a.id, &[9; 32], at(20), &by(), at(20))
            .await
            .unwrap()
    );
    assert_eq!(keys(20).await, [vec![9; 32]]);
    assert!(
        !store
            .rotate_secret(Uuid::nil(), &[9; 32], at(20), &by(), at(20))
            .await
            .unwrap()
    );
}

async fn a_mail_address_gets_nothing_until_confirmed(fresh: &Fresh) {
    let store = &fresh.store;
    let new = NewEndpoint {
        owner: "team-a".into(),
        label: "mail".into(),
        channel: Channel::Email,
        address: "a@example.org".into(),
        shape: Shape::Standard,
        secret: None,
        code: Some("code".into()),
    };
    let mail = store
        .create_endpoint(&new, 9, &by(), at(0))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (mail.state, mail.code.as_deref()),
        (EndpointState::Unconfirmed, Some("code"))
    );
    assert_eq!(record(store, 0, &[found(1, &mail, "x/y")]).await, 0);
    assert!(store.activate_endpoint(mail.id, &by(), at(1)).await.unwrap());
    assert_eq!(record(store, 1, &[found(2, &mail, "x/y")]).await, 1);
    assert!(
        store
            .pause_endpoint(mail.id, "asked to", &by(), at(3))
            .await
            .unwrap()
    );
    assert!(
        !store
            .pause_endpoint(mail.id, "asked to", &by(), at(3))
            .await
            .unwrap()
    );
}

async fn many_senders_never_hold_one_delivery_twice(fresh: &Fresh) {
    let store = &fresh.store;
    let mut matches = Vec::new();
    for n in 0..10 {
        let endpoint = endpoint(store, &format!("e{n}")).await;
        matches.extend((1..=6).map(|seq| found(seq, &endpoint, &format!("x/s{}", seq % 2))));
    }
    record(store, 0, &matches).await;
    let mut senders = tokio::task::JoinSet::new();
    for sender in 0..6 {
        let store = store.clone();
        senders.spawn(async move {
            let worker = format!("w{sender}");
            let mut seen = Vec::new();
            let mut idle = 0;
            while idle < 3 {
                let claimed = store.claim_deliveries(&worker, at(100), 60, 3, 4).await.unwrap();
                idle = if claimed.is_empty() { idle + 1 } else { 0 };
                for claimed in claimed {
                    seen.push((claimed.endpoint_id, claimed.server.clone(), claimed.event_seq));
                    let attempt = AttemptFacts {
                        at: at(100),
                        took_ms: 0,
                        status: Some(200),
                        error: None,
                        answer: None,
                    };
                    let done = Finished {
                        claimed,
                        attempt,
                        verdict: Verdict::Taken,
                    };
                    store.finish_deliveries(&worker, &[done], at(100)).await.unwrap();
                }
            }
            seen
        });
    }
    let mut seen = Vec::new();
    while let Some(done) = senders.join_next().await {
        seen.extend(done.unwrap());
    }
    let count = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!((count, seen.len()), (60, 60));
    assert_eq!(
        store.delivery_counts().await.unwrap(),
        [("delivered".to_owned(), 60)]
    );
}

async fn the_log_is_newest_first_pages_and_forgets(fresh: &Fresh) {
    let store = &fresh.store;
    let (a, b) = (endpoint(store, "a").await, endpoint(store, "b").await);
    record(
        store,
        0,
        &[found(1, &a, "x/y"), found(2, &a, "x/z"), found(3, &b, "x/y")],
    )
    .await;
    let list = async |filter: DeliveryFilter| {
        let all = store.list_deliveries(&filter, None, 9).await.unwrap();
        all.iter().map(|d| d.event_seq).collect::<BTreeSet<i64>>()
    };
    let of_a = DeliveryFilter {
        endpoint: Some(a.id),
        ..DeliveryFilter::default()
    };
    assert_eq!(list(of_a.clone()).await, BTreeSet::from([1, 2]));
    let other = DeliveryFilter {
        owner: Some("team-b".into()),
        ..DeliveryFilter::default()
    };
    assert_eq!(list(other).await, BTreeSet::new());
    let dead = DeliveryFilter {
        state: Some(DeliveryState::Dead),
        ..DeliveryFilter::default()
    };
    assert_eq!(list(dead).await, BTreeSet::new());
    let first = store.list_deliveries(&of_a, None, 1).await.unwrap();
    let key = (first[0].created_at, first[0].id);
    let second = store.list_deliveries(&of_a, Some(key), 1).await.unwrap();
    assert_ne!(first[0].id, second[0].id);
    assert_eq!(
        store.delivery(first[0].id).await.unwrap().as_ref(),
        Some(&first[0])
    );
    for claimed in claim(store, 10).await {
        finish(store, &claimed, Verdict::Taken, 11).await;
    }
    assert_eq!(store.prune_deliveries(at(11)).await.unwrap(), 0);
    assert_eq!(store.prune_deliveries(at(12)).await.unwrap(), 3);
    assert_eq!(store.delivery_attempts(first[0].id).await.unwrap(), []);
}

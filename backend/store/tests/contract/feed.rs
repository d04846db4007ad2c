//! The event feed: no gaps, no number visible after a higher one.

use std::time::Duration;

use toolmark_domain::digest::Digest;
use toolmark_domain::event::leaf_bytes;

use crate::support::{Fresh, at, contract, document, publish, try_publish};

contract! {
    every_write_is_one_numbered_event
    a_tailing_reader_sees_every_event_once_in_order
    a_waiting_reader_wakes_for_a_new_event
    a_followers_cursor_never_goes_back
    an_instance_value_is_made_once
}

async fn every_write_is_one_numbered_event(fresh: &Fresh) {
    let store = &fresh.store;
    publish(store, "com.example/a", "1.0.0", 1).await;
    publish(store, "com.example/a", "1.1.0", 2).await;
    let events = store.events_after(0, 10).await.unwrap();
    assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), [1, 2]);
    let body = &events[1].body;
    assert_eq!(body.as_object().unwrap().keys().count(), 10);
    assert_eq!(
        (&body["kind"], &body["version"], &body["data"]["current"]),
        (&"version.published".into(), &"1.1.0".into(), &"1.1.0".into())
    );
    for event in &events {
        assert_eq!(Digest::of_leaf(&leaf_bytes(&event.body)), event.leaf_hash);
    }
    assert_eq!(store.events_after(1, 10).await.unwrap().len(), 1);
    assert_eq!((store.head().await.unwrap(), store.head_seen()), (2, 2));
}

async fn a_tailing_reader_sees_every_event_once_in_order(fresh: &Fresh) {
    const WRITERS: i64 = 20;
    const EACH: i64 = 15;
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let store = fresh.store.clone();
        writers.spawn(async move {
            for n in 0..EACH {
                // Every third is refused: a rolled-back writer must leave no gap.
                let version = if n % 3 == 2 {
                    "1.0.0".to_owned()
                } else {
                    format!("1.0.{n}")
                };
                let name = format!("com.example/w{writer}");
                let _ = try_publish(&store, &document(&name, &version), n).await;
            }
        });
    }
    let expected = WRITERS * (EACH - EACH / 3);
    let mut seen = 0;
    let reading = async {
        while seen < expected {
            store_wait(fresh, seen).await;
            for event in fresh.store.events_after(seen, 7).await.unwrap() {
                seen += 1;
                assert_eq!(event.seq, seen, "the next number");
                assert_eq!(event.body["seq"], seen);
            }
        }
    };
    tokio::time::timeout(Duration::from_mins(1), reading)
        .await
        .expect("all events within a minute");
    while let Some(done) = writers.join_next().await {
        done.unwrap();
    }
    assert_eq!(fresh.store.head().await.unwrap(), expected);
}

async fn store_wait(fresh: &Fresh, seen: i64) {
    fresh
        .store
        .wait_past(seen, Duration::from_secs(10))
        .await
        .unwrap();
}

async fn a_waiting_reader_wakes_for_a_new_event(fresh: &Fresh) {
    let store = fresh.store.clone();
    let waiting = tokio::spawn(async move { store.wait_past(0, Duration::from_secs(20)).await.unwrap() });
    publish(&fresh.store, "com.example/a", "1.0.0", 1).await;
    assert_eq!(waiting.await.unwrap(), 1);
    assert_eq!(
        fresh.store.wait_past(1, Duration::from_millis(1)).await.unwrap(),
        1
    );
}

async fn a_followers_cursor_never_goes_back(fresh: &Fresh) {
    let store = &fresh.store;
    assert_eq!(store.follower_cursor("index").await.unwrap(), 0);
    store.move_follower_cursor("index", 7, at(1)).await.unwrap();
    store.move_follower_cursor("index", 5, at(2)).await.unwrap();
    assert_eq!(store.follower_cursor("index").await.unwrap(), 7);
}

async fn an_instance_value_is_made_once(fresh: &Fresh) {
    let store = &fresh.store;
    assert_eq!(
        store.instance_value("seed", b"first", at(1)).await.unwrap(),
        b"first"
    );
    assert_eq!(
        store.instance_value("seed", b"second", at(2)).await.unwrap(),
        b"first"
    );
}

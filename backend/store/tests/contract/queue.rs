//! Jobs and tokens.

use toolmark_domain::digest::Digest;
use toolmark_domain::permission::{Action, Permission};
use toolmark_store::{JobOutcome, NewJob, NewToken};

use crate::support::{Fresh, at, by, contract};

contract! {
    the_most_urgent_due_job_is_taken_once
    a_job_of_a_stopped_worker_is_due_again
    a_failing_job_is_tried_again_and_then_dead
    many_workers_never_hold_one_job_twice
    a_token_is_found_by_its_hash_until_revoked
}

fn job(key: &str, priority: i64, run_at: i64) -> NewJob {
    NewJob {
        name: "verify",
        key: key.into(),
        payload: "{}".into(),
        priority,
        run_at: at(run_at),
        max_attempts: 2,
    }
}

async fn the_most_urgent_due_job_is_taken_once(fresh: &Fresh) {
    let store = &fresh.store;
    assert!(store.enqueue(&job("a", 0, 0), at(0)).await.unwrap());
    assert!(store.enqueue(&job("b", 5, 0), at(0)).await.unwrap());
    assert!(store.enqueue(&job("later", 9, 1_000), at(0)).await.unwrap());
    assert!(
        !store.enqueue(&job("a", 0, 0), at(0)).await.unwrap(),
        "the same one waits already"
    );
    let keys = async |n| {
        store
            .claim_job("w", &["verify"], at(n), 60)
            .await
            .unwrap()
            .map(|job| job.key)
    };
    assert_eq!(keys(1).await.as_deref(), Some("b"));
    assert_eq!(keys(1).await.as_deref(), Some("a"));
    assert_eq!(keys(1).await, None);
    assert_eq!(keys(1_000).await.as_deref(), Some("later"));
}

async fn a_job_of_a_stopped_worker_is_due_again(fresh: &Fresh) {
    let store = &fresh.store;
    store.enqueue(&job("a", 0, 0), at(0)).await.unwrap();
    let first = store
        .claim_job("gone", &["verify"], at(1), 1)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(store.claim_job("w", &["verify"], at(2), 1).await.unwrap(), None);
    let second = store
        .claim_job("w", &["verify"], at(2_000_000), 1)
        .await
        .unwrap()
        .unwrap();
    assert_eq!((second.id, second.attempts), (first.id, 2));
    assert!(
        !store
            .finish_job(first.id, "gone", &JobOutcome::Done, at(2_000_001))
            .await
            .unwrap()
    );
    assert!(
        store
            .finish_job(second.id, "w", &JobOutcome::Done, at(2_000_002))
            .await
            .unwrap()
    );
    assert_eq!(store.job_counts().await.unwrap(), [0, 0, 0]);
}

async fn a_failing_job_is_tried_again_and_then_dead(fresh: &Fresh) {
    let store = &fresh.store;
    store.enqueue(&job("a", 0, 0), at(0)).await.unwrap();
    let failed = |n| JobOutcome::Failed {
        error: "no answer".into(),
        retry_at: at(n),
    };
    let first = store
        .claim_job("w", &["verify"], at(1), 60)
        .await
        .unwrap()
        .unwrap();
    store.finish_job(first.id, "w", &failed(10), at(2)).await.unwrap();
    assert_eq!(store.claim_job("w", &["verify"], at(9), 60).await.unwrap(), None);
    let second = store
        .claim_job("w", &["verify"], at(10), 60)
        .await
        .unwrap()
        .unwrap();
    store
        .finish_job(second.id, "w", &failed(20), at(11))
        .await
        .unwrap();
    assert_eq!(store.claim_job("w", &["verify"], at(30), 60).await.unwrap(), None);
    assert_eq!(store.job_counts().await.unwrap(), [0, 0, 1]);
}

async fn many_workers_never_hold_one_job_twice(fresh: &Fresh) {
    for n in 0..60 {
        fresh
            .store
            .enqueue(&job(&n.to_string(), 0, 0), at(0))
            .await
            .unwrap();
    }
    let mut workers = tokio::task::JoinSet::new();
    for worker in 0..8 {
        let store = fresh.store.clone();
        workers.spawn(async move {
            let mut keys = Vec::new();
            while let Some(job) = store
                .claim_job(&format!("w{worker}"), &["verify"], at(1), 60)
                .await
                .unwrap()
            {
                keys.push(job.key);
            }
            keys
        });
    }
    let mut keys = Vec::new();
    while let Some(done) = workers.join_next().await {
        keys.extend(done.unwrap());
    }
    keys.sort();
    let count = keys.len();
    keys.dedup();
    assert_eq!((count, keys.len()), (60, 60));
}

async fn a_token_is_found_by_its_hash_until_revoked(fresh: &Fresh) {
    let store = &fresh.store;
    let new = NewToken {
        label: "ci".into(),
        hash: Digest::of(b"secret"),
        hint: "tmk_abcd…".into(),
        permissions: vec![Permission {
            action: Action::Publish,
            resource: "com.example/*".into(),
        }],
        expires_at: Some(at(100)),
    };
    let made = store.create_token(&new, &by(), at(1)).await.unwrap();
    assert_eq!(store.token(&Digest::of(b"secret")).await.unwrap().unwrap(), made);
    assert_eq!(store.token(&Digest::of(b"other")).await.unwrap(), None);
    store.touch_token(made.id, at(5)).await.unwrap();
    assert!(store.revoke_token(made.id, &by(), at(6)).await.unwrap());
    assert!(!store.revoke_token(made.id, &by(), at(7)).await.unwrap());
    let kept = &store.list_tokens().await.unwrap()[0];
    assert_eq!((kept.revoked_at, kept.last_used_at), (Some(at(6)), Some(at(5))));
}

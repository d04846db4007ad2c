//! Verdicts: appended with their event, the last and the shown one marked, evidence known by its digest.

use serde_json::Map;
use toolmark_domain::digest::Digest;
use toolmark_domain::event::Severity;
use toolmark_domain::name::ServerName;
use toolmark_domain::provenance::{Level, Reason, Verdict, Warning};
use toolmark_domain::version::VersionId;
use toolmark_store::{NewJob, NewVerdict, VerdictCause};
use uuid::Uuid;

use crate::support::{Fresh, at, contract, publish};

contract! {
    a_verdict_is_appended_with_its_event_and_its_evidence
    a_failure_does_not_take_away_what_was_known
    verdicts_of_another_basis_are_found_in_pages
    a_hidden_version_has_no_verdict
}

const NAME: &str = "com.example/weather";

fn verdict(version: &str, word: Verdict, n: i64) -> NewVerdict {
    NewVerdict {
        server: ServerName::parse(NAME).unwrap(),
        version: VersionId::parse(version).unwrap(),
        position: 0,
        line: "npm:weather".to_owned(),
        target: format!("npm:weather@{version}"),
        checked_at: at(n),
        cause: VerdictCause::New,
        verdict: word,
        level: (word == Verdict::Verified).then_some(Level::Build),
        reasons: if word == Verdict::Unverifiable {
            vec![Reason::FetchFailed]
        } else {
            Vec::new()
        },
        warnings: vec![Warning::NonReleaseRef],
        changes: vec!["workflow_changed".to_owned()],
        severity: Some(Severity::Low),
        artifact: Some(Digest::of(b"artifact")),
        repository: Some("https://github.com/acme/weather\0".to_owned()),
        repository_id: None,
        builder: None,
        basis: Digest::of(b"basis"),
        record: Digest::of(b"record"),
        report: Digest::of(b"report"),
        summary: None,
        evidence: vec![(Digest::of(b"evidence"), 8)],
        told: Map::new(),
        quiet: false,
    }
}

async fn a_verdict_is_appended_with_its_event_and_its_evidence(fresh: &Fresh) {
    let store = &fresh.store;
    publish(store, NAME, "1.0.0", 0).await;
    let job = NewJob {
        name: "verify",
        key: "k".into(),
        payload: "{}".into(),
        priority: 0,
        run_at: at(0),
        max_attempts: 1,
    };
    let new = verdict("1.0.0", Verdict::Verified, 5);
    let id = store.record_verdict(&new, &[job]).await.unwrap().unwrap();
    let kept = store.last_verdicts(NAME, "1.0.0").await.unwrap();
    assert_eq!(kept.len(), 1);
    assert_eq!(
        (kept[0].id, kept[0].verdict, kept[0].level),
        (id, Verdict::Verified, Some(Level::Build))
    );
    assert_eq!(kept[0].warnings, ["non_release_ref"]);
    assert_eq!(kept[0].changes, ["workflow_changed"]);
    assert_eq!(
        kept[0].repository.as_deref(),
        Some("https://github.com/acme/weather\u{fffd}")
    );
    assert_eq!(kept[0].checked_at, at(5));
    assert!(store.is_evidence(&Digest::of(b"evidence")).await.unwrap());
    assert!(
        !store
            .is_evidence(&Digest::of(b"record of someone"))
            .await
            .unwrap()
    );
    assert!(
        store
            .claim_job("w", &["verify"], at(5), 60)
            .await
            .unwrap()
            .is_some()
    );
    let events = store.events_after(1, 9).await.unwrap();
    assert_eq!(events.len(), 1);
    let event = &events[0].body;
    assert_eq!(event["kind"], "verdict.recorded");
    assert_eq!(event["severity"], "low");
    assert_eq!(event["data"]["verdict"], "verified");
    assert_eq!(kept[0].seq, events[0].seq);
    // The same evidence again is no conflict; what is not new has no event.
    let quiet = NewVerdict { quiet: true, ..new };
    store.record_verdict(&quiet, &[]).await.unwrap().unwrap();
    assert_eq!(store.events_after(1, 9).await.unwrap().len(), 1);
    assert_eq!(store.verdicts_of(NAME, "1.0.0", 9).await.unwrap().len(), 2);
}

async fn a_failure_does_not_take_away_what_was_known(fresh: &Fresh) {
    let store = &fresh.store;
    publish(store, NAME, "1.0.0", 0).await;
    for (n, word) in [Verdict::Unverifiable, Verdict::Verified, Verdict::Unverifiable]
        .into_iter()
        .enumerate()
    {
        let new = verdict("1.0.0", word, 5 + i64::try_from(n).unwrap());
        store.record_verdict(&new, &[]).await.unwrap().unwrap();
    }
    let last = store.last_verdicts(NAME, "1.0.0").await.unwrap();
    let words: Vec<_> = last
        .iter()
        .map(|row| (row.verdict, row.is_last, row.is_shown))
        .collect();
    assert_eq!(
        words,
        [
            (Verdict::Unverifiable, true, false),
            (Verdict::Verified, false, true)
        ]
    );
    assert_eq!(store.verdicts_of(NAME, "1.0.0", 9).await.unwrap().len(), 3);
    let line = store.verdicts_on_line(NAME, "npm:weather").await.unwrap();
    assert_eq!(line.len(), 1);
    assert_eq!(line[0].verdict, Verdict::Verified);
}

async fn verdicts_of_another_basis_are_found_in_pages(fresh: &Fresh) {
    let store = &fresh.store;
    for version in ["1.0.0", "1.1.0", "1.2.0"] {
        publish(store, NAME, version, 0).await;
        store
            .record_verdict(&verdict(version, Verdict::Unsigned, 5), &[])
            .await
            .unwrap()
            .unwrap();
    }
    let same = store
        .verdicts_of_other_basis(&Digest::of(b"basis"), Uuid::nil(), 9)
        .await
        .unwrap();
    assert_eq!(same, []);
    let other = Digest::of(b"other");
    let first = store
        .verdicts_of_other_basis(&other, Uuid::nil(), 2)
        .await
        .unwrap();
    assert_eq!(first.len(), 2);
    let second = store
        .verdicts_of_other_basis(&other, first[1].id, 2)
        .await
        .unwrap();
    assert_eq!(second.len(), 1);
}

async fn a_hidden_version_has_no_verdict(fresh: &Fresh) {
    let store = &fresh.store;
    publish(store, NAME, "1.0.0", 0).await;
    store
        .record_verdict(&verdict("1.0.0", Verdict::Unsigned, 5), &[])
        .await
        .unwrap()
        .unwrap();
    store.apply_blocked(|_| true, at(6)).await.unwrap();
    assert_eq!(store.last_verdicts(NAME, "1.0.0").await.unwrap(), []);
    assert_eq!(store.verdicts_on_line(NAME, "npm:weather").await.unwrap(), []);
    let refused = store
        .record_verdict(&verdict("1.0.0", Verdict::Unsigned, 7), &[])
        .await
        .unwrap();
    assert_eq!(refused, None);
}

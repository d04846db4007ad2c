//! Looks at targets, the items they hold, and the changes between them.

use serde_json::Map;
use toolmark_domain::digest::Digest;
use toolmark_domain::event::Severity;
use toolmark_domain::finding::Label;
use toolmark_domain::manifest::{Era, ItemKind};
use toolmark_domain::name::ServerName;
use toolmark_domain::snapshot::Outcome;
use toolmark_domain::version::VersionId;
use toolmark_store::{
    ChangeFilter, NewChange, NewItem, NewJob, NewSnapshot, RecordConflict, Recorded, Store,
};
use uuid::Uuid;

use crate::support::{Fresh, at, contract, publish};

contract! {
    a_look_is_recorded_with_its_items_and_its_event
    a_failed_look_leaves_what_is_shown
    an_unconfirmed_look_is_not_shown
    a_change_is_found_by_each_of_its_filters
    an_item_remembers_when_it_came_changed_and_went
    a_comparison_with_an_older_look_is_refused
    a_look_at_a_hidden_version_is_refused
    many_items_fit_in_one_look
}

const NAME: &str = "com.example/weather";
const LINE: &str = "npm:weather";

fn look(version: &str, tools: &[(&str, &str)]) -> NewSnapshot {
    let items = tools.iter().map(|(key, body)| NewItem {
        kind: ItemKind::Tool,
        key: (*key).to_owned(),
        tool: Digest::of(body.as_bytes()),
        contract: Digest::of(body.to_lowercase().as_bytes()),
    });
    NewSnapshot {
        server: ServerName::parse(NAME).unwrap(),
        version: VersionId::parse(version).unwrap(),
        position: 0,
        line: LINE.to_owned(),
        target: format!("npm:weather@{version}"),
        took_ms: 12,
        outcome: Outcome::Observed,
        reason: None,
        era: Some(Era::Legacy),
        protocol_version: Some("2025-06-18".to_owned()),
        manifest: Some(Digest::of(format!("{tools:?}").as_bytes())),
        document: Digest::of(version.as_bytes()),
        scan: Some(Digest::of(b"scan")),
        artifact: None,
        severity: Some(Severity::Low),
        token_cost: 40,
        confirmed: true,
        items: items.collect(),
        backfill: false,
        told: Map::new(),
    }
}

fn step(from: Uuid, from_version: &str, severity: Severity, rules: &[&str]) -> NewChange {
    NewChange {
        from,
        from_version: VersionId::parse(from_version).unwrap(),
        label: Label::Semantic,
        severity: Some(severity),
        rules: rules.iter().map(|rule| (*rule).to_owned()).collect(),
        document: Digest::of(b"diff"),
        told: Map::new(),
    }
}

async fn record(store: &Store, new: &NewSnapshot, compared: Option<Uuid>, n: i64) -> Recorded {
    store
        .record_snapshot(new, None, compared, &[], at(n))
        .await
        .unwrap()
        .unwrap()
}

async fn a_look_is_recorded_with_its_items_and_its_event(fresh: &Fresh) {
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
    let new = look("1.0.0", &[("a", "1"), ("b", "2")]);
    let done = store
        .record_snapshot(&new, None, None, &[job], at(9))
        .await
        .unwrap()
        .unwrap();
    let kept = store.snapshot(done.snapshot).await.unwrap().unwrap();
    assert_eq!(
        (kept.tools, kept.prompts, kept.token_cost, kept.took_ms),
        (2, 0, 40, 12)
    );
    assert_eq!(
        (kept.era, kept.severity, kept.manifest),
        (Some(Era::Legacy), Some(Severity::Low), new.manifest)
    );
    assert!(kept.is_last && kept.is_shown && kept.confirmed);
    assert_eq!(kept.observed_at, at(9));
    assert_eq!(store.current_snapshot(NAME).await.unwrap(), Some(kept.clone()));
    assert_eq!(
        store.snapshots_of(NAME, "1.0.0", 9).await.unwrap(),
        std::slice::from_ref(&kept)
    );
    assert_eq!(
        store.last_looks(NAME, "1.0.0").await.unwrap(),
        std::slice::from_ref(&kept)
    );
    assert_eq!(
        store.shown_on_line(NAME, LINE).await.unwrap(),
        std::slice::from_ref(&kept)
    );
    assert_eq!(store.list_current_snapshots("", 9).await.unwrap(), [kept]);
    assert_eq!(store.list_current_snapshots(NAME, 9).await.unwrap(), []);
    assert_eq!(store.items_of(NAME).await.unwrap().len(), 2);
    assert!(
        store
            .claim_job("w", &["verify"], at(9), 60)
            .await
            .unwrap()
            .is_some()
    );
    let events = store.events_after(1, 9).await.unwrap();
    assert_eq!(events.len(), 1);
    let event = &events[0].body;
    assert_eq!(event["kind"], "snapshot.recorded");
    assert_eq!(event["target"], "npm:weather@1.0.0");
    assert_eq!(event["data"]["tools"], 2);
}

async fn a_failed_look_leaves_what_is_shown(fresh: &Fresh) {
    let store = &fresh.store;
    publish(store, NAME, "1.0.0", 0).await;
    let first = record(store, &look("1.0.0", &[("a", "1")]), None, 1).await;
    let mut failed = look("1.0.0", &[]);
    failed.outcome = Outcome::Crashed;
    failed.reason = Some("missing_module".into());
    (failed.manifest, failed.scan, failed.severity) = (None, None, None);
    let second = record(store, &failed, None, 2).await;
    assert_eq!(
        store.current_snapshot(NAME).await.unwrap().unwrap().id,
        first.snapshot
    );
    let looks = store.last_looks(NAME, "1.0.0").await.unwrap();
    let ids: Vec<Uuid> = looks.iter().map(|look| look.id).collect();
    assert_eq!(ids, [second.snapshot, first.snapshot]);
    assert_eq!(looks[0].outcome, Outcome::Crashed);
    assert_eq!(looks[0].reason.as_deref(), Some("missing_module"));
    assert!(store.items_of(NAME).await.unwrap()[0].gone_at.is_none());
}

async fn an_unconfirmed_look_is_not_shown(fresh: &Fresh) {
    let store = &fresh.store;
    publish(store, NAME, "1.0.0", 0).await;
    let first = record(store, &look("1.0.0", &[("a", "1")]), None, 1).await;
    let mut doubtful = look("1.0.0", &[]);
    doubtful.confirmed = false;
    record(store, &doubtful, Some(first.snapshot), 2).await;
    assert_eq!(
        store.current_snapshot(NAME).await.unwrap().unwrap().id,
        first.snapshot
    );
    let believed = record(store, &look("1.0.0", &[]), Some(first.snapshot), 3).await;
    assert_eq!(
        store.current_snapshot(NAME).await.unwrap().unwrap().id,
        believed.snapshot
    );
    assert_eq!(store.items_of(NAME).await.unwrap()[0].gone_at, Some(at(3)));
}

async fn a_change_is_found_by_each_of_its_filters(fresh: &Fresh) {
    let store = &fresh.store;
    for (n, version) in [(0, "1.0.0"), (1, "1.1.0"), (2, "1.2.0")] {
        publish(store, NAME, version, n).await;
    }
    let first = record(store, &look("1.0.0", &[("a", "1")]), None, 10).await;
    let low = step(first.snapshot, "1.0.0", Severity::Low, &["T01", "D03"]);
    let second = look("1.1.0", &[("a", "2")]);
    let second = store.record_snapshot(&second, Some(&low), Some(first.snapshot), &[], at(11));
    let second = second.await.unwrap().unwrap();
    let high = step(second.snapshot, "1.1.0", Severity::High, &["D01"]);
    let third = look("1.2.0", &[("a", "3")]);
    let third = store.record_snapshot(&third, Some(&high), Some(second.snapshot), &[], at(12));
    let third = third.await.unwrap().unwrap();
    let found = async |filter: ChangeFilter, before| {
        let changes = store.list_changes(&filter, before, 9).await.unwrap();
        changes
            .iter()
            .map(|change| change.to_version.to_string())
            .collect::<Vec<_>>()
    };
    let all = ChangeFilter::default();
    assert_eq!(found(all.clone(), None).await, ["1.2.0", "1.1.0"]);
    assert_eq!(found(all.clone(), third.change).await, ["1.1.0"]);
    let grave = ChangeFilter {
        severity: Some(Severity::Medium),
        ..all.clone()
    };
    assert_eq!(found(grave, None).await, ["1.2.0"]);
    let ruled = |rule: &str| ChangeFilter {
        rule: Some(rule.into()),
        ..ChangeFilter::default()
    };
    assert_eq!(found(ruled("D03"), None).await, ["1.1.0"]);
    assert_eq!(found(ruled("D0"), None).await, [""; 0]);
    let elsewhere = ChangeFilter {
        namespace: Some("com.other".into()),
        ..all.clone()
    };
    assert_eq!(found(elsewhere, None).await, [""; 0]);
    let here = ChangeFilter {
        namespace: Some("com.example".into()),
        server: Some(NAME.into()),
        ..all.clone()
    };
    assert_eq!(found(here, None).await, ["1.2.0", "1.1.0"]);
    let late = ChangeFilter {
        since: Some(at(12)),
        label: Some(Label::Semantic),
        ..all
    };
    assert_eq!(found(late, None).await, ["1.2.0"]);
    let events = store.events_after(third.change.unwrap() - 1, 1).await.unwrap();
    assert_eq!(events[0].body["kind"], "change.recorded");
    assert_eq!(events[0].body["severity"], "high");
    assert_eq!(events[0].body["data"]["from"]["version"], "1.1.0");
}

async fn an_item_remembers_when_it_came_changed_and_went(fresh: &Fresh) {
    let store = &fresh.store;
    for (n, version) in [(0, "1.0.0"), (1, "1.1.0"), (2, "1.2.0"), (3, "0.9.0")] {
        publish(store, NAME, version, n).await;
    }
    let first = record(
        store,
        &look("1.0.0", &[("a", "1"), ("b", "1"), ("c", "1")]),
        None,
        10,
    )
    .await;
    let second = record(
        store,
        &look("1.1.0", &[("a", "1"), ("b", "2")]),
        Some(first.snapshot),
        11,
    )
    .await;
    let third = record(
        store,
        &look("1.2.0", &[("a", "1"), ("b", "2"), ("c", "1")]),
        Some(second.snapshot),
        12,
    )
    .await;
    let mut old = look("0.9.0", &[("z", "1")]);
    old.backfill = true;
    record(store, &old, Some(third.snapshot), 13).await;
    let items = store.items_of(NAME).await.unwrap();
    let told: Vec<_> = items
        .iter()
        .map(|i| {
            (
                i.key.as_str(),
                i.first_seen_at,
                i.changed_at,
                i.changed_version.as_str(),
                i.gone_at,
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("a", at(10), at(10), "1.0.0", None),
            ("b", at(10), at(11), "1.1.0", None),
            ("c", at(10), at(12), "1.2.0", None),
        ]
    );
}

async fn a_comparison_with_an_older_look_is_refused(fresh: &Fresh) {
    let store = &fresh.store;
    publish(store, NAME, "1.0.0", 0).await;
    record(store, &look("1.0.0", &[("a", "1")]), None, 1).await;
    let head = store.head().await.unwrap();
    let late = store
        .record_snapshot(&look("1.0.0", &[]), None, None, &[], at(2))
        .await
        .unwrap();
    assert_eq!(late, Err(RecordConflict::Moved));
    assert_eq!(store.head().await.unwrap(), head);
}

async fn a_look_at_a_hidden_version_is_refused(fresh: &Fresh) {
    let store = &fresh.store;
    publish(store, NAME, "1.0.0", 0).await;
    let done = record(store, &look("1.0.0", &[("a", "1")]), None, 1).await;
    store
        .apply_blocked(|namespace| namespace == "com.example", at(2))
        .await
        .unwrap();
    let compared = Some(done.snapshot);
    let refused = store
        .record_snapshot(&look("1.0.0", &[]), None, compared, &[], at(3))
        .await
        .unwrap();
    assert_eq!(refused, Err(RecordConflict::NoVersion));
    assert_eq!(store.current_snapshot(NAME).await.unwrap(), None);
    assert_eq!(store.snapshot(done.snapshot).await.unwrap(), None);
    assert_eq!(store.items_of(NAME).await.unwrap(), []);
    assert_eq!(store.list_current_snapshots("", 9).await.unwrap(), []);
}

async fn many_items_fit_in_one_look(fresh: &Fresh) {
    let store = &fresh.store;
    publish(store, NAME, "1.0.0", 0).await;
    let names: Vec<String> = (0..2000).map(|n| format!("t{n:04}")).collect();
    let tools: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "x")).collect();
    record(store, &look("1.0.0", &tools), None, 1).await;
    assert_eq!(store.items_of(NAME).await.unwrap().len(), 2000);
}

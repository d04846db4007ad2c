//! Publishing, statuses, lists.

use serde_json::json;
use toolmark_domain::name::ServerName;
use toolmark_domain::status::Status;
use toolmark_domain::version::VersionId;
use toolmark_store::{
    PageKey, PublishConflict, ServerFilter, StatusChange, StatusConflict, VersionChoice, VersionFilter,
};

use crate::support::{Fresh, at, by, contract, document, new_version, publish, shown, try_publish};

contract! {
    a_published_version_is_read_back_as_it_was_sent
    outlines_come_greatest_first_and_versions_by_name
    a_duplicate_version_is_refused_and_leaves_no_trace
    a_name_that_differs_by_case_is_refused
    a_remote_of_another_servers_active_latest_is_refused
    the_greater_version_is_latest_and_the_stable_one_current
    deleting_the_latest_promotes_the_next_and_a_lower_one_may_follow
    all_versions_change_status_at_once
    a_restored_version_whose_remote_was_taken_is_refused
    pages_neither_repeat_nor_skip
    updated_since_finds_few_and_many
    words_are_found_in_name_and_description
    an_edit_replaces_document_and_remotes
    blocked_namespaces_are_shown_nowhere_and_come_back
    a_takedown_hides_the_server_and_blanks_its_events
    the_audit_log_pages_newest_first
    counts_follow_the_catalogue
    what_must_always_hold_is_checked
}

fn change(status: Status, message: Option<&str>) -> StatusChange {
    StatusChange {
        status,
        message: message.map(str::to_owned),
    }
}

fn name(text: &str) -> ServerName {
    ServerName::parse(text).unwrap()
}

async fn a_published_version_is_read_back_as_it_was_sent(fresh: &Fresh) {
    let store = &fresh.store;
    let sent = new_version(&document("com.example/weather", "1.0.0"));
    let published = store.publish(&sent, &by(), at(1)).await.unwrap().unwrap();
    assert_eq!(
        store
            .version("com.example/weather", "1.0.0")
            .await
            .unwrap()
            .unwrap(),
        published
    );
    assert_eq!(published.document, sent.document);
    assert_eq!(
        store
            .raw_document("com.example/weather", "1.0.0")
            .await
            .unwrap()
            .unwrap(),
        sent.raw
    );
    assert!(published.is_latest && published.is_current);
    assert_eq!((published.published_at, published.updated_at), (at(1), at(1)));
    assert_eq!(store.version("com.example/Weather", "1.0.0").await.unwrap(), None);
    assert_eq!(
        store.canonical_name("COM.example/Weather").await.unwrap(),
        Some(name("com.example/weather"))
    );
    for (asked, found) in [
        ("COM.example", Some("com.example")),
        ("com.example", Some("com.example")),
        ("com.exampl", None),
        ("com.example.more", None),
    ] {
        let namespace = store.canonical_namespace(asked).await.unwrap();
        assert_eq!(namespace.as_deref(), found, "{asked}");
    }
}

async fn outlines_come_greatest_first_and_versions_by_name(fresh: &Fresh) {
    let store = &fresh.store;
    for (version, second) in [("1.9.0", 1), ("1.10.0", 2), ("odd", 3), ("2.0.0-rc.1", 4)] {
        publish(store, "com.example/weather", version, second).await;
    }
    let outlines = store.outlines("com.example/weather").await.unwrap();
    let order: Vec<&str> = outlines.iter().map(|outline| outline.version.as_str()).collect();
    assert_eq!(order, ["2.0.0-rc.1", "1.10.0", "1.9.0", "odd"]);
    let current: Vec<bool> = outlines.iter().map(|outline| outline.is_current).collect();
    assert_eq!(current, [false, true, false, false]);
    assert!(outlines[0].is_prerelease() && outlines[1].published_at == at(2));
    assert_eq!(store.outlines("com.example/none").await.unwrap(), []);

    let wanted = ["1.9.0", "odd", "3.0.0"].map(|version| VersionId::parse(version).unwrap());
    let mut found = store
        .versions_named("com.example/weather", &wanted)
        .await
        .unwrap();
    found.sort_by_key(|version| version.published_at);
    for (version, whole) in found.iter().zip(["1.9.0", "odd"]) {
        let alone = store.version("com.example/weather", whole).await.unwrap();
        assert_eq!(Some(version), alone.as_ref());
    }
    assert_eq!(found.len(), 2);
    assert_eq!(
        store.versions_named("com.example/weather", &[]).await.unwrap(),
        []
    );
}

async fn a_duplicate_version_is_refused_and_leaves_no_trace(fresh: &Fresh) {
    let store = &fresh.store;
    publish(store, "com.example/weather", "1.0.0", 1).await;
    let head = store.head().await.unwrap();
    let again = try_publish(store, &document("com.example/weather", "1.0.0"), 2).await;
    assert_eq!(again, Err(PublishConflict::DuplicateVersion));
    assert_eq!(store.head().await.unwrap(), head);
    assert_eq!(store.list_audit(None, 10).await.unwrap().len(), 1);
}

async fn a_name_that_differs_by_case_is_refused(fresh: &Fresh) {
    publish(&fresh.store, "com.example/weather", "1.0.0", 1).await;
    let other = try_publish(&fresh.store, &document("Com.Example/Weather", "2.0.0"), 2).await;
    assert_eq!(
        other,
        Err(PublishConflict::NameCase {
            existing: "com.example/weather".into()
        })
    );
}

fn with_remote(name: &str, version: &str, url: &str) -> serde_json::Value {
    let mut document = document(name, version);
    document["remotes"] = json!([{ "type": "streamable-http", "url": url }]);
    document
}

async fn a_remote_of_another_servers_active_latest_is_refused(fresh: &Fresh) {
    let store = &fresh.store;
    let url = "https://mcp.example.com/mcp";
    try_publish(store, &with_remote("com.example/old", "1.0.0", url), 1)
        .await
        .unwrap();
    let taken = Err(PublishConflict::RemoteTaken {
        url: url.into(),
        server: "com.example/old".into(),
    });
    assert_eq!(
        try_publish(store, &with_remote("com.example/new", "1.0.0", url), 2).await,
        taken
    );
    // An old version, and a deprecated server, do not hold an address.
    publish(store, "com.example/old", "1.0.1", 3).await;
    try_publish(store, &with_remote("com.example/new", "1.0.0", url), 4)
        .await
        .unwrap();
    store
        .set_status(
            &name("com.example/new"),
            None,
            &change(Status::Deprecated, None),
            &by(),
            at(5),
        )
        .await
        .unwrap()
        .unwrap();
    try_publish(store, &with_remote("com.example/third", "1.0.0", url), 6)
        .await
        .unwrap();
}

async fn flags(fresh: &Fresh) -> (String, String) {
    let store = &fresh.store;
    let latest = store.latest("com.example/weather").await.unwrap().unwrap();
    let current = store.current("com.example/weather").await.unwrap().unwrap();
    (latest.version.to_string(), current.version.to_string())
}

async fn the_greater_version_is_latest_and_the_stable_one_current(fresh: &Fresh) {
    for (n, version) in (1..).zip(["1.0.0", "2.0.0-rc.1", "1.4.7", "1.9.0", "1.10.0"]) {
        publish(&fresh.store, "com.example/weather", version, n).await;
    }
    assert_eq!(flags(fresh).await, ("2.0.0-rc.1".into(), "1.10.0".into()));
}

async fn deleting_the_latest_promotes_the_next_and_a_lower_one_may_follow(fresh: &Fresh) {
    let store = &fresh.store;
    publish(store, "com.example/weather", "1.0.0", 1).await;
    publish(store, "com.example/weather", "0.0.59", 2).await;
    let weather = name("com.example/weather");
    let deleted = store
        .set_status(
            &weather,
            Some("1.0.0"),
            &change(Status::Deleted, Some("a mistake")),
            &by(),
            at(3),
        )
        .await
        .unwrap()
        .unwrap();
    assert_eq!(deleted[0].status_message.as_deref(), Some("a mistake"));
    assert_eq!(
        (deleted[0].status_changed_at, deleted[0].published_at),
        (at(3), at(1))
    );
    assert_eq!(flags(fresh).await, ("0.0.59".into(), "0.0.59".into()));
    publish(store, "com.example/weather", "0.0.60", 4).await;
    assert_eq!(flags(fresh).await, ("0.0.60".into(), "0.0.60".into()));
    store
        .set_status(&weather, None, &change(Status::Deleted, None), &by(), at(5))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(flags(fresh).await, ("1.0.0".into(), "1.0.0".into()));
    publish(store, "com.example/weather", "0.0.61", 6).await;
    assert_eq!(flags(fresh).await, ("0.0.61".into(), "0.0.61".into()));
}

async fn all_versions_change_status_at_once(fresh: &Fresh) {
    let store = &fresh.store;
    let weather = name("com.example/weather");
    for n in 0..5 {
        publish(store, "com.example/weather", &format!("1.0.{n}"), n).await;
    }
    let deprecate = change(Status::Deprecated, Some("use another"));
    let changed = store
        .set_status(&weather, None, &deprecate, &by(), at(10))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(changed.len(), 5);
    assert!(
        changed
            .iter()
            .all(|v| v.status == Status::Deprecated && v.updated_at == at(10))
    );
    let again = store
        .set_status(&weather, None, &deprecate, &by(), at(11))
        .await
        .unwrap();
    assert_eq!(again, Err(StatusConflict::NoChange));
    let unknown = store
        .set_status(&weather, Some("9.9.9"), &deprecate, &by(), at(12))
        .await
        .unwrap();
    assert_eq!(unknown, Err(StatusConflict::NotFound));
    let reworded = change(Status::Deprecated, Some("use com.example/new"));
    let one = store
        .set_status(&weather, Some("1.0.0"), &reworded, &by(), at(13))
        .await
        .unwrap()
        .unwrap();
    assert_eq!((one[0].status_changed_at, one[0].updated_at), (at(10), at(13)));
}

async fn a_restored_version_whose_remote_was_taken_is_refused(fresh: &Fresh) {
    let store = &fresh.store;
    let url = "https://mcp.example.com/mcp";
    try_publish(store, &with_remote("com.example/old", "1.0.0", url), 1)
        .await
        .unwrap();
    let old = name("com.example/old");
    store
        .set_status(&old, None, &change(Status::Deleted, None), &by(), at(2))
        .await
        .unwrap()
        .unwrap();
    try_publish(store, &with_remote("com.example/new", "1.0.0", url), 3)
        .await
        .unwrap();
    let restored = store
        .set_status(&old, None, &change(Status::Active, None), &by(), at(4))
        .await
        .unwrap();
    assert_eq!(
        restored,
        Err(StatusConflict::RemoteTaken {
            url: url.into(),
            server: "com.example/new".into()
        })
    );
    assert_eq!(
        store
            .version("com.example/old", "1.0.0")
            .await
            .unwrap()
            .unwrap()
            .status,
        Status::Deleted
    );
}

async fn pages_neither_repeat_nor_skip(fresh: &Fresh) {
    let store = &fresh.store;
    let mut n = 0;
    for server in [
        "com.example/b",
        "com.example/a",
        "Com.example/Z",
        "com.example/a-b",
        "com.example/a.b",
    ] {
        for version in ["1.9.0", "1.10.0", "2.0.0"] {
            n += 1;
            publish(store, server, version, n).await;
        }
    }
    let all = store
        .list_versions(&VersionFilter::default(), None, 100)
        .await
        .unwrap();
    let names = shown(&all);
    let mut sorted = names.clone();
    sorted.sort_by(|a, b| a.split('@').cmp(b.split('@')));
    assert_eq!(names, sorted, "by name, then by version as text");
    for size in [1, 2, 4, 15, 16] {
        let mut walked = Vec::new();
        let mut after: Option<PageKey> = None;
        loop {
            let page = store
                .list_versions(&VersionFilter::default(), after.as_ref(), size)
                .await
                .unwrap();
            let Some(last) = page.last() else { break };
            after = Some(PageKey {
                name: last.server.to_string(),
                version: Some(last.version.to_string()),
            });
            walked.extend(shown(&page));
        }
        assert_eq!(walked, names, "pages of {size}");
    }
    filters_page_too(fresh).await;
}

async fn filters_page_too(fresh: &Fresh) {
    let store = &fresh.store;
    let after_name = PageKey {
        name: "com.example/a".into(),
        version: None,
    };
    let rest = store
        .list_versions(&VersionFilter::default(), Some(&after_name), 1)
        .await
        .unwrap();
    assert_eq!(shown(&rest), ["com.example/a-b@1.10.0"]);
    let latest = VersionFilter {
        version: Some(VersionChoice::Latest),
        ..VersionFilter::default()
    };
    assert_eq!(store.list_versions(&latest, None, 100).await.unwrap().len(), 5);
    let exact = VersionFilter {
        version: Some(VersionChoice::Exact("1.10.0".into())),
        ..VersionFilter::default()
    };
    assert_eq!(store.list_versions(&exact, None, 100).await.unwrap().len(), 5);
    let servers = store
        .list_servers(&ServerFilter::default(), Some("com.example/a"), 2)
        .await
        .unwrap();
    assert_eq!(
        shown(&servers),
        ["com.example/a-b@2.0.0", "com.example/a.b@2.0.0"]
    );
}

async fn updated_since_finds_few_and_many(fresh: &Fresh) {
    let store = &fresh.store;
    for n in 0..20 {
        publish(store, &format!("com.example/s{n:02}"), "1.0.0", n).await;
    }
    let since = |n| VersionFilter {
        updated_since: Some(at(n)),
        ..VersionFilter::default()
    };
    let last = store.list_versions(&since(17), None, 100).await.unwrap();
    assert_eq!(
        shown(&last),
        ["com.example/s18@1.0.0", "com.example/s19@1.0.0"],
        "strictly greater"
    );
    assert_eq!(store.list_versions(&since(-1), None, 5).await.unwrap().len(), 5);
    assert_eq!(store.list_versions(&since(19), None, 5).await.unwrap().len(), 0);
    // More recent rows than are sorted.
    let rows: Vec<_> = (0..2100)
        .map(|n| crate::support::import_row(&format!("com.many/s{n:04}"), "1.0.0", 100 + n))
        .collect();
    store.import_batch(&rows, at(5000), None).await.unwrap();
    let many = store.list_versions(&since(50), None, 100).await.unwrap();
    assert_eq!(many.len(), 100);
    assert_eq!(many[0].server.as_str(), "com.many/s0000");
}

async fn words_are_found_in_name_and_description(fresh: &Fresh) {
    let store = &fresh.store;
    let mut gauge = document("com.example/gauge", "1.0.0");
    gauge["description"] = json!("Rainfall in MILLIMETRES, 100% of the time");
    try_publish(store, &gauge, 1).await.unwrap();
    publish(store, "com.example/weather", "1.0.0", 2).await;
    let find = async |text: &str| {
        let filter = VersionFilter {
            search: Some(text.into()),
            ..VersionFilter::default()
        };
        let found = shown(&store.list_versions(&filter, None, 10).await.unwrap());
        let servers = ServerFilter {
            search: Some(text.into()),
            ..ServerFilter::default()
        };
        assert_eq!(
            found,
            shown(&store.list_servers(&servers, None, 10).await.unwrap()),
            "{text}"
        );
        found
    };
    assert_eq!(find("GAUGE").await, ["com.example/gauge@1.0.0"]);
    assert_eq!(find("millimetres rainfall").await, ["com.example/gauge@1.0.0"]);
    assert_eq!(find("100%").await, ["com.example/gauge@1.0.0"]);
    assert_eq!(find("com.example/").await.len(), 2);
    assert_eq!(find("rainfall weather").await.len(), 0);
    assert_eq!(find("_").await.len(), 0, "no wildcards");
}

async fn an_edit_replaces_document_and_remotes(fresh: &Fresh) {
    let store = &fresh.store;
    let (first, second) = ("https://one.example.com/", "https://two.example.com/");
    try_publish(store, &with_remote("com.example/a", "1.0.0", first), 1)
        .await
        .unwrap();
    let edited = new_version(&with_remote("com.example/a", "1.0.0", second));
    let version = store.edit(&edited, &by(), at(2)).await.unwrap().unwrap();
    assert_eq!((version.published_at, version.updated_at), (at(1), at(2)));
    assert!(version.document.contains(second));
    try_publish(store, &with_remote("com.example/b", "1.0.0", first), 3)
        .await
        .unwrap();
    assert!(
        try_publish(store, &with_remote("com.example/c", "1.0.0", second), 4)
            .await
            .is_err()
    );
    let unknown = new_version(&document("com.example/a", "3.0.0"));
    assert!(store.edit(&unknown, &by(), at(5)).await.unwrap().is_err());
}

async fn blocked_namespaces_are_shown_nowhere_and_come_back(fresh: &Fresh) {
    let store = &fresh.store;
    publish(store, "com.evil/a", "1.0.0", 1).await;
    publish(store, "com.good/a", "1.0.0", 2).await;
    assert_eq!(
        store
            .apply_blocked(|namespace| namespace == "com.evil", at(8))
            .await
            .unwrap(),
        1
    );
    assert_eq!(
        shown(
            &store
                .list_versions(&VersionFilter::default(), None, 9)
                .await
                .unwrap()
        ),
        ["com.good/a@1.0.0"]
    );
    assert_eq!(
        store
            .list_servers(&ServerFilter::default(), None, 9)
            .await
            .unwrap()
            .len(),
        1
    );
    assert_eq!(store.list_recent(9).await.unwrap().len(), 1);
    assert_eq!(store.list_names(None, 9).await.unwrap().len(), 1);
    assert_eq!(store.version("com.evil/a", "1.0.0").await.unwrap(), None);
    assert_eq!(store.versions_of("com.evil/a").await.unwrap(), []);
    assert_eq!(store.raw_document("com.evil/a", "1.0.0").await.unwrap(), None);
    let blanked = store.events_after(0, 10).await.unwrap();
    assert_eq!(
        blanked.iter().map(|event| event.seq).collect::<Vec<_>>(),
        [1, 2, 3]
    );
    assert!(
        !serde_json::to_string(&blanked.iter().map(|event| &event.body).collect::<Vec<_>>())
            .unwrap()
            .contains("com.evil")
    );
    assert_eq!(store.apply_blocked(|_| false, at(9)).await.unwrap(), 1);
    let back = store.events_after(0, 10).await.unwrap();
    let kinds: Vec<&str> = back
        .iter()
        .map(|event| event.body["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "version.published",
            "version.published",
            "server.hidden",
            "server.shown"
        ]
    );
    assert!(store.version("com.evil/a", "1.0.0").await.unwrap().is_some());
}

async fn a_takedown_hides_the_server_and_blanks_its_events(fresh: &Fresh) {
    let store = &fresh.store;
    publish(store, "com.evil/a", "1.0.0", 1).await;
    let before = store.events_after(0, 10).await.unwrap();
    assert!(
        store
            .take_down(&name("com.evil/a"), "malware", &by(), at(2))
            .await
            .unwrap()
    );
    assert!(
        !store
            .take_down(&name("com.evil/a"), "malware", &by(), at(3))
            .await
            .unwrap()
    );
    let after = store.events_after(0, 10).await.unwrap();
    assert_eq!(after.len(), 2);
    assert_eq!(
        (after[0].seq, after[0].leaf_hash),
        (before[0].seq, before[0].leaf_hash)
    );
    assert_eq!(
        after[0].body,
        json!({ "schema": "toolmark.event/1", "seq": 1, "blanked": true })
    );
    assert_eq!(after[1].body["kind"], "server.taken_down");
    assert_eq!(store.version("com.evil/a", "1.0.0").await.unwrap(), None);
    let again = try_publish(store, &document("com.evil/a", "1.0.1"), 4).await;
    assert_eq!(again, Err(PublishConflict::TakenDown));
    // A change of the blocked namespaces does not bring it back.
    store.apply_blocked(|_| false, at(9)).await.unwrap();
    assert_eq!(store.versions_of("com.evil/a").await.unwrap(), []);
}

async fn the_audit_log_pages_newest_first(fresh: &Fresh) {
    let store = &fresh.store;
    for n in 0..5 {
        publish(store, "com.example/a", &format!("1.0.{n}"), n).await;
    }
    store
        .audit_refusal(&by(), at(9), "publish", "com.other/a\0", "not allowed")
        .await
        .unwrap();
    let first = store.list_audit(None, 4).await.unwrap();
    assert_eq!(first[0].subject, "com.other/a");
    let last = first.last().unwrap();
    let second = store.list_audit(Some((last.at, last.id)), 4).await.unwrap();
    assert_eq!(first.len() + second.len(), 6);
    assert_eq!(second.last().unwrap().subject, "com.example/a@1.0.0");
}

async fn counts_follow_the_catalogue(fresh: &Fresh) {
    let store = &fresh.store;
    let mut packaged = with_remote("com.example/a", "1.0.0", "https://a.example.com/");
    packaged["packages"] = json!([
        { "registryType": "npm", "identifier": "a", "transport": { "type": "stdio" } },
        { "registryType": "npm", "identifier": "b", "transport": { "type": "stdio" } },
    ]);
    try_publish(store, &packaged, 1).await.unwrap();
    publish(store, "com.example/b", "1.0.0", 2).await;
    publish(store, "com.example/b", "1.0.1", 3).await;
    let stats = store.stats().await.unwrap();
    assert_eq!((stats.servers, stats.versions, stats.events), (2, 3, 3));
    assert_eq!(stats.by_registry_type, [("npm".to_owned(), 1)]);
    assert_eq!(stats.by_remote_transport, [("streamable-http".to_owned(), 1)]);
}

async fn what_must_always_hold_is_checked(fresh: &Fresh) {
    let store = &fresh.store;
    assert_eq!(store.inconsistencies().await.unwrap(), [], "an empty store");
    publish(store, "com.example/a", "1.0.0", 1).await;
    publish(store, "com.example/a", "1.0.1", 2).await;
    assert_eq!(store.inconsistencies().await.unwrap(), []);
    fresh.execute("update versions set is_latest = false").await;
    fresh.execute("delete from events where seq = 1").await;
    let found = store.inconsistencies().await.unwrap();
    let names: Vec<&str> = found.iter().map(|(what, _)| *what).collect();
    assert_eq!(
        names,
        [
            "servers without exactly one latest version",
            "versions no event tells of",
            "numbers missing from the feed"
        ]
    );
}

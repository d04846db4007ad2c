//! Taking over another registry's rows.

use serde_json::json;
use toolmark_domain::document::Document;
use toolmark_domain::record::Origin;
use toolmark_domain::status::Status;
use toolmark_store::{ImportCursor, ImportRow, RowOutcome};

use crate::support::{Fresh, at, contract, import_row, publish, shown};

contract! {
    an_import_keeps_what_upstream_says
    importing_twice_changes_nothing
    an_older_state_does_not_replace_a_newer_one
    a_version_published_here_is_kept
    our_own_listing_gives_way
    the_place_reached_is_kept_with_the_rows
    two_rows_of_one_version_in_a_batch_give_the_newer
    importers_of_the_same_rows_at_once_agree
    a_greater_version_published_here_stays_latest
    a_flag_that_cannot_be_kept_is_no_change
    a_deleted_latest_gives_way_though_the_next_row_is_not_sent
}

async fn an_import_keeps_what_upstream_says(fresh: &Fresh) {
    let store = &fresh.store;
    let mut rows = vec![
        import_row("com.example/a", "1.0.0", 1),
        import_row("com.example/a", "2.0.0", 2),
    ];
    // Upstream says otherwise than our computation would.
    rows[0].is_latest = Some(true);
    rows[1].is_latest = Some(false);
    rows[1].status = Status::Deprecated;
    rows[1].status_message = Some("too new".into());
    rows[1].status_changed_at = at(7);
    rows[1].updated_at = at(8);
    let outcomes = store.import_batch(&rows, at(100), None).await.unwrap();
    assert_eq!(outcomes, [RowOutcome::Added; 2]);
    let second = store.version("com.example/a", "2.0.0").await.unwrap().unwrap();
    assert_eq!(
        (second.status, second.status_changed_at, second.updated_at),
        (Status::Deprecated, at(7), at(8))
    );
    assert_eq!(second.status_message.as_deref(), Some("too new"));
    assert_eq!(
        store
            .latest("com.example/a")
            .await
            .unwrap()
            .unwrap()
            .version
            .as_str(),
        "1.0.0"
    );
    assert_eq!(store.head().await.unwrap(), 2);
}

async fn importing_twice_changes_nothing(fresh: &Fresh) {
    let store = &fresh.store;
    let rows = [
        import_row("com.example/a", "1.0.0", 1),
        import_row("com.example/b", "1.0.0", 2),
    ];
    store.import_batch(&rows, at(100), None).await.unwrap();
    let before = (
        store.head().await.unwrap(),
        store.versions_of("com.example/a").await.unwrap(),
    );
    let again = store.import_batch(&rows, at(200), None).await.unwrap();
    assert_eq!(again, [RowOutcome::Unchanged; 2]);
    assert_eq!(
        before,
        (
            store.head().await.unwrap(),
            store.versions_of("com.example/a").await.unwrap()
        )
    );
}

fn reworded(row: &ImportRow, text: &str) -> ImportRow {
    let mut value: serde_json::Value = serde_json::from_str(&row.document).unwrap();
    value["description"] = json!(text);
    ImportRow {
        document: value.to_string(),
        raw: value.to_string().into_bytes(),
        facts: Document::read(&value),
        ..row.clone()
    }
}

async fn an_older_state_does_not_replace_a_newer_one(fresh: &Fresh) {
    let store = &fresh.store;
    let first = import_row("com.example/a", "1.0.0", 10);
    store
        .import_batch(std::slice::from_ref(&first), at(100), None)
        .await
        .unwrap();
    let mut older = reworded(&first, "old");
    older.updated_at = at(9);
    assert_eq!(
        store.import_batch(&[older], at(101), None).await.unwrap(),
        [RowOutcome::Older]
    );
    let mut newer = reworded(&first, "new");
    newer.updated_at = at(11);
    assert_eq!(
        store.import_batch(&[newer], at(102), None).await.unwrap(),
        [RowOutcome::Updated]
    );
    let kept = store.version("com.example/a", "1.0.0").await.unwrap().unwrap();
    assert!(kept.document.contains("new"));
    let mut deleted = reworded(&first, "new");
    deleted.updated_at = at(12);
    deleted.status = Status::Deleted;
    assert_eq!(
        store.import_batch(&[deleted], at(103), None).await.unwrap(),
        [RowOutcome::Updated]
    );
    assert_eq!(
        store
            .version("com.example/a", "1.0.0")
            .await
            .unwrap()
            .unwrap()
            .status,
        Status::Deleted
    );
}

async fn a_version_published_here_is_kept(fresh: &Fresh) {
    let store = &fresh.store;
    let ours = publish(store, "com.example/a", "1.0.0", 1).await;
    let theirs = reworded(&import_row("com.example/a", "1.0.0", 50), "theirs");
    assert_eq!(
        store.import_batch(&[theirs], at(100), None).await.unwrap(),
        [RowOutcome::PublishedHere]
    );
    assert_eq!(store.version("com.example/a", "1.0.0").await.unwrap(), Some(ours));
}

async fn our_own_listing_gives_way(fresh: &Fresh) {
    let store = &fresh.store;
    let theirs = import_row("com.example/a", "1.0.0", 1);
    let mut listed = reworded(&theirs, "in our words");
    listed.origin = Origin::Listed;
    listed.updated_at = at(90);
    store.import_batch(&[listed], at(91), None).await.unwrap();
    assert_eq!(
        store.import_batch(&[theirs], at(100), None).await.unwrap(),
        [RowOutcome::Updated]
    );
    assert_eq!(
        store
            .version("com.example/a", "1.0.0")
            .await
            .unwrap()
            .unwrap()
            .origin,
        Origin::Imported
    );
}

async fn the_place_reached_is_kept_with_the_rows(fresh: &Fresh) {
    let store = &fresh.store;
    let place = |cursor: Option<&str>| ImportCursor {
        source: "https://registry.example.com".into(),
        cursor: cursor.map(str::to_owned),
        since: Some(at(5)),
        started_at: at(6),
    };
    assert_eq!(
        store.import_cursor("https://registry.example.com").await.unwrap(),
        None
    );
    store
        .import_batch(
            &[import_row("com.example/a", "1.0.0", 1)],
            at(7),
            Some(&place(Some("x"))),
        )
        .await
        .unwrap();
    assert_eq!(
        store.import_cursor("https://registry.example.com").await.unwrap(),
        Some(place(Some("x")))
    );
    store.import_batch(&[], at(8), Some(&place(None))).await.unwrap();
    assert_eq!(
        store.import_cursor("https://registry.example.com").await.unwrap(),
        Some(place(None))
    );
}

async fn two_rows_of_one_version_in_a_batch_give_the_newer(fresh: &Fresh) {
    let store = &fresh.store;
    let newer = reworded(&import_row("com.example/a", "1.0.0", 9), "newer");
    let older = import_row("com.example/a", "1.0.0", 3);
    let outcomes = store.import_batch(&[newer, older], at(100), None).await.unwrap();
    assert_eq!(outcomes, [RowOutcome::Added, RowOutcome::Older]);
    assert!(
        store
            .version("com.example/a", "1.0.0")
            .await
            .unwrap()
            .unwrap()
            .document
            .contains("newer")
    );
}

async fn importers_of_the_same_rows_at_once_agree(fresh: &Fresh) {
    let rows: Vec<ImportRow> = (0..60)
        .map(|n| import_row(&format!("com.example/s{:02}", n % 20), &format!("1.0.{n}"), n))
        .collect();
    let mut importers = tokio::task::JoinSet::new();
    for shift in 0..6 {
        let store = fresh.store.clone();
        let mut rows = rows.clone();
        rows.rotate_left(shift * 10);
        importers.spawn(async move {
            for batch in rows.chunks(15) {
                store.import_batch(batch, at(100), None).await.unwrap();
            }
        });
    }
    while let Some(done) = importers.join_next().await {
        done.unwrap();
    }
    assert_eq!(fresh.store.head().await.unwrap(), 60, "each row was added once");
    let versions = fresh.store.versions_of("com.example/s00").await.unwrap();
    assert_eq!(
        shown(&versions),
        [
            "com.example/s00@1.0.40",
            "com.example/s00@1.0.20",
            "com.example/s00@1.0.0"
        ]
    );
    assert!(versions[0].is_latest && versions[0].is_current);
}

async fn a_greater_version_published_here_stays_latest(fresh: &Fresh) {
    let store = &fresh.store;
    let mut theirs = import_row("com.example/a", "1.0.0", 1);
    theirs.is_latest = Some(true);
    store
        .import_batch(std::slice::from_ref(&theirs), at(2), None)
        .await
        .unwrap();
    publish(store, "com.example/a", "2.0.0", 3).await;
    let again = store
        .import_batch(std::slice::from_ref(&theirs), at(4), None)
        .await
        .unwrap();
    assert_eq!(again, [RowOutcome::Unchanged]);
    let mut touched = reworded(&theirs, "touched");
    touched.updated_at = at(5);
    assert_eq!(
        store.import_batch(&[touched], at(6), None).await.unwrap(),
        [RowOutcome::Updated]
    );
    assert_eq!(
        store
            .latest("com.example/a")
            .await
            .unwrap()
            .unwrap()
            .version
            .as_str(),
        "2.0.0"
    );
}

async fn a_flag_that_cannot_be_kept_is_no_change(fresh: &Fresh) {
    let store = &fresh.store;
    let mut only = import_row("com.example/a", "1.0.0", 1);
    only.is_latest = Some(false);
    let mut both = [
        import_row("com.example/b", "1.0.0", 1),
        import_row("com.example/b", "2.0.0", 2),
    ];
    for row in &mut both {
        row.is_latest = Some(true);
    }
    let rows = [vec![only], both.to_vec()].concat();
    store.import_batch(&rows, at(3), None).await.unwrap();
    let head = store.head().await.unwrap();
    for n in 4..6 {
        assert_eq!(
            store.import_batch(&rows, at(n), None).await.unwrap(),
            [RowOutcome::Unchanged; 3]
        );
    }
    assert_eq!(store.head().await.unwrap(), head);
    assert!(
        store
            .version("com.example/a", "1.0.0")
            .await
            .unwrap()
            .unwrap()
            .is_latest,
        "some version is"
    );
}

async fn a_deleted_latest_gives_way_though_the_next_row_is_not_sent(fresh: &Fresh) {
    let store = &fresh.store;
    let mut rows = vec![
        import_row("com.example/a", "0.0.59", 1),
        import_row("com.example/a", "1.0.0", 2),
    ];
    (rows[0].is_latest, rows[1].is_latest) = (Some(false), Some(true));
    store.import_batch(&rows, at(3), None).await.unwrap();
    let mut deleted = rows.remove(1);
    deleted.status = Status::Deleted;
    deleted.is_latest = Some(false);
    deleted.updated_at = at(4);
    store.import_batch(&[deleted], at(5), None).await.unwrap();
    assert_eq!(
        store
            .latest("com.example/a")
            .await
            .unwrap()
            .unwrap()
            .version
            .as_str(),
        "0.0.59"
    );
}

use serde_json::{Value, json};
use toolmark_domain::record::OFFICIAL_META;
use toolmark_registry::{Clock as _, SystemClock};
use toolmark_tests::data::{OFFICIAL, corpus};
use toolmark_tests::fake_official::{FakeOfficial, Trouble};

use super::{counts, held, import, import_official, upstream_facts};

fn row(name: &str, version: &str, at: &str, is_latest: bool) -> Value {
    json!({
        "server": {"name": name, "version": version, "description": "a server"},
        "_meta": {OFFICIAL_META: {
            "status": "active", "statusChangedAt": at, "publishedAt": at, "updatedAt": at, "isLatest": is_latest,
        }},
    })
}

fn small(count: usize) -> FakeOfficial {
    FakeOfficial::start((0..count).map(|n| {
        row(
            &format!("com.example/s{n:04}"),
            "1.0.0",
            "2025-10-01T00:00:00Z",
            true,
        )
    }))
}

#[test]
fn a_whole_registry_is_taken_over_as_it_is_and_twice_is_once() {
    let Some(file) = corpus(
        "a_whole_registry_is_taken_over_as_it_is_and_twice_is_once",
        OFFICIAL,
    ) else {
        return;
    };
    let fake = FakeOfficial::of_corpus(&file);
    let folder = tempfile::tempdir().unwrap();
    let first = import_official(folder.path(), &fake);
    assert_eq!(first.code, Some(0), "{first:?}");
    let report = first.json();
    assert_eq!(report["skipped"], json!([]));
    let upstream = upstream_facts(&fake);
    assert_eq!(counts(&first), [upstream.len() as u64, 0, 0, 0]);
    let now_held = held(folder.path(), &fake);
    assert_eq!(now_held.facts(), upstream);
    now_held.assert_whole();
    fake.rows(|rows| {
        for version in &now_held.versions {
            let row = &rows[&(version.server.to_string(), version.version.to_string())];
            // The three of the old shape hold empty strings that today's form leaves out.
            if row["corpus"].get("oldShape").is_none() {
                let document: Value = serde_json::from_str(&version.document).unwrap();
                assert_eq!(document, row["server"]);
                assert_eq!(
                    version.digest,
                    toolmark_domain::digest::Digest::of(row["server"].to_string().as_bytes())
                );
            }
        }
    });
    // Read again in whole, and then only what changed: nothing did.
    let again = import(
        folder.path(),
        &["official", "--base-url", &fake.base_url(), "--full"],
    );
    assert_eq!(counts(&again), [0, 0, upstream.len() as u64, 0]);
    let since = import_official(folder.path(), &fake);
    assert_eq!(counts(&since), [0, 0, 0, 0]);
    assert!(since.json()["since"].is_string());
    assert_eq!(held(folder.path(), &fake).events.len(), now_held.events.len());
}

#[test]
fn later_runs_ask_for_changes_and_follow_them() {
    let fake = small(250);
    fake.put(row("com.example/two", "1.0.0", "2025-10-01T00:00:00Z", true));
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(counts(&import_official(folder.path(), &fake)), [251, 0, 0, 0]);

    let now = SystemClock.now().to_string();
    fake.put(row("com.example/two", "2.0.0", &now, true));
    fake.rows(|rows| {
        // Upstream takes the flag from the old version without touching its time.
        let old = rows.get_mut(&("com.example/two".into(), "1.0.0".into())).unwrap();
        old["_meta"][OFFICIAL_META]["isLatest"] = json!(false);
        let gone = rows
            .get_mut(&("com.example/s0007".into(), "1.0.0".into()))
            .unwrap();
        let meta = &mut gone["_meta"][OFFICIAL_META];
        meta["status"] = json!("deleted");
        meta["statusMessage"] = json!("moved away");
        meta["statusChangedAt"] = json!(now);
        meta["updatedAt"] = json!(now);
    });
    let before = fake.queries().len();
    let ended = import_official(folder.path(), &fake);
    assert_eq!(counts(&ended), [1, 1, 0, 0], "{ended:?}");
    let queries = fake.queries();
    assert_eq!(queries.len(), before + 1);
    assert!(
        queries[before].contains_key("updated_since") && !queries[before].contains_key("include_deleted")
    );
    let now_held = held(folder.path(), &fake);
    assert_eq!(now_held.facts(), upstream_facts(&fake));
    let gone = now_held
        .versions
        .iter()
        .find(|version| version.server.as_str() == "com.example/s0007")
        .unwrap();
    assert_eq!(gone.status_message.as_deref(), Some("moved away"));
    // The overlap brings the same rows again: they change nothing.
    assert_eq!(counts(&import_official(folder.path(), &fake)), [0, 0, 2, 0]);
}

#[test]
fn passing_troubles_cost_nothing() {
    let fake = small(450);
    for (request, trouble) in [
        (0, Trouble::Busy(1)),
        (2, Trouble::Drop),
        (4, Trouble::Junk),
        (6, Trouble::Down),
        (7, Trouble::Drop),
    ] {
        fake.trouble(request, trouble);
    }
    let folder = tempfile::tempdir().unwrap();
    let begun = std::time::Instant::now();
    let ended = import_official(folder.path(), &fake);
    assert_eq!(
        (ended.code, counts(&ended)),
        (Some(0), [450, 0, 0, 0]),
        "{ended:?}"
    );
    assert!(
        begun.elapsed().as_secs_f64() >= 1.0,
        "the wait asked for was not kept"
    );
    // Five pages, and each trouble one request more.
    assert_eq!(fake.queries().len(), 10);
    let now_held = held(folder.path(), &fake);
    assert_eq!(now_held.facts(), upstream_facts(&fake));
    now_held.assert_whole();
}

#[test]
fn a_page_that_stays_junk_ends_the_run_and_the_next_goes_on_there() {
    let fake = small(450);
    for request in 2..5 {
        fake.trouble(request, Trouble::Junk);
    }
    let folder = tempfile::tempdir().unwrap();
    let ended = import_official(folder.path(), &fake);
    assert_eq!(
        (ended.code, counts(&ended)),
        (Some(2), [200, 0, 0, 0]),
        "{ended:?}"
    );
    assert_eq!(ended.json()["stopped"]["at"], "page 3");
    assert_eq!(ended.json()["complete"], false);
    assert!(
        ended.stderr.contains("hint: what was read before it is kept"),
        "{}",
        ended.stderr
    );
    held(folder.path(), &fake).assert_whole();
    let before = fake.queries().len();
    let ended = import_official(folder.path(), &fake);
    assert_eq!((ended.code, counts(&ended)), (Some(0), [250, 0, 0, 0]));
    assert_eq!(ended.json()["resumed"], true);
    assert_eq!(fake.queries()[before]["cursor"], "com.example/s0199:1.0.0");
    assert_eq!(held(folder.path(), &fake).facts(), upstream_facts(&fake));
}

#[test]
fn a_kept_place_that_is_refused_begins_again() {
    let fake = small(250);
    for request in 1..4 {
        fake.trouble(request, Trouble::Junk);
    }
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(import_official(folder.path(), &fake).code, Some(2));
    fake.trouble(4, Trouble::Refuse);
    let ended = import_official(folder.path(), &fake);
    assert_eq!(
        (ended.code, counts(&ended)),
        (Some(0), [150, 0, 100, 0]),
        "{ended:?}"
    );
    assert_eq!(ended.json()["resumed"], false);
}

#[test]
fn a_circle_of_cursors_is_seen() {
    let fake = small(450);
    fake.trouble(2, Trouble::Loop);
    let folder = tempfile::tempdir().unwrap();
    let ended = import_official(folder.path(), &fake);
    assert_eq!(
        (ended.code, counts(&ended)),
        (Some(2), [300, 0, 0, 0]),
        "{ended:?}"
    );
    assert_eq!(
        ended.json()["stopped"]["cause"],
        "the cursor of the next page was given before"
    );
    let ended = import_official(folder.path(), &fake);
    assert_eq!((ended.code, counts(&ended)), (Some(0), [150, 0, 100, 0]));
}

#[test]
fn a_bad_row_costs_only_itself() {
    let fake = small(3);
    let at = "2025-10-01T00:00:00Z";
    fake.put(row("no-slash", "1.0.0", at, true));
    let mut odd = row("com.example/odd", "1.0.0", at, true);
    odd["_meta"][OFFICIAL_META]["status"] = json!("yanked");
    fake.put(odd);
    fake.rows(|rows| {
        rows.insert(
            ("com.example/zz".into(), String::new()),
            json!({"server": 7, "_meta": {}}),
        )
    });
    let folder = tempfile::tempdir().unwrap();
    let ended = import_official(folder.path(), &fake);
    assert_eq!((ended.code, counts(&ended)), (Some(0), [3, 0, 0, 3]), "{ended:?}");
    let report = ended.json();
    let reasons: Vec<&str> = report["skipped"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["reason"].as_str().unwrap())
        .collect();
    assert_eq!(reasons, ["not_a_server", "bad_name", "bad_meta"]);
    assert_eq!(report["skipped"][2]["examples"][0]["server"], "com.example/odd");
}

#[test]
fn nobody_there_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let ended = import(folder.path(), &["official", "--base-url", "http://127.0.0.1:1"]);
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.stderr.contains("cannot connect to `127.0.0.1`"),
        "{}",
        ended.stderr
    );
    let ended = import(folder.path(), &["official", "--base-url", "ftp://127.0.0.1"]);
    assert_eq!(ended.code, Some(2));
    let ended = import(folder.path(), &["some.json", "--base-url", "http://127.0.0.1:1"]);
    assert!(
        ended.stderr.contains("`--base-url` goes with `import official`"),
        "{}",
        ended.stderr
    );
}

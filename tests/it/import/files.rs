use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use toolmark_domain::limits::IMPORT_LINE_BYTES;
use toolmark_registry::{Database, StoreSettings};
use toolmark_store::Store;
use toolmark_tests::data::{OFFICIAL, corpus};
use toolmark_tests::fake_official::FakeOfficial;

use super::{counts, held, import, upstream_facts};

fn document(name: &str) -> Value {
    json!({"name": format!("com.example/{name}"), "version": "1.0.0", "description": "a server"})
}

fn written(folder: &Path, text: &str) -> String {
    let file = folder.join("input");
    fs::write(&file, text).unwrap();
    file.display().to_string()
}

#[test]
fn a_file_of_rows_is_the_same_registry() {
    let Some(file) = corpus("a_file_of_rows_is_the_same_registry", OFFICIAL) else {
        return;
    };
    let fake = FakeOfficial::of_corpus(&file);
    let text = fs::read_to_string(&file).unwrap();
    let rows: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let forms = [
        text.clone(),
        serde_json::to_string_pretty(&rows).unwrap(),
        json!({"metadata": {"count": rows.len()}, "servers": rows}).to_string(),
    ];
    for form in forms {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path(), &form);
        let ended = import(folder.path(), &[&path]);
        assert_eq!(
            (ended.code, counts(&ended)),
            (Some(0), [1804, 0, 0, 0]),
            "{ended:?}"
        );
        let now_held = held(folder.path(), &fake);
        assert_eq!(now_held.facts(), upstream_facts(&fake));
        now_held.assert_whole();
        assert_eq!(counts(&import(folder.path(), &[&path])), [0, 0, 1804, 0]);
        assert_eq!(held(folder.path(), &fake).events.len(), now_held.events.len());
    }
}

#[test]
fn a_bare_document_keeps_its_first_time_and_follows_its_content() {
    let folder = tempfile::tempdir().unwrap();
    let fake = FakeOfficial::start([]);
    let pretty = serde_json::to_string_pretty(&document("a")).unwrap();
    let path = written(folder.path(), &pretty);
    assert_eq!(counts(&import(folder.path(), &[&path])), [1, 0, 0, 0]);
    let first = held(folder.path(), &fake).versions.remove(0);
    assert!(first.is_latest && first.is_current);
    assert_eq!(first.published_at, first.updated_at);
    assert_eq!(counts(&import(folder.path(), &[&path])), [0, 0, 1, 0]);
    assert_eq!(held(folder.path(), &fake).versions[0], first);

    written(folder.path(), &pretty.replace("a server", "another server"));
    assert_eq!(counts(&import(folder.path(), &[&path])), [0, 1, 0, 0]);
    let second = held(folder.path(), &fake).versions.remove(0);
    assert_eq!(second.published_at, first.published_at);
    assert!(second.updated_at > first.updated_at);
    assert_ne!(second.digest, first.digest);
}

#[test]
fn only_current_versions_are_queued_and_only_when_asked() {
    let versions = ["1.0.0", "1.1.0", "2.0.0-rc.1"].map(|version| {
        let mut document = document("a");
        document["version"] = json!(version);
        document.to_string()
    });
    let text = format!("{}\n{}\n", versions.join("\n"), document("b"));
    for (more, queued) in [(&["--crawl"][..], 2), (&[], 0)] {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path(), &text);
        let ended = import(folder.path(), &[&[path.as_str()], more].concat());
        assert_eq!(counts(&ended), [4, 0, 0, 0]);
        assert_eq!(waiting(folder.path()), queued, "{more:?}");
    }
}

/// How many jobs wait.
#[tokio::main(flavor = "current_thread")]
async fn waiting(data_dir: &Path) -> i64 {
    let settings = StoreSettings {
        database: Database::Sqlite(data_dir.join("registry.db")),
        connections: 1,
    };
    let store = Store::open(&settings).await.unwrap();
    let [waiting, ..] = store.job_counts().await.unwrap();
    store.close().await;
    waiting
}

#[test]
fn a_time_yet_to_come_is_cut_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let fake = FakeOfficial::start([]);
    let row = json!({"server": document("a"), "_meta": {"io.modelcontextprotocol.registry/official": {
        "status": "active", "publishedAt": "2999-01-01T00:00:00Z", "updatedAt": "2999-01-01T00:00:00Z", "isLatest": true}}});
    let path = written(folder.path(), &row.to_string());
    let ended = import(folder.path(), &[&path]);
    assert_eq!(counts(&ended), [1, 0, 0, 0]);
    assert_eq!(ended.json()["future"], 1);
    let first = held(folder.path(), &fake).versions.remove(0);
    let soon: toolmark_domain::timestamp::Timestamp = "2900-01-01T00:00:00Z".parse().unwrap();
    assert!(first.published_at < soon && first.updated_at < soon && first.status_changed_at < soon);
    // The same row again is the same row.
    assert_eq!(counts(&import(folder.path(), &[&path])), [0, 0, 1, 0]);
    assert_eq!(held(folder.path(), &fake).versions[0], first);
}

#[test]
fn junk_between_good_lines_is_named_and_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = String::new();
    let long = json!({"name": "com.example/long", "version": "1.0.0", "x": "y".repeat(IMPORT_LINE_BYTES)});
    let deep = format!(
        r#"{{"name":"com.example/deep","version":"1","x":{}{}}}"#,
        "[".repeat(70),
        "]".repeat(70)
    );
    let twice = r#"{"name":"com.example/x","name":"com.example/y","version":"1"}"#;
    let lines = [
        document("a").to_string(),
        "<html>".into(),
        r#"{"server": {"#.into(),
        String::new(),
        long.to_string(),
        deep,
        twice.into(),
        "\u{0}\u{1}".into(),
        document("b").to_string(),
    ];
    for line in &lines {
        writeln!(text, "{line}").unwrap();
    }
    let ended = import(folder.path(), &[&written(folder.path(), &text)]);
    assert_eq!((ended.code, counts(&ended)), (Some(0), [2, 0, 0, 6]), "{ended:?}");
    let report = ended.json();
    let skipped: Vec<(&str, u64, &str)> = report["skipped"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let at = row["examples"][0]["at"].as_str().unwrap();
            (
                row["reason"].as_str().unwrap(),
                row["count"].as_u64().unwrap(),
                at,
            )
        })
        .collect();
    assert_eq!(
        skipped,
        [
            ("not_json", 3, "line 2"),
            ("too_large", 1, "line 5"),
            ("too_deep", 1, "line 6"),
            ("duplicate_keys", 1, "line 7")
        ]
    );
}

#[test]
fn what_is_no_such_file_is_bad_input() {
    let folder = tempfile::tempdir().unwrap();
    let cut = format!("[{},{{\"name\":", document("a"));
    for (text, kept, words) in [
        ("# A page\n\nof prose\n", 0, "nothing in it is JSON"),
        ("", 0, "it is empty"),
        (cut.as_str(), 1, "the file ends in the middle of a document"),
    ] {
        let ended = import(folder.path(), &[&written(folder.path(), text)]);
        assert_eq!(
            (ended.code, counts(&ended)[0]),
            (Some(2), kept),
            "{text}: {ended:?}"
        );
        assert!(ended.stderr.contains(words), "{text}: {}", ended.stderr);
    }
    for path in ["absent.json", "."] {
        let ended = import(folder.path(), &[path]);
        assert_eq!(ended.code, Some(2));
        assert!(
            ended.stderr.starts_with(&format!("error: cannot open `{path}`")),
            "{}",
            ended.stderr
        );
    }
}

#[test]
fn what_is_newer_here_stays() {
    let folder = tempfile::tempdir().unwrap();
    let row = |at: &str, text: &str| {
        json!({
            "server": {"name": "com.example/a", "version": "1.0.0", "description": text},
            "_meta": {"io.modelcontextprotocol.registry/official":
                {"status": "active", "publishedAt": "2025-10-01T00:00:00Z", "updatedAt": at, "isLatest": true}},
        })
        .to_string()
    };
    let path = written(folder.path(), &row("2025-10-02T00:00:00Z", "newer"));
    assert_eq!(counts(&import(folder.path(), &[&path])), [1, 0, 0, 0]);
    written(folder.path(), &row("2025-10-01T00:00:00Z", "older"));
    let ended = import(folder.path(), &[&path]);
    assert_eq!(counts(&ended), [0, 0, 0, 1]);
    assert_eq!(ended.json()["skipped"][0]["reason"], "older");
    let fake = FakeOfficial::start([]);
    assert!(held(folder.path(), &fake).versions[0].document.contains("newer"));
}

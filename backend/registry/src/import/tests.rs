//! Rows of every shape, good and bad.

use serde_json::{Value, json};
use toolmark_domain::limits::SERVER_JSON_BYTES;
use toolmark_domain::record::OFFICIAL_META;
use toolmark_domain::status::Status;

use super::report::Reason;
use super::row::{Meta, Row, read};

fn one(text: &str) -> Result<Row, (Reason, String)> {
    let mut rows = read(text.as_bytes());
    assert_eq!(rows.len(), 1, "{text}");
    rows.remove(0).map_err(|refusal| (refusal.reason, refusal.detail))
}

fn row(server: &Value, official: &Value) -> String {
    json!({"server": server, "_meta": {OFFICIAL_META: official}, "corpus": 1}).to_string()
}

#[test]
fn a_row_keeps_what_its_registry_says() {
    let text = row(
        &json!({"name": "com.example/a", "version": "1.0.0"}),
        &json!({"status": "deprecated", "statusChangedAt": "2025-09-12T00:00:00Z", "statusMessage": "old",
            "publishedAt": "2025-09-10T13:57:43.256739Z", "updatedAt": "2025-09-11T00:00:00Z", "isLatest": true,
            "serverId": "ignored"}),
    );
    let read = one(&text).unwrap();
    assert_eq!(
        read.meta,
        Meta {
            status: Some(Status::Deprecated),
            status_changed_at: Some("2025-09-12T00:00:00Z".parse().unwrap()),
            status_message: Some("old".into()),
            published_at: Some("2025-09-10T13:57:43.256739Z".parse().unwrap()),
            updated_at: Some("2025-09-11T00:00:00Z".parse().unwrap()),
            is_latest: Some(true),
        }
    );
    assert_eq!(read.raw, br#"{"name":"com.example/a","version":"1.0.0"}"#);
    assert_eq!(
        (read.server.as_str(), read.version.as_str()),
        ("com.example/a", "1.0.0")
    );
}

#[test]
fn raw_bytes_are_kept_exactly_and_served_without_white_space() {
    let document =
        "{ \"name\": \"com.example/a\",\n \"version\": \"1.0.0\", \"x\": [1.50, 1e2, \"\\u00e9 \"] }";
    for text in [
        document.to_owned(),
        format!(" {{\"_meta\": {{}}, \"server\": {document}}}\r\n"),
    ] {
        let read = one(&text).unwrap();
        assert_eq!(read.raw, document.as_bytes());
        assert_eq!(
            read.document,
            r#"{"name":"com.example/a","version":"1.0.0","x":[1.50,1e2,"\u00e9 "]}"#
        );
    }
}

#[test]
fn older_shapes_are_read() {
    // September 2025: the status in the document, ids in the block.
    let text = row(
        &json!({"name": "com.example/a", "version": "", "status": "deprecated"}),
        &json!({"serverId": "x", "versionId": "y", "publishedAt": "2025-09-18T15:39:53.512065948Z", "isLatest": false}),
    );
    let read = one(&text).unwrap();
    assert_eq!(
        (read.version.as_str(), read.meta.status),
        ("", Some(Status::Deprecated))
    );
    assert_eq!(read.meta.is_latest, Some(false));
    // Before: a block of another name, in snake case.
    let text = json!({
        "server": {"name": "com.example/a", "version_detail": {"version": "1.0.0"},
            "packages": [{"registry_name": "npm", "name": "a"}]},
        "x-io.modelcontextprotocol.registry": {"id": "x", "published_at": "2025-07-01T00:00:00Z", "is_latest": true},
    });
    let read = one(&text.to_string()).unwrap();
    assert_eq!(
        (read.version.as_str(), read.meta.is_latest),
        ("1.0.0", Some(true))
    );
    assert_eq!(
        read.meta.published_at,
        Some("2025-07-01T00:00:00Z".parse().unwrap())
    );
    assert_eq!(read.facts.packages[0].identifier, "a");
    // The first of all: no block.
    let text = json!({"id": "x", "name": "com.example/a", "version_detail":
        {"version": "0.0.1", "release_date": "2025-05-16T18:56:49Z", "is_latest": true}});
    let read = one(&text.to_string()).unwrap();
    assert_eq!(
        read.meta.published_at,
        Some("2025-05-16T18:56:49Z".parse().unwrap())
    );
    assert_eq!(read.document, r#"{"name":"com.example/a","version":"0.0.1"}"#);
    assert_eq!(read.raw, text.to_string().into_bytes());
}

#[test]
fn what_cannot_be_kept_is_refused_with_its_reason() {
    let good = json!({"name": "com.example/a", "version": "1.0.0"});
    let deep = format!(
        r#"{{"name":"com.example/a","version":"1.0.0","x":{}1{}}}"#,
        "[".repeat(64),
        "]".repeat(64)
    );
    let big = json!({"name": "com.example/a", "version": "1.0.0", "x": "y".repeat(SERVER_JSON_BYTES)});
    for (text, expected) in [
        ("nonsense".to_owned(), Reason::NotJson),
        (r#"{"server":"#.to_owned(), Reason::NotJson),
        (
            r#"{"name":"com.example/a\ud800","version":"1"}"#.to_owned(),
            Reason::NotJson,
        ),
        ("7".to_owned(), Reason::NotAServer),
        (r#"[{"name":"com.example/a"}]"#.to_owned(), Reason::NotAServer),
        (r#"{"server":7}"#.to_owned(), Reason::NotAServer),
        (r#"{"server":{},"server":{}}"#.to_owned(), Reason::DuplicateKeys),
        ("{}".to_owned(), Reason::NoName),
        (r#"{"name":7,"version":"1"}"#.to_owned(), Reason::NoName),
        (r#"{"name":"com.example/a"}"#.to_owned(), Reason::NoVersion),
        (r#"{"name":"a/b//c","version":"1"}"#.to_owned(), Reason::BadName),
        (
            r#"{"name":"com.example/a\u0000","version":"1"}"#.to_owned(),
            Reason::BadName,
        ),
        (
            r#"{"name":"com.example/a","version":"1\n"}"#.to_owned(),
            Reason::BadVersion,
        ),
        (
            r#"{"name":"com.example/a","version":"1","name":"com.example/b"}"#.to_owned(),
            Reason::DuplicateKeys,
        ),
        (deep, Reason::TooDeep),
        (big.to_string(), Reason::TooLarge),
        (row(&good, &json!(7)), Reason::BadMeta),
        (row(&good, &json!({"status": "yanked"})), Reason::BadMeta),
        (row(&good, &json!({"publishedAt": "yesterday"})), Reason::BadMeta),
        (row(&good, &json!({"isLatest": "yes"})), Reason::BadMeta),
        (
            row(&good, &json!({"statusMessage": "x".repeat(501)})),
            Reason::BadMeta,
        ),
    ] {
        let shown: String = text.chars().take(80).collect();
        let (reason, detail) = one(&text).unwrap_err();
        assert_eq!(reason, expected, "{shown}: {detail}");
        assert!(detail.chars().count() <= 200, "{detail}");
    }
}

#[test]
fn the_limits_hold_at_their_edge() {
    let frame = json!({"name": "com.example/a", "version": "1.0.0", "x": ""})
        .to_string()
        .len();
    let at = json!({"name": "com.example/a", "version": "1.0.0", "x": "y".repeat(SERVER_JSON_BYTES - frame)});
    assert_eq!(at.to_string().len(), SERVER_JSON_BYTES);
    assert!(one(&at.to_string()).is_ok());
    let deep = format!(
        r#"{{"name":"com.example/a","version":"1.0.0","x":{}1{}}}"#,
        "[".repeat(63),
        "]".repeat(63)
    );
    assert!(one(&deep).is_ok());
    let message = json!({"status": "deleted", "statusMessage": "é".repeat(500)});
    let good = json!({"name": "com.example/a", "version": "1.0.0"});
    assert_eq!(
        one(&row(&good, &message)).unwrap().meta.status,
        Some(Status::Deleted)
    );
}

#[test]
fn other_doubtful_keys_are_kept_and_marked() {
    let text = r#"{"name":"com.example/a","version":"1.0.0","title":"x","title":"y\u0000"}"#;
    let read = one(text).unwrap();
    assert!(!read.valid);
    assert_eq!(read.raw, text.as_bytes());
    assert_eq!(
        read.document,
        r#"{"name":"com.example/a","version":"1.0.0","title":"y\u0000"}"#
    );
}

#[test]
fn keys_in_another_letter_case_are_read_as_they_are_served() {
    let read = one(
        r#"{"Name":"com.example/a","VERSION":"1.0.0","Remotes":[{"type":"sse","url":"https://a.example"}]}"#,
    );
    let read = read.unwrap();
    assert_eq!(
        (read.server.as_str(), read.version.as_str()),
        ("com.example/a", "1.0.0")
    );
    assert_eq!(read.facts.remotes.len(), 1);
    assert!(
        read.document
            .starts_with(r#"{"name":"com.example/a","version":"1.0.0","remotes":"#)
    );
}

#[test]
fn a_list_answer_gives_its_rows_and_lists_do_not_nest() {
    let inner = json!({"name": "com.example/a", "version": "1.0.0"});
    let list = json!({"servers": [{"server": inner}, inner, 7, {"servers": [inner]}], "metadata": {}});
    let rows = read(list.to_string().as_bytes());
    let kept: Vec<bool> = rows.iter().map(Result::is_ok).collect();
    assert_eq!(kept, [true, true, false, false]);
}

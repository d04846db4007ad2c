use proptest::prelude::*;
use serde_json::{Map, json};

use super::*;

fn document() -> Value {
    json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": "com.example/weather", "description": "Weather", "version": "1.0.0",
    })
}

fn with(key: &str, value: Value) -> Value {
    let mut document = document();
    document[key] = value;
    document
}

fn refused(document: &Value) -> Vec<(String, String)> {
    let errors = gate(document).into_iter();
    errors.map(|error| (error.location, error.message)).collect()
}

#[test]
fn the_gate_names_each_place_in_upstreams_words_and_order() {
    let bad = json!({
        "zzz": 1, "name": "x", "description": "", "version": 3, "title": "", "packages": [{}, null],
        "remotes": {}, "websiteUrl": "http://[::1",
    });
    let expected = [
        ("body", "expected required property $schema to be present"),
        ("body.description", "expected length >= 1, got 0"),
        ("body.name", "expected length >= 3, got 1"),
        (
            "body.name",
            "expected string to match pattern ^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$",
        ),
        (
            "body.packages[0]",
            "expected required property identifier to be present",
        ),
        (
            "body.packages[0]",
            "expected required property registryType to be present",
        ),
        (
            "body.packages[0]",
            "expected required property transport to be present",
        ),
        ("body.packages[1]", "expected object"),
        ("body.remotes", "expected array"),
        ("body.title", "expected length >= 1, got 0"),
        ("body.version", "expected string"),
        (
            "body.websiteUrl",
            "expected string to be RFC 3986 uri: parse \"http://[::1\": missing ']' in host",
        ),
        ("body.zzz", "unexpected property"),
    ];
    let found = refused(&bad);
    let found: Vec<_> = found
        .iter()
        .map(|(place, message)| (place.as_str(), message.as_str()))
        .collect();
    assert_eq!(found, expected);
    assert_eq!(
        refused(&json!([])),
        [("body".to_owned(), "expected object".to_owned())]
    );
    assert_eq!(refused(&document()), []);
}

#[test]
fn the_gate_says_what_was_meant() {
    for (document, message) in [
        (
            with("website_url", json!("x")),
            "unexpected property, did you mean `websiteUrl`?",
        ),
        (
            with("descripton", json!("x")),
            "unexpected property, did you mean `description`?",
        ),
        (
            with("Name", json!("x")),
            "unexpected property, `name` is given already",
        ),
        (with("status", json!("active")), "unexpected property"),
        (
            with("_meta", json!({"com.example/x": {}})),
            "unexpected property, only `io.modelcontextprotocol.registry/publisher-provided` can be published",
        ),
        (
            with("description", json!("é".repeat(101))),
            "expected length <= 100, got 101",
        ),
    ] {
        let found = refused(&document);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].1, message);
    }
}

#[test]
fn null_is_absent_where_a_field_is_optional() {
    for key in [
        "title",
        "packages",
        "remotes",
        "icons",
        "repository",
        "websiteUrl",
        "_meta",
    ] {
        let document = with(key, Value::Null);
        assert_eq!(refused(&document), [], "{key}");
        assert!(validate(&document).valid, "{key}");
    }
    assert_eq!(refused(&with("name", Value::Null))[0].1, "expected string");
}

#[test]
fn keys_in_another_letter_case_are_the_same_fields() {
    let mut document = document();
    let map = document.as_object_mut().unwrap();
    let name = map.remove("name").unwrap();
    map.insert("NAME".to_owned(), name);
    assert_eq!(refused(&document), []);
    assert!(validate(&document).valid);
    assert_eq!(served_form(&document)["name"], "com.example/weather");
}

#[test]
fn an_unknown_schema_lists_the_known_ones() {
    let newer = "https://static.modelcontextprotocol.io/schemas/2099-01-01/server.schema.json";
    let found = validate(&with("$schema", json!(newer)));
    assert_eq!(found.issues.len(), 1);
    assert_eq!(found.issues[0].reference, "schema-version-not-available");
    assert!(
        found.issues[0]
            .message
            .starts_with("schema version 2099-01-01 is unknown here, known are 2025-07-09, 2025-09-16,")
    );
}

#[test]
fn an_empty_repository_is_served_but_not_published() {
    for repository in [json!({}), json!({"url": "", "source": ""})] {
        let document = with("repository", repository);
        assert_eq!(refused(&document), []);
        assert_eq!(served_form(&document)["repository"], json!({}));
        let found = publish_issues(&document);
        assert_eq!(
            (found.valid, found.issues[0].path.as_str()),
            (false, "repository")
        );
    }
    assert!(publish_issues(&with("repository", Value::Null)).valid);
}

#[test]
fn the_publisher_block_has_an_edge() {
    let block = |chars: usize| with("_meta", json!({PUBLISHER_META: {"a": "x".repeat(chars)}}));
    assert_eq!(check_publisher_meta(&block(PUBLISHER_META_BYTES - 8)), Ok(()));
    assert_eq!(
        check_publisher_meta(&block(PUBLISHER_META_BYTES - 7)),
        Err(PublisherMetaError { bytes: 4097 })
    );
    assert_eq!(check_publisher_meta(&document()), Ok(()));
}

#[test]
fn a_file_is_told_everything_once() {
    let mut document = with("description", json!("x".repeat(101)));
    document["version"] = json!("latest");
    let found = inspect(&document);
    let paths: Vec<_> = found.issues.iter().map(|issue| issue.path.as_str()).collect();
    assert_eq!(paths, ["description", "version"]);
    assert_eq!(inspect(&json!({})).issues.len(), 4);
    assert!(inspect(&self::document()).valid);
}

/// A document of some 100 kB times `size` for each way to be large.
fn large(size: usize) -> Vec<(&'static str, Value)> {
    let many = |count: usize, item: Value| Value::Array(vec![item; count * size]);
    let package = |key: &str, value: Value| {
        let mut package = json!({"registryType": "npm", "identifier": "a", "transport": {
            "type": "sse", "url": "https://h/{a}{b}{c}"}});
        package[key] = value;
        with("packages", json!([package]))
    };
    let keys: Map<String, Value> = (0..2_000 * size)
        .map(|at| (format!("variable{at}"), json!({})))
        .collect();
    let braces = format!("https://h/{}", "{a}:{".repeat(6_000 * size));
    vec![
        ("null packages", with("packages", many(6_000, Value::Null))),
        (
            "empty remotes",
            with("remotes", many(6_000, json!({"type": "sse", "url": ""}))),
        ),
        (
            "arguments",
            package(
                "packageArguments",
                many(1_500, json!({"type": "named", "value": "x", "name": "x"})),
            ),
        ),
        (
            "variables",
            with(
                "remotes",
                json!([{"type": "sse", "url": braces, "variables": keys.clone()}]),
            ),
        ),
        ("unknown keys", Value::Object(keys)),
        ("long version", with("version", json!("1.".repeat(30_000 * size)))),
        (
            "comparators",
            with("version", json!(">=1 ".repeat(20_000 * size))),
        ),
        ("long name", with("name", json!("a/".repeat(30_000 * size)))),
        (
            "long schema",
            with("$schema", json!("/schemas/a".repeat(6_000 * size))),
        ),
        (
            "long website",
            with(
                "websiteUrl",
                json!(format!("https://[{}", "%25".repeat(20_000 * size))),
            ),
        ),
        (
            "choices",
            package(
                "packageArguments",
                json!([{"type": "named", "name": "a", "choices": many(12_000, json!(1))}]),
            ),
        ),
    ]
}

#[test]
fn the_number_of_issues_is_bounded_and_no_rule_is_slower_than_its_input() {
    use std::time::{Duration, Instant};
    let time = |document: &Value| {
        let run = || {
            let started = Instant::now();
            assert!(inspect(document).issues.len() <= 2 * (crate::limits::VALIDATION_ISSUES + 1));
            started.elapsed()
        };
        (0..3).map(|_| run()).min().unwrap()
    };
    for ((what, small), (_, big)) in large(1).into_iter().zip(large(4)) {
        let (short, long) = (time(&small), time(&big));
        // Four times the input: a quadratic rule would take sixteen times as long.
        assert!(
            long < short * 9 + Duration::from_millis(60),
            "{what}: {short:?}, then {long:?}"
        );
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let keys = || {
        proptest::sample::select(vec![
            "$schema",
            "name",
            "description",
            "version",
            "title",
            "packages",
            "remotes",
            "icons",
            "repository",
            "_meta",
            "url",
            "type",
            "transport",
            "variables",
            "headers",
            "src",
            "value",
            "registryType",
            "identifier",
            "packageArguments",
            "Name",
            "x",
            "",
        ])
    };
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::String),
        "[a-z:/{}\\[\\]%0-9.?#@ ]{0,24}".prop_map(Value::String),
        "(https?|ftp)://[a-z{}:%\\[\\]0-9/@]{0,24}".prop_map(Value::String),
        "[v^~<>=0-9.xX*| -]{0,12}".prop_map(Value::String),
        proptest::sample::select(vec!["stdio", "sse", "streamable-http", "named", "positional"])
            .prop_map(Value::from),
        proptest::sample::select(schema::KNOWN.iter().map(|schema| schema.date).collect::<Vec<_>>())
            .prop_map(|date| Value::String(format!("{}{date}/server.schema.json", schema::SCHEMA_BASE))),
    ];
    leaf.prop_recursive(6, 48, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            proptest::collection::vec((keys(), inner), 0..8).prop_map(|entries| {
                Value::Object(
                    entries
                        .into_iter()
                        .map(|(key, value)| (key.to_owned(), value))
                        .collect(),
                )
            }),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_gets_a_verdict(value in any_json()) {
        let found = inspect(&value);
        prop_assert_eq!(found.valid, !found.issues.iter().any(|issue| issue.severity == Severity::Error));
        let served = served_form(&value);
        prop_assert_eq!(served_form(&served), served.clone(), "the served form is stable");
        if gate(&value).is_empty() {
            prop_assert!(gate(&served).is_empty(), "what may come in may go out and in again");
            prop_assert_eq!(validate(&value), validate(&served));
        }
        let text = value.to_string();
        for issue in &found.issues {
            prop_assert!(lines::line_of(&text, &issue.path) == 1);
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,64}") {
        let _ = crate::json::read(text.as_bytes(), 1024);
    }

    #[test]
    fn any_document_in_one_field_gets_a_verdict(value in any_json(), key in "(name|version|packages|remotes|icons|repository|_meta|title|websiteUrl)") {
        let _ = inspect(&with(&key, value));
    }
}

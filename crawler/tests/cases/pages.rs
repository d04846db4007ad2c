//! Lists as they come: pages, cursors, odd items; what is kept of each, byte for byte.

use serde_json::{Value, json};
use toolmark_crawler::bare::Bare;
use toolmark_crawler::{Bounds, Look, Observation, Progress, observe_process};
use toolmark_domain::manifest::ItemKind;
use toolmark_domain::snapshot::Outcome;

use crate::support::{discover, error, initialized, launch, quick, result};

/// A legacy server with these pages.
fn listing(pages: &[String]) -> Value {
    let pages: Vec<Value> = pages.iter().map(|page| json!([{"say": page}])).collect();
    json!({
        "initialize": [{"say": result(&initialized())}],
        "tools/list": pages,
    })
}

fn page(tools: &str, cursor: Option<&str>) -> String {
    let next = cursor.map_or(String::new(), |cursor| format!(r#","nextCursor":{cursor}"#));
    format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{{"tools":{tools}{next}}}}}"#)
}

async fn observe(config: &Value, bounds: &Bounds) -> Observation {
    let look = Look {
        target: "-- fake",
        bounds,
        volatile: &[],
        progress: Progress::NONE,
    };
    observe_process(&look, &Bare, &launch(config)).await
}

fn names(seen: &Observation) -> Vec<String> {
    let manifest = seen.snapshot.manifest().unwrap();
    manifest.tools().map(|tool| tool.key.clone()).collect()
}

#[tokio::test]
async fn pages_are_followed_to_their_end() {
    let one = |name: &str| format!(r#"[{{"name":"{name}"}}]"#);
    let rows = [
        (vec![page(&one("a"), Some("null"))], vec!["a"]),
        (
            vec![page(&one("a"), Some("\"\"")), page(&one("b"), None)],
            vec!["a", "b"],
        ),
        (
            vec![
                page(&one("a"), Some("\"x\"")),
                page("[]", Some("\"y\"")),
                page(&one("c"), None),
            ],
            vec!["a", "c"],
        ),
        (
            vec![page(&one("a"), Some("7")), page(&one("b"), None)],
            vec!["a", "b"],
        ),
        (vec![page("[]", None)], vec![]),
    ];
    for (pages, expected) in rows {
        let seen = observe(&listing(&pages), &quick()).await;
        assert_eq!(seen.snapshot.outcome, Outcome::Observed, "{pages:?}");
        assert_eq!(names(&seen), expected, "{pages:?}");
    }
}

#[tokio::test]
async fn lists_that_do_not_end_or_are_too_long_are_refused() {
    let many = |count: usize| {
        let tools: Vec<String> = (0..count).map(|n| format!(r#"{{"name":"t{n}"}}"#)).collect();
        format!("[{}]", tools.join(","))
    };
    let endless: Vec<String> = (0..60).map(|n| page("[]", Some(&format!("\"{n}\"")))).collect();
    let deep = format!(r#"[{{"name":"a","x":{}1{}}}]"#, "[".repeat(70), "]".repeat(70));
    let loops = vec![
        page("[]", Some("\"x\"")),
        page("[]", Some("\"y\"")),
        page("[]", Some("\"x\"")),
    ];
    let rows = [
        ("cursor_loop", loops),
        ("cursor_loop", vec![page("[]", Some("\"\""))]),
        ("too_many_pages", endless),
        (
            "cursor_too_long",
            vec![page("[]", Some(&format!("\"{}\"", "c".repeat(4095))))],
        ),
        ("too_many_items", vec![page(&many(2001), None)]),
        (
            "too_many_items",
            vec![page(&many(1500), Some("1")), page(&many(501), None)],
        ),
        ("too_deep", vec![page(&deep, None)]),
        (
            "message_too_large",
            vec![page(&format!(r#"[{{"name":"{}"}}]"#, "n".repeat(4 << 20)), None)],
        ),
    ];
    for (reason, pages) in rows {
        // Arguments of a process are bounded, so that long answers are made there.
        if pages.iter().map(String::len).sum::<usize>() > 100_000 {
            continue;
        }
        let seen = observe(&listing(&pages), &quick()).await;
        let outcome = seen.snapshot.outcome;
        assert_eq!(
            (outcome, seen.snapshot.reason.as_deref()),
            (Outcome::RefusedByPolicy, Some(reason))
        );
    }
}

#[tokio::test]
async fn limits_hold_at_their_edge() {
    let bounds = Bounds {
        pages: 3,
        items: 2,
        ..quick()
    };
    let three = [
        page(r#"[{"name":"a"}]"#, Some("1")),
        page(r#"[{"name":"b"}]"#, Some("2")),
        page("[]", None),
    ];
    let seen = observe(&listing(&three), &bounds).await;
    assert_eq!(names(&seen), ["a", "b"]);
    let four = [
        page("[]", Some("1")),
        page("[]", Some("2")),
        page("[]", Some("3")),
        page("[]", None),
    ];
    let seen = observe(&listing(&four), &bounds).await;
    assert_eq!(seen.snapshot.reason.as_deref(), Some("too_many_pages"));
    let more = [page(r#"[{"name":"a"},{"name":"b"},{"name":"c"}]"#, None)];
    let seen = observe(&listing(&more), &bounds).await;
    assert_eq!(seen.snapshot.reason.as_deref(), Some("too_many_items"));
}

#[tokio::test]
async fn odd_items_are_kept_byte_for_byte_and_said() {
    let items = [
        r#"{"name":"a" ,  "execution":{"taskSupport":"optional"},"x-vendor":{"z":1,"a":[1.50, 1E3]},"inputSchema":{"type":"object"},"description":"d"}"#,
        r#"{"name":"b","name":"c","inputSchema":{"type":"object"},"description":"d"}"#,
        r#"{"name":"d","description":"no schema"}"#,
        r#"{"name":"e","description":"d","inputSchema":true}"#,
        r#"{"name":"f","description":"d","inputSchema":{"type":"object"},"annotations":"yes"}"#,
        r#"{"name":"g","description":"\ud800","inputSchema":{"type":"object"}}"#,
        r#"{"name":"h","description":"d","inputSchema":{"type":"object","maximum":9007199254740993}}"#,
        r#"{"name":"a","description":"again","inputSchema":{"type":"object"}}"#,
        r#"{"name":7}"#,
        "[]",
        "null",
    ];
    let seen = observe(
        &listing(&[page(&format!("[{}]", items.join(",")), None)]),
        &quick(),
    )
    .await;
    assert_eq!(seen.snapshot.outcome, Outcome::Observed, "{:?}", seen.snapshot);
    let kept = seen.snapshot.list(ItemKind::Tool).unwrap();
    let kept: Vec<&str> = kept.iter().map(|raw| raw.get()).collect();
    assert_eq!(kept, items);
    // The document keeps them as they are, too.
    let document = String::from_utf8(seen.snapshot.to_bytes()).unwrap();
    for item in items {
        assert!(document.contains(item), "{item}");
    }
    let findings = serde_json::to_string(&seen.snapshot.findings).unwrap();
    for said in [
        "a key given twice",
        "no schema of its input",
        "half of a surrogate pair",
        "no exact form",
        "not an object",
    ] {
        assert!(findings.contains(said), "{said}: {findings}");
    }
    let raw: Vec<&str> = std::str::from_utf8(&seen.raw).unwrap().lines().collect();
    assert_eq!(raw.len(), 2, "the result of `initialize`, then a page");
    assert!(raw[1].contains(items[0]));
}

#[tokio::test]
async fn lists_of_another_shape_are_no_lists() {
    for answer in [
        json!({}),
        json!({"tools": null}),
        json!({"tools": {"a": {}}}),
        json!("tools"),
        Value::Null,
    ] {
        let mut config = listing(&[]);
        config["tools/list"] = json!([{"say": result(&answer)}]);
        let seen = observe(&config, &quick()).await;
        let found = (seen.snapshot.outcome, seen.snapshot.reason.as_deref());
        assert_eq!(
            found,
            (Outcome::DoesNotSpeakMcp, Some("no_tools_list")),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn a_reference_into_the_network_is_kept_and_never_followed() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let place = format!("http://{}/schema.json", listener.local_addr().unwrap());
    let tool = format!(
        r#"[{{"name":"a","inputSchema":{{"type":"object","properties":{{"x":{{"$ref":"{place}"}}}}}}}}]"#
    );
    let seen = observe(&listing(&[page(&tool, None)]), &quick()).await;
    assert_eq!(seen.snapshot.outcome, Outcome::Observed);
    assert!(listener.accept().is_err(), "somebody asked for it");
}

#[tokio::test]
async fn what_only_some_declare_is_told_from_what_fails() {
    let silent = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "x", "version": ""}});
    let mut config = listing(&[page(r#"[{"name":"a"}]"#, None)]);
    config["initialize"] = json!([{"say": result(&silent)}]);
    let seen = observe(&config, &quick()).await;
    assert_eq!(names(&seen), ["a"]);
    let findings = serde_json::to_string(&seen.snapshot.findings).unwrap();
    assert!(
        findings.contains("\"C07\"") && findings.contains("\"C13\""),
        "{findings}"
    );
    // Nothing declared and nothing listed: there is no list, and that is no failure.
    config["tools/list"] = json!([{"say": error(-32601, "x")}]);
    let seen = observe(&config, &quick()).await;
    assert_eq!(
        (seen.snapshot.outcome, seen.snapshot.tools.is_none()),
        (Outcome::Observed, true)
    );
    // Declared, and answered with an error.
    let mut config = listing(&[]);
    config["tools/list"] = json!([{"say": error(-32000, "boom")}]);
    let seen = observe(&config, &quick()).await;
    assert_eq!(
        (seen.snapshot.outcome, seen.snapshot.reason.as_deref()),
        (Outcome::NotObserved, Some("list_error"))
    );
    let words = seen.snapshot.look["words"].as_str().unwrap();
    assert_eq!(words, "error -32000: boom");
}

#[tokio::test]
async fn a_modern_server_that_forgets_hints_is_kept_and_flagged() {
    let mut config =
        json!({"tools/list": [{"say": result(&json!({"tools": [{"name": "a"}], "resultType": "task"}))}]});
    config["server/discover"] = json!([{"say": result(&discover())}]);
    let seen = observe(&config, &quick()).await;
    assert_eq!(names(&seen), ["a"]);
    let findings = serde_json::to_string(&seen.snapshot.findings).unwrap();
    for said in [
        "leaves out `ttlMs`",
        "leaves out `cacheScope`",
        "the type \\\"task\\\"",
    ] {
        assert!(findings.contains(said), "{said}: {findings}");
    }
}

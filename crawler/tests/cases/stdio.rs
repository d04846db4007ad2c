//! The decision table of stdio, each row a real process.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolmark_crawler::Bounds;
use toolmark_domain::manifest::{Era, ItemKind};
use toolmark_domain::snapshot::Outcome;

use crate::support::{
    Expected, check, discover, error, initialized, not, quick, result, seen, take, tools, unsupported,
};

/// A server whose answer to the probe is `steps`, and that is a legacy one otherwise.
fn legacy(steps: Value) -> Value {
    let mut config = json!({
        "initialize": [{"say": result(&initialized())}],
        "tools/list": [{"say": result(&tools())}],
    });
    config["server/discover"] = steps;
    config
}

/// A server whose answer to the probe is `steps`, and that lists in the modern way only.
fn modern(steps: Value) -> Value {
    let mut config = json!({
        "initialize": [{"say": unsupported(&["2026-07-28"])}],
        "tools/list": [{"say": result(&tools())}],
    });
    config["server/discover"] = steps;
    config
}

fn say(text: impl Into<String>) -> Value {
    json!([{"say": text.into()}])
}

fn bare_discover(drop: &[&str]) -> String {
    let mut value = discover();
    for key in drop {
        value.as_object_mut().unwrap().remove(*key);
    }
    result(&value)
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn rows() -> Vec<(&'static str, Value, Expected)> {
    use Era::{Legacy, Modern};
    let refused = || seen(Legacy, "refused");
    let found = || seen(Modern, "discovered");
    let only_old = result(&json!({"supportedVersions": ["2025-11-25"], "capabilities": {}}));
    let future = result(&json!({"supportedVersions": ["2099-01-01"], "capabilities": {}}));
    vec![
        ("modern", modern(say(result(&discover()))), found()),
        (
            "modern without hints",
            modern(say(bare_discover(&["ttlMs", "cacheScope", "resultType"]))),
            found(),
        ),
        (
            "modern, only modern versions named",
            modern(say(result(&json!({
            "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})))),
            found(),
        ),
        (
            "modern, answer after noise",
            modern(
                json!([{"say": "Starting server…"}, {"say": ""}, {"say": "{\"level\":\"info\"}"},
            {"say": result(&discover())}]),
            ),
            found(),
        ),
        (
            "modern, banner before anything",
            {
                let mut config = modern(say(result(&discover())));
                config["start"] = json!([{"say": "*** banner ***"}]);
                config
            },
            found(),
        ),
        (
            "-32022, ours named",
            modern(json!([[{"say": unsupported(&["2026-07-28"])}], [{"say": result(&discover())}]])),
            found(),
        ),
        (
            "-32022, only legacy named",
            legacy(say(unsupported(&["2025-06-18"]))),
            seen(Legacy, "modern_error"),
        ),
        (
            "-32022, nothing named",
            legacy(say(error(-32022, "no"))),
            seen(Legacy, "modern_error"),
        ),
        (
            "-32022, none of ours",
            legacy(say(unsupported(&["2099-01-01"]))),
            not(Outcome::DoesNotSpeakMcp, "no_common_version"),
        ),
        (
            "-32022 for ever",
            legacy(say(unsupported(&["2026-07-28"]))),
            not(Outcome::DoesNotSpeakMcp, "no_common_version"),
        ),
        (
            "-32020",
            legacy(say(error(-32020, "header"))),
            not(Outcome::NotObserved, "header_mismatch"),
        ),
        (
            "-32021",
            legacy(say(error(-32021, "sampling"))),
            not(Outcome::RefusedByPolicy, "needs_client_capability"),
        ),
        (
            "-32601",
            legacy(say(error(-32601, "Method not found"))),
            refused(),
        ),
        (
            "-32602",
            legacy(say(error(-32602, "Invalid request parameters"))),
            refused(),
        ),
        (
            "-32000",
            legacy(say(error(-32000, "Server not initialized"))),
            refused(),
        ),
        (
            "-32004, a code of drafts",
            legacy(say(error(-32004, "Unsupported"))),
            refused(),
        ),
        (
            "error with id null",
            legacy(say(
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"x"}}"#,
            )),
            refused(),
        ),
        (
            "error without id",
            legacy(say(r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"x"}}"#)),
            refused(),
        ),
        (
            "error with the id as text",
            legacy(say(
                r#"{"jsonrpc":"2.0","id":"$ID","error":{"code":-32601,"message":"x"}}"#,
            )),
            refused(),
        ),
        (
            "error with an id of its own",
            legacy(say(
                r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"x"}}"#,
            )),
            refused(),
        ),
        (
            "error without a code",
            legacy(say(r#"{"jsonrpc":"2.0","id":$ID,"error":"no"}"#)),
            refused(),
        ),
        ("empty result", legacy(say(result(&json!({})))), refused()),
        ("null result", legacy(say(result(&Value::Null))), refused()),
        (
            "only legacy versions discovered",
            legacy(say(only_old)),
            refused(),
        ),
        ("only a future version discovered", legacy(say(future)), refused()),
        (
            "exit on the probe",
            legacy(json!([{"exit": 0}])),
            seen(Legacy, "exit"),
        ),
        (
            "crash on the probe",
            legacy(json!([{"abort": true}])),
            seen(Legacy, "exit"),
        ),
        (
            "its output closed on the probe",
            legacy(json!([{"hold": true}])),
            seen(Legacy, "exit"),
        ),
        (
            "no answer to the probe",
            legacy(json!([])),
            seen(Legacy, "timeout"),
        ),
        (
            "hangs on the probe",
            legacy(json!([{"hang": true}])),
            seen(Legacy, "timeout"),
        ),
        (
            "answers in a batch",
            legacy(say(format!("[{}]", error(-32601, "x")))),
            refused(),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_to_the_probe_leads_where_the_table_says() {
    let bounds = quick();
    let takes = rows().into_iter().map(|(name, config, expected)| {
        let bounds = bounds.clone();
        tokio::spawn(async move { check(name, &take(&config, &bounds).await, &expected) })
    });
    let mut wrong = Vec::new();
    for row in takes.collect::<Vec<_>>() {
        wrong.extend(row.await.unwrap());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_first_answer_does_not_change_the_era() {
    let bounds = Bounds::default();
    let slow = |millis: u64| {
        let bounds = bounds.clone();
        let mut config = modern(say(result(&discover())));
        config["start"] = json!([{"sleep": millis}]);
        tokio::spawn(async move {
            check(
                &format!("{millis} ms"),
                &take(&config, &bounds).await,
                &seen(Era::Modern, "discovered"),
            )
        })
    };
    for row in [slow(8_000), slow(20_000)] {
        let wrong = row.await.unwrap();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

#[expect(clippy::too_many_lines, reason = "a table")]
#[tokio::test(flavor = "multi_thread")]
async fn hangs_and_floods_at_each_stage_end_in_time() {
    let greeted = |steps: Value| {
        let mut config = legacy(say(error(-32601, "x")));
        config["tools/list"] = steps;
        config
    };
    let silent = || not(Outcome::TimedOut, "no_answer");
    let refused = |reason| not(Outcome::RefusedByPolicy, reason);
    let started = |steps: Value| json!({"start": steps});
    let rows = vec![
        ("hangs at its start", started(json!([{"hang": true}])), silent()),
        (
            "hangs at initialize",
            json!({"initialize": [{"hang": true}]}),
            silent(),
        ),
        ("hangs at its list", greeted(json!([{"hang": true}])), silent()),
        (
            "does not end",
            {
                let mut config = greeted(json!([{"say": result(&tools())}]));
                config["at_end"] = json!([{"hang": true}]);
                config
            },
            seen(Era::Legacy, "refused"),
        ),
        (
            "floods its output",
            started(json!([{"flood": "out"}])),
            refused("too_many_messages"),
        ),
        (
            "floods its errors",
            started(json!([{"flood": "err"}])),
            refused("too_much_output"),
        ),
        (
            "one endless line",
            started(json!([{"line": 1_u64 << 30}])),
            refused("message_too_large"),
        ),
        (
            "floods notifications",
            greeted(json!([{"repeat": 30_000, "say": r#"{"jsonrpc":"2.0","method":"notifications/x"}"#}])),
            refused("too_many_messages"),
        ),
        (
            "floods requests",
            greeted(json!([{"repeat": 30_000, "say": r#"{"jsonrpc":"2.0","id":5,"method":"roots/list"}"#}])),
            refused("too_many_messages"),
        ),
        (
            "ends while it lists",
            greeted(json!([{"err": "oops"}, {"exit": 3}])),
            not(Outcome::Crashed, "exit_status"),
        ),
        (
            "leaves a child behind that holds its output",
            greeted(json!([{"hold": true}])),
            not(Outcome::Crashed, "exit_status"),
        ),
    ];
    let began = Instant::now();
    let mut wrong = Vec::new();
    let takes = rows.into_iter().map(|(name, config, expected)| {
        tokio::spawn(async move { check(name, &take(&config, &quick()).await, &expected) })
    });
    for row in takes.collect::<Vec<_>>() {
        wrong.extend(row.await.unwrap());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(began.elapsed() < Duration::from_mins(1), "{:?}", began.elapsed());
}

#[tokio::test]
async fn an_answer_that_is_not_utf8_is_said() {
    let mut bytes = br#"{"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":""#.to_vec();
    bytes.extend_from_slice(b"\xff\xfe\"}]}}\n");
    let mut config = legacy(say(error(-32601, "x")));
    config["tools/list"] = json!([{"bytes": bytes}]);
    let taken = take(&config, &quick()).await;
    let wrong = check("utf8", &taken, &not(Outcome::DoesNotSpeakMcp, "invalid_utf8"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn what_a_server_asks_of_us_is_recorded_and_refused() {
    let ask = |id: u32, method: &str| json!({"say": format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#)});
    let mut config = legacy(say(error(-32601, "x")));
    // It lists only once every question of its own was answered.
    config["notifications/initialized"] = json!([
        ask(70, "roots/list"),
        ask(71, "sampling/createMessage"),
        ask(72, "elicitation/create"),
        ask(73, "ping"),
    ]);
    config["tools/list"] = json!([]);
    config["response"] = json!([[], [], [], [{"say": result(&tools()).replace("$ID", "3")}]]);
    let taken = take(&config, &quick()).await;
    let wrong = check("asks", &taken, &seen(Era::Legacy, "refused"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let asked: Vec<&str> = taken.server_requests.keys().map(String::as_str).collect();
    assert_eq!(
        asked,
        [
            "elicitation/create",
            "ping",
            "roots/list",
            "sampling/createMessage"
        ]
    );
}

#[tokio::test]
async fn a_list_that_changes_right_after_the_start_is_read_again() {
    let two = json!({"tools": [{"name": "add"}, {"name": "late"}]});
    let mut config = legacy(say(error(-32601, "x")));
    let mut greeting = initialized();
    greeting["capabilities"]["tools"]["listChanged"] = json!(true);
    config["initialize"] = say(result(&greeting));
    config["tools/list"] = json!([
        [{"say": result(&tools())}, {"say": r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#}],
        [{"say": result(&two)}],
    ]);
    let taken = take(&config, &quick()).await;
    assert_eq!(taken.outcome, Outcome::Observed, "{taken:?}");
    assert_eq!(taken.lists[&ItemKind::Tool].len(), 2);
}

#[tokio::test]
async fn the_process_sees_the_condition_and_nothing_else() {
    let mut config = legacy(say(error(-32601, "x")));
    config["start"] = json!([{"env": "TZ"}, {"env": "PYTHONHASHSEED"}, {"env": "PATH"}, {"env": "HOME"}]);
    let taken = take(&config, &quick()).await;
    let expected = "TZ=Etc/UTC\nPYTHONHASHSEED=1\nPATH=\nHOME=";
    assert_eq!(taken.stderr_tail.as_deref(), Some(expected));
}

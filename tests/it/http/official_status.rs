//! `PATCH …/status` of the official contract.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use toolmark_domain::permission::Action;
use toolmark_tests::app::{Answer, Builder, TestApp, document};

on_both_engines! {
    a_status_changes_with_its_reason_and_twice_is_no_change
    the_body_has_upstreams_gate
    a_stranger_changes_nothing_and_an_absent_version_is_named
    all_versions_change_in_one_call
    restoring_a_version_checks_its_remote_again
    two_thousand_versions_change_while_others_read
}

const ONE: &str = "/v0/servers/com.example%2Fweather/versions/1.0.0/status";
const ALL: &str = "/v0/servers/com.example%2Fweather/status";

async fn patch(app: &TestApp, path: &str, token: &str, body: Value) -> Answer {
    app.write(Method::PATCH, path, Some(token), &body).await
}

fn official(row: &Value) -> Value {
    row["_meta"]["io.modelcontextprotocol.registry/official"].clone()
}

async fn a_status_changes_with_its_reason_and_twice_is_no_change(builder: Builder) {
    let app = builder.start().await;
    app.publish("com.example/weather", &["1.0.0"]).await;
    let token = app.token("com.example/*", &[Action::Publish]).await;
    let change = json!({"status": "deprecated", "statusMessage": "use \"2\"\nsoon"});
    let changed = official(&patch(&app, ONE, &token, change.clone()).await.expect(200).json());
    assert_eq!(changed["status"], "deprecated");
    assert_eq!(changed["statusMessage"], "use \"2\"\nsoon");
    assert_ne!(changed["statusChangedAt"], changed["publishedAt"]);
    let again = patch(&app, ONE, &token, change).await.expect(400);
    assert!(
        again.json()["detail"]
            .as_str()
            .unwrap()
            .starts_with("No changes to apply")
    );
    // Another message moves only updatedAt; null clears it.
    let other = official(
        &patch(
            &app,
            ONE,
            &token,
            json!({"status": "deprecated", "statusMessage": "x"}),
        )
        .await
        .expect(200)
        .json(),
    );
    assert_eq!(other["statusChangedAt"], changed["statusChangedAt"]);
    assert_ne!(other["updatedAt"], changed["updatedAt"]);
    let cleared = patch(
        &app,
        ONE,
        &token,
        json!({"status": "deprecated", "statusMessage": null}),
    )
    .await
    .expect(200);
    assert_eq!(official(&cleared.json()).get("statusMessage"), None);
    let active = patch(
        &app,
        ONE,
        &token,
        json!({"status": "active", "statusMessage": "x"}),
    )
    .await
    .expect(400);
    assert_eq!(
        active.json()["detail"],
        "status_message cannot be provided when setting status to active"
    );
    for status in ["deleted", "active", "deleted", "deprecated", "active"] {
        let _ = patch(&app, ONE, &token, json!({"status": status}))
            .await
            .expect(200);
    }
}

async fn the_body_has_upstreams_gate(builder: Builder) {
    let app = builder.start().await;
    app.publish("com.example/weather", &["1.0.0"]).await;
    let token = app.any_token().await;
    let edge = json!({"status": "deleted", "statusMessage": "é".repeat(500)});
    let _ = patch(&app, ONE, &token, edge).await.expect(200);
    for (body, place, message) in [
        (
            json!({}),
            "body",
            "expected required property status to be present",
        ),
        (json!([]), "body", "expected object"),
        (
            json!({"status": "yanked"}),
            "body.status",
            "expected value to be one of \"active, deprecated, deleted\"",
        ),
        (json!({"status": null}), "body.status", "expected string"),
        (
            json!({"status": "deleted", "statusMessage": "é".repeat(501)}),
            "body.statusMessage",
            "expected length <= 500",
        ),
        (
            json!({"status": "deleted", "reason": "x"}),
            "body.reason",
            "unexpected property",
        ),
    ] {
        for path in [ONE, ALL] {
            let refused = patch(&app, path, &token, body.clone()).await.expect(422).json();
            assert_eq!(refused["errors"][0]["location"], place);
            assert_eq!(refused["errors"][0]["message"], message);
        }
    }
    let twice = r#"{"status":"active","status":"deleted"}"#;
    let bearer = format!("Bearer {token}");
    let headers = [("authorization", bearer.as_str())];
    let refused = app
        .send(Method::PATCH, ONE, &headers, Some(twice.into()))
        .await
        .expect(422);
    assert_eq!(refused.json()["errors"][0]["location"], "body.status");
    let unsigned = app
        .write(Method::PATCH, ONE, None, &json!({"status": "x"}))
        .await
        .expect(422);
    assert_eq!(unsigned.json()["errors"].as_array().unwrap().len(), 2);
}

async fn a_stranger_changes_nothing_and_an_absent_version_is_named(builder: Builder) {
    let app = builder.start().await;
    app.publish("com.example/weather", &["1.0.0"]).await;
    let head = app.get("/api/v1/events").await.json()["head"].clone();
    let stranger = app.token("org.example/*", &[Action::Publish, Action::Edit]).await;
    for path in [ONE, ALL] {
        let refused = patch(&app, path, &stranger, json!({"status": "deleted"}))
            .await
            .expect(403)
            .json();
        let detail = refused["detail"].as_str().unwrap();
        assert!(
            detail.contains("org.example/*") && detail.contains("com.example/weather"),
            "{detail}"
        );
    }
    assert_eq!(app.get("/api/v1/events").await.json()["head"], head);
    let token = app.any_token().await;
    let absent = ONE.replace("1.0.0", "9.0.0");
    let absent = patch(&app, &absent, &token, json!({"status": "deleted"}))
        .await
        .expect(404);
    assert_eq!(absent.json()["detail"], "Server version not found");
    let absent = ALL.replace("weather", "nothing");
    let absent = patch(&app, &absent, &token, json!({"status": "deleted"}))
        .await
        .expect(404);
    assert_eq!(absent.json()["detail"], "Server not found");
    let editor = app.token("com.example/*", &[Action::Edit]).await;
    let _ = patch(&app, ONE, &editor, json!({"status": "deleted"}))
        .await
        .expect(200);
}

async fn all_versions_change_in_one_call(builder: Builder) {
    let app = builder.start().await;
    app.publish("com.example/weather", &["1.0.0", "1.1.0", "2.0.0"])
        .await;
    app.set_status("com.example/weather", "1.1.0", "deleted").await;
    let token = app.any_token().await;
    let all = patch(&app, ALL, &token, json!({"status": "deleted"}))
        .await
        .expect(200)
        .json();
    assert_eq!(all["updatedCount"], 3);
    let rows = all["servers"].as_array().unwrap();
    assert!(rows.iter().all(|row| official(row)["status"] == "deleted"));
    // All deleted: the highest keeps the flag.
    let flags: Vec<_> = rows
        .iter()
        .filter(|row| official(row)["isLatest"] == true)
        .collect();
    assert_eq!(flags.len(), 1);
    assert_eq!(flags[0]["server"]["version"], "2.0.0");
    let _ = patch(&app, ALL, &token, json!({"status": "deleted"}))
        .await
        .expect(400);
}

async fn restoring_a_version_checks_its_remote_again(builder: Builder) {
    let app = builder.start().await;
    let token = app.any_token().await;
    for name in ["com.example/weather", "com.example/other"] {
        let mut body = document(name, "1.0.0");
        body["remotes"] = json!([{"type": "sse", "url": "https://mcp.example.com/sse"}]);
        let _ = app
            .write(Method::POST, "/v0/publish", Some(&token), &body)
            .await
            .expect(200);
        if name == "com.example/weather" {
            app.set_status(name, "1.0.0", "deleted").await;
        }
    }
    let refused = patch(&app, ONE, &token, json!({"status": "active"}))
        .await
        .expect(400);
    assert!(refused.text().contains("com.example/other"), "{}", refused.text());
}

async fn two_thousand_versions_change_while_others_read(builder: Builder) {
    let app = builder.start().await;
    let token = app.any_token().await;
    // Taken over in one go: two thousand publishes would test something else.
    let rows: Vec<String> = (0..2_000)
        .map(|number| {
            let server = document("com.example/weather", &format!("1.0.{number}"));
            let at = "2026-01-01T00:00:00Z";
            let official =
                json!({"status": "active", "publishedAt": at, "updatedAt": at, "isLatest": number == 1_999});
            let meta = json!({"io.modelcontextprotocol.registry/official": official});
            json!({"server": server, "_meta": meta}).to_string()
        })
        .collect();
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("rows.jsonl");
    std::fs::write(&file, rows.join("\n")).unwrap();
    app.import(&file).await;
    let change = json!({"status": "deprecated"});
    let started = Instant::now();
    let reads = async {
        for number in 0..50 {
            let path = format!("/v0/servers/com.example%2Fweather/versions/1.0.{number}");
            let _ = app.get(&path).await.expect(200);
            let _ = app.get("/health/ready").await.expect(200);
        }
    };
    let (changed, ()) = tokio::join!(patch(&app, ALL, &token, change), reads);
    assert_eq!(changed.expect(200).json()["updatedCount"], 2_000);
    // Two seconds are promised of a release build on a quiet machine; here other tests run beside it.
    assert!(
        started.elapsed() < Duration::from_secs(20),
        "{:?}",
        started.elapsed()
    );
}

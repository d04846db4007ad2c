//! `POST /publish`, `/validate`, `PUT` and `/auth/none`: who may write what, in upstream's order of refusals.

use reqwest::Method;
use serde_json::{Value, json};
use toolmark_domain::permission::Action;
use toolmark_tests::app::{Answer, Builder, TestApp, document};

on_both_engines! {
    publishing_answers_with_the_row_and_every_surface_shows_it
    the_order_of_refusals_is_upstreams
    a_second_publish_and_a_stranger_write_nothing
    a_body_that_is_doubtful_names_the_place
    each_limit_of_the_body_holds_at_its_edge
    names_that_differ_by_case_are_one_name
    a_remote_of_another_servers_latest_is_refused
    bytes_are_kept_as_received
    only_an_editor_replaces_a_document
    validate_says_what_is_wrong_without_a_token
    the_development_login_gives_a_token_for_its_namespace
    a_write_to_a_misspelled_name_says_the_right_one
    a_version_with_a_character_nobody_sees_is_refused
    large_numbers_are_kept_as_received
    mistaken_releases_and_backports_do_not_shadow_others
}

const PUBLISH: &str = "/v0/publish";

async fn post(app: &TestApp, token: &str, body: &Value) -> Answer {
    app.write(Method::POST, PUBLISH, Some(token), body).await
}

async fn post_text(app: &TestApp, token: &str, body: impl Into<Vec<u8>>) -> Answer {
    let bearer = format!("Bearer {token}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/json"),
    ];
    app.send(Method::POST, PUBLISH, &headers, Some(body.into())).await
}

async fn count(app: &TestApp) -> usize {
    app.get("/v0/servers?limit=100&include_deleted=true")
        .await
        .names()
        .len()
}

fn places(answer: &Answer) -> Vec<String> {
    let body = answer.json();
    let errors = body["errors"].as_array().into_iter().flatten();
    errors
        .map(|error| {
            let place = error["location"].as_str().unwrap_or("-");
            format!("{place}: {}", error["message"].as_str().unwrap())
        })
        .collect()
}

async fn a_write_to_a_misspelled_name_says_the_right_one(builder: Builder) {
    let app = builder.start().await;
    app.publish("com.example/Weather", &["1.0.0"]).await;
    let token = app.any_token().await;
    let status = json!({"status": "deprecated"});
    for (method, target, body) in [
        (
            Method::PUT,
            "/v0/servers/com.example%2Fweather/versions/1.0.0",
            document("com.example/weather", "1.0.0"),
        ),
        (
            Method::PATCH,
            "/v0/servers/com.example%2Fweather/versions/1.0.0/status",
            status.clone(),
        ),
        (Method::PATCH, "/v0/servers/com.example%2Fweather/status", status),
    ] {
        let answer = app.write(method, target, Some(&token), &body).await.expect(404);
        assert_eq!(
            places(&answer),
            ["path.serverName: did you mean `com.example/Weather`?"],
            "{target}"
        );
    }
}

async fn a_version_with_a_character_nobody_sees_is_refused(builder: Builder) {
    let app = builder.start().await;
    let token = app.any_token().await;
    for (version, code) in [
        ("1.0.0\u{200b}", "U+200B"),
        ("1.\u{2060}0.0", "U+2060"),
        ("1.0\u{a0}.0", "U+00A0"),
        ("1.0.0\u{e0041}", "U+E0041"),
    ] {
        let body = document("com.example/weather", version);
        let refused = post(&app, &token, &body).await.expect(422);
        let places = places(&refused);
        assert!(
            places[0].starts_with("body.version:") && places[0].contains(code),
            "{places:?}"
        );
    }
    assert_eq!(count(&app).await, 0);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("server.json");
    std::fs::write(
        &file,
        document("com.example/weather", "1.0.0\u{200b}").to_string(),
    )
    .unwrap();
    app.import(&file).await;
    let kept = app
        .registry
        .version("com.example/weather", "1.0.0\u{200b}", false)
        .await;
    assert!(!kept.unwrap().expect("an imported row is kept").valid);
}

async fn large_numbers_are_kept_as_received(builder: Builder) {
    let app = builder.start().await;
    let token = app.any_token().await;
    let text = |number: &str| {
        let mut body = document("com.example/weather", "1.0.0");
        let key = "io.modelcontextprotocol.registry/publisher-provided";
        body["_meta"] = json!({key: {"n": 0}});
        body.to_string().replace("\"n\":0", &format!("\"n\":{number}"))
    };
    let refused = post_text(&app, &token, text("1e400")).await.expect(400);
    assert!(refused.text().contains("line 1"), "{}", refused.text());
    let body = text("[9007199254740993,18446744073709551616]");
    let _ = post_text(&app, &token, body.clone()).await.expect(200);
    let raw = app
        .get("/api/v1/servers/com.example%2Fweather/versions/1.0.0/document")
        .await
        .expect(200);
    assert_eq!(raw.text(), body);
    let served = app.get("/v0/servers/com.example%2Fweather/versions/1.0.0").await;
    // Whole numbers of 64 bits exactly, larger ones as the nearest float.
    assert!(
        served.text().contains("[9007199254740993,1.8446744073709552e19]")
            || served
                .text()
                .contains("[9007199254740993,1.8446744073709552e+19]"),
        "{}",
        served.text()
    );
}

async fn publishing_answers_with_the_row_and_every_surface_shows_it(builder: Builder) {
    let app = builder.start().await;
    let token = app.token("com.example/*", &[Action::Publish]).await;
    let body = document("com.example/weather", "1.0.0");
    let made = app
        .write(Method::POST, "/v0.1/publish", Some(&token), &body)
        .await
        .expect(200);
    assert_eq!(made.json()["server"], body);
    let official = &made.json()["_meta"]["io.modelcontextprotocol.registry/official"];
    assert_eq!(official["status"], "active");
    assert_eq!(official["isLatest"], true);
    for time in ["statusChangedAt", "updatedAt"] {
        assert_eq!(official[time], official["publishedAt"]);
    }
    assert_eq!(
        made.json()["_meta"]["dev.toolmark/registry"]["origin"],
        "published"
    );
    for path in [
        "/v0/servers/com.example%2Fweather/versions/1.0.0",
        "/api/v1/servers/com.example%2Fweather/versions/1.0.0",
        "/s/com.example/weather",
        "/s/com.example/weather/1.0.0.json",
    ] {
        let _ = app.get(path).await.expect(200);
    }
    let events = app.get("/api/v1/events").await.expect(200).json();
    assert_eq!(events["events"][0]["kind"], "version.published");
}

async fn the_order_of_refusals_is_upstreams(builder: Builder) {
    let app = builder.start().await;
    let token = app.token("com.example/*", &[Action::Publish]).await;
    let good = document("com.example/weather", "1.0.0");
    let bad = json!({"name": "x", "version": 1});
    // Parameters and body together, before the token.
    let unsigned = app.write(Method::POST, PUBLISH, None, &bad).await.expect(422);
    assert_eq!(unsigned.json()["detail"], "validation failed");
    let places_found = places(&unsigned);
    assert_eq!(
        places_found[0],
        "header.Authorization: required header parameter is missing"
    );
    assert!(places_found.len() > 2, "{places_found:?}");
    let missing = app.write(Method::POST, PUBLISH, None, &good).await.expect(422);
    assert_eq!(
        places(&missing),
        ["header.Authorization: required header parameter is missing"]
    );
    let not_json = post_text(&app, &token, "{").await.expect(400);
    assert_eq!(not_json.json()["detail"], "validation failed");
    assert_eq!(not_json.json()["errors"][0]["location"], "body");
    assert_eq!(not_json.header("content-type"), "application/problem+json");
    let empty = post_text(&app, &token, "").await.expect(400);
    assert_eq!(empty.json()["detail"], "request body is required");
    // Then the form of the token, then the token, then what it allows.
    let bytes = || Some(good.to_string().into_bytes());
    for header in ["Basic abc", "Bearer", "tmk_x"] {
        let refused = app
            .send(Method::POST, PUBLISH, &[("authorization", header)], bytes())
            .await
            .expect(401);
        assert_eq!(
            refused.json()["detail"],
            "Invalid Authorization header format. Expected 'Bearer <token>'"
        );
    }
    for token in ["tmk_nonsense", "a.b.c", &token[..token.len() - 1]] {
        let refused = post(&app, token, &good).await.expect(401);
        assert_eq!(refused.json()["detail"], "Invalid or expired Registry JWT token");
    }
    let plain = [("authorization", "Bearer x"), ("content-type", "text/plain")];
    let _ = app.send(Method::POST, PUBLISH, &plain, bytes()).await.expect(415);
    let bearer = format!("bEARER {token}");
    let no_type = [("authorization", bearer.as_str())];
    let _ = app
        .send(Method::POST, PUBLISH, &no_type, bytes())
        .await
        .expect(200);
}

async fn a_second_publish_and_a_stranger_write_nothing(builder: Builder) {
    let app = builder.start().await;
    let token = app.token("com.example/*", &[Action::Publish]).await;
    let body = document("com.example/weather", "1.0.0");
    let _ = post(&app, &token, &body).await.expect(200);
    let twice = post(&app, &token, &body).await.expect(400);
    assert_eq!(twice.json()["detail"], "Failed to publish server");
    assert_eq!(
        twice.json()["errors"][0]["message"],
        "invalid version: cannot publish duplicate version"
    );
    let stranger = app.token("io.github.stranger/*", &[Action::Publish]).await;
    let refused = post(&app, &stranger, &document("com.example/weather", "1.0.1"))
        .await
        .expect(403);
    let detail = refused.json()["detail"].as_str().unwrap().to_owned();
    assert!(
        detail.contains("io.github.stranger/*") && detail.contains("com.example/weather"),
        "{detail}"
    );
    let reader = app.token("com.example/*", &[Action::Edit]).await;
    let _ = post(&app, &reader, &document("com.example/weather", "1.0.1"))
        .await
        .expect(403);
    assert_eq!(count(&app).await, 1);
    let events = app.get("/api/v1/events").await.json();
    assert_eq!(events["head"], 1, "a refusal is no event");
}

async fn a_body_that_is_doubtful_names_the_place(builder: Builder) {
    let app = builder.start().await;
    let token = app.any_token().await;
    let text = |inner: &str| {
        let whole = document("com.example/weather", "1.0.0").to_string();
        format!("{},{inner}}}", &whole[..whole.len() - 1])
    };
    for (inner, status, place) in [
        (r#""version":"2.0.0""#, 422, "body.version: duplicate key"),
        (
            r#""packages":[{"identifier":"a","identifier":"b"}]"#,
            422,
            "body.packages[0].identifier: duplicate key",
        ),
        (r#""title":"a\u0000b""#, 422, "body.title: NUL character"),
        (r#""colour":"red""#, 422, "body.colour: unexpected property"),
        (
            r#""website_url":"https://example.com""#,
            422,
            "body.website_url: unexpected property",
        ),
        (r#""title":7"#, 422, "body.title: expected string"),
        (r#""_meta":{"x":{}}"#, 422, "body._meta.x: unexpected property"),
    ] {
        let refused = post_text(&app, &token, text(inner)).await.expect(status);
        let found = places(&refused);
        assert!(
            found.iter().any(|found| found.starts_with(place)),
            "{inner}: {found:?}"
        );
    }
    let deep = text(&format!(r#""_meta":{}1{}"#, "{\"a\":".repeat(70), "}".repeat(70)));
    let refused = post_text(&app, &token, deep).await.expect(400);
    assert!(
        places(&refused)[0].starts_with("body._meta.a.a.a"),
        "{:?}",
        places(&refused)
    );
    assert_eq!(count(&app).await, 0);
    assert_eq!(app.get("/api/v1/events").await.json()["head"], 0);
}

async fn each_limit_of_the_body_holds_at_its_edge(builder: Builder) {
    let app = builder.start().await;
    let token = app.any_token().await;
    let mut long = document("com.example/weather", "1.0.0");
    long["description"] = "é".repeat(100).into();
    let _ = post(&app, &token, &long).await.expect(200);
    long["description"] = "é".repeat(101).into();
    let refused = post(&app, &token, &long).await.expect(422);
    assert!(places(&refused)[0].contains("<= 100"), "{:?}", places(&refused));
    // Blanks to exactly 1 MiB, then one more.
    let whole = document("com.example/weather", "1.0.1").to_string();
    let padded = format!("{whole}{}", " ".repeat(1024 * 1024 - whole.len()));
    let _ = post_text(&app, &token, padded.clone()).await.expect(200);
    let refused = post_text(&app, &token, format!("{padded} ")).await.expect(413);
    assert_eq!(refused.json()["title"], "Payload Too Large");
    let version = |chars: usize| document("com.example/long", &"9".repeat(chars));
    let _ = post(&app, &token, &version(255)).await.expect(200);
    let _ = post(&app, &token, &version(256)).await.expect(422);
    for (name, status) in [
        ("aa/bb".to_owned(), 200),
        (format!("{}/bb", "a".repeat(197)), 200),
        (format!("{}/bb", "a".repeat(198)), 422),
    ] {
        let _ = post(&app, &token, &document(&name, "1.0.0")).await.expect(status);
    }
}

async fn names_that_differ_by_case_are_one_name(builder: Builder) {
    let app = builder.start().await;
    let token = app.any_token().await;
    let _ = post(&app, &token, &document("acme/tool", "1.0.0"))
        .await
        .expect(200);
    let refused = post(&app, &token, &document("Acme/Tool", "1.0.0"))
        .await
        .expect(400);
    assert!(
        refused.json()["errors"][0]["message"]
            .as_str()
            .unwrap()
            .contains("acme/tool")
    );
    for (asked, canonical) in [
        (
            "/v0/servers/Acme%2FTool/versions/latest?x=1",
            "/v0/servers/acme%2Ftool/versions/latest?x=1",
        ),
        (
            "/v0.1/servers/Acme%2FTool/versions",
            "/v0.1/servers/acme%2Ftool/versions",
        ),
        ("/api/v1/servers/ACME%2Ftool", "/api/v1/servers/acme%2Ftool"),
        ("/s/Acme/Tool/versions", "/s/acme/tool/versions"),
        ("/s/Acme/Tool.json", "/s/acme/tool.json"),
    ] {
        let moved = app.get(asked).await.expect(308);
        assert_eq!(moved.header("location"), canonical);
        let _ = app.get(canonical).await.expect(200);
    }
}

async fn a_remote_of_another_servers_latest_is_refused(builder: Builder) {
    let app = builder.start().await;
    let token = app.any_token().await;
    let with_remote = |name: &str, version: &str| {
        let mut body = document(name, version);
        body["remotes"] = json!([{"type": "streamable-http", "url": "https://mcp.example.com/mcp"}]);
        body
    };
    let _ = post(&app, &token, &with_remote("com.example/old", "1.0.0"))
        .await
        .expect(200);
    let refused = post(&app, &token, &with_remote("com.example/new", "1.0.0"))
        .await
        .expect(400);
    assert_eq!(
        refused.json()["errors"][0]["message"],
        "remote URL https://mcp.example.com/mcp is already used by server com.example/old"
    );
    // Once the old server's latest no longer has it, the new name may.
    let _ = post(&app, &token, &document("com.example/old", "1.1.0"))
        .await
        .expect(200);
    let _ = post(&app, &token, &with_remote("com.example/new", "1.0.0"))
        .await
        .expect(200);
}

async fn bytes_are_kept_as_received(builder: Builder) {
    let app = builder.start().await;
    let token = app.any_token().await;
    let text = serde_json::to_string_pretty(&document("com.example/weather", "1.0.0")).unwrap();
    let _ = post_text(&app, &token, text.clone()).await.expect(200);
    let path = "/api/v1/servers/com.example%2Fweather/versions/1.0.0";
    let kept = app.get(&format!("{path}/document")).await.expect(200);
    assert_eq!(kept.text(), text);
    let digest = toolmark_domain::digest::Digest::of(text.as_bytes()).to_string();
    assert_eq!(app.get(path).await.json()["sha256"], digest);
}

async fn only_an_editor_replaces_a_document(builder: Builder) {
    let app = builder.start().await;
    app.publish("com.example/weather", &["1.0.0", "1.1.0"]).await;
    let publisher = app.token("com.example/*", &[Action::Publish]).await;
    let editor = app.token("com.example/*", &[Action::Edit]).await;
    let path = "/v0/servers/com.example%2Fweather/versions/1.0.0";
    let mut body = document("com.example/weather", "1.0.0");
    body["description"] = "Other words".into();
    let before = app.get(path).await.expect(200).json();
    let put = |token: &str, path: &str, body: &Value| {
        let (token, path, body) = (token.to_owned(), path.to_owned(), body.clone());
        let app = &app;
        async move { app.write(Method::PUT, &path, Some(&token), &body).await }
    };
    let _ = put(&publisher, path, &body).await.expect(403);
    assert_eq!(app.get(path).await.json(), before);
    for _ in 0..2 {
        let edited = put(&editor, path, &body).await.expect(200).json();
        assert_eq!(edited["server"]["description"], "Other words");
        let meta =
            |row: &Value, key: &str| row["_meta"]["io.modelcontextprotocol.registry/official"][key].clone();
        assert_eq!(meta(&edited, "publishedAt"), meta(&before, "publishedAt"));
        assert_ne!(meta(&edited, "updatedAt"), meta(&before, "updatedAt"));
        assert_eq!(meta(&edited, "isLatest"), false);
    }
    let renamed = put(&editor, path, &document("com.example/other", "1.0.0"))
        .await
        .expect(400);
    assert_eq!(renamed.json()["detail"], "Cannot rename server");
    let other = put(&editor, path, &document("com.example/weather", "1.1.0"))
        .await
        .expect(400);
    assert_eq!(
        other.json()["detail"],
        "Version in request body must match URL path parameter"
    );
    let absent = put(
        &editor,
        &path.replace("1.0.0", "9.9.9"),
        &document("com.example/weather", "9.9.9"),
    )
    .await;
    assert_eq!(absent.expect(404).json()["detail"], "Server not found");
    app.set_status("com.example/weather", "1.0.0", "deleted").await;
    let _ = put(&editor, path, &body).await.expect(404);
}

async fn validate_says_what_is_wrong_without_a_token(builder: Builder) {
    let app = builder.start().await;
    let validate = |body: Value| {
        let app = &app;
        async move { app.write(Method::POST, "/v0/validate", None, &body).await }
    };
    let good = validate(document("com.example/weather", "1.0.0"))
        .await
        .expect(200);
    assert_eq!(good.json(), json!({"valid": true, "issues": []}));
    let latest = validate(document("com.example/weather", "latest"))
        .await
        .expect(200)
        .json();
    assert_eq!(latest["valid"], false);
    assert_eq!(latest["issues"][0]["reference"], "reserved-version-string");
    let mut old = document("com.example/weather", "1.0.0");
    old["$schema"] = "https://static.modelcontextprotocol.io/schemas/2025-09-29/server.schema.json".into();
    let old = validate(old).await.expect(200).json();
    assert_eq!(old["issues"][0]["reference"], "schema-version-deprecated");
    let _ = validate(json!({"name": 1})).await.expect(422);
    // What validate finds wrong with the meaning, publish refuses.
    let token = app.any_token().await;
    for version in ["latest", "*", "x", "Latest", "^1.0.0", "1.x"] {
        let refused = post(&app, &token, &document("com.example/weather", version))
            .await
            .expect(422);
        assert_eq!(
            refused.json()["detail"],
            "Failed to publish server, invalid schema: call /validate for details",
            "{version}"
        );
    }
    for version in ["1.0.0-next", "1.0.0-linux", "1.2.3-fix"] {
        let _ = post(&app, &token, &document("com.example/weather", version))
            .await
            .expect(200);
    }
    let mut empty = document("com.example/weather", "3.0.0");
    empty["repository"] = json!({});
    let _ = post(&app, &token, &empty).await.expect(422);
    let mut schemaless = document("com.example/weather", "3.0.0");
    schemaless.as_object_mut().unwrap().remove("$schema");
    let _ = post(&app, &token, &schemaless).await.expect(422);
}

async fn the_development_login_gives_a_token_for_its_namespace(builder: Builder) {
    let closed = builder.again().without_dev_auth().start().await;
    let refused = closed
        .send(Method::POST, "/v0/auth/none", &[], None)
        .await
        .expect(404);
    assert_eq!(
        refused.json()["detail"],
        "Endpoint not found. See /docs for the API documentation."
    );
    closed.stop().await;
    let app = builder.start().await;
    let login = app
        .send(Method::POST, "/v0/auth/none", &[], None)
        .await
        .expect(200)
        .json();
    let token = login["registry_token"].as_str().unwrap();
    let expires = login["expires_at"].as_i64().unwrap();
    assert!((299..=300).contains(&(expires - app.registry.now().as_secs())));
    let own = document("io.modelcontextprotocol.anonymous/test", "1.0.0");
    let _ = post(&app, token, &own).await.expect(200);
    let _ = post(&app, token, &document("com.example/weather", "1.0.0"))
        .await
        .expect(403);
    app.clock.advance_secs(301);
    let _ = post(
        &app,
        token,
        &document("io.modelcontextprotocol.anonymous/test", "1.0.1"),
    )
    .await
    .expect(401);
}

async fn mistaken_releases_and_backports_do_not_shadow_others(builder: Builder) {
    let app = builder.start().await;
    app.publish("com.example/aa", &["0.3.8", "1.0.0", "0.3.9"]).await;
    let latest = "/v0/servers/com.example%2Faa/versions/latest";
    assert_eq!(app.get(latest).await.json()["server"]["version"], "1.0.0");
    app.set_status("com.example/aa", "1.0.0", "deleted").await;
    assert_eq!(app.get(latest).await.json()["server"]["version"], "0.3.9");
    app.publish("com.example/aa", &["0.3.10"]).await;
    assert_eq!(app.get(latest).await.json()["server"]["version"], "0.3.10");
    app.publish("com.example/bb", &["2.0.0", "1.4.7"]).await;
    let latest = "/v0/servers/com.example%2Fbb/versions/latest";
    assert_eq!(app.get(latest).await.json()["server"]["version"], "2.0.0");
}

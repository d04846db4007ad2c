//! Errors, limits of requests, and addresses nobody serves.

use reqwest::Method;
use serde_json::json;
use toolmark_tests::app::{Builder, document};

on_both_engines! {
    wrong_parameters_are_reported_together_in_upstreams_words
    unknown_parameters_are_named_on_our_own_routes_and_pages
    unknown_paths_and_methods_are_404_and_name_the_right_one
    a_nul_byte_is_refused_before_anything_else
    one_redirect_leads_to_the_tidy_path
    too_many_requests_are_429_with_all_headers
    a_body_over_the_limit_is_answered_to_a_client_that_writes_all_of_it_first
    a_cursor_or_kind_that_is_none_is_named
    a_publisher_in_another_letter_case_is_found
    long_targets_and_slow_bodies_have_their_own_status
    a_head_that_is_none_or_too_large_is_answered_by_a_status_alone
    a_request_id_is_in_header_and_problem
    health_says_live_and_ready
    metrics_count_by_route
    a_blocked_namespace_is_gone_after_a_restart
}

async fn wrong_parameters_are_reported_together_in_upstreams_words(builder: Builder) {
    let app = builder.start().await;
    for (query, location, message) in [
        ("limit=0", "query.limit", "expected number >= 1"),
        ("limit=101", "query.limit", "expected number <= 100"),
        ("limit=abc", "query.limit", "invalid integer"),
        ("include_deleted=foo", "query.include_deleted", "invalid boolean"),
    ] {
        let refused = app.get(&format!("/v0/servers?{query}")).await.expect(422);
        assert_eq!(refused.header("content-type"), "application/problem+json");
        let body = refused.json();
        assert_eq!(body["title"], "Unprocessable Entity");
        assert_eq!(body["status"], 422);
        assert_eq!(body["detail"], "validation failed");
        assert_eq!(body["errors"][0]["location"], location);
        assert_eq!(body["errors"][0]["message"], message);
    }
    let both = app
        .get("/v0.1/servers?limit=abc&include_deleted=foo")
        .await
        .expect(422)
        .json();
    assert_eq!(both["errors"].as_array().unwrap().len(), 2);
    for word in [
        "1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False",
    ] {
        let _ = app
            .get(&format!("/v0/servers?include_deleted={word}"))
            .await
            .expect(200);
    }
    let _ = app.get("/v0/servers?limit=1").await.expect(200);
    let _ = app.get("/v0/servers?limit=100").await.expect(200);
    let cursor = app.get("/v0/servers?cursor=eyJnope").await.expect(422).json();
    assert_eq!(cursor["errors"][0]["location"], "query.cursor");
}

async fn a_body_over_the_limit_is_answered_to_a_client_that_writes_all_of_it_first(builder: Builder) {
    let app = builder.start().await;
    let token = app.any_token().await;
    let length = 8 * 1024 * 1024;
    let mut request = format!(
        "POST /v0/publish HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n"
    )
    .into_bytes();
    request.resize(request.len() + length, b' ');
    // Fails here, on a reset connection, when the rest of the body is not read.
    let answer = app.raw(&request).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(answer.contains("request body is too large"), "{answer}");

    let waits = format!(
        "POST /v0/publish HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"
    );
    let answer = app.raw(waits.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

async fn a_cursor_or_kind_that_is_none_is_named(builder: Builder) {
    let app = builder.start().await;
    app.publish("com.example/weather", &["1.0.0"]).await;
    let kind = app.get("/api/v1/servers?kind=zz").await.expect(400).json();
    assert_eq!(kind["code"], "invalid_parameter");
    assert!(kind["detail"].as_str().unwrap().contains("`npm`"), "{kind}");
    let _ = app.get("/api/v1/servers?kind=remote").await.expect(200);
    let target = "/publishers/com.example?cursor=zz";
    let page = app.get_with(target, &[("accept", "text/html")]).await.expect(400);
    assert!(page.text().contains("not a cursor of this list"), "{target}");
    assert!(page.text().contains("leave"), "{target}");
    assert_eq!(app.get(target).await.expect(400).json()["code"], "invalid_cursor");
    let _ = app
        .get("/publishers/com.example?cursor=com.example%2Fa")
        .await
        .expect(200);
}

async fn a_publisher_in_another_letter_case_is_found(builder: Builder) {
    let app = builder.start().await;
    app.publish("com.example/weather", &["1.0.0"]).await;
    let moved = app.get("/publishers/COM.example").await.expect(308);
    assert_eq!(moved.header("location"), "/publishers/com.example");
    let moved = app.get("/publishers/COM.example.json").await.expect(308);
    assert_eq!(moved.header("location"), "/publishers/com.example.json");
    let _ = app.get("/publishers/com.example").await.expect(200);
    let _ = app.get("/publishers/com.exampl").await.expect(404);
}

async fn unknown_parameters_are_named_on_our_own_routes_and_pages(builder: Builder) {
    let app = builder.start().await;
    let unknown = app.get("/api/v1/servers?serach=x").await.expect(400).json();
    assert_eq!(unknown["code"], "unknown_parameter");
    assert_eq!(unknown["detail"], "unknown parameter `serach`");
    let near = app.get("/api/v1/servers?limt=x").await.expect(400).json();
    assert_eq!(near["hint"], "did you mean `limit`?");
    let typed = app.get("/api/v1/servers?limit=abc").await.expect(400).json();
    assert_eq!(typed["code"], "invalid_parameter");
    assert!(typed["detail"].as_str().unwrap().contains("query.limit"));
    for (page, name) in [
        ("/search?serach=x", "serach"),
        ("/?page=2", "page"),
        ("/stats?x=1", "x"),
    ] {
        let refused = app.get_with(page, &[("accept", "text/html")]).await.expect(400);
        assert!(refused.header("content-type").starts_with("text/html"), "{page}");
        assert!(refused.text().contains(name), "{page}");
    }
    let hostile = app
        .get_with("/search?%3Csvg%20onload=1", &[("accept", "text/html")])
        .await
        .expect(400);
    assert!(
        !hostile.text().contains("<svg onload"),
        "foreign words are escaped"
    );
}

async fn unknown_paths_and_methods_are_404_and_name_the_right_one(builder: Builder) {
    let app = builder.start().await;
    app.publish("com.example/weather", &["1.0.0"]).await;
    for path in ["/servers", "/v0.9/servers", "/v1/servers", "/v2.3.4/servers"] {
        let lost = app.get_with(path, &[("accept", "text/html")]).await.expect(404);
        assert_eq!(lost.header("content-type"), "application/problem+json");
        let detail = lost.json()["detail"].as_str().unwrap().to_owned();
        assert!(
            detail.contains("'/v0.1/servers'") && detail.contains("'/v0/servers'"),
            "{detail}"
        );
    }
    let upstream = "Endpoint not found. See /docs for the API documentation.";
    for path in [
        "/v0/nothing",
        "/v0.1/servers/x",
        "/v0.1/servers/com.example%2Fweather",
    ] {
        assert_eq!(app.get(path).await.expect(404).json()["detail"], upstream);
    }
    for (method, path) in [
        (Method::DELETE, "/v0/servers/com.example%2Fweather/versions/1.0.0"),
        (Method::POST, "/v0/servers"),
        (Method::TRACE, "/v0/servers"),
        (Method::GET, "/v0/publish"),
        (Method::OPTIONS, "/v0/servers"),
    ] {
        let lost = app.send(method.clone(), path, &[], None).await.expect(404);
        assert_eq!(lost.json()["detail"], upstream, "{method} {path}");
        assert_eq!(lost.header("allow"), "", "{method} {path}");
    }
    let wrong = app
        .send(Method::POST, "/api/v1/servers", &[], None)
        .await
        .expect(405);
    assert_eq!(wrong.header("allow"), "GET,HEAD");
    assert_eq!(
        app.get("/api/v1/nothing").await.expect(404).json()["code"],
        "route_not_found"
    );
    let page = app
        .get_with("/nothing", &[("accept", "text/html")])
        .await
        .expect(404);
    assert!(page.text().contains("<main"));
    assert_eq!(
        app.get("/nothing").await.expect(404).json()["code"],
        "route_not_found"
    );
}

async fn a_nul_byte_is_refused_before_anything_else(builder: Builder) {
    let app = builder.start().await;
    for (target, place) in [
        ("/v0/servers/a%00b/versions/", "path"),
        ("/v0/servers?search=a%00", "query"),
        ("/s/a/%00", "path"),
        ("/api/v1/servers?q=%00", "query"),
    ] {
        let refused = app.get(target).await.expect(400);
        assert_eq!(refused.header("access-control-allow-origin"), "*");
        if target.starts_with("/v0") {
            assert_eq!(refused.header("content-type"), "application/json");
        }
        let detail = refused.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(place), "{target}: {detail}");
    }
}

async fn one_redirect_leads_to_the_tidy_path(builder: Builder) {
    let app = builder.start().await;
    app.publish("com.example/weather", &["1.0.0"]).await;
    for path in [
        "/search",
        "/docs",
        "/stats",
        "/s/com.example/weather",
        "/s/com.example/weather/1.0.0",
        "/v0/servers",
        "/v0.1/servers/com.example%2Fweather/versions/latest",
        "/api/v1/servers",
        "/health",
        "/robots.txt",
    ] {
        let plain = app.get(path).await.expect(200);
        let doubled = path.replace('/', "//");
        for untidy in [format!("{path}/"), format!("{path}//"), doubled] {
            let moved = app.get(&format!("{untidy}?x=a%2Fb&y=//")).await.expect(308);
            assert_eq!(
                moved.header("location"),
                format!("{path}?x=a%2Fb&y=//"),
                "{untidy}"
            );
            let moved = app.get(&untidy).await.expect(308);
            let target = moved.header("location").to_owned();
            assert_eq!(
                app.get(&target).await.expect(200).body.len(),
                plain.body.len(),
                "{untidy}"
            );
        }
    }
    let elsewhere = app.get("//evil.example//").await.expect(308);
    assert_eq!(elsewhere.header("location"), "/evil.example");
    let _ = app.get("//").await.expect(308);
}

async fn too_many_requests_are_429_with_all_headers(builder: Builder) {
    let app = builder.rate_limit(60, 3).start().await;
    for left in [2, 1, 0] {
        let answer = app.get("/v0/servers").await.expect(200);
        assert_eq!(answer.header("ratelimit-limit"), "3");
        assert_eq!(answer.header("ratelimit-remaining"), left.to_string());
    }
    let refused = app
        .get_with("/v0/servers", &[("origin", "https://editor.example")])
        .await
        .expect(429);
    assert_eq!(refused.header("retry-after"), "1");
    assert_eq!(refused.header("ratelimit-remaining"), "0");
    assert_eq!(refused.header("access-control-allow-origin"), "*");
    assert_eq!(refused.json()["title"], "Too Many Requests");
    assert_eq!(
        app.get("/api/v1/stats").await.expect(429).json()["code"],
        "rate_limited"
    );
    // Health is asked by the operator's own systems.
    let _ = app.get("/health/ready").await.expect(200);
}

async fn long_targets_and_slow_bodies_have_their_own_status(builder: Builder) {
    let app = builder
        .server(|settings| settings.body_read = std::time::Duration::from_millis(200))
        .start()
        .await;
    let path = "/v0/servers?x=";
    let edge = format!("{path}{}", "a".repeat(16 * 1024 - path.len()));
    let _ = app.get(&edge).await.expect(200);
    let _ = app.get(&format!("{edge}a")).await.expect(414);
    let slow = "POST /v0/publish HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\nconnection: close\r\n\r\n{";
    let answer = app.raw(slow.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    let announced =
        "POST /v0/publish HTTP/1.1\r\nhost: x\r\ncontent-length: 1048577\r\nconnection: close\r\n\r\n";
    let answer = app.raw(announced.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

async fn a_head_that_is_none_or_too_large_is_answered_by_a_status_alone(builder: Builder) {
    let app = builder.start().await;
    let lines = "x-header: 1\r\n".repeat(150);
    let long = "a".repeat(66 * 1024);
    for (head, status) in [
        (format!("GET / HTTP/1.1\r\nhost: x\r\n{lines}"), 431),
        (format!("GET / HTTP/1.1\r\nhost: x\r\nx-header: {long}\r\n"), 431),
        (format!("GET /{long} HTTP/1.1\r\nhost: x\r\n"), 431),
        ("nonsense\r\n".to_owned(), 400),
        ("GET / HTTP/9.9\r\nhost: x\r\n".to_owned(), 400),
    ] {
        let answer = app.raw(format!("{head}\r\n").as_bytes()).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        assert!(answer.ends_with("\r\n\r\n"), "{answer}");
        assert!(!answer.contains("content-type"), "{answer}");
    }
}

async fn a_request_id_is_in_header_and_problem(builder: Builder) {
    let app = builder.start().await;
    let given = app
        .get_with("/api/v1/nothing", &[("x-request-id", "proxy-0001")])
        .await
        .expect(404);
    assert_eq!(given.header("x-request-id"), "proxy-0001");
    assert_eq!(given.json()["request_id"], "proxy-0001");
    let own = app.get("/api/v1/nothing").await.expect(404);
    assert_eq!(own.json()["request_id"], own.header("x-request-id"));
    assert!(!own.header("x-request-id").is_empty());
    assert_eq!(own.header("x-content-type-options"), "nosniff");
}

async fn health_says_live_and_ready(builder: Builder) {
    let app = builder
        .server(|settings| settings.github_client_id = Some("Iv1.abc".into()))
        .start()
        .await;
    for path in ["/health", "/v0/health", "/v0.1/health"] {
        let health = app.get(path).await.expect(200).json();
        assert_eq!(health, json!({"status": "ok", "github_client_id": "Iv1.abc"}));
    }
    assert_eq!(
        app.get("/v0/ping").await.expect(200).json(),
        json!({"pong": true})
    );
    let version = app.get("/v0/version").await.expect(200).json();
    for key in ["version", "git_commit", "build_time"] {
        assert!(version[key].is_string(), "{key}");
    }
    let _ = app.get("/health/live").await.expect(200);
    let _ = app.get("/health/ready").await.expect(200);
    app.registry.close().await;
    let _ = app.get("/health/live").await.expect(200);
    let down = app.get("/health/ready").await.expect(503).json();
    assert_eq!(down["code"], "unavailable");
    let list = app.get("/v0/servers").await.expect(500);
    assert!(
        !list.text().contains("sql") && !list.text().contains("pool"),
        "{}",
        list.text()
    );
}

async fn metrics_count_by_route(builder: Builder) {
    let app = builder.start().await;
    app.publish("com.example/weather", &["1.0.0"]).await;
    let _ = app
        .get("/v0/servers/com.example%2Fweather/versions/1.0.0")
        .await
        .expect(200);
    let _ = app.get("/nothing/at/all").await.expect(404);
    let site = app.get("/metrics").await.expect(404);
    assert_eq!(
        site.json()["code"],
        "route_not_found",
        "metrics are not on the site"
    );
    let url = format!("http://{}/metrics", app.metrics_address);
    let text = reqwest::get(url).await.unwrap().text().await.unwrap();
    let line = r#"toolmark_http_requests_total{method="GET",path="/v0/servers/{name}/versions/{version}",status_code="200"} 1"#;
    assert!(text.contains(line), "{text}");
    assert!(text.contains(r#"path="unmatched",status_code="404"}"#));
    assert!(text.contains("toolmark_events_head 1"));
    assert!(text.contains("toolmark_http_request_duration_seconds_bucket"));
}

async fn a_blocked_namespace_is_gone_after_a_restart(builder: Builder) {
    let blocked = builder.again().blocked("com.spam");
    let app = builder.start().await;
    app.publish("com.spam/xx", &["1.0.0"]).await;
    app.publish("com.example/weather", &["1.0.0"]).await;
    app.stop().await;
    let app = blocked.start().await;
    let sitemap = app.get("/sitemap/.xml").await.expect(200);
    assert!(sitemap.text().contains("com.example/weather") && !sitemap.text().contains("com.spam"));
    for path in ["/v0/servers", "/api/v1/servers", "/search", "/"] {
        let shown = app.get(path).await.expect(200);
        assert!(!shown.text().contains("com.spam"), "{path}");
        assert!(shown.text().contains("com.example"), "{path}");
    }
    for path in [
        "/v0/servers/com.spam%2Fxx/versions",
        "/v0/servers/com.spam%2Fxx/versions/1.0.0?include_deleted=true",
        "/api/v1/servers/com.spam%2Fxx",
        "/api/v1/servers/com.spam%2Fxx/versions/1.0.0/document",
        "/s/com.spam/xx",
        "/publishers/com.spam",
    ] {
        let _ = app.get(path).await.expect(404);
    }
    let token = app.any_token().await;
    let refused = app
        .write(
            Method::POST,
            "/v0/publish",
            Some(&token),
            &document("com.spam/yy", "1.0.0"),
        )
        .await
        .expect(403);
    assert!(refused.json()["detail"].as_str().unwrap().contains("com.spam"));
}

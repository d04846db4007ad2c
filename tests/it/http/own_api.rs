//! `/api/v1`: its lists, its feed, its description.

use std::time::{Duration, Instant};

use toolmark_tests::app::Builder;

on_both_engines! {
    servers_are_listed_once_filtered_and_over_pages
    wrong_parameters_and_absent_things_are_named
    the_feed_is_read_from_a_number_on
    a_waiting_reader_hears_of_the_next_event
    a_waiting_reader_does_not_hold_up_the_end
    every_operation_is_described_and_has_a_validator
    counts_are_given
    every_route_is_in_the_description
}

/// Read from the source: a router cannot be asked for its routes.
async fn every_route_is_in_the_description(builder: Builder) {
    let app = builder.start().await;
    let routes = include_str!("../../../backend/server/src/routes.rs");
    let mut served: Vec<&str> = routes
        .split('"')
        .filter(|text| text.starts_with("/api/v1/") && *text != "/api/v1/openapi.json")
        .collect();
    served.sort_unstable();
    let document = app.get("/api/v1/openapi.json").await.expect(200).json();
    let described: Vec<&str> = document["paths"]
        .as_object()
        .expect("paths")
        .keys()
        .map(String::as_str)
        .collect();
    assert!(served.len() >= 7, "{served:?}");
    // The other way round a path may be written in parts.
    let missing: Vec<&&str> = served.iter().filter(|path| !described.contains(path)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

async fn servers_are_listed_once_filtered_and_over_pages(builder: Builder) {
    let app = builder.start().await;
    for name in [
        "com.example/aa",
        "com.example/bb",
        "com.example/cc",
        "org.example/aa",
    ] {
        app.publish(name, &["1.0.0", "1.1.0"]).await;
    }
    app.registry
        .wait_indexed(app.registry.head().await.unwrap())
        .await;
    let mut seen = Vec::new();
    let mut next = "?limit=2&namespace=com.example&q=weather".to_owned();
    loop {
        let page = app
            .get(&format!("/api/v1/servers{next}"))
            .await
            .expect(200)
            .json();
        let rows = page["servers"].as_array().unwrap();
        seen.extend(rows.iter().map(|row| {
            format!(
                "{}@{}",
                row["name"].as_str().unwrap(),
                row["version"].as_str().unwrap()
            )
        }));
        match page["next_cursor"].as_str() {
            Some(cursor) => next = format!("?limit=2&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(
        seen,
        [
            "com.example/aa@1.1.0",
            "com.example/bb@1.1.0",
            "com.example/cc@1.1.0"
        ]
    );
}

async fn wrong_parameters_and_absent_things_are_named(builder: Builder) {
    let app = builder.start().await;
    app.publish("com.example/aa", &["1.0.0"]).await;
    for (query, code) in [
        ("cursor=garbage", "invalid_cursor"),
        ("cursor=v1---", "invalid_cursor"),
        ("limit=0", "invalid_parameter"),
        ("limit=101", "invalid_parameter"),
        ("limit=1&limit=2", "invalid_parameter"),
        ("offset=1", "unknown_parameter"),
    ] {
        let refused = app.get(&format!("/api/v1/servers?{query}")).await.expect(400);
        assert_eq!(refused.json()["code"], code, "{query}");
        assert_eq!(refused.header("content-type"), "application/problem+json");
    }
    let absent = app
        .get("/api/v1/servers/com.example%2Fnone")
        .await
        .expect(404)
        .json();
    assert_eq!(absent["code"], "not_found");
    let absent = app
        .get("/api/v1/servers/com.example%2Faa/versions/9")
        .await
        .expect(404)
        .json();
    assert_eq!(absent["detail"], "server `com.example/aa` has no version `9`");
}

async fn the_feed_is_read_from_a_number_on(builder: Builder) {
    let app = builder.start().await;
    app.publish("com.example/aa", &["1.0.0", "1.1.0", "1.2.0"]).await;
    let first = app.get("/api/v1/events?limit=2").await.expect(200).json();
    assert_eq!(first["events"][0]["schema"], "toolmark.event/1");
    assert_eq!(first["last"], 2);
    assert_eq!(first["head"], 3);
    let second = app.get("/api/v1/events?limit=2&after=2").await.expect(200).json();
    assert_eq!(second["events"][0]["seq"], 3);
    assert_eq!(second["events"].as_array().unwrap().len(), 1);
    let beyond = app
        .get("/api/v1/events?after=99&wait=30")
        .await
        .expect(200)
        .json();
    assert_eq!((&beyond["last"], &beyond["head"]), (&99.into(), &3.into()));
    for bad in ["after=-1", "wait=31", "limit=1001", "after=x"] {
        let _ = app.get(&format!("/api/v1/events?{bad}")).await.expect(400);
    }
}

async fn a_waiting_reader_hears_of_the_next_event(builder: Builder) {
    let app = builder.start().await;
    let started = Instant::now();
    let (heard, ()) = tokio::join!(app.get("/api/v1/events?after=0&wait=30"), async {
        app.publish("com.example/aa", &["1.0.0"]).await;
    });
    let heard = heard.expect(200).json();
    assert_eq!(heard["last"], 1);
    assert!(started.elapsed() < Duration::from_secs(20));
    let quiet = app.get("/api/v1/events?after=1&wait=1").await.expect(200).json();
    assert_eq!(quiet["events"].as_array().unwrap().len(), 0);
}

async fn a_waiting_reader_does_not_hold_up_the_end(builder: Builder) {
    let app = builder.start().await;
    let address = app.address.clone();
    let waiting = tokio::spawn(async move {
        let url = format!("http://{address}/api/v1/events?wait=30");
        reqwest::get(url).await.map(|response| response.status().as_u16())
    });
    // One more request over another connection: by its answer the first has been taken up.
    while app.get("/health/live").await.status != 200 || waiting.is_finished() {}
    tokio::time::sleep(Duration::from_millis(200)).await;
    let started = Instant::now();
    app.stop().await;
    assert_eq!(waiting.await.unwrap().unwrap(), 200);
    assert!(
        started.elapsed() < Duration::from_secs(10),
        "{:?}",
        started.elapsed()
    );
}

async fn every_operation_is_described_and_has_a_validator(builder: Builder) {
    let app = builder.start().await;
    app.publish("com.example/aa", &["1.0.0"]).await;
    app.registry
        .wait_indexed(app.registry.head().await.unwrap())
        .await;
    let document = app.get("/api/v1/openapi.json").await.expect(200).json();
    assert_eq!(document["openapi"], "3.1.0");
    let paths = document["paths"].as_object().unwrap();
    // What writes, wants a token, or names something that must be made first has tests of its own.
    let open = |item: &serde_json::Value| item["get"].is_object() && item["get"].get("security").is_none();
    let made =
        |path: &str| path.contains("{digest}") || path.ends_with("/diff") || path.ends_with("/provenance");
    for (path, _) in paths.iter().filter(|(path, item)| open(item) && !made(path)) {
        let target = path
            .replace("{name}", "com.example%2Faa")
            .replace("{version}", "1.0.0")
            .replace("{tool}", "none");
        if path.contains("{tool}") || path.ends_with("/manifest") {
            // Nothing was looked at here; a tool that is there is the business of the tests of the search.
            let _ = app.get(&target).await.expect(404);
            continue;
        }
        let needed = if path.ends_with("/find") || path.ends_with("/complete") {
            "?q=weather"
        } else {
            "?"
        };
        let target = format!("{target}{needed}");
        let answer = app.get(&target).await.expect(200);
        let etag = answer.header("etag").to_owned();
        assert!(!etag.is_empty(), "{path}");
        let _ = app
            .get_with(&target, &[("if-none-match", &etag)])
            .await
            .expect(304);
        let unknown = app.get(&format!("{target}&colour=red")).await.expect(400);
        assert!(
            unknown.json()["detail"].as_str().unwrap().contains("colour"),
            "{path}"
        );
    }
    let yaml = app.get("/openapi.yaml").await.expect(200);
    for mark in [
        "\"version\": \"1.0.0\"",
        "https://github.com/modelcontextprotocol/registry",
    ] {
        assert!(yaml.text().contains(mark), "{mark}");
    }
    let _ = app.get("/openapi.json").await.expect(200).json();
}

async fn counts_are_given(builder: Builder) {
    let app = builder.start().await;
    app.publish("com.example/aa", &["1.0.0", "1.1.0"]).await;
    let stats = app.get("/api/v1/stats").await.expect(200).json();
    assert_eq!(
        (&stats["servers"], &stats["versions"], &stats["events"]),
        (&1.into(), &2.into(), &2.into())
    );
}

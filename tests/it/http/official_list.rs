//! `GET /servers`, `/versions`, `/versions/{version}` of the official contract.

use toolmark_tests::app::{Builder, TestApp, document};

on_both_engines! {
    rows_have_upstreams_shape_and_order
    every_page_size_gives_the_same_rows_by_either_cursor
    page_two_stays_filtered_when_the_client_forgets_its_filters
    version_latest_gives_each_server_once_over_all_pages
    a_search_finds_words_of_name_and_description
    an_incremental_reader_gets_what_changed_and_what_was_deleted
    deleted_rows_are_shown_only_when_asked_for
    a_detail_has_a_validator_and_head_has_its_length
    a_list_is_renewed_by_the_next_publish
    percent_signs_and_slashes_in_segments_are_decoded_once
}

async fn catalogue(builder: Builder) -> TestApp {
    let app = builder.start().await;
    app.publish("com.example/zebra", &["1.9.0", "1.10.0", "1.2.0"])
        .await;
    app.publish("com.example/alpha", &["1.0.0+build.7", "0.9.0"])
        .await;
    app.publish("org.example/m_x-y.z", &["1.0.0"]).await;
    app
}

async fn rows_have_upstreams_shape_and_order(builder: Builder) {
    let app = catalogue(builder).await;
    let list = app.get("/v0.1/servers").await.expect(200);
    assert_eq!(
        list.names().into_iter().zip(list.versions()).collect::<Vec<_>>(),
        [
            ("com.example/alpha", "0.9.0"),
            ("com.example/alpha", "1.0.0+build.7"),
            ("com.example/zebra", "1.10.0"),
            ("com.example/zebra", "1.2.0"),
            ("com.example/zebra", "1.9.0"),
            ("org.example/m_x-y.z", "1.0.0"),
        ]
        .map(|(name, version)| (name.to_owned(), version.to_owned()))
    );
    let body = list.json();
    assert_eq!(body["metadata"], serde_json::json!({"count": 6}));
    let meta = &body["servers"][2]["_meta"]["io.modelcontextprotocol.registry/official"];
    let keys: Vec<&String> = meta.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "status",
            "statusChangedAt",
            "publishedAt",
            "updatedAt",
            "isLatest"
        ]
    );
    assert_eq!(meta["isLatest"], true);
    assert_eq!(
        body["servers"][2]["server"],
        document("com.example/zebra", "1.10.0")
    );
    assert_eq!(list.header("content-type"), "application/json");
    // `/v0` answers alike, and unknown parameters are ignored.
    for same in ["/v0/servers", "/v0.1/servers?q=zzz&limit=", "/v0/servers?search="] {
        assert_eq!(app.get(same).await.expect(200).body, list.body, "{same}");
    }
    let empty = app.get("/v0/servers?search=nothinglikeit").await.expect(200);
    assert_eq!(empty.text(), r#"{"servers":[],"metadata":{"count":0}}"#);
    let versions = app
        .get("/v0/servers/com.example%2Fzebra/versions")
        .await
        .expect(200);
    assert_eq!(versions.versions(), ["1.2.0", "1.10.0", "1.9.0"]);
    let gone = app
        .get("/v0/servers/com.example%2Fnone/versions")
        .await
        .expect(404);
    assert_eq!(gone.json()["detail"], "Server not found");
}

/// Follows `nextCursor` to the end, or makes the cursor as upstream's clients know it.
async fn walk(app: &TestApp, query: &str, upstreams_form: bool) -> Vec<String> {
    let mut rows = Vec::new();
    let mut cursor = String::new();
    for _ in 0..50 {
        let page = app
            .get(&format!("/v0.1/servers?{query}{cursor}"))
            .await
            .expect(200);
        let (names, versions) = (page.names(), page.versions());
        rows.extend(names.iter().zip(&versions).map(|(n, v)| format!("{n}:{v}")));
        let Some(next) = page.json()["metadata"]["nextCursor"].as_str().map(str::to_owned) else {
            return rows;
        };
        assert!(
            next.bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_')),
            "{next}"
        );
        // As VS Code sends it: not encoded, so that `+` arrives as a space.
        let next = if upstreams_form {
            rows.last().unwrap().clone()
        } else {
            next
        };
        cursor = format!("&cursor={next}");
    }
    panic!("the list does not end");
}

async fn every_page_size_gives_the_same_rows_by_either_cursor(builder: Builder) {
    let app = catalogue(builder).await;
    let whole = walk(&app, "limit=100", false).await;
    assert_eq!(whole.len(), 6);
    for limit in [1, 2, 3, 5, 6, 7] {
        for upstreams_form in [false, true] {
            let rows = walk(&app, &format!("limit={limit}"), upstreams_form).await;
            assert_eq!(rows, whole, "limit {limit}, {upstreams_form}");
        }
    }
    let by_name = app.get("/v0/servers?cursor=com.example/zebra").await.expect(200);
    assert_eq!(by_name.names(), ["org.example/m_x-y.z"]);
    // A full last page names one more, which is empty.
    let full = app.get("/v0/servers?limit=6").await.expect(200).json();
    let next = full["metadata"]["nextCursor"].as_str().unwrap();
    let end = app
        .get(&format!("/v0/servers?limit=6&cursor={next}"))
        .await
        .expect(200);
    assert_eq!(end.json()["metadata"], serde_json::json!({"count": 0}));
}

async fn page_two_stays_filtered_when_the_client_forgets_its_filters(builder: Builder) {
    let app = catalogue(builder).await;
    let first = app.get("/v0.1/servers?search=zebra&limit=2").await.expect(200);
    let next = first.json()["metadata"]["nextCursor"]
        .as_str()
        .unwrap()
        .to_owned();
    let second = app
        .get(&format!("/v0.1/servers?limit=2&cursor={next}"))
        .await
        .expect(200);
    assert_eq!(second.names(), ["com.example/zebra"]);
    assert_eq!(second.versions(), ["1.9.0"]);
}

async fn version_latest_gives_each_server_once_over_all_pages(builder: Builder) {
    let app = catalogue(builder).await;
    app.publish(
        "com.example/six",
        &["1.0.0", "1.1.0", "1.2.0", "2.0.0", "1.4.7", "3.0.0-rc.1"],
    )
    .await;
    let rows = walk(&app, "version=latest&limit=2", false).await;
    assert_eq!(
        rows,
        [
            "com.example/alpha:1.0.0+build.7",
            "com.example/six:3.0.0-rc.1",
            "com.example/zebra:1.10.0",
            "org.example/m_x-y.z:1.0.0"
        ]
    );
    let exact = app.get("/v0/servers?version=1.10.0").await.expect(200);
    assert_eq!(exact.names(), ["com.example/zebra"]);
}

async fn a_search_finds_words_of_name_and_description(builder: Builder) {
    let app = catalogue(builder).await;
    for (query, count) in [
        ("ZEBRA", 3),
        ("weather+zebra", 3),
        ("questions+about", 6),
        ("zebra+tornado", 0),
        ("m_x", 1),
        ("mzx", 0),
        ("%25", 0),
    ] {
        let found = app.get(&format!("/v0/servers?search={query}")).await.expect(200);
        assert_eq!(found.json()["metadata"]["count"], count, "{query}");
    }
    let edge = "a".repeat(200);
    let _ = app.get(&format!("/v0/servers?search={edge}")).await.expect(200);
    let over = app.get(&format!("/v0/servers?search={edge}a")).await.expect(422);
    assert_eq!(over.json()["errors"][0]["message"], "expected length <= 200");
    assert_eq!(over.json()["errors"][0]["location"], "query.search");
}

async fn an_incremental_reader_gets_what_changed_and_what_was_deleted(builder: Builder) {
    let app = catalogue(builder).await;
    let all = app.get("/v0/servers?limit=100").await.expect(200).json();
    let newest = all["servers"].as_array().unwrap().iter();
    let newest = newest
        .map(|row| {
            row["_meta"]["io.modelcontextprotocol.registry/official"]["updatedAt"]
                .as_str()
                .unwrap()
        })
        .max()
        .unwrap();
    let none = app
        .get(&format!("/v0/servers?updated_since={newest}"))
        .await
        .expect(200);
    assert_eq!(none.names().len(), 0, "strictly greater");
    app.clock.advance_secs(60);
    app.set_status("com.example/zebra", "1.2.0", "deleted").await;
    let changed = app
        .get(&format!("/v0/servers?updated_since={newest}"))
        .await
        .expect(200);
    assert_eq!(changed.versions(), ["1.2.0"]);
    let bad = app.get("/v0/servers?updated_since=yesterday").await.expect(400);
    assert_eq!(
        bad.json()["detail"],
        "Invalid updated_since format: expected RFC3339 timestamp (e.g., 2025-08-07T13:15:04.280Z)"
    );
    let contrary = format!("/v0/servers?updated_since={newest}&include_deleted=false");
    let contrary = app.get(&contrary).await.expect(400);
    assert!(
        contrary.json()["detail"]
            .as_str()
            .unwrap()
            .starts_with("Cannot set include_deleted=false")
    );
}

async fn deleted_rows_are_shown_only_when_asked_for(builder: Builder) {
    let app = catalogue(builder).await;
    app.set_status("org.example/m_x-y.z", "1.0.0", "deleted").await;
    app.set_status("com.example/zebra", "1.10.0", "deprecated").await;
    let shown = app.get("/v0/servers").await.expect(200);
    assert_eq!(shown.names().len(), 5);
    assert!(shown.versions().contains(&"1.10.0".to_owned()));
    let all = app
        .get("/v0/servers?include_deleted=true&limit=5")
        .await
        .expect(200)
        .json();
    let next = all["metadata"]["nextCursor"].as_str().unwrap();
    // Page two shows them still, also when the client does not say it again.
    let rest = app
        .get(&format!("/v0/servers?limit=5&cursor={next}"))
        .await
        .expect(200);
    assert_eq!(rest.names(), ["org.example/m_x-y.z"]);
    let path = "/v0/servers/org.example%2Fm_x-y.z/versions";
    for missing in [path.to_owned(), format!("{path}/1.0.0"), format!("{path}/latest")] {
        let hidden = app.get(&missing).await.expect(404);
        assert_eq!(hidden.json()["detail"], "Server not found");
        let _ = app
            .get(&format!("{missing}?include_deleted=true"))
            .await
            .expect(200);
    }
}

async fn a_detail_has_a_validator_and_head_has_its_length(builder: Builder) {
    let app = catalogue(builder).await;
    let path = "/v0.1/servers/com.example%2Fzebra/versions/latest";
    let first = app.get(path).await.expect(200);
    assert_eq!(first.json()["server"]["version"], "1.10.0");
    assert_eq!(first.header("cache-control"), "public, no-cache");
    let etag = first.header("etag").to_owned();
    let same = app.get_with(path, &[("if-none-match", &etag)]).await.expect(304);
    assert!(same.body.is_empty());
    assert_eq!(same.header("etag"), etag);
    let head = app.send(reqwest::Method::HEAD, path, &[], None).await.expect(200);
    assert_eq!(head.header("content-length"), first.body.len().to_string());
    assert!(head.body.is_empty());
    app.set_status("com.example/zebra", "1.10.0", "deprecated").await;
    let _ = app.get_with(path, &[("if-none-match", &etag)]).await.expect(200);
    for list in ["/v0/servers", "/v0/servers/com.example%2Fzebra/versions"] {
        let etag = app.get(list).await.expect(200).header("etag").to_owned();
        let _ = app.get_with(list, &[("if-none-match", &etag)]).await.expect(304);
    }
    let packed = app
        .get_with("/v0/servers", &[("accept-encoding", "gzip")])
        .await
        .expect(200);
    assert_eq!(packed.header("content-encoding"), "gzip");
    assert_eq!(packed.header("vary"), "Accept-Encoding");
    assert!(packed.body.starts_with(&[0x1f, 0x8b]));
}

async fn a_list_is_renewed_by_the_next_publish(builder: Builder) {
    let app = catalogue(builder).await;
    for number in 0..5 {
        let before = app.get("/v0/servers?limit=100").await.expect(200).names().len();
        app.publish("com.example/news", &[&format!("1.0.{number}")]).await;
        let after = app.get("/v0/servers?limit=100").await.expect(200).names().len();
        assert_eq!(after, before + 1);
    }
}

async fn percent_signs_and_slashes_in_segments_are_decoded_once(builder: Builder) {
    let app = catalogue(builder).await;
    let path = "/v0/servers/com.example%2Falpha/versions";
    for plus in ["1.0.0+build.7", "1.0.0%2Bbuild.7"] {
        let _ = app.get(&format!("{path}/{plus}")).await.expect(200);
    }
    // Decoded twice this would be the version before.
    let _ = app.get(&format!("{path}/1.0.0%252Bbuild.7")).await.expect(404);
    let undecodable = app.get(&format!("{path}/%FF")).await.expect(400);
    assert_eq!(undecodable.json()["title"], "Bad Request");
    let unencoded = app
        .get("/v0/servers/com.example/alpha/versions")
        .await
        .expect(404);
    assert_eq!(
        unencoded.json()["detail"],
        "Endpoint not found. See /docs for the API documentation."
    );
}

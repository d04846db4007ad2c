//! Which version each surface shows, and in which order.

use toolmark_tests::app::Builder;

on_both_engines! {
    a_prerelease_is_latest_for_upstreams_clients_and_not_current_for_ours
    our_lists_have_the_greatest_version_first_and_upstreams_the_newest
    a_deleted_mistake_falls_back_and_its_page_says_why
    our_version_list_goes_on_over_pages
}

async fn a_prerelease_is_latest_for_upstreams_clients_and_not_current_for_ours(builder: Builder) {
    let app = builder.start().await;
    app.publish("com.example/aa", &["1.0.0", "2.0.0-rc.1"]).await;
    let official = app
        .get("/v0/servers/com.example%2Faa/versions/latest")
        .await
        .json();
    assert_eq!(official["server"]["version"], "2.0.0-rc.1");
    assert_eq!(official["_meta"]["dev.toolmark/registry"]["current"], false);
    let own = app
        .get("/api/v1/servers/com.example%2Faa")
        .await
        .expect(200)
        .json();
    assert_eq!(own["version"], "1.0.0");
    assert_eq!(own["current"], true);
    let list = app.get("/api/v1/servers").await.json();
    assert_eq!(list["servers"][0]["version"], "1.0.0");
    let page = app.get("/s/com.example/aa.json").await.expect(200).json();
    assert!(
        page["version"].to_string().contains("1.0.0"),
        "{}",
        page["version"]
    );
    assert!(page["prerelease"].to_string().contains("2.0.0-rc.1"));
    assert!(app.get("/s/com.example/aa").await.text().contains("2.0.0-rc.1"));
    let current = app
        .get("/api/v1/servers/com.example%2Faa/versions/current")
        .await
        .expect(200)
        .json();
    assert_eq!(current["version"], "1.0.0");
    let _ = app
        .get("/api/v1/servers/com.example%2Faa/versions/latest")
        .await
        .expect(404);
}

async fn our_lists_have_the_greatest_version_first_and_upstreams_the_newest(builder: Builder) {
    let app = builder.start().await;
    app.publish("com.example/aa", &["1.9.0", "1.10.0", "1.2.0"]).await;
    let own = app
        .get("/api/v1/servers/com.example%2Faa/versions")
        .await
        .expect(200)
        .json();
    let own: Vec<_> = own["versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["version"].clone())
        .collect();
    assert_eq!(own, ["1.10.0", "1.9.0", "1.2.0"]);
    let official = app.get("/v0/servers/com.example%2Faa/versions").await;
    assert_eq!(official.versions(), ["1.2.0", "1.10.0", "1.9.0"]);
    let exact = app
        .get("/api/v1/servers/com.example%2Faa/versions/1.10.0")
        .await
        .expect(200)
        .json();
    assert_eq!(exact["version"], "1.10.0");
    assert_eq!(exact["document"]["version"], "1.10.0");
    let page = app.get("/s/com.example/aa/versions").await.expect(200);
    let at = |version: &str| {
        page.text()
            .find(&format!(">{version}<"))
            .unwrap_or_else(|| panic!("{version}"))
    };
    assert!(at("1.10.0") < at("1.9.0") && at("1.9.0") < at("1.2.0"));
}

async fn a_deleted_mistake_falls_back_and_its_page_says_why(builder: Builder) {
    let app = builder.start().await;
    app.publish("com.example/aa", &["0.3.9", "1.0.0"]).await;
    let token = app.any_token().await;
    let body = serde_json::json!({"status": "deleted", "statusMessage": "released by mistake"});
    let path = "/v0/servers/com.example%2Faa/versions/1.0.0/status";
    let _ = app
        .write(reqwest::Method::PATCH, path, Some(&token), &body)
        .await
        .expect(200);
    let current = app.get("/api/v1/servers/com.example%2Faa").await.json();
    assert_eq!(current["version"], "0.3.9");
    let page = app.get("/s/com.example/aa/1.0.0").await.expect(200);
    assert!(page.text().contains("released by mistake"));
    let own = app
        .get("/api/v1/servers/com.example%2Faa/versions/1.0.0")
        .await
        .expect(200)
        .json();
    assert_eq!(own["status"], "deleted");
    assert_eq!(own["status_message"], "released by mistake");
    let list = app.get("/api/v1/servers/com.example%2Faa/versions").await.json();
    assert_eq!(list["versions"].as_array().unwrap().len(), 1);
}

async fn our_version_list_goes_on_over_pages(builder: Builder) {
    let app = builder.start().await;
    app.publish(
        "com.example/aa",
        &["1.0.0", "nightly", "2.0.0-rc.1", "2.0.0", "1.0.0+build"],
    )
    .await;
    app.set_status("com.example/aa", "nightly", "deleted").await;
    let mut seen = Vec::new();
    let mut next = "?limit=2&include_deleted=true".to_owned();
    loop {
        let page = app
            .get(&format!("/api/v1/servers/com.example%2Faa/versions{next}"))
            .await
            .expect(200)
            .json();
        let rows = page["versions"].as_array().unwrap();
        seen.extend(rows.iter().map(|row| row["version"].as_str().unwrap().to_owned()));
        // The cursor carries the filter.
        match page["next_cursor"].as_str() {
            Some(cursor) => next = format!("?limit=2&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(seen, ["2.0.0", "2.0.0-rc.1", "1.0.0+build", "1.0.0", "nightly"]);
}

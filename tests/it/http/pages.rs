//! Pages and the small files around them.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use toolmark_tests::app::{Builder, TestApp, document};

on_both_engines! {
    every_page_is_whole_protected_and_small
    each_server_page_has_a_twin_and_an_exact_name_wins
    versions_that_cannot_be_a_segment_live_below_v
    a_search_goes_on_over_pages_and_an_empty_one_repeats_nothing
    crawlers_and_tools_find_their_files
    a_server_of_thousands_of_versions_is_read_as_soon_as_one_of_few
}

async fn catalogue(builder: Builder) -> TestApp {
    let app = builder.start().await;
    app.publish("com.example/weather", &["1.0.0", "1.1.0"]).await;
    app
}

async fn every_page_is_whole_protected_and_small(builder: Builder) {
    let app = catalogue(builder).await;
    for path in [
        "/",
        "/search",
        "/search?q=weather",
        "/s/com.example/weather",
        "/s/com.example/weather/versions",
        "/s/com.example/weather/1.0.0",
        "/publishers/com.example",
        "/stats",
        "/status",
        "/docs",
        "/docs/api",
        "/docs/differences",
        "/docs/limits",
    ] {
        let page = app.get(path).await.expect(200);
        assert!(page.header("content-type").starts_with("text/html"), "{path}");
        let policy = page.header("content-security-policy");
        assert!(
            policy.starts_with("default-src 'none'") && !policy.contains("unsafe"),
            "{policy}"
        );
        assert!(policy.contains("frame-ancestors 'none'"));
        assert_eq!(page.header("x-content-type-options"), "nosniff");
        assert_eq!(page.header("referrer-policy"), "same-origin");
        let text = page.text();
        assert!(
            text.contains("<html lang=") && text.contains("<title>") && text.contains("<main"),
            "{path}"
        );
        let packed = app
            .get_with(path, &[("accept-encoding", "gzip")])
            .await
            .expect(200);
        assert_eq!(packed.header("content-encoding"), "gzip", "{path}");
        assert!(packed.body.len() <= 60_000, "{path}: {} bytes", packed.body.len());
        for asset in text
            .split("\"/assets/")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap())
        {
            let asset = app.get(&format!("/assets/{asset}")).await.expect(200);
            assert!(asset.header("cache-control").contains("immutable"));
        }
    }
    let _ = app.get("/assets/nothing.css").await.expect(404);
}

async fn each_server_page_has_a_twin_and_an_exact_name_wins(builder: Builder) {
    let app = catalogue(builder).await;
    for path in [
        "/s/com.example/weather",
        "/s/com.example/weather/versions",
        "/s/com.example/weather/1.0.0",
        "/publishers/com.example",
        "/stats",
        "/status",
        "/search",
        "/docs",
    ] {
        let twin = app.get(&format!("{path}.json")).await.expect(200);
        assert_eq!(twin.header("content-type"), "application/json", "{path}");
        assert!(
            twin.json()["schema"]
                .as_str()
                .unwrap()
                .starts_with("toolmark.page."),
            "{path}"
        );
    }
    app.publish("com.example/weather.json", &["3.0.0"]).await;
    let exact = app.get("/s/com.example/weather.json").await.expect(200);
    assert!(exact.header("content-type").starts_with("text/html"));
    assert!(exact.text().contains("3.0.0"));
    let twin = app.get("/s/com.example/weather.json.json").await.expect(200);
    assert_eq!(twin.json()["name"], "com.example/weather.json");
    for absent in [
        "/s/com.example/none",
        "/s/com.example/weather/9.9.9",
        "/s/a/b/versions",
        "/publishers/none",
    ] {
        let lost = app.get_with(absent, &[("accept", "text/html")]).await.expect(404);
        assert!(lost.text().contains("<main"), "{absent}");
    }
}

async fn versions_that_cannot_be_a_segment_live_below_v(builder: Builder) {
    let app = builder.start().await;
    let odd = ["versions", "1/2", "v", "~", "a.json", "né"];
    app.publish("com.example/odd", &odd).await;
    let name = toolmark_domain::name::ServerName::parse("com.example/odd").unwrap();
    let all = app
        .get("/s/com.example/odd/versions.json")
        .await
        .expect(200)
        .json();
    let rows = all["versions"].as_array().unwrap();
    assert_eq!(rows.len(), odd.len());
    for (row, version) in rows
        .iter()
        .map(|row| row["href"].as_str().unwrap())
        .zip(odd.iter().rev())
    {
        let page = app.get(row).await.expect(200);
        assert!(
            page.header("content-type").starts_with("text/html"),
            "{row} of {version} of {name}"
        );
        let twin = app.get(&format!("{row}.json")).await.expect(200);
        assert_eq!(twin.header("content-type"), "application/json", "{row}");
    }
}

async fn a_search_goes_on_over_pages_and_an_empty_one_repeats_nothing(builder: Builder) {
    let app = builder.start().await;
    for number in 0..35 {
        app.publish(&format!("com.example/s{number:02}"), &["1.0.0"])
            .await;
    }
    app.publish("org.example/other", &["1.0.0"]).await;
    app.registry
        .wait_indexed(app.registry.head().await.unwrap())
        .await;
    for first in ["/search.json?q=com.example", "/publishers/com.example.json"] {
        let first = app.get(first).await.expect(200).json();
        assert_eq!(first["servers"].as_array().unwrap().len(), 30);
        let next = first["next"].as_str().unwrap();
        let page = app.get(next).await.expect(200);
        assert!(page.text().contains("com.example/s34") && !page.text().contains("org.example/other"));
    }
    for hostile in ["zzqx", "%22%3E%3Csvg%20onload%3D1%3E"] {
        let empty = app.get(&format!("/search?q={hostile}")).await.expect(200);
        assert!(!empty.text().contains("zzqx") && !empty.text().contains("<svg onload"));
    }
}

async fn crawlers_and_tools_find_their_files(builder: Builder) {
    let app = catalogue(builder.server(|settings| {
        settings.public_url = Some("https://registry.example".into());
        settings.security_contact = Some("mailto:security@registry.example".into());
    }))
    .await;
    let robots = app.get("/robots.txt").await.expect(200);
    assert!(
        robots
            .text()
            .contains("Sitemap: https://registry.example/sitemap.xml")
    );
    let index = app.get("/sitemap.xml").await.expect(200);
    assert_eq!(index.header("content-type"), "application/xml");
    let part = index
        .text()
        .split("<loc>https://registry.example")
        .nth(1)
        .unwrap();
    let part = app.get(part.split('<').next().unwrap()).await.expect(200);
    assert!(
        part.text()
            .contains("<loc>https://registry.example/s/com.example/weather</loc>")
    );
    let _ = app.get("/sitemap/zz.xml").await.expect(404);
    let search = app.get("/opensearch.xml").await.expect(200);
    assert!(
        search
            .text()
            .contains("https://registry.example/search?q={searchTerms}")
    );
    assert!(
        app.get("/llms.txt")
            .await
            .expect(200)
            .text()
            .contains("https://registry.example/docs")
    );
    let security = app.get("/.well-known/security.txt").await.expect(200);
    assert!(
        security
            .text()
            .starts_with("Contact: mailto:security@registry.example\nExpires: 2026-05-")
    );
    let markdown = app.get("/docs/publish.md").await.expect(200);
    assert!(markdown.header("content-type").starts_with("text/markdown"));
}

/// The least of some times: what the machine does beside it only makes it longer.
async fn least(app: &TestApp, path: &str) -> Duration {
    let mut least = Duration::MAX;
    for _ in 0..15 {
        let started = Instant::now();
        let _ = app.get(path).await.expect(200);
        least = least.min(started.elapsed());
    }
    least
}

async fn a_server_of_thousands_of_versions_is_read_as_soon_as_one_of_few(builder: Builder) {
    const FEW: usize = 150;
    const MANY: usize = 5000;
    let app = builder.start().await;
    let mut lines = String::new();
    for (name, count) in [("com.example/few", FEW), ("com.example/many", MANY)] {
        for number in 0..count {
            let server = document(name, &format!("1.{number}.0"));
            writeln!(lines, "{}", serde_json::json!({"server": server})).unwrap();
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("servers.jsonl");
    std::fs::write(&file, lines).unwrap();
    app.import(&file).await;

    let page = app.get("/s/com.example/many.json").await.expect(200).json();
    assert_eq!(
        (&page["version_count"], &page["version"]),
        (&MANY.into(), &"1.4999.0".into())
    );
    let list = "/api/v1/servers/com.example%2Fmany/versions";
    let first = app.get(list).await.expect(200).json();
    assert_eq!(first["versions"][29]["version"], "1.4970.0");
    let cursor = first["next_cursor"].as_str().expect("a second page");
    let second = app
        .get(&format!("{list}?cursor={cursor}"))
        .await
        .expect(200)
        .json();
    assert_eq!(second["versions"][0]["version"], "1.4969.0");

    for (few, many) in [
        ("/s/com.example/few", "/s/com.example/many"),
        ("/s/com.example/few/versions", "/s/com.example/many/versions"),
        ("/s/com.example/few/1.7.0", "/s/com.example/many/1.7.0"),
        ("/api/v1/servers/com.example%2Ffew/versions", list),
    ] {
        let (little, much) = (least(&app, few).await, least(&app, many).await);
        eprintln!("{many}: {much:?}, with {FEW} versions {little:?}");
        assert!(
            much < little * 3 + Duration::from_millis(2),
            "{many}: {much:?} against {little:?}"
        );
    }
}

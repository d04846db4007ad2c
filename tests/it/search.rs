//! What is found, over HTTP: pages, lists, `find_tools`; and that the index follows what happens.

use reqwest::Method;
use serde_json::{Value, json};
use std::fmt::Write as _;
use toolmark_tests::app::{TestApp, encoded};
use toolmark_tests::observed::Watched;
use toolmark_tests::scripted::tool;

async fn watched() -> Watched {
    Watched::over(TestApp::builder().start().await)
}

/// A few servers with tools.
async fn some() -> Watched {
    let watched = watched().await;
    watched
        .publish(
            "io.github.ann/mailer",
            "1.0.0",
            "Mail for teams",
            &json!([
                tool(
                    "send_mail",
                    "Sends a mail with attachments to one or more recipients."
                ),
                tool("list_mails", "Lists the mails of a mailbox, newest first."),
            ]),
        )
        .await;
    watched
        .publish(
            "com.acme/file-tools",
            "1.0.0",
            "Files on a disk",
            &json!([
                tool("read_file", "Reads a file from the disk."),
                tool("write_file", "Writes a file to the disk."),
                {"name": "stat", "description": "Says how large a file is.", "annotations": {"readOnlyHint": true},
                    "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
                    "outputSchema": {"type": "object"}},
            ]),
        )
        .await;
    watched
        .publish("com.example/tempfile", "1.0.0", "Temporary places", &json!([]))
        .await;
    watched.indexed().await;
    watched
}

fn names(page: &Value) -> Vec<&str> {
    let servers = page["servers"].as_array().unwrap().iter();
    servers.map(|server| server["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_need_is_answered_within_its_budget_with_what_is_known() {
    let watched = some().await;
    let found = watched
        .find(&json!({"query": "send a mail with an attachment"}))
        .await;
    assert_eq!(found["schema"], "toolmark.find/1");
    let best = &found["tools"][0];
    assert_eq!(best["id"], "io.github.ann/mailer#send_mail");
    assert_eq!(best["match"], "strong");
    assert_eq!(best["run"], "npm:io.github.ann-mailer@1.0.0");
    assert_eq!(
        (&best["version"], &best["verdict"]),
        (&json!("1.0.0"), &Value::Null)
    );
    assert_eq!(best["definition"]["name"], "send_mail");
    assert!(best["manifest"].as_str().unwrap().len() == 64 && best["tool"].as_str().unwrap().len() == 64);
    assert!(best["first_seen"].as_str().unwrap().starts_with("2026-03-01"));
    assert!(found["note"].as_str().unwrap().contains("sample"));
    assert_eq!(found["event"], watched.app.registry.head().await.unwrap());
    let full = watched
        .find(&json!({"query": "file", "detail": "full", "max_tokens": 300}))
        .await;
    assert!(full.to_string().len() <= 1200, "{}", full.to_string().len());
    let compact = watched.find(&json!({"query": "file", "detail": "compact"})).await;
    assert!(
        compact["tools"]
            .as_array()
            .unwrap()
            .iter()
            .all(|tool| tool.get("definition").is_none())
    );
}

#[tokio::test]
async fn several_needs_and_ids_are_answered_in_one_call() {
    let watched = some().await;
    let found = watched
        .find(&json!({"needs": ["read a file", "send a mail"], "limit": 1}))
        .await;
    let tools = found["tools"].as_array().unwrap();
    assert_eq!(
        (tools.len(), &tools[0]["need"], &tools[1]["need"]),
        (2, &json!(0), &json!(1))
    );
    assert_eq!(tools[0]["id"], "com.acme/file-tools#read_file");
    assert_eq!(tools[1]["id"], "io.github.ann/mailer#send_mail");
    let ids = json!({"ids": ["com.acme/file-tools#stat", "com.acme/file-tools#gone", "x"], "detail": "full"});
    let found = watched.find(&ids).await;
    assert_eq!(found["tools"].as_array().unwrap().len(), 1);
    assert_eq!(
        found["tools"][0]["definition"]["outputSchema"],
        json!({"type": "object"})
    );
    assert!(
        found["note"]
            .as_str()
            .unwrap()
            .contains("com.acme/file-tools#gone")
    );
    let nothing = watched.find(&json!({"query": "zzqqx"})).await;
    assert_eq!(nothing["tools"], json!([]));
    assert!(nothing["note"].as_str().unwrap().starts_with("nothing found"));
}

#[tokio::test]
async fn filters_hold_and_wrong_arguments_are_named() {
    let watched = some().await;
    let read_only = watched
        .find(&json!({"query": "file", "filters": {"read_only": true}}))
        .await;
    assert_eq!(read_only["tools"].as_array().unwrap().len(), 1);
    assert_eq!(read_only["tools"][0]["id"], "com.acme/file-tools#stat");
    assert!(read_only["note"].as_str().unwrap().contains("read_only true"));
    let server = watched
        .find(&json!({"query": "file or mail", "server": "io.github.ann/mailer"}))
        .await;
    let of_server = server["tools"].as_array().unwrap().iter();
    assert!(of_server.clone().count() == 2);
    let none = watched
        .find(&json!({"query": "file", "filters": {"provenance": "verified"}}))
        .await;
    assert_eq!(none["tools"], json!([]));
    let wrong = json!({"query": "x", "limit": 99, "colour": 1});
    let wrong = watched
        .app
        .write(Method::POST, "/api/v1/find", None, &wrong)
        .await
        .expect(400);
    let errors = wrong.json()["errors"].to_string();
    assert!(
        errors.contains("body.limit") && errors.contains("body.colour"),
        "{errors}"
    );
    let _ = watched.app.get("/api/v1/find").await.expect(400);
    let _ = watched.app.get("/api/v1/find?q=mail&limit=3").await.expect(200);
}

#[tokio::test]
async fn every_spelling_of_a_name_finds_its_server_first() {
    let watched = some().await;
    for (spelling, name) in [
        ("file_tools", "com.acme/file-tools"),
        ("file%20tools", "com.acme/file-tools"),
        ("FILE-TOOLS", "com.acme/file-tools"),
        ("filetools", "com.acme/file-tools"),
        ("temp%20file", "com.example/tempfile"),
        ("tempf", "com.example/tempfile"),
        ("mailer", "io.github.ann/mailer"),
        ("%2Fmailer", "io.github.ann/mailer"),
        ("io.github", "io.github.ann/mailer"),
        ("@ann%2Fmailer", "io.github.ann/mailer"),
    ] {
        let found = watched
            .app
            .get(&format!("/api/v1/servers?q={spelling}"))
            .await
            .expect(200)
            .json();
        assert_eq!(names(&found).first(), Some(&name), "{spelling}: {found}");
        let page = watched
            .app
            .get(&format!("/search?q={spelling}"))
            .await
            .expect(200);
        assert!(page.text().contains(name), "{spelling}");
    }
}

#[tokio::test]
async fn what_is_gone_is_found_nowhere_and_what_is_deprecated_is_marked() {
    let watched = some().await;
    watched
        .app
        .set_status("io.github.ann/mailer", "1.0.0", "deleted")
        .await;
    watched
        .app
        .set_status("com.acme/file-tools", "1.0.0", "deprecated")
        .await;
    let started = std::time::Instant::now();
    loop {
        let mails = watched.ids("send a mail").await;
        let completed = watched.app.get("/api/v1/complete?q=mailer").await.json();
        let page = watched.app.get("/search?q=mailer").await.expect(200);
        let gone = mails.is_empty()
            && completed["servers"] == json!([])
            && !page.text().contains("io.github.ann/mailer");
        if gone {
            break;
        }
        assert!(
            started.elapsed() < std::time::Duration::from_secs(2),
            "{mails:?} {completed}"
        );
    }
    watched.indexed().await;
    let found = watched.find(&json!({"query": "read a file"})).await;
    assert_eq!(found["tools"][0]["status"], "deprecated");
    let page = watched.app.get("/search?q=read+a+file").await.expect(200);
    assert!(page.text().contains("tag-deprecated"));
    let found = watched
        .app
        .get("/api/v1/servers?q=files")
        .await
        .expect(200)
        .json();
    assert_eq!(found["servers"][0]["status"], "deprecated");
    for server in found["servers"].as_array().unwrap() {
        let path = format!("/api/v1/servers/{}", encoded(server["name"].as_str().unwrap()));
        let _ = watched.app.get(&path).await.expect(200);
    }
    watched
        .app
        .set_status("io.github.ann/mailer", "1.0.0", "active")
        .await;
    watched.indexed().await;
    assert_eq!(
        watched.ids("send a mail").await.first().map(String::as_str),
        Some("io.github.ann/mailer#send_mail")
    );
}

#[tokio::test]
async fn more_words_never_find_more_unless_it_is_said() {
    let watched = watched().await;
    watched
        .publish(
            "com.acme/tables",
            "1.0.0",
            "Tables",
            &json!([
                tool("read_csv", "Reads csv"),
                tool("csv_parser", "A csv parser"),
                tool("write_csv", "Writes csv")
            ]),
        )
        .await;
    watched.indexed().await;
    let list = async |query: &str| {
        watched
            .app
            .get(&format!("/api/v1/tools?q={query}"))
            .await
            .expect(200)
            .json()
    };
    let one = list("csv").await;
    assert_eq!((&one["total"], &one["relaxed"]), (&json!(3), &json!([])));
    let two = list("csv+parser").await;
    assert!(two["total"].as_u64() <= Some(3));
    let three = list("csv+parser+zzqx").await;
    assert!(
        three["relaxed"].as_array().unwrap().contains(&json!("zzqx")),
        "{three}"
    );
    let page = watched.app.get("/search?q=csv+parser+zzqx").await.expect(200);
    assert!(page.text().contains("<b><bdi>zzqx</bdi></b>"));
}

#[tokio::test]
async fn words_and_filters_stay_over_pages_and_so_does_the_count() {
    let watched = watched().await;
    let tools: Vec<Value> = (0..70)
        .map(|number| tool(&format!("report_{number}x"), "A monthly report"))
        .collect();
    watched
        .publish("com.acme/reports", "1.0.0", "Reports", &json!(tools))
        .await;
    watched.indexed().await;
    let mut next = Some("/api/v1/tools?q=report&registry_type=npm&limit=30".to_owned());
    let mut seen = Vec::new();
    let mut pages = 0;
    while let Some(path) = next {
        let page = watched.app.get(&path).await.expect(200).json();
        assert_eq!(page["total"], 70);
        let tools = page["tools"].as_array().unwrap().iter();
        seen.extend(tools.map(|tool| tool["id"].as_str().unwrap().to_owned()));
        next = page["next_cursor"]
            .as_str()
            .map(|cursor| format!("/api/v1/tools?cursor={cursor}"));
        pages += 1;
    }
    let count = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!((pages, count, seen.len()), (3, 70, 70));
    let page = watched
        .app
        .get("/search?q=report&registry_type=npm")
        .await
        .expect(200);
    assert!(page.text().contains("67 more here"));
    assert!(page.text().contains("server=com.acme%2Freports"));
    let all = watched
        .app
        .get("/search?q=report&server=com.acme%2Freports&registry_type=npm")
        .await
        .expect(200);
    let link = all
        .text()
        .split("rel=\"next\" href=\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    assert!(link.contains("q=report") && link.contains("registry_type=npm") && link.contains("server="));
    let second = watched.app.get(&link.replace("&#38;", "&")).await.expect(200);
    assert!(second.text().contains("<span class=\"note\">70 found</span>"));
}

#[tokio::test]
async fn unknown_and_ill_typed_parameters_are_named() {
    let app = TestApp::builder().start().await;
    for (path, named) in [
        ("/api/v1/tools?serach=x", "serach"),
        ("/api/v1/tools?limit=abc", "limit"),
        ("/api/v1/tools?era=next", "era"),
        ("/api/v1/find?q=x&detail=much", "detail"),
        ("/api/v1/complete?p=x", "p"),
        ("/search?serach=x", "serach"),
        ("/search?limit=abc", "limit"),
    ] {
        let answer = app.get(path).await.expect(400);
        assert!(answer.text().contains(named), "{path}");
    }
    app.stop().await;
}

#[tokio::test]
async fn a_tool_is_exported_for_model_providers() {
    let watched = some().await;
    let path = "/api/v1/servers/com.acme%2Ffile-tools/versions/1.0.0/tools/stat";
    let plain = watched.app.get(path).await.expect(200).json();
    assert_eq!(
        (&plain["schema"], &plain["name"]),
        (&json!("toolmark.tool/1"), &json!("stat"))
    );
    let openai = watched
        .app
        .get(&format!("{path}?as=openai"))
        .await
        .expect(200)
        .json();
    assert_eq!(
        (&openai["definition"]["type"], &openai["strict"]),
        (&json!("function"), &json!(true))
    );
    let other = watched
        .app
        .get(&format!("{}?as=openai", path.replace("stat", "read_file")))
        .await
        .json();
    assert_eq!(other["strict"], false);
    assert!(other["notes"][0].as_str().unwrap().contains("`/q` is optional"));
    let anthropic = watched
        .app
        .get(&format!("{path}?as=anthropic"))
        .await
        .expect(200)
        .json();
    assert_eq!(
        anthropic["definition"]["input_schema"]["required"],
        json!(["path"])
    );
    let mcp = watched
        .app
        .get(&path.replace("1.0.0", "current").replace("stat", "stat?as=mcp"))
        .await
        .expect(200)
        .json();
    assert_eq!(mcp["definition"]["annotations"]["readOnlyHint"], true);
    for absent in [
        path.replace("stat", "none"),
        path.replace("1.0.0", "9.9.9"),
        path.replace("acme", "nobody"),
    ] {
        let _ = watched.app.get(&absent).await.expect(404);
    }
    let _ = watched.app.get(&format!("{path}?as=xml")).await.expect(400);
}

#[tokio::test]
async fn hidden_characters_are_marks_in_every_answer() {
    let watched = watched().await;
    let hidden = "Reads the \u{e0041}\u{e0042}weather\u{200b} of a \u{202e}city";
    watched
        .publish(
            "com.acme/weather",
            "1.0.0",
            "Weather",
            &json!([tool("weather", hidden)]),
        )
        .await;
    watched.indexed().await;
    let found = watched
        .find(&json!({"query": "weather of a city", "detail": "full"}))
        .await;
    let text = found.to_string();
    assert!(
        text.contains("[U+E0041][U+E0042]weather[U+200B]") && text.contains("[U+202E]city"),
        "{text}"
    );
    for c in ['\u{e0041}', '\u{200b}', '\u{202e}'] {
        assert!(!text.contains(c));
    }
    assert!(found["tools"][0]["high_findings"].as_u64() >= Some(1), "{found}");
    let page = watched.app.get("/search?q=weather").await.expect(200);
    assert!(!page.text().contains('\u{202e}') && page.text().contains("U+202E"));
}

#[tokio::test]
async fn hostile_queries_are_answered_soon_and_inertly() {
    let watched = some().await;
    let long = "mail ".repeat(400);
    for query in [
        "(".repeat(1900),
        "\"name:(server:-\"".repeat(100),
        "(a+)+$|".repeat(250),
        "天".repeat(600),
        "-x ".repeat(600),
        "\"><svg onload=alert(1)>".to_owned(),
        "a\u{202e}b\u{1}".to_owned(),
        long,
    ] {
        let target = format!("/search?q={}", form(&query));
        let started = std::time::Instant::now();
        let page = watched.app.get(&target).await.expect(200);
        assert!(!page.text().contains("<svg onload"));
        let _ = watched
            .app
            .get(&target.replace("/search", "/api/v1/tools"))
            .await
            .expect(200);
        assert!(
            started.elapsed() < std::time::Duration::from_secs(10),
            "{query:.20}"
        );
    }
    let huge = json!({"query": "mail ".repeat(200_000)});
    let _ = watched.find(&huge).await;
}

fn form(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "%{byte:02X}");
        out
    })
}

#[tokio::test]
async fn the_order_is_the_same_after_a_restart_without_the_index_and_on_postgres() {
    let queries = ["file", "send a mail", "disk file reader", "mails of a mailbox"];
    let ask = async |watched: &Watched| {
        let mut all = Vec::new();
        for query in queries {
            all.push(watched.ids(query).await);
        }
        all
    };
    let builder = TestApp::builder();
    let again = builder.again();
    let third = builder.again();
    let watched = Watched::over(builder.start().await);
    fill(&watched).await;
    let before = ask(&watched).await;
    assert!(before.iter().all(|ids| !ids.is_empty()));
    watched.app.stop().await;
    let watched = Watched::over(again.start().await);
    watched.indexed().await;
    assert_eq!(ask(&watched).await, before);
    let (tools, servers, _) = watched.app.registry.reindex().await.unwrap();
    assert_eq!((tools, servers), (4, 2));
    watched.app.stop().await;
    std::fs::remove_dir_all(third.folder().join("search")).unwrap();
    let watched = Watched::over(third.start().await);
    watched.indexed().await;
    assert_eq!(ask(&watched).await, before);
    watched.app.stop().await;
    if let Some(builder) = toolmark_tests::app::Builder::postgres().await {
        let watched = Watched::over(builder.start().await);
        fill(&watched).await;
        assert_eq!(ask(&watched).await, before);
        watched.app.stop().await;
    }
}

async fn fill(watched: &Watched) {
    let mails = json!([
        tool("send_mail", "Sends a mail."),
        tool("list_mails", "Lists the mails of a mailbox.")
    ]);
    watched
        .publish("io.github.ann/mailer", "1.0.0", "Mail", &mails)
        .await;
    let files = json!([
        tool("read_file", "Reads a file from the disk."),
        tool("write_file", "Writes a file to the disk.")
    ]);
    watched
        .publish("com.acme/file-tools", "1.0.0", "Files", &files)
        .await;
    watched.indexed().await;
}

#[tokio::test]
async fn a_search_page_works_by_its_form_alone() {
    let watched = some().await;
    let page = watched
        .app
        .get("/search?q=file&registry_type=&read_only=yes&era=")
        .await
        .expect(200);
    let text = page.text();
    assert!(text.contains("<mark><bdi>file</bdi></mark>"), "{text}");
    assert!(text.contains("<option value=\"yes\" selected>"));
    assert!(text.contains("/tools/stat\"") && !text.contains("/tools/read_file\""));
    let twin = watched
        .app
        .get("/search.json?q=file&read_only=yes")
        .await
        .expect(200)
        .json();
    assert_eq!(twin["tools"][0]["tools"][0]["name"], "stat");
    let empty = watched.app.get("/search?q=zzqqx").await.expect(200);
    assert!(!empty.text().contains("zzqqx"));
}

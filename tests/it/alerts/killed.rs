//! `kill -9` while messages are sent: each event arrives at least once, under one id, in order for each server.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolmark_tests::app::document;
use toolmark_tests::program::{Serving, run, toolmark};
use toolmark_tests::receiver::{Manner, Receiver};

const SERVERS: usize = 3;

/// How many times the server is killed.
fn runs() -> usize {
    if std::env::var_os("TOOLMARK_TEST_LONG").is_some() {
        100
    } else {
        10
    }
}

async fn post(url: &str, token: &str, body: &Value) -> Option<Value> {
    let client = reqwest::Client::new();
    let sent = client.post(url).bearer_auth(token).json(body).send().await.ok()?;
    sent.json().await.ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::too_many_lines, reason = "one story, read from top to bottom")]
async fn nothing_is_lost_doubled_under_another_id_or_out_of_order() {
    let folder = tempfile::TempDir::new().unwrap();
    std::fs::write(
        folder.path().join("toolmark.toml"),
        "[alerts]\ntrusted_addresses = [\"127.0.0.1\"]\n",
    )
    .unwrap();
    let made = run(toolmark(folder.path()).args([
        "admin",
        "token",
        "create",
        "--format",
        "json",
        "--label",
        "x",
        "--publish",
        "*",
        "--subscribe",
        "team-a",
    ]));
    let token = made.json()["token"].as_str().unwrap().to_owned();
    let receiver = Receiver::start().await;
    let mut published: Vec<(String, String)> = Vec::new();
    let mut endpoint = String::new();
    for round in 0..runs() {
        let mut server = Serving::start(folder.path(), &[]);
        if endpoint.is_empty() {
            let body = json!({"label": "x", "channel": "webhook", "address": receiver.url});
            let made = post(&format!("{}/api/v1/endpoints", server.url), &token, &body)
                .await
                .unwrap();
            let body = json!({"label": "x", "endpoint": made["id"]});
            let _ = post(&format!("{}/api/v1/subscriptions", server.url), &token, &body)
                .await
                .unwrap();
            made["id"].as_str().unwrap().clone_into(&mut endpoint);
        }
        // Some rounds the receiver is slow to say that it took it, or closes without a word.
        receiver.behave(match round % 3 {
            0 => &[Manner::Status(200)],
            1 => &[Manner::Close, Manner::Status(200)],
            _ => &[Manner::Status(500), Manner::Status(200)],
        });
        let before = receiver.messages().len();
        for n in 0..SERVERS {
            let (name, version) = (format!("com.example/killed-{n}"), format!("1.0.{round}"));
            let url = format!("{}/v0.1/publish", server.url);
            if post(&url, &token, &document(&name, &version))
                .await
                .is_some_and(|answer| answer.get("server").is_some())
            {
                published.push((name, version));
            }
        }
        // Another point each round: after 0 to 3 messages, and up to 20 ms more.
        let patience = Instant::now();
        while receiver.messages().len() < before + round % 4 && patience.elapsed() < Duration::from_secs(20) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(Duration::from_micros(round as u64 * 12_361 % 20_000)).await;
        server.kill();
    }
    assert_eq!(published.len(), runs() * SERVERS);
    receiver.behave(&[Manner::Status(200)]);
    let mut server = Serving::start(folder.path(), &[]);
    let wanted: BTreeSet<(String, String)> = published.iter().cloned().collect();
    // What was refused more than once waits for minutes; after a pause it goes out at once.
    for word in ["pause", "resume"] {
        let _ = post(
            &format!("{}/api/v1/endpoints/{endpoint}/{word}", server.url),
            &token,
            &json!({}),
        )
        .await;
    }
    let patience = Instant::now();
    let seen = loop {
        let mut seen: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
        for message in receiver.messages() {
            let data = &message.json()["data"];
            let key = (
                data["server"].as_str().unwrap().to_owned(),
                data["version"].as_str().unwrap().to_owned(),
            );
            seen.entry(key)
                .or_default()
                .insert(message.header("webhook-id").to_owned());
        }
        if seen.len() >= wanted.len() || patience.elapsed() > Duration::from_mins(1) {
            break seen;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    server.kill();
    let missing: Vec<_> = wanted.iter().filter(|key| !seen.contains_key(*key)).collect();
    assert!(missing.is_empty(), "lost: {missing:?}");
    for (key, ids) in &seen {
        assert_eq!(ids.len(), 1, "{key:?} came under several ids");
    }
    for n in 0..SERVERS {
        let name = format!("com.example/killed-{n}");
        let mut firsts: Vec<i64> = Vec::new();
        for message in receiver.messages() {
            let data = &message.json()["data"];
            let seq = data["seq"].as_i64().unwrap();
            if data["server"] == name && !firsts.contains(&seq) {
                firsts.push(seq);
            }
        }
        let mut sorted = firsts.clone();
        sorted.sort_unstable();
        assert_eq!(firsts, sorted, "{name} came out of order");
    }
}

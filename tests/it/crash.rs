//! `kill -9` at random points while publishers publish: what was acknowledged is there, nothing is half-written.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolmark_registry::{Database, StoreSettings};
use toolmark_store::Store;
use toolmark_tests::program::{Serving, run, toolmark};

const PUBLISHERS: u64 = 4;

/// How many times the server is killed.
fn runs() -> u64 {
    if std::env::var_os("TOOLMARK_TEST_LONG").is_some() {
        100
    } else {
        10
    }
}

/// What the server said it has: name, version, the bytes sent, the status.
type Acknowledged = Arc<Mutex<Vec<(String, String, String, &'static str)>>>;

fn document(name: &str, version: &str) -> Value {
    json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": name, "version": version, "description": "Rainfall by the hour",
        "packages": [{
            "registryType": "npm", "identifier": "@example/rainfall", "version": "1.0.0",
            "transport": { "type": "stdio" }
        }],
    })
}

/// Publishes version after version until the server is gone; deprecates every third.
async fn publisher(url: String, token: String, name: String, acknowledged: Acknowledged) {
    let client = reqwest::Client::new();
    for patch in 0.. {
        let version = format!("1.0.{patch}");
        let body = format!(" {}", document(&name, &version));
        let sent = client
            .post(format!("{url}/v0.1/publish"))
            .bearer_auth(&token)
            .header("content-type", "application/json")
            .body(body.clone())
            .send()
            .await;
        let Ok(answer) = sent else { return };
        assert_eq!(
            answer.status(),
            200,
            "{}",
            answer.text().await.unwrap_or_default()
        );
        acknowledged
            .lock()
            .unwrap()
            .push((name.clone(), version.clone(), body, "active"));
        if patch % 3 == 2 {
            let path = format!(
                "{url}/v0.1/servers/{}/versions/{version}/status",
                name.replace('/', "%2F")
            );
            let change = client
                .patch(path)
                .bearer_auth(&token)
                .json(&json!({ "status": "deprecated" }))
                .send()
                .await;
            let Ok(answer) = change else { return };
            assert_eq!(answer.status(), 200);
            let entry = (name.clone(), version, String::new(), "deprecated");
            acknowledged.lock().unwrap().push(entry);
        }
    }
}

async fn check(data_dir: &Path, acknowledged: &Acknowledged) {
    let database = Database::Sqlite(data_dir.join("registry.db"));
    let store = Store::open(&StoreSettings {
        database,
        connections: 2,
    })
    .await
    .unwrap();
    assert_eq!(store.inconsistencies().await.unwrap(), []);
    let acknowledged = acknowledged.lock().unwrap().clone();
    for (name, version, body, status) in &acknowledged {
        let kept = store.version(name, version).await.unwrap();
        let kept = kept.unwrap_or_else(|| panic!("`{name}@{version}` was acknowledged and is gone"));
        if *status == "deprecated" {
            assert_eq!(kept.status.as_str(), "deprecated", "`{name}@{version}`");
        } else {
            assert_eq!(
                store.raw_document(name, version).await.unwrap().as_deref(),
                Some(body.as_bytes())
            );
        }
    }
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_acknowledged_publish_survives_kill_9() {
    let folder = tempfile::TempDir::new().unwrap();
    let made = run(toolmark(folder.path()).args([
        "admin",
        "token",
        "create",
        "--format",
        "json",
        "--label",
        "crash",
        "--publish",
        "*",
    ]));
    let token = made.json()["token"].as_str().unwrap().to_owned();
    let acknowledged: Acknowledged = Arc::default();
    for round in 0..runs() {
        let before = acknowledged.lock().unwrap().len();
        let mut server = Serving::start(folder.path(), &[]);
        let mut publishers = tokio::task::JoinSet::new();
        for publisher_number in 0..PUBLISHERS {
            let name = format!("com.example/r{round}-p{publisher_number}");
            publishers.spawn(publisher(
                server.url.clone(),
                token.clone(),
                name,
                Arc::clone(&acknowledged),
            ));
        }
        // Another point each round: after 0 to 6 acknowledged writes, and 0 to 20 ms more on a golden-ratio walk.
        let wanted = before + usize::try_from(round % 7).unwrap();
        let patience = Instant::now();
        while acknowledged.lock().unwrap().len() < wanted {
            assert!(
                patience.elapsed() < Duration::from_mins(1),
                "nothing is acknowledged any more"
            );
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(Duration::from_micros(round * 12_361 % 20_000)).await;
        server.kill();
        while let Some(done) = publishers.join_next().await {
            done.unwrap();
        }
        check(folder.path(), &acknowledged).await;
    }
    let kept = acknowledged.lock().unwrap().len();
    assert!(
        kept > usize::try_from(runs()).unwrap(),
        "only {kept} writes were acknowledged in all"
    );
}

#[test]
fn a_server_that_is_asked_to_stop_ends_its_work() {
    let folder = tempfile::TempDir::new().unwrap();
    let mut server = Serving::start(folder.path(), &[]);
    let asked = Instant::now();
    assert_eq!(server.stop(), Some(0));
    assert!(asked.elapsed() < Duration::from_secs(10));
}

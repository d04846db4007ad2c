//! Real servers by name, installed as their locks say and looked at twice: what they declare has the digests that
//! were written down. Needs the package registries, so it runs where `TOOLMARK_TEST_REGISTRIES` is set; with
//! `TOOLMARK_TEST_RECORD` it resolves anew and writes locks and digests down.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stdout, reason = "how long each took is worth knowing")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use futures_util::stream::{self, StreamExt as _};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolmark_crawler::install::{Installer, Lock, NotInstalled};
use toolmark_crawler::placeholder::Settings;
use toolmark_crawler::sandbox::Sandbox;
use toolmark_crawler::{Bounds, Look, Progress, observe_process};
use toolmark_domain::snapshot::Snapshot;
use toolmark_outbound::Client;
use toolmark_packages::{Config, Coordinate, Packages};

/// One server, and the arguments it wants.
const SERVERS: &[(&str, &[&str])] = &[
    ("npm:@modelcontextprotocol/server-everything@2026.1.26", &[]),
    ("npm:@modelcontextprotocol/server-everything@2026.8.31", &[]),
    ("npm:@modelcontextprotocol/server-filesystem@2025.8.21", &["/tmp"]),
    ("npm:@modelcontextprotocol/server-filesystem@2026.8.31", &["/tmp"]),
    ("npm:@modelcontextprotocol/server-memory@2025.8.4", &[]),
    ("npm:@modelcontextprotocol/server-memory@2026.8.31", &[]),
    (
        "npm:@modelcontextprotocol/server-sequential-thinking@2025.7.1",
        &[],
    ),
    (
        "npm:@modelcontextprotocol/server-sequential-thinking@2026.8.31",
        &[],
    ),
    ("npm:@modelcontextprotocol/server-brave-search@0.6.2", &[]),
    ("npm:@modelcontextprotocol/server-slack@2025.4.25", &[]),
    ("pypi:mcp-server-time@2025.8.4", &["--local-timezone=Etc/UTC"]),
    ("pypi:mcp-server-time@2026.10.19", &["--local-timezone=Etc/UTC"]),
    ("pypi:mcp-server-fetch@2026.10.24", &[]),
    ("pypi:mcp-server-git@2026.10.19", &[]),
];

/// What is written down of a look.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Expected {
    outcome: String,
    reason: Option<String>,
    era: Option<Value>,
    manifest: Option<Value>,
    tools: Vec<String>,
    lock: String,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real")
}

fn lock_file(target: &str) -> PathBuf {
    let name: String = target
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '.' {
                c
            } else {
                '-'
            }
        })
        .collect();
    folder().join("locks").join(format!("{name}.json"))
}

fn digests(snapshot: &Snapshot, lock: &str) -> Expected {
    let items = snapshot.digests.get("items").and_then(Value::as_array);
    let tools = items
        .into_iter()
        .flatten()
        .map(|item| format!("{} {}", item["key"], item["tool/1"]));
    Expected {
        outcome: snapshot.outcome.as_str().to_owned(),
        reason: snapshot.reason.clone(),
        era: snapshot.era.map(|era| json!(era)),
        manifest: snapshot.digests.get("manifest/1").cloned(),
        tools: tools.map(|line| line.replace('"', "")).collect(),
        lock: lock.to_owned(),
    }
}

async fn look(installer: &Installer, target: &str, args: &[&str], record: bool) -> Result<Expected, String> {
    let coordinate: Coordinate = target.parse().unwrap();
    let settings = Settings {
        package_args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        ..Settings::default()
    };
    let path = lock_file(target);
    let lock: Option<Lock> = if record {
        None
    } else {
        Some(
            serde_json::from_slice(&std::fs::read(&path).map_err(|error| format!("{target}: {error}"))?)
                .unwrap(),
        )
    };
    let ready = installer
        .install(&coordinate, &settings, lock.as_ref(), Progress::NONE)
        .await;
    let ready = ready.map_err(|failure: NotInstalled| format!("{target}: {failure:?}"))?;
    let bounds = Bounds::default();
    let about = Look {
        target,
        bounds: &bounds,
        volatile: &[],
        progress: Progress::NONE,
    };
    let seen = observe_process(&about, &ready.cage, &ready.launch).await.snapshot;
    let got = ready.lock.as_ref().unwrap();
    if record {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, serde_json::to_string_pretty(got).unwrap() + "\n").unwrap();
    }
    println!(
        "{target}: {} {:?} {} ms {}",
        seen.outcome.as_str(),
        seen.reason,
        seen.took_ms,
        ready.record["install"]
    );
    if seen.outcome.as_str() != "observed" {
        println!("  {:?}", seen.stderr_tail);
    }
    Ok(digests(&seen, &got.digest().to_string()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn real_servers_declare_what_was_written_down() {
    if std::env::var_os("TOOLMARK_TEST_REGISTRIES").is_none() {
        println!("skipped: real_servers_declare_what_was_written_down: TOOLMARK_TEST_REGISTRIES is not set");
        return;
    }
    let record = std::env::var_os("TOOLMARK_TEST_RECORD").is_some();
    let only = std::env::var("TOOLMARK_TEST_ONLY").unwrap_or_default();
    let sandbox = Sandbox::find_with(env!("CARGO_BIN_EXE_toolmark-cage").as_ref())
        .await
        .unwrap();
    let client = Client::new(toolmark_outbound::Settings::new(std::time::Duration::from_secs(
        10,
    )))
    .unwrap();
    let config = Config {
        ask_clients: true,
        home: std::env::home_dir(),
        environment: std::sync::Arc::new(|name: &str| std::env::var(name).ok()),
        ..Config::default()
    };
    let cache = tempfile::tempdir().unwrap();
    let installer = Installer::new(sandbox, Packages::new(client, config), cache.path().to_owned());
    let chosen = SERVERS.iter().filter(|(target, _)| target.contains(&only));
    let looks: Vec<(String, Result<Expected, String>)> = stream::iter(chosen)
        .map(|(target, args)| {
            let installer = &installer;
            async move { ((*target).to_owned(), look(installer, target, args, record).await) }
        })
        .buffer_unordered(3)
        .collect()
        .await;
    let (mut seen, mut faults) = (BTreeMap::new(), Vec::new());
    for (target, look) in looks {
        match look {
            Ok(expected) => drop(seen.insert(target, expected)),
            Err(fault) => faults.push(fault),
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let file = folder().join("expected.json");
    if record && only.is_empty() {
        std::fs::write(&file, serde_json::to_string_pretty(&seen).unwrap() + "\n").unwrap();
    }
    let expected: BTreeMap<String, Expected> = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    for (target, seen) in &seen {
        assert_eq!(Some(seen), expected.get(target), "{target}");
    }
}

//! Manifests of real servers, played back over HTTP a few tools a page: what arrives has the digests that another
//! implementation of RFC 8785 gives for the captured file.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use toolmark_crawler::{Look, Progress, Remote, observe_remote};
use toolmark_domain::digest::Digest;
use toolmark_domain::snapshot::Outcome;
use toolmark_outbound::{Client, HeaderMap};

use crate::peers::{Asked, Peer, Reply, client};
use crate::support::{error, quick, result};

/// Tools on a page.
const PAGE: usize = 7;

struct Capture {
    name: String,
    greeting: Value,
    modern: bool,
    tools: Vec<Value>,
}

fn captures() -> Option<Vec<Capture>> {
    let data = std::env::var_os("TOOLMARK_TEST_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data"),
        PathBuf::from,
    );
    let Ok(files) = std::fs::read_dir(data.join("manifests")) else {
        // Straight to the stream, so that the line is seen of a test that passes, too.
        let why = format!("no folder {}", data.join("manifests").display());
        let _ = writeln!(std::io::stderr(), "skipped: captures_keep_their_digests: {why}");
        return None;
    };
    let mut captures = Vec::new();
    for file in files {
        let file = file.unwrap().path();
        if file.extension().is_none_or(|ending| ending != "json") {
            continue;
        }
        let document: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let greetings = &document["discover_or_initialize"];
        let discover = greetings
            .get("discover")
            .filter(|found| found.get("supportedVersions").is_some());
        captures.push(Capture {
            name: file.file_stem().unwrap().to_string_lossy().into_owned(),
            modern: discover.is_some(),
            greeting: discover.unwrap_or(&greetings["initialize"]).clone(),
            tools: document["tools"].as_array().unwrap().clone(),
        });
    }
    Some(captures)
}

fn answer(capture: &Capture, asked: &Asked) -> Reply {
    match asked.method().as_str() {
        "server/discover" if capture.modern => Reply::json(200, result(&capture.greeting)),
        "initialize" if !capture.modern => Reply::json(200, result(&capture.greeting)),
        "tools/list" => {
            let from = asked.body["params"]["cursor"]
                .as_str()
                .map_or(0, |cursor| cursor.parse().unwrap());
            let to = (from + PAGE).min(capture.tools.len());
            let next = (to < capture.tools.len()).then(|| to.to_string());
            Reply::json(
                200,
                result(&json!({"tools": capture.tools[from..to], "nextCursor": next})),
            )
        }
        "notifications/initialized" => Reply::empty(202),
        _ => Reply::json(200, error(-32601, "Method not found")),
    }
}

async fn play(client: Client, capture: Capture) -> usize {
    let capture = Arc::new(capture);
    let played = Arc::clone(&capture);
    let peer = Peer::start(move |asked, _| answer(&played, asked)).await;
    let bounds = quick();
    let look = Look {
        target: peer.url.as_str(),
        bounds: &bounds,
        volatile: &[],
        progress: Progress::NONE,
    };
    let remote = Remote {
        url: peer.url.clone(),
        headers: HeaderMap::new(),
    };
    let seen = observe_remote(&look, &client, &remote).await.snapshot;
    let name = &capture.name;
    assert_eq!(seen.outcome, Outcome::Observed, "{name}: {seen:?}");
    assert!(seen.volatile.is_empty(), "{name}");
    let items = seen.digests["items"].as_array().unwrap();
    let tools: Vec<&Value> = items.iter().filter(|item| item["kind"] == "tool").collect();
    assert_eq!(tools.len(), capture.tools.len(), "{name}");
    for (tool, captured) in tools.iter().zip(&capture.tools) {
        let expected = Digest::of(&serde_jcs::to_vec(captured).unwrap()).to_string();
        assert_eq!(tool["tool/1"], json!(expected), "{name}: {}", tool["key"]);
    }
    tools.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn captures_keep_their_digests() {
    let Some(captures) = captures() else {
        return;
    };
    let client = client();
    let mut count = 0;
    let mut rest = captures.into_iter().peekable();
    while rest.peek().is_some() {
        let tasks: Vec<_> = rest
            .by_ref()
            .take(8)
            .map(|capture| tokio::spawn(play(client.clone(), capture)))
            .collect();
        for task in tasks {
            count += task.await.unwrap();
        }
    }
    assert!(count > 2000, "{count} tools");
}

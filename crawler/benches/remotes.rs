//! Many remotes on loopback, 64 looked at at a time: how long 2,000 take, and whether memory stays flat over 10,000.
//! The servers run in this process too, so that their share is counted.
#![expect(clippy::print_stdout, reason = "its output is its result")]
#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use toolmark_crawler::{Bounds, Look, Progress, Remote, observe_remote};
use toolmark_domain::snapshot::Outcome;
use toolmark_outbound::{Client, HeaderMap, Settings, Url};

const REMOTES: usize = 2_000;
const IN_FLIGHT: usize = 64;
const OBSERVATIONS: usize = 10_000;
const MOST: Duration = Duration::from_secs(20);
/// Growth that is noise of the allocator, in MiB.
const GROWTH_MIB: u64 = 16;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(run());
}

async fn run() {
    let answers = Arc::new(answers());
    let mut remotes = Vec::new();
    for _ in 0..REMOTES {
        remotes.push(serve(Arc::clone(&answers)).await);
    }
    let client = Client::new(Settings {
        trusted: vec![IpAddr::V4(Ipv4Addr::LOCALHOST)],
        ..Settings::new(Duration::from_secs(5))
    })
    .unwrap();
    let began = Instant::now();
    observe(&client, &remotes, REMOTES).await;
    let took = began.elapsed();
    let used = processor_time();
    println!(
        "remotes: {REMOTES} observed in {took:.1?}, {IN_FLIGHT} at a time, {used:.1?} of processor time with the \
         servers' (at most {MOST:?})"
    );
    assert!(took <= MOST, "too slow");
    // What is allocated once was by now.
    let before = resident_mib();
    let mut most = before;
    for _ in (REMOTES..OBSERVATIONS).step_by(REMOTES) {
        observe(&client, &remotes, REMOTES).await;
        most = most.max(resident_mib());
    }
    println!("memory: {before} MiB after {REMOTES} observations, at most {most} MiB up to {OBSERVATIONS}");
    assert!(most <= before + GROWTH_MIB, "memory grows");
}

async fn observe(client: &Client, remotes: &[Url], count: usize) {
    let free = Arc::new(Semaphore::new(IN_FLIGHT));
    let mut tasks = Vec::with_capacity(count);
    for url in remotes.iter().cycle().take(count) {
        let permit = Arc::clone(&free).acquire_owned().await.unwrap();
        let (client, url) = (client.clone(), url.clone());
        tasks.push(tokio::spawn(async move {
            let bounds = Bounds::default();
            let look = Look {
                target: url.as_str(),
                bounds: &bounds,
                volatile: &[],
                progress: Progress::NONE,
            };
            let remote = Remote {
                url: url.clone(),
                headers: HeaderMap::new(),
            };
            let seen = observe_remote(&look, &client, &remote).await;
            drop(permit);
            assert_eq!(seen.snapshot.outcome, Outcome::Observed, "{:?}", seen.snapshot);
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

/// What each server answers: to the probe, and with a list of usual size.
fn answers() -> (String, String) {
    let discover = json!({
        "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
        "ttlMs": 0, "cacheScope": "public",
    });
    let tools = (0..12).map(|n| {
        json!({
            "name": format!("tool_{n}"),
            "description": "Finds entries that match a query and gives them back, newest first. ".repeat(4),
            "inputSchema": {"type": "object", "properties": {
                "query": {"type": "string", "description": "what to look for"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20},
            }, "required": ["query"]},
        })
    });
    let tools: Vec<Value> = tools.collect();
    let list = json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "public", "tools": tools});
    (discover.to_string(), list.to_string())
}

async fn serve(answers: Arc<(String, String)>) -> Url {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let answers = Arc::clone(&answers);
            tokio::spawn(async move { talk(stream, &answers).await });
        }
    });
    Url::parse(&url).unwrap()
}

/// Answers until the other side has had enough.
async fn talk(mut stream: TcpStream, answers: &(String, String)) {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let request = text.split_once("\r\n\r\n").and_then(|(head, body)| {
            let head = head.to_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            let length: usize = length.unwrap_or(0);
            (body.len() >= length).then(|| body[..length].to_owned())
        });
        let Some(request) = request else {
            match stream.read_buf(&mut bytes).await {
                Ok(1..) => continue,
                _ => return,
            }
        };
        bytes.clear();
        let request: Value = serde_json::from_str(&request).unwrap_or_default();
        let result = if request["method"] == "server/discover" {
            &answers.0
        } else {
            &answers.1
        };
        let body = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, request["id"]);
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ";
        let answer = format!("{head}{}\r\n\r\n{body}", body.len());
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Memory of this process that is in use.
fn resident_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

/// Processor time of this process so far.
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // The name may hold anything; fields are counted behind it.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = [11, 12]
        .iter()
        .map(|at| fields[*at].parse::<u64>().unwrap())
        .sum();
    Duration::from_millis(ticks * 10)
}

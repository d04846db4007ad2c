//! Servers that behave badly, each a real process in a cage, each with what is to come of it. Afterwards nothing of
//! them is left, honest servers beside them were seen as ever, and this process has not grown.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod members;

use std::collections::BTreeSet;
use std::fs;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt as _};
use serde_json::Value;
use toolmark_crawler::sandbox::{Cage, CageBounds, Mount, Sandbox};
use toolmark_crawler::{Bounds, Launch, Look, Observation, Progress, observe_process};
use toolmark_domain::snapshot::Outcome;

use members::{MEMBERS, Member, Sees};

const PYTHON: &str = "/usr/bin/python3";
/// Members looked at at a time, beside honest servers.
const AT_A_TIME: usize = 4;

/// The bounds of the product, with waits that a test can bear.
fn quick() -> Bounds {
    Bounds {
        probe: Duration::from_secs(5),
        answer: Duration::from_secs(5),
        take: Duration::from_secs(15),
        settle: Duration::from_millis(200),
        ..Bounds::default()
    }
}

async fn cage() -> Cage {
    let helper = env!("CARGO_BIN_EXE_toolmark-cage");
    let sandbox = Sandbox::find_with(helper.as_ref()).await.unwrap();
    let zoo = Mount {
        source: concat!(env!("CARGO_MANIFEST_DIR"), "/tests/zoo/zoo.py").into(),
        target: "/zoo.py".into(),
        writable: false,
    };
    Cage::new(sandbox).with([zoo]).bounded(CageBounds {
        memory_bytes: 256 << 20,
        tasks: 64,
        home_bytes: 16 << 20,
        temp_bytes: 8 << 20,
        ..CageBounds::default()
    })
}

async fn look(cage: &Cage, name: &str, args: &[String]) -> Observation {
    let bounds = quick();
    let look = Look {
        target: name,
        bounds: &bounds,
        volatile: &[],
        progress: Progress::NONE,
    };
    let launch = Launch {
        program: PYTHON.into(),
        args: [&["/zoo.py".to_owned(), name.to_owned()], args]
            .concat()
            .into_iter()
            .map(Into::into)
            .collect(),
        ..Launch::default()
    };
    observe_process(&look, cage, &launch).await
}

/// What is not as it is to be; nothing when all is well.
fn wrong(member: &Member, seen: &Observation) -> Option<String> {
    let snapshot = &seen.snapshot;
    let mut faults = Vec::new();
    if snapshot.outcome != member.outcome {
        faults.push(format!("outcome {}", snapshot.outcome.as_str()));
    }
    if member.reason.is_some() && snapshot.reason.as_deref() != member.reason {
        faults.push(format!("reason {:?}", snapshot.reason));
    }
    let text = String::from_utf8(snapshot.to_bytes()).unwrap();
    match member.sees {
        Sees::Nothing if !text.contains(r#""saw: ""#) => faults.push("it saw something".to_owned()),
        Sees::Whatever | Sees::Nothing => {}
    }
    let reached: BTreeSet<String> = snapshot
        .egress
        .iter()
        .map(|e| format!("{} {}:{}", e.protocol, e.host, e.port))
        .collect();
    for place in member.reaches {
        if !reached.contains(*place) {
            faults.push(format!("`{place}` is not named in {reached:?}"));
        }
    }
    for rule in member.findings {
        let has = |finding: &Value| finding.to_string().contains(rule);
        if !snapshot.findings.iter().any(has) {
            faults.push(format!("no finding `{rule}`"));
        }
    }
    let escape = text.contains("\\u001b[2J") || text.contains("sk-abcdefghijk");
    if escape {
        faults.push("its words are kept as they are".to_owned());
    }
    if faults.is_empty() {
        return None;
    }
    faults.push(text.chars().take(1500).collect());
    Some(format!("{}: {}", member.name, faults.join("; ")))
}

/// The most memory this process ever had, in kilobytes.
fn most_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Whatever a cage of this process could have left.
fn left_behind() -> Vec<String> {
    let mut left = Vec::new();
    let own = std::process::id();
    let users = 0x6000_0000 + (own % (1 << 22)) * 64;
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let status = fs::read_to_string(entry.path().join("status")).unwrap_or_default();
        let user = status.lines().find_map(|line| line.strip_prefix("Uid:"));
        let user = user.and_then(|line| line.split_whitespace().next()?.parse::<u32>().ok());
        if user.is_some_and(|user| (users..users + 64).contains(&user)) {
            left.push(status.lines().next().unwrap_or_default().to_owned());
        }
    }
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    left.extend(
        mounts
            .lines()
            .filter(|line| line.contains("toolmark-cage"))
            .map(str::to_owned),
    );
    let group = format!("toolmark-{own}-");
    let hierarchies = fs::read_dir("/sys/fs/cgroup").into_iter().flatten().flatten();
    for folder in hierarchies
        .map(|entry| entry.path())
        .chain(["/sys/fs/cgroup".into()])
    {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(&group) {
                left.push(entry.path().display().to_string());
            }
        }
    }
    left
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_member_comes_to_its_end_and_nothing_is_left_of_it() {
    // What the members look for: a service on loopback, a socket without a file, a data folder.
    let service = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = service.local_addr().unwrap().port();
    let abstract_name = format!("toolmark-zoo-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&abstract_name).unwrap();
    let _abstract = UnixListener::bind_addr(&address).unwrap();
    let data = tempfile::tempdir().unwrap();
    fs::write(data.path().join("registry.db"), "rows").unwrap();
    let folder = data.path().display().to_string();
    let given = [port.to_string(), abstract_name, folder];

    let cage = cage().await;
    let names: BTreeSet<&str> = MEMBERS.iter().map(|member| member.name).collect();
    assert!(
        names.len() == MEMBERS.len() && names.len() >= 40,
        "{}",
        names.len()
    );
    let before = most_memory();
    let faults: Vec<String> = stream::iter(MEMBERS)
        .map(|member| {
            let (cage, given) = (&cage, &given);
            async move {
                let args = match member.name {
                    "scans_loopback" => vec![given[0].clone()],
                    "uses_abstract_sockets" => vec![given[1].clone()],
                    "reads_files" => vec![given[2].clone()],
                    _ => Vec::new(),
                };
                let started = Instant::now();
                let seen = look(cage, member.name, &args).await;
                let took = started.elapsed();
                let slow = took > Duration::from_mins(1);
                let late = slow.then(|| format!("{}: it took {took:?}", member.name));
                wrong(member, &seen).or(late)
            }
        })
        .buffer_unordered(AT_A_TIME)
        .filter_map(|fault| async { fault })
        .collect()
        .await;
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
    let honest = look(&cage, "repeats_names", &[]).await;
    assert_eq!(honest.snapshot.outcome, Outcome::Observed);
    let grown = most_memory() - before;
    assert!(grown < 96 * 1024, "grown by {grown} kB");
    assert_eq!(left_behind(), Vec::<String>::new());
    drop(service);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_honest_server_is_seen_beside_bombs() {
    let cage = cage().await;
    let bombs = [
        "fork_bomb",
        "memory_bomb",
        "disk_filler",
        "spins",
        "endless_lines",
    ];
    let bombs = stream::iter(bombs)
        .map(|name| look(&cage, name, &[]))
        .buffer_unordered(5)
        .count();
    let honest = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let mut seen = Vec::new();
        for _ in 0..3 {
            seen.push(look(&cage, "refers_to_itself", &[]).await.snapshot);
        }
        seen
    };
    let (_, seen) = tokio::join!(bombs, honest);
    let digests: BTreeSet<String> = seen
        .iter()
        .map(|snapshot| snapshot.digests["manifest/1"].to_string())
        .collect();
    assert_eq!(digests.len(), 1);
    assert!(seen.iter().all(|snapshot| snapshot.outcome == Outcome::Observed));
}

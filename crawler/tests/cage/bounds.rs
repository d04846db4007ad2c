//! What a server may use up, and what is left of it: nothing.

use std::time::{Duration, Instant};

use toolmark_crawler::sandbox::{Cage, CageBounds};
use toolmark_domain::reason::Reason;

use super::support::{PYTHON, launch, python, run, run_for, sandbox};

/// A cage with little room, so that the tests are short.
async fn small() -> Cage {
    Cage::new(sandbox().await).bounded(CageBounds {
        memory_bytes: 128 << 20,
        tasks: 32,
        home_bytes: 8 << 20,
        temp_bytes: 4 << 20,
        ..CageBounds::default()
    })
}

/// Processes of users that only cages have, control groups, folders: of this test program only.
fn left_behind() -> Vec<String> {
    let mut left = Vec::new();
    let base = 0x6000_0000 + (std::process::id() % (1 << 22)) * 64;
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let status = std::fs::read_to_string(entry.path().join("status")).unwrap_or_default();
        let uid = status.lines().find_map(|line| line.strip_prefix("Uid:"));
        let uid = uid.and_then(|line| line.split_whitespace().next()?.parse::<u32>().ok());
        if uid.is_some_and(|uid| (base..base + 64).contains(&uid)) {
            left.push(status);
        }
    }
    left
}

#[tokio::test]
async fn a_memory_bomb_is_ended_by_our_limit() {
    let script = "b = []\nwhile True: b.append(bytearray(1 << 24))";
    let ran = run(&small().await, &launch(PYTHON, &["-c", script])).await;
    assert_eq!(ran.ending.limit, Some(Reason::MemoryLimit), "{ran:?}");
    assert_eq!(ran.signal(), Some(9));
}

#[tokio::test]
async fn a_fork_bomb_stays_in_its_cage() {
    let script = "import os, time\n\
        while True:\n\
        \ttry: os.fork()\n\
        \texcept OSError: time.sleep(0.05)\n";
    let started = Instant::now();
    let ran = run_for(
        &small().await,
        &launch(PYTHON, &["-c", script]),
        Duration::from_secs(2),
    )
    .await;
    assert_eq!(ran.ending.limit, Some(Reason::ProcessLimit), "{ran:?}");
    assert!(started.elapsed() < Duration::from_secs(10));
    // The machine still starts processes, and a cage is as good as before.
    assert_eq!(python("print(1)").await.stdout, "1\n");
}

#[tokio::test]
async fn a_disk_filler_meets_the_end_of_its_room() {
    let script = "import os, sys, time\n\
        def fill(path):\n\
        \twritten = 0\n\
        \ttry:\n\
        \t\twith open(path, 'wb', 0) as f:\n\
        \t\t\twhile True: written += f.write(b'x' * 65536)\n\
        \texcept OSError as e: print(path, written >> 20, e.errno, flush=True)\n\
        fill(os.path.expanduser('~/f')); fill('/tmp/f'); fill('/dev/shm/f')\n\
        time.sleep(0.5)\n\
        os.unlink('/tmp/f')\n\
        made = 0\n\
        try:\n\
        \twhile True: open('/tmp/n%d' % made, 'w').close(); made += 1\n\
        except OSError as e: print(made < 2000, e.errno)\n";
    let ran = run(&small().await, &launch(PYTHON, &["-c", script])).await;
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(
        lines,
        ["/home/probe/f 8 28", "/tmp/f 4 28", "/dev/shm/f 0 28", "True 28"],
        "{ran:?}"
    );
    assert_eq!(ran.ending.limit, Some(Reason::DiskLimit));
}

#[tokio::test]
async fn what_will_not_end_is_ended_with_all_it_started() {
    let script = "import os, signal, time\n\
        signal.signal(signal.SIGTERM, signal.SIG_IGN)\n\
        for n in range(3):\n\
        \tif os.fork() == 0:\n\
        \t\tos.setsid()\n\
        \t\tif os.fork() == 0: time.sleep(1000)\n\
        \t\tos._exit(0)\n\
        print('up', flush=True)\n\
        time.sleep(1000)\n";
    let cage = small().await;
    let started = Instant::now();
    let ran = run_for(&cage, &launch(PYTHON, &["-c", script]), Duration::from_secs(1)).await;
    assert_eq!((ran.stdout.as_str(), ran.status), ("up\n", None), "{ran:?}");
    assert!(
        started.elapsed() < Duration::from_secs(6),
        "{:?}",
        started.elapsed()
    );
}

#[tokio::test]
async fn a_daemon_does_not_outlive_its_server_nor_hold_its_output() {
    let script = "import os, time\n\
        if os.fork() == 0:\n\
        \tos.setsid(); time.sleep(1000)\n\
        print('bye')\n";
    let started = Instant::now();
    let ran = run(&small().await, &launch(PYTHON, &["-c", script])).await;
    assert_eq!((ran.stdout.as_str(), ran.code()), ("bye\n", Some(0)), "{ran:?}");
    assert!(
        started.elapsed() < Duration::from_secs(8),
        "{:?}",
        started.elapsed()
    );
}

#[tokio::test]
async fn an_output_closed_early_is_seen_while_the_server_lives() {
    use tokio::io::AsyncReadExt as _;
    use toolmark_crawler::{Condition, Start as _};
    let script = "import os, time\nos.close(1)\ntime.sleep(1000)";
    let launch = launch(PYTHON, &["-c", script]);
    let mut started = small().await.start(&launch, &Condition::TAKES[0]).await.unwrap();
    let mut out = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(20), started.stdout.read_to_end(&mut out));
    assert_eq!(read.await.unwrap().unwrap(), 0);
    started.process.finish().await;
}

#[tokio::test]
async fn asking_to_end_reaches_the_server_itself() {
    use toolmark_crawler::{Condition, Start as _};
    let script = "import signal, sys, time\n\
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n\
        print('up', flush=True)\n\
        while True: time.sleep(1)\n";
    let launch = launch(PYTHON, &["-c", script]);
    let mut started = small().await.start(&launch, &Condition::TAKES[0]).await.unwrap();
    let mut byte = [0; 3];
    tokio::io::AsyncReadExt::read_exact(&mut started.stdout, &mut byte)
        .await
        .unwrap();
    started.process.terminate();
    let status = tokio::time::timeout(Duration::from_secs(20), started.process.wait()).await;
    let ending = started.process.finish().await;
    assert_eq!(status.unwrap().unwrap().code(), Some(7), "{ending:?}");
}

#[tokio::test]
async fn a_cage_that_is_dropped_leaves_nothing() {
    use toolmark_crawler::{Condition, Start as _};
    let cage = small().await;
    let launch = launch("/bin/sleep", &["1000"]);
    let started = cage.start(&launch, &Condition::TAKES[0]).await.unwrap();
    drop(started);
    let until = Instant::now() + Duration::from_secs(20);
    while left_behind().iter().any(|status| status.contains("sleep")) {
        assert!(Instant::now() < until, "{:?}", left_behind());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

//! Runs a script in a cage and says what came of it.

use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use toolmark_crawler::sandbox::{Cage, Sandbox};
use toolmark_crawler::{Condition, Ending, Launch, Start as _};

/// What a run in a cage gave.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: Option<ExitStatus>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) ending: Ending,
}

impl Ran {
    /// Places it tried to reach, as `protocol host:port`.
    pub(crate) fn reached(&self) -> Vec<String> {
        let egress = self.ending.egress.iter();
        let mut all: Vec<String> = egress
            .map(|e| format!("{} {}:{}", e.protocol, e.host, e.port))
            .collect();
        all.sort();
        all
    }

    pub(crate) fn code(&self) -> Option<i32> {
        self.status.and_then(|status| status.code())
    }

    pub(crate) fn signal(&self) -> Option<i32> {
        self.status.and_then(|status| status.signal())
    }
}

/// The inner half, built beside the tests.
pub(crate) fn helper() -> PathBuf {
    let elsewhere = std::env::var_os("TOOLMARK_TEST_CAGE");
    elsewhere.map_or_else(|| env!("CARGO_BIN_EXE_toolmark-cage").into(), PathBuf::from)
}

/// The sandbox of this machine. Without one these tests prove nothing, so they fail.
pub(crate) async fn sandbox() -> Sandbox {
    Sandbox::find_with(&helper()).await.unwrap()
}

/// A Python program of this machine's own, for scripts.
pub(crate) const PYTHON: &str = "/usr/bin/python3";

pub(crate) fn launch(program: &str, args: &[&str]) -> Launch {
    Launch {
        program: program.into(),
        args: args.iter().map(Into::into).collect(),
        ..Launch::default()
    }
}

/// Runs to the end of the program, or of the time it has.
pub(crate) async fn run_for(cage: &Cage, launch: &Launch, time: Duration) -> Ran {
    let mut started = cage.start(launch, &Condition::TAKES[0]).await.unwrap();
    drop(started.stdin);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let stdout = (&mut started.stdout).take(1 << 20);
    let stderr = (&mut started.stderr).take(1 << 20);
    let mut stdout = std::pin::pin!(stdout);
    let mut stderr = std::pin::pin!(stderr);
    let all = async {
        let (_, _, status) = tokio::join!(
            stdout.read_to_end(&mut out),
            stderr.read_to_end(&mut err),
            started.process.wait()
        );
        status.unwrap()
    };
    let status = tokio::time::timeout(time, all).await.ok();
    let ending = started.process.finish().await;
    Ran {
        status,
        stdout: String::from_utf8_lossy(&out).into_owned(),
        stderr: String::from_utf8_lossy(&err).into_owned(),
        ending,
    }
}

/// As [`run_for`], for what ends by itself.
pub(crate) async fn run(cage: &Cage, launch: &Launch) -> Ran {
    run_for(cage, launch, Duration::from_secs(30)).await
}

/// Runs a Python script in a cage without anything else.
pub(crate) async fn python(script: &str) -> Ran {
    let cage = Cage::new(sandbox().await);
    run(&cage, &launch(PYTHON, &["-c", script])).await
}

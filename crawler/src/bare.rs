//! Runs a server without a sandbox. For tests, and for servers the caller wrote: it reads and writes whatever the
//! caller may.

use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;
use tokio::process::{Child, Command};
use toolmark_domain::reason::Reason;
use toolmark_domain::snapshot::Outcome;

use crate::condition::Condition;
use crate::launch::{Ending, Launch, Process, Start, StartFailure, Started};

/// Starts processes as they are, each the head of a group of its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bare;

impl Start for Bare {
    fn start<'a>(
        &'a self,
        launch: &'a Launch,
        condition: &'a Condition,
    ) -> BoxFuture<'a, Result<Started, StartFailure>> {
        async move { spawn(launch, condition) }.boxed()
    }
}

fn spawn(launch: &Launch, condition: &Condition) -> Result<Started, StartFailure> {
    let failed = |error: io::Error| StartFailure {
        outcome: Outcome::NotObserved,
        reason: Reason::CannotStart,
        words: error.to_string(),
    };
    let own = match &launch.cwd {
        Some(_) => None,
        None => Some(tempfile::tempdir().map_err(failed)?),
    };
    let cwd = own.as_ref().map(TempDir::path).or(launch.cwd.as_deref());
    let mut child = Command::new(&launch.program)
        .args(&launch.args)
        .env_clear()
        .envs(launch.env.iter().cloned())
        .envs(condition.env())
        .current_dir(cwd.unwrap_or(Path::new("/")))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)?;
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
        return Err(failed(io::Error::other("no pipes")));
    };
    let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    Ok(Started {
        stdin,
        stdout,
        stderr,
        process: Box::new(BareProcess {
            child,
            group,
            _cwd: own,
        }),
    })
}

struct BareProcess {
    child: Child,
    group: Option<Pid>,
    /// Its own working directory, gone with it.
    _cwd: Option<TempDir>,
}

impl BareProcess {
    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // Gone already is as good.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Process for BareProcess {
    fn wait(&mut self) -> BoxFuture<'_, io::Result<ExitStatus>> {
        self.child.wait().boxed()
    }

    fn terminate(&mut self) {
        self.signal(Signal::TERM);
    }

    fn finish(mut self: Box<Self>) -> BoxFuture<'static, Ending> {
        async move {
            self.signal(Signal::KILL);
            let _ = self.child.wait().await;
            // Its number may be another's from now on.
            self.group = None;
            Ending::default()
        }
        .boxed()
    }
}

impl Drop for BareProcess {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

//! A running cage, seen from outside: waiting for it, ending it, and what is known of it afterwards.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;
use tokio::process::Child;
use tokio::time::timeout;
use toolmark_domain::reason::Reason;
use toolmark_domain::snapshot::Egress;

use super::groups::Group;
use super::report::{self, Limit, Line, REPORT_BYTES};
use super::users::SpareUser;
use crate::launch::{Ending, Process};

/// Longest time a cage may take to end by itself once it is told to.
const ENDING: Duration = Duration::from_secs(6);
/// Longest time the processes of a user may take to die.
const DYING: Duration = Duration::from_secs(3);

/// One cage. Its parts are given back in this order, once nothing runs in it.
pub(super) struct Running {
    pub(super) child: Option<Child>,
    pub(super) group: Option<Group>,
    pub(super) user: Option<SpareUser>,
    pub(super) report: PathBuf,
    pub(super) folder: TempDir,
}

impl Running {
    pub(super) fn folder_path(&self) -> &Path {
        self.folder.path()
    }

    fn signal(&self, signal: Signal) {
        let pid = self.child.as_ref().and_then(Child::id);
        if let Some(pid) = pid {
            // Gone already is as good.
            let _ = kill(Pid::from_raw(pid.cast_signed()), signal);
        }
    }

    fn lines(&self) -> Vec<Line> {
        let mut text = String::new();
        // What cannot be read was not said.
        let _ = File::open(&self.report).and_then(|file| file.take(REPORT_BYTES).read_to_string(&mut text));
        report::read(&text)
    }

    /// Whatever may be left, and what the kernel counted.
    fn bury(mut self) -> Ending {
        let lines = self.lines();
        let met = self.group.as_ref().and_then(Group::met);
        self.clear();
        ending(&lines, met)
    }

    fn clear(&mut self) {
        if let Some(group) = self.group.take() {
            group.remove();
        }
        if let Some(user) = self.user.take() {
            end_all_of(user.id());
        }
    }
}

impl Process for Running {
    fn wait(&mut self) -> BoxFuture<'_, io::Result<ExitStatus>> {
        async move {
            let Some(child) = self.child.as_mut() else {
                return Err(io::Error::other("it was not started"));
            };
            let status = child.wait().await?;
            for line in self.lines() {
                match line {
                    Line::Failed(words) => return Err(io::Error::other(words)),
                    // As a shell gives it: a signal is a number above this one.
                    Line::Ended(code) if code > 128 => return Ok(ExitStatus::from_raw(code - 128)),
                    _ => {}
                }
            }
            Ok(status)
        }
        .boxed()
    }

    fn terminate(&mut self) {
        self.signal(Signal::SIGTERM);
    }

    fn finish(mut self: Box<Self>) -> BoxFuture<'static, Ending> {
        async move {
            self.signal(Signal::SIGINT);
            if let Some(child) = self.child.as_mut() {
                if timeout(ENDING, child.wait()).await.is_err() {
                    // What it kept dies with it; what does not is found below.
                    let _ = child.kill().await;
                }
                self.child = None;
            }
            let buried = tokio::task::spawn_blocking(move || self.bury()).await;
            buried.unwrap_or_default()
        }
        .boxed()
    }
}

impl Drop for Running {
    /// Not finished: told to end, and cleared away by a thread of its own, since this must not wait.
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else {
            return;
        };
        if let Some(pid) = child.id() {
            let _ = kill(Pid::from_raw(pid.cast_signed()), Signal::SIGINT);
        }
        let (group, user) = (self.group.take(), self.user.take());
        std::thread::spawn(move || {
            let until = Instant::now() + ENDING;
            while Instant::now() < until && !matches!(child.try_wait(), Ok(Some(_)) | Err(_)) {
                std::thread::sleep(Duration::from_millis(5));
            }
            let _ = child.start_kill();
            drop(group);
            if let Some(user) = user {
                end_all_of(user.id());
            }
        });
    }
}

fn ending(lines: &[Line], met: Option<Reason>) -> Ending {
    let mut ending = Ending {
        limit: met,
        egress: Vec::new(),
    };
    for line in lines {
        match line {
            Line::Reached(place) => ending.egress.push(Egress {
                host: place.host.clone(),
                port: place.port,
                protocol: place.protocol.clone(),
                takes: 1,
            }),
            Line::Limit(limit) => {
                ending.limit.get_or_insert(match limit {
                    Limit::Memory => Reason::MemoryLimit,
                    Limit::Processes => Reason::ProcessLimit,
                    Limit::Disk => Reason::DiskLimit,
                    Limit::Cpu => Reason::CpuLimit,
                });
            }
            // The kernel ends a process that used up its processor time with this signal.
            Line::Ended(code) if *code == 128 + Signal::SIGXCPU as i32 => {
                ending.limit.get_or_insert(Reason::CpuLimit);
            }
            Line::Entered | Line::More | Line::Ended(_) | Line::Failed(_) => {}
        }
    }
    ending
}

/// Kills every process of a spare user, until there is none.
fn end_all_of(user: u32) {
    let until = Instant::now() + DYING;
    loop {
        let left = all_of(user);
        if left.is_empty() || Instant::now() > until {
            return;
        }
        for pid in left {
            let _ = kill(pid, Signal::SIGKILL);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn all_of(user: u32) -> Vec<Pid> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| super::keeper::number(&entry.file_name()));
    pids.filter(|pid| {
        let owner = std::fs::metadata(format!("/proc/{pid}"));
        owner.is_ok_and(|owner| std::os::unix::fs::MetadataExt::uid(&owner) == user)
    })
    .map(Pid::from_raw)
    .collect()
}

//! The life of a cage once it is built: start bubblewrap, answer and record until the server has ended or is to end,
//! and leave nothing behind.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, socket};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, dup, dup2_stderr, dup2_stdin, dup2_stdout, getppid, pipe2};
use serde_json::Value;

use super::cage::RELAY;
use super::plan::{Base, Plan};
use super::recorder::Names;
use super::relay::Outside;
use super::report::{Limit, Line, Report};
use super::stage::USER;
use super::{seccomp, stage, watch};

/// How often a cage looks after what no file descriptor tells.
const TICK: Duration = Duration::from_millis(100);
/// Most packets read before the other things are looked at.
const PACKETS: usize = 512;
/// Longest time the kernel may take to end what was killed.
const DYING: Duration = Duration::from_secs(5);
/// Most bytes kept of what bubblewrap says of itself.
const WORDS: usize = 4096;
/// Puts the server on the pipes it was given, which nothing else of the cage holds: when the server closes its
/// output, that shows at once.
const ONTO_PIPES: &str = r#"exec "$@" <&3 >&4 2>&5 3<&- 4>&- 5>&-"#;

/// The pipes of the server, out of the way of bubblewrap's own.
pub(super) struct Pipes {
    kept: [OwnedFd; 3],
}

impl Pipes {
    /// Copies of standard input, output and error; they must be the first files of the process.
    pub(super) fn keep() -> io::Result<Self> {
        close_others()?;
        let kept = [dup(io::stdin())?, dup(io::stdout())?, dup(io::stderr())?];
        if kept.iter().map(OwnedFd::as_raw_fd).eq([3, 4, 5]) {
            Ok(Self { kept })
        } else {
            Err(io::Error::other("the cage was started with files open"))
        }
    }

    /// Leaves them to the server alone.
    fn leave(self) -> io::Result<()> {
        let null = File::options().read(true).write(true).open("/dev/null")?;
        dup2_stdin(&null)?;
        dup2_stdout(&null)?;
        dup2_stderr(&null)?;
        drop(self.kept);
        Ok(())
    }
}

/// Closes what whoever started us has left open: nothing of it may come into the cage.
fn close_others() -> io::Result<()> {
    let open: Vec<i32> = std::fs::read_dir("/proc/self/fd")?
        .flatten()
        .filter_map(|entry| number(&entry.file_name()))
        .collect();
    for file in open.into_iter().filter(|file| *file > 2) {
        // The folder just read is among them, and closed already.
        let _ = nix::unistd::close(file);
    }
    Ok(())
}

/// What the cage watches, opened while it still may.
pub(super) struct Sockets {
    packets: OwnedFd,
    questions: UdpSocket,
}

impl Sockets {
    pub(super) fn open(outside: Option<Outside>) -> io::Result<Self> {
        let packets = socket(
            AddressFamily::Packet,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
            SockProtocol::EthAll,
        )?;
        let questions = UdpSocket::bind(("0.0.0.0", 53))?;
        questions.set_nonblocking(true)?;
        if let Some(outside) = outside {
            outside.serve(TcpListener::bind(RELAY)?);
        }
        Ok(Self { packets, questions })
    }
}

/// Runs the server to its end; the status is that of a shell.
pub(super) fn keep(
    plan: &Plan,
    pipes: Pipes,
    files: Vec<OsString>,
    sockets: &Sockets,
    report: &mut Report,
) -> io::Result<i32> {
    nix::sys::prctl::set_child_subreaper(true)?;
    let mut caged = Caged::start(plan, files)?;
    // Only now: what is started inherits what is blocked.
    let mut signals = SigSet::empty();
    for signal in [Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGINT] {
        signals.add(signal);
    }
    signals.thread_block()?;
    let signals = SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
    pipes.leave()?;
    report.say(&Line::Entered);
    let status = caged.watch(plan, &signals, sockets, report);
    caged.end();
    // What it sent last may not have been read yet.
    caged.record(sockets, report);
    caged.judge(status?, report)
}

struct Caged {
    bubblewrap: Child,
    pid: Pid,
    /// What bubblewrap says of the server, and of its own troubles.
    status: File,
    words: Option<File>,
    status_text: Vec<u8>,
    names: Names,
    starter: Pid,
    disk_full: bool,
}

impl Caged {
    fn start(plan: &Plan, files: Vec<OsString>) -> io::Result<Self> {
        let (status, status_end) = pipe2(OFlag::O_CLOEXEC)?;
        // This end and the filter are for bubblewrap, which closes them before the server starts.
        let status_end = dup(&status_end)?;
        let mut filter = File::from(memfd_create("filter", MFdFlags::empty())?);
        filter.write_all(&seccomp::program())?;
        filter.rewind()?;
        let mut command = Command::new(&plan.bubblewrap);
        command.args([
            "--unshare-user",
            "--unshare-pid",
            "--unshare-ipc",
            "--unshare-uts",
        ]);
        command.args(["--unshare-cgroup-try", "--die-with-parent", "--new-session"]);
        command.args(["--cap-drop", "ALL"]);
        for (flag, id) in [("--uid", USER), ("--gid", USER)] {
            command.arg(flag).arg(id.to_string());
        }
        command.args(files);
        command.arg("--seccomp").arg(filter.as_raw_fd().to_string());
        command
            .arg("--json-status-fd")
            .arg(status_end.as_raw_fd().to_string());
        command.arg("--");
        if plan.base == Base::System {
            command.args(["/bin/sh", "-c", ONTO_PIPES, "sh"]);
            command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped());
        }
        command.arg(&plan.program).args(&plan.args);
        command.env_clear().envs(plan.env.iter().cloned());
        let mut bubblewrap = command.spawn()?;
        let words = bubblewrap
            .stderr
            .take()
            .map(|words| File::from(OwnedFd::from(words)));
        Ok(Self {
            pid: Pid::from_raw(bubblewrap.id().cast_signed()),
            bubblewrap,
            status: File::from(status),
            words,
            status_text: Vec::new(),
            names: Names::default(),
            starter: getppid(),
            disk_full: false,
        })
    }

    /// Until bubblewrap has ended, or everything is to end (then there is no status).
    fn watch(
        &mut self,
        plan: &Plan,
        signals: &SignalFd,
        sockets: &Sockets,
        report: &mut Report,
    ) -> io::Result<Option<i32>> {
        let mut looked = Instant::now();
        loop {
            let wait = PollTimeout::try_from(TICK).unwrap_or(PollTimeout::ZERO);
            let mut waited = [
                PollFd::new(signals.as_fd(), PollFlags::POLLIN),
                PollFd::new(sockets.packets.as_fd(), PollFlags::POLLIN),
                PollFd::new(sockets.questions.as_fd(), PollFlags::POLLIN),
            ];
            match poll(&mut waited, wait) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
            self.record(sockets, report);
            while let Some(signal) = signals.read_signal()? {
                match Signal::try_from(signal.ssi_signo.cast_signed()) {
                    Ok(Signal::SIGTERM) => self.ask_to_end(),
                    Ok(Signal::SIGINT) => return Ok(None),
                    _ => {
                        if let Some(status) = self.reap() {
                            return Ok(Some(status));
                        }
                    }
                }
            }
            if looked.elapsed() >= TICK {
                looked = Instant::now();
                // One that died before its signal was waited for.
                if let Some(status) = self.reap() {
                    return Ok(Some(status));
                }
                if getppid() != self.starter || self.over(plan, report) {
                    return Ok(None);
                }
            }
        }
    }

    /// Whether a limit was met that ends everything.
    fn over(&mut self, plan: &Plan, report: &mut Report) -> bool {
        if !self.disk_full && stage::is_full() {
            self.disk_full = true;
            report.say(&Line::Limit(Limit::Disk));
        }
        let met = plan.watched.as_ref().and_then(watch::met);
        if let Some(limit) = met {
            report.say(&Line::Limit(limit));
        }
        met.is_some()
    }

    /// Reads what there is of packets and questions; questions first, they give names to the packets.
    fn record(&mut self, sockets: &Sockets, report: &mut Report) {
        let mut bytes = [0; 2048];
        for _ in 0..PACKETS {
            let Ok((read, from)) = sockets.questions.recv_from(&mut bytes) else {
                break;
            };
            if let Some(answer) = self.names.answer(&bytes[..read], report) {
                // Whoever asked may be gone.
                let _ = sockets.questions.send_to(&answer, from);
            }
        }
        for _ in 0..PACKETS {
            let Ok(read) = recv(sockets.packets.as_raw_fd(), &mut bytes, MsgFlags::empty()) else {
                break;
            };
            self.names.packet(&bytes[..read], report);
        }
    }

    /// Buries what has died; the status of bubblewrap, once it is among them.
    fn reap(&mut self) -> Option<i32> {
        let mut ended = None;
        loop {
            match waitpid(None::<Pid>, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(pid, status)) if pid == self.pid => ended = Some(status),
                Ok(WaitStatus::Signaled(pid, signal, _)) if pid == self.pid => {
                    ended = Some(128 + signal as i32);
                }
                Ok(WaitStatus::StillAlive) | Err(_) => return ended,
                Ok(_) => {}
            }
        }
    }

    /// The first process of the cage, as bubblewrap names it.
    fn first(&mut self) -> Option<Pid> {
        let pid = self.said("child-pid")?;
        Some(Pid::from_raw(i32::try_from(pid).ok()?))
    }

    /// A number bubblewrap has said of the server.
    fn said(&mut self, key: &str) -> Option<i64> {
        let mut ready = [PollFd::new(self.status.as_fd(), PollFlags::POLLIN)];
        while poll(&mut ready, PollTimeout::ZERO).is_ok_and(|count| count > 0) {
            let mut bytes = [0; 1024];
            match (&self.status).read(&mut bytes) {
                Ok(read) if read > 0 && self.status_text.len() < WORDS => {
                    self.status_text.extend(&bytes[..read]);
                }
                _ => break,
            }
        }
        let documents = serde_json::Deserializer::from_slice(&self.status_text).into_iter::<Value>();
        documents
            .map_while(Result::ok)
            .find_map(|document| document.get(key)?.as_i64())
    }

    /// Asks the server, not its keeper, to end.
    fn ask_to_end(&mut self) {
        let Some(first) = self.first() else {
            return;
        };
        for child in watch::children(first.as_raw()) {
            // Gone already is as good.
            let _ = kill(Pid::from_raw(child), Signal::SIGTERM);
        }
    }

    /// Ends everything. The first process of the cage takes all others with it, and it becomes ours to bury.
    fn end(&mut self) {
        if let Some(first) = self.first() {
            let _ = kill(first, Signal::SIGKILL);
        }
        let _ = self.bubblewrap.kill();
        let until = Instant::now() + DYING;
        while Instant::now() < until {
            match waitpid(None::<Pid>, Some(WaitPidFlag::WNOHANG)) {
                Err(Errno::ECHILD) => return,
                Ok(WaitStatus::StillAlive) => std::thread::sleep(Duration::from_micros(200)),
                _ => {}
            }
        }
    }

    /// What the end means: the server's own, ours, or that it never began.
    fn judge(&mut self, status: Option<i32>, report: &mut Report) -> io::Result<i32> {
        let Some(status) = status else {
            return Ok(0);
        };
        if let Some(code) = self.said("exit-code") {
            let code = i32::try_from(code).unwrap_or(255);
            report.say(&Line::Ended(code));
            return Ok(code);
        }
        let mut words = Vec::new();
        if let Some(said) = self.words.take() {
            // What cannot be read is not said.
            let _ = said.take(WORDS as u64).read_to_end(&mut words);
        }
        let words = String::from_utf8_lossy(&words);
        Err(io::Error::other(format!(
            "bubblewrap ended with {status}: {}",
            words.trim()
        )))
    }
}

/// Whether a file name is a number.
pub(super) fn number(name: &OsStr) -> Option<i32> {
    name.to_str()?.parse().ok()
}

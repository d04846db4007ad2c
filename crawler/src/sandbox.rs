//! Runs a server in a cage: bubblewrap with namespaces of its own for everything, a user that nothing else has, no
//! capabilities, a filter on system calls, only the files it needs, bounds held by the kernel, and a network that
//! leads nowhere and is written down.
//!
//! The outer half: it finds out what this machine can do, starts a process of this same program that becomes the
//! [`cage`], and says what was seen once all of it is gone. Not for talking to the server.

pub mod cage;
pub(crate) mod folders;
mod groups;
mod keeper;
mod network;
mod plan;
mod process;
mod recorder;
mod relay;
mod report;
mod seccomp;
mod stage;
mod users;
mod watch;
mod which;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use nix::unistd::geteuid;
use tokio::process::Command;
use tokio::time::timeout;
use toolmark_domain::limits::{
    CAGE_CPU_SECS, CAGE_FILES, CAGE_HOME_BYTES, CAGE_MEMORY_BYTES, CAGE_TASKS, CAGE_TEMP_BYTES,
};
use toolmark_domain::reason::Reason;
use toolmark_domain::snapshot::Outcome;

pub use plan::{Base, Mount};
pub use which::{Found, NotFound};

use crate::condition::Condition;
use crate::launch::{Launch, Start, StartFailure, Started};
use groups::{GroupBounds, Groups};
use plan::{Bounds, Plan, Watched};
use process::Running;
use users::SpareUser;

/// Where a caged server finds its home.
pub const HOME: &str = stage::HOME;
/// Longest time to find out whether a cage works.
const TRIAL: Duration = Duration::from_secs(20);
/// Where programs are looked for inside.
pub const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What this machine can do.
#[derive(Clone, Debug)]
pub struct Sandbox {
    bubblewrap: PathBuf,
    /// The program whose first argument [`cage::CAGE`] makes it a cage.
    helper: PathBuf,
    root: bool,
    groups: Option<Groups>,
}

/// Why there is no sandbox on this machine, and what to do.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{why}")]
pub struct NoSandbox {
    pub why: String,
    pub hint: &'static str,
}

impl Sandbox {
    /// Finds out by running something: a name says nothing about what a machine allows.
    pub async fn find() -> Result<Self, NoSandbox> {
        Self::find_with(Path::new("/proc/self/exe")).await
    }

    /// As [`Self::find`], with another program as the inner half.
    pub async fn find_with(helper: &Path) -> Result<Self, NoSandbox> {
        let bubblewrap = which::program("bwrap").ok_or_else(|| NoSandbox {
            why: "there is no bubblewrap".to_owned(),
            hint: "`apt-get install bubblewrap`",
        })?;
        let sandbox = Self {
            bubblewrap,
            helper: helper.to_owned(),
            root: geteuid().is_root(),
            groups: tokio::task::spawn_blocking(|| {
                folders::sweep();
                Groups::find()
            })
            .await
            .ok()
            .flatten(),
        };
        sandbox.trial().await.map(|()| sandbox)
    }

    /// How bounds over all processes are held, for people.
    pub fn bounds(&self) -> &'static str {
        match self.groups {
            Some(Groups::Unified(_)) => "control groups, version 2",
            Some(Groups::Split { .. }) => "control groups, version 1",
            None => "watched ten times a second, there are no control groups to use",
        }
    }

    /// Whether each cage has a user of its own.
    pub fn has_spare_users(&self) -> bool {
        self.root
    }

    async fn trial(&self) -> Result<(), NoSandbox> {
        let launch = Launch {
            program: "/bin/true".into(),
            ..Launch::default()
        };
        let failed = |why: String| NoSandbox {
            why,
            hint: "it needs user namespaces (`sysctl user.max_user_namespaces`, and on Ubuntu \
                   `kernel.apparmor_restrict_unprivileged_userns=0`)",
        };
        let run = async {
            let cage = Cage::new(self.clone());
            let mut started = cage.begin(&launch, &Condition::TAKES[0])?;
            let status = started.process.wait().await;
            let ending = started.process.finish().await;
            Ok::<_, StartFailure>((status, ending))
        };
        let (status, ending) = timeout(TRIAL, run)
            .await
            .map_err(|_| failed("a trial run did not end".to_owned()))?
            .map_err(|failure| failed(failure.words))?;
        match (status, ending.limit) {
            (Ok(status), None) if status.success() => Ok(()),
            (Ok(status), _) => Err(failed(format!("a trial run ended with {status}"))),
            (Err(error), _) => Err(failed(error.to_string())),
        }
    }
}

/// A way to start servers that see the same files.
#[derive(Clone, Debug)]
pub struct Cage {
    sandbox: Sandbox,
    base: Base,
    mounts: Vec<Mount>,
    relay: Option<PathBuf>,
    bounds: CageBounds,
}

/// What all processes of a cage may use together.
#[derive(Clone, Copy, Debug)]
pub struct CageBounds {
    pub memory_bytes: u64,
    pub tasks: u64,
    pub home_bytes: u64,
    pub temp_bytes: u64,
    /// Largest file.
    pub file_bytes: u64,
    /// Processor time of each process.
    pub cpu_secs: u64,
}

impl Default for CageBounds {
    fn default() -> Self {
        Self {
            memory_bytes: CAGE_MEMORY_BYTES,
            tasks: CAGE_TASKS,
            home_bytes: CAGE_HOME_BYTES,
            temp_bytes: CAGE_TEMP_BYTES,
            file_bytes: CAGE_HOME_BYTES,
            cpu_secs: CAGE_CPU_SECS,
        }
    }
}

impl Cage {
    /// Programs of this machine, and none of its data.
    pub fn new(sandbox: Sandbox) -> Self {
        Self {
            sandbox,
            base: Base::System,
            mounts: Vec::new(),
            relay: None,
            bounds: CageBounds::default(),
        }
    }

    /// Another root than that of this machine.
    #[must_use]
    pub fn on(mut self, base: Base) -> Self {
        self.base = base;
        self
    }

    /// With these files and folders too.
    #[must_use]
    pub fn with(mut self, mounts: impl IntoIterator<Item = Mount>) -> Self {
        self.mounts
            .extend(mounts.into_iter().filter(|mount| !stage::is_reserved(mount)));
        // A folder before what lies in it, or it would cover it.
        self.mounts.sort_by(|a, b| a.target.cmp(&b.target));
        self.mounts.dedup_by(|a, b| a.target == b.target);
        self
    }

    /// With a local socket of this machine to be reached from inside.
    #[must_use]
    pub fn relayed(mut self, socket: PathBuf) -> Self {
        self.relay = Some(socket);
        self
    }

    #[must_use]
    pub fn bounded(mut self, bounds: CageBounds) -> Self {
        self.bounds = bounds;
        self
    }

    fn begin(&self, launch: &Launch, condition: &Condition) -> Result<Started, StartFailure> {
        self.start_now(launch, condition).map_err(|error| StartFailure {
            outcome: Outcome::NotObserved,
            reason: Reason::NoSandbox,
            words: error.to_string(),
        })
    }

    fn start_now(&self, launch: &Launch, condition: &Condition) -> io::Result<Started> {
        let folder = folders::make()?;
        let user = if self.sandbox.root {
            let free = SpareUser::take();
            Some(free.ok_or_else(|| io::Error::other("too many cages at a time"))?)
        } else {
            None
        };
        let group_bounds = GroupBounds {
            memory_bytes: self.bounds.memory_bytes,
            tasks: self.bounds.tasks,
            processors: 2,
        };
        let groups = self.sandbox.groups.as_ref();
        let group = groups.map(|groups| groups.make(&group_bounds)).transpose()?;
        let report = folder.path().join("report");
        std::fs::write(&report, "")?;
        let mut plan = self.plan(launch, condition, &report);
        plan.uid = user.as_ref().map(SpareUser::id);
        let doors = group.iter().flat_map(groups::Group::doors);
        plan.groups = doors.map(PathBuf::into_os_string).collect();
        plan.watched = group.is_none().then_some(Watched {
            memory_bytes: self.bounds.memory_bytes,
            tasks: self.bounds.tasks,
        });
        let running = Running {
            child: None,
            group,
            user,
            report,
            folder,
        };
        self.spawn(&plan, running)
    }

    fn plan(&self, launch: &Launch, condition: &Condition, report: &Path) -> Plan {
        let own = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        let mut env = vec![own("PATH", PATH), own("HOME", HOME), own("LANG", "C.UTF-8")];
        env.extend([own("USER", "probe"), own("TMPDIR", "/tmp")]);
        env.extend(condition.env());
        env.extend(launch.env.iter().cloned());
        let cwd = match &launch.cwd {
            Some(cwd) => cwd.clone(),
            None => Path::new(HOME).join((condition.take % 2).to_string()),
        };
        Plan {
            bubblewrap: self.sandbox.bubblewrap.clone().into(),
            report: report.into(),
            uid: None,
            groups: Vec::new(),
            watched: None,
            base: self.base.clone(),
            mounts: self.mounts.clone(),
            program: launch.program.clone(),
            args: launch.args.clone(),
            env,
            cwd: cwd.into(),
            bounds: Bounds {
                home_bytes: self.bounds.home_bytes,
                temp_bytes: self.bounds.temp_bytes,
                files: CAGE_FILES,
                file_bytes: self.bounds.file_bytes,
                processes: self.bounds.tasks + 8,
                cpu_secs: self.bounds.cpu_secs,
            },
            relay: self.relay.clone().map(PathBuf::into_os_string),
        }
    }

    fn spawn(&self, plan: &Plan, mut running: Running) -> io::Result<Started> {
        let file = running.folder_path().join("plan");
        std::fs::write(&file, serde_json::to_vec(plan)?)?;
        let mut child = Command::new(&self.sandbox.helper)
            .arg(cage::CAGE)
            .arg(&file)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        running.child = Some(child);
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(io::Error::other("no pipes"));
        };
        Ok(Started {
            stdin,
            stdout,
            stderr,
            process: Box::new(running),
        })
    }
}

impl Start for Cage {
    fn start<'a>(
        &'a self,
        launch: &'a Launch,
        condition: &'a Condition,
    ) -> BoxFuture<'a, Result<Started, StartFailure>> {
        async move { self.begin(launch, condition) }.boxed()
    }
}

//! The seam between talking to a server and running it: what to run, who runs it, what came of it.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use futures_util::future::BoxFuture;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use toolmark_domain::reason::Reason;
use toolmark_domain::snapshot::{Egress, Outcome};

use crate::condition::Condition;

/// What to run. Paths are those seen by the program, wherever it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    pub program: OsString,
    pub args: Vec<OsString>,
    /// The whole environment besides what the [`Condition`] adds; nothing is inherited.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory of both takes; where there is none, each take has a fresh one of its own.
    pub cwd: Option<PathBuf>,
}

/// Who runs servers: a sandbox, or [`crate::bare::Bare`] in tests.
pub trait Start: Send + Sync {
    /// Starts one process with stdin, stdout and stderr piped, under `condition`. Called once more in the same take
    /// when the server did not survive our first question.
    fn start<'a>(
        &'a self,
        launch: &'a Launch,
        condition: &'a Condition,
    ) -> BoxFuture<'a, Result<Started, StartFailure>>;
}

/// A running server.
pub struct Started {
    pub stdin: ChildStdin,
    pub stdout: ChildStdout,
    pub stderr: ChildStderr,
    pub process: Box<dyn Process>,
}

/// A running server, apart from its pipes. Dropping it must end all of it.
pub trait Process: Send {
    /// Waits until the server itself has ended. May be dropped and called again.
    fn wait(&mut self) -> BoxFuture<'_, io::Result<ExitStatus>>;

    /// Asks it to end, with all that it started.
    fn terminate(&mut self);

    /// Ends it, with all that it started, and says what was seen from outside. Returns once nothing is left.
    fn finish(self: Box<Self>) -> BoxFuture<'static, Ending>;
}

/// What was seen of a process from outside.
#[derive(Clone, Debug, Default)]
pub struct Ending {
    /// Which of our limits ended it, if one did.
    pub limit: Option<Reason>,
    /// What it tried to reach.
    pub egress: Vec<Egress>,
}

/// Nothing was started.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{words}")]
pub struct StartFailure {
    /// [`Outcome::NotObserved`] where it is our machine's fault.
    pub outcome: Outcome,
    pub reason: Reason,
    /// What happened, for people; bounded and without secrets.
    pub words: String,
}

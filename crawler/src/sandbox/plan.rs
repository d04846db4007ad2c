//! What the program asks a cage for: written to a file by the one, read by the other.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The whole of a cage.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Plan {
    pub(super) bubblewrap: OsString,
    /// Where the cage writes its [report](super::report).
    pub(super) report: OsString,
    /// A user id that nothing else on this machine has; none where we may not choose.
    pub(super) uid: Option<u32>,
    /// Files that take the id of a process into a control group.
    pub(super) groups: Vec<OsString>,
    /// What the cage watches by itself, where there are no control groups.
    pub(super) watched: Option<Watched>,
    pub(super) base: Base,
    pub(super) mounts: Vec<Mount>,
    pub(super) program: OsString,
    pub(super) args: Vec<OsString>,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) cwd: OsString,
    pub(super) bounds: Bounds,
    /// A local socket that the cage offers inside as [`RELAY`](super::cage::RELAY).
    pub(super) relay: Option<OsString>,
}

/// Bounds the kernel holds by itself.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Bounds {
    pub(super) home_bytes: u64,
    pub(super) temp_bytes: u64,
    pub(super) files: u64,
    pub(super) file_bytes: u64,
    pub(super) processes: u64,
    pub(super) cpu_secs: u64,
}

/// Bounds over all processes of a cage together.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Watched {
    pub(super) memory_bytes: u64,
    pub(super) tasks: u64,
}

/// The root of what the server sees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Base {
    /// Programs and libraries of this machine, and none of its data.
    System,
    /// A tree of its own, such as that of an image.
    Tree(PathBuf),
}

/// A file or folder of this machine that the server sees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    pub source: PathBuf,
    /// Where the server sees it.
    pub target: PathBuf,
    pub writable: bool,
}

impl Mount {
    /// At the same path, not to be written.
    pub fn same(path: impl Into<PathBuf>) -> Self {
        let source = path.into();
        Self {
            target: source.clone(),
            source,
            writable: false,
        }
    }
}

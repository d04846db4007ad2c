//! The sandbox: bubblewrap, able to make the namespaces a probe runs in.

use super::run::{Ran, run};
use super::{Check, State};

/// What a probe needs at least: namespaces of its own for all but the file system, no capabilities, its own `/proc`.
const TRIAL: [&str; 13] = [
    "--unshare-all",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
    "--ro-bind",
    "/",
    "/",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "true",
];

/// Nothing runs in the sandbox yet, so its absence is a note.
pub(super) async fn check() -> Check {
    let version = match run("bwrap", &["--version"]).await {
        Ran::Well(version) => version,
        Ran::Absent => {
            return note("not found")
                .hint("`apt-get install bubblewrap`; without it no package can be run and observed");
        }
        Ran::Badly(reason) => return note(format!("does not start: {reason}")),
        Ran::TooLong => return note("does not answer"),
    };
    match run("bwrap", &TRIAL).await {
        Ran::Well(_) => Check::new("sandbox", "bubblewrap", State::Ok, format!("{version}, makes namespaces")),
        Ran::Badly(reason) => note(format!("{version}, cannot make namespaces: {reason}")).hint(
            "allow unprivileged user namespaces: `sysctl kernel.unprivileged_userns_clone=1`, on systems with AppArmor \
             also `sysctl kernel.apparmor_restrict_unprivileged_userns=0`; in a container, let it make namespaces",
        ),
        Ran::TooLong => note(format!("{version}, the trial did not end")),
        Ran::Absent => note("vanished between two runs"),
    }
}

fn note(found: impl Into<String>) -> Check {
    Check::new("sandbox", "bubblewrap", State::Note, found)
}

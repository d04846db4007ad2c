//! The sandbox: a cage is built and a program is run in it, as for a probe.

use toolmark_crawler::sandbox::Sandbox;

use super::run::{Ran, run};
use super::{Check, State};

/// A registry without it works, and observes no package, so its absence is a note.
pub(super) async fn check() -> Vec<Check> {
    let version = match run("bwrap", &["--version"]).await {
        Ran::Well(version) => version,
        Ran::Absent => {
            return vec![
                note("bubblewrap", "not found")
                    .hint("`apt-get install bubblewrap`; without it no package can be run and observed"),
            ];
        }
        Ran::Badly(reason) => return vec![note("bubblewrap", format!("does not start: {reason}"))],
        Ran::TooLong => return vec![note("bubblewrap", "does not answer")],
    };
    let found = Check::new("sandbox", "bubblewrap", State::Ok, version);
    let (cage, bounds) = match Sandbox::find().await {
        Ok(sandbox) => (
            Check::new("sandbox", "cage", State::Ok, user(&sandbox)),
            Check::new("sandbox", "bounds", State::Ok, sandbox.bounds()),
        ),
        Err(none) => (
            note("cage", format!("cannot be built: {none}")).hint(none.hint),
            note("bounds", "not tried"),
        ),
    };
    vec![found, cage, bounds]
}

fn user(sandbox: &Sandbox) -> &'static str {
    if sandbox.has_spare_users() {
        "can be built, each with a user of its own"
    } else {
        "can be built, with the user of this program"
    }
}

fn note(name: &'static str, found: impl Into<String>) -> Check {
    Check::new("sandbox", name, State::Note, found)
}

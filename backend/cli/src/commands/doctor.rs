//! `toolmark doctor`: what this machine has, what it lacks, and how to get it. Each thing is tried, not looked up by
//! name alone.

mod clients;
mod clock;
mod run;
mod sandbox;
mod store;

use std::fmt::Write as _;

use clap::Args;
use serde::Serialize;
use serde_json::json;

use crate::Global;
use crate::opening;
use crate::outcome::{Failure, Outcome};
use crate::output::{Format, print, print_json, table};

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  toolmark doctor --format json

Exit status: 0 everything needed is there, 1 something needed is missing; notes do not count")]
pub(crate) struct DoctorArgs {
    /// Form of the answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// How one check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// It is there and works.
    Ok,
    /// It is not needed now, or only for a part.
    Note,
    /// It is needed, and is not there or does not work.
    Missing,
}

/// One thing that was tried.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Check {
    area: &'static str,
    name: &'static str,
    state: State,
    found: String,
    hint: Option<String>,
}

impl Check {
    fn new(area: &'static str, name: &'static str, state: State, found: impl Into<String>) -> Self {
        Self {
            area,
            name,
            state,
            found: found.into(),
            hint: None,
        }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

pub(crate) fn run(global: &Global, args: &DoctorArgs) -> Result<Outcome, Failure> {
    let loaded = global.start(Vec::new())?;
    let settings = opening::registry_settings(&loaded.settings)?;
    let checks = super::block_on(async {
        let mut checks = vec![clock::check()];
        checks.extend(store::checks(&settings).await);
        checks.extend(sandbox::check().await);
        checks.extend(clients::checks().await);
        checks
    })?;
    let complete = checks.iter().all(|check| check.state != State::Missing);
    match args.format {
        Format::Text => print(&text(&checks, complete))?,
        Format::Json => print_json(&json!({
            "schema": "toolmark.doctor/1",
            "complete": complete,
            "checks": checks,
        }))?,
    }
    Ok(if complete { Outcome::Yes } else { Outcome::No })
}

fn text(checks: &[Check], complete: bool) -> String {
    let word = |state: State| match state {
        State::Ok => "ok",
        State::Note => "note",
        State::Missing => "missing",
    };
    let cells = |check: &Check| {
        let cells = [word(check.state), check.area, check.name, &check.found];
        cells.map(str::to_owned).to_vec()
    };
    let mut out = table(&checks.iter().map(cells).collect::<Vec<_>>());
    for check in checks {
        if let Some(hint) = &check.hint {
            let _ = writeln!(out, "hint: {}: {hint}", check.name);
        }
    }
    out.push_str(if complete {
        "everything needed is there\n"
    } else {
        "something needed is missing\n"
    });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_stand_on_their_own_lines_below_the_table() {
        let checks = [
            Check::new("clock", "time", State::Ok, "2026-01-01T00:00:00Z"),
            Check::new("sandbox", "bubblewrap", State::Missing, "not found")
                .hint("apt-get install bubblewrap"),
        ];
        assert_eq!(
            text(&checks, false),
            "ok       clock    time        2026-01-01T00:00:00Z\n\
             missing  sandbox  bubblewrap  not found\n\
             hint: bubblewrap: apt-get install bubblewrap\n\
             something needed is missing\n"
        );
    }
}

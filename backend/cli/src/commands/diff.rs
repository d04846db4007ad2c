//! `toolmark diff`: what changed between two snapshots, and how much it matters.

use clap::Args;
use toolmark_domain::diff::diff;
use toolmark_domain::finding::report;

use super::snapshot::{AtLeast, FindingsFormat, Snapshot};
use crate::outcome::{Failure, Outcome};
use crate::output::{print, print_json};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolmark diff old.json new.json
  toolmark diff old.json new.json --fail-on high --format sarif

Exit status: 0, or 1 where a finding is as grave as `--fail-on`; 2 not readable as a snapshot")]
pub(crate) struct DiffArgs {
    /// The earlier snapshot, list of tools or captured manifest
    #[arg(value_name = "OLD")]
    old: String,
    /// The later one; one of the two may be `-` for standard input
    #[arg(value_name = "NEW")]
    new: String,
    /// Form of the answer
    #[arg(long, value_enum, default_value_t)]
    format: FindingsFormat,
    /// Exit 1 where a finding is at least this grave
    #[arg(long, value_enum, value_name = "SEVERITY")]
    fail_on: Option<AtLeast>,
}

pub(crate) fn run(args: &DiffArgs) -> Result<Outcome, Failure> {
    let (old, new) = (Snapshot::read(&args.old)?, Snapshot::read(&args.new)?);
    let found = diff(&old.manifest, &new.manifest);
    match args.format {
        FindingsFormat::Text => {
            let grave = found
                .severity
                .map_or("nothing changed", |severity| severity.as_str());
            print(&format!(
                "{}{} -> {}: {}, {grave}\n",
                report::text(&found.findings),
                old.name,
                new.name,
                found.label.as_str()
            ))?;
        }
        FindingsFormat::Json => print_json(&found)?,
        FindingsFormat::Sarif => print_json(&report::sarif(
            new.source(),
            &found.findings,
            env!("CARGO_PKG_VERSION"),
        ))?,
    }
    Ok(AtLeast::outcome(args.fail_on, found.severity))
}

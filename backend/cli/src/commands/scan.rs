//! `toolmark scan`: what the form and the texts of one snapshot were found to do.

use clap::Args;
use serde::Serialize;
use toolmark_domain::finding::report;
use toolmark_domain::profile::{Profile, profile};
use toolmark_domain::scan::{Scan, scan};

use super::snapshot::{AtLeast, FindingsFormat, Snapshot};
use crate::outcome::{Failure, Outcome};
use crate::output::{print, print_json};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolmark scan tools.json
  toolmark scan snapshot.json --format sarif --fail-on high

Exit status: 0, or 1 where a finding is as grave as `--fail-on`; 2 not readable as a snapshot")]
pub(crate) struct ScanArgs {
    /// A snapshot, a list of tools, a captured manifest; `-` for standard input
    #[arg(value_name = "FILE|-")]
    file: String,
    /// Form of the answer
    #[arg(long, value_enum, default_value_t)]
    format: FindingsFormat,
    /// Exit 1 where a finding is at least this grave
    #[arg(long, value_enum, value_name = "SEVERITY")]
    fail_on: Option<AtLeast>,
}

/// The answer for programs: the findings, and beside them what the tools can do together.
#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    scan: &'a Scan,
    profile: Profile,
}

pub(crate) fn run(args: &ScanArgs) -> Result<Outcome, Failure> {
    let snapshot = Snapshot::read(&args.file)?;
    let found = scan(&snapshot.manifest);
    match args.format {
        FindingsFormat::Text => {
            let count = found.findings.len();
            let plural = if count == 1 { "finding" } else { "findings" };
            print(&format!(
                "{}{}: {count} {plural}\n",
                report::text(&found.findings),
                snapshot.name
            ))?;
        }
        FindingsFormat::Json => print_json(&Answer {
            scan: &found,
            profile: profile(&snapshot.manifest),
        })?,
        FindingsFormat::Sarif => print_json(&report::sarif(
            snapshot.source(),
            &found.findings,
            env!("CARGO_PKG_VERSION"),
        ))?,
    }
    let worst = found.findings.iter().map(|finding| finding.severity).max();
    Ok(AtLeast::outcome(args.fail_on, worst))
}

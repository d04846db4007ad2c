//! `toolmark version`.

use clap::Args;
use serde_json::json;

use crate::outcome::{Failure, Outcome};
use crate::output::{Format, print, print_json};

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  toolmark version --format json")]
pub(crate) struct VersionArgs {
    /// Form of the answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: &VersionArgs) -> Result<Outcome, Failure> {
    match args.format {
        Format::Text => print(&format!("toolmark {}\n", crate::version_line()))?,
        Format::Json => print_json(&json!({
            "schema": "toolmark.version/1",
            "version": env!("CARGO_PKG_VERSION"),
            "commit": option_env!("TOOLMARK_COMMIT"),
        }))?,
    }
    Ok(Outcome::Yes)
}

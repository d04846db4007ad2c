//! The commands, one file each.

mod config;
mod version;

use clap::Subcommand;

use crate::Global;
use crate::outcome::{Failure, Outcome};

/// Every command there is.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show and check the settings
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Print the version and the commit it was built from
    Version(version::VersionArgs),
}

/// Runs one command.
pub(crate) fn run(global: &Global, command: Command) -> Result<Outcome, Failure> {
    match command {
        Command::Config(command) => config::run(global, &command),
        Command::Version(args) => version::run(&args),
    }
}

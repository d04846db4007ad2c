//! The commands, one file each.

mod config;
mod doctor;
mod import;
mod version;

use anyhow::Context as _;
use clap::Subcommand;

use crate::Global;
use crate::outcome::{Failure, Outcome};

/// Every command there is.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Take over another registry, or a file
    Import(import::ImportArgs),
    /// Say what this machine lacks, and how to get it
    Doctor(doctor::DoctorArgs),
    /// Show and check the settings
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Print the version and the commit it was built from
    Version(version::VersionArgs),
}

/// Runs one command.
pub(crate) fn run(global: &Global, command: Command) -> Result<Outcome, Failure> {
    match command {
        Command::Import(args) => import::run(global, &args),
        Command::Doctor(args) => doctor::run(global, &args),
        Command::Config(command) => config::run(global, &command),
        Command::Version(args) => version::run(&args),
    }
}

/// Runs the asynchronous part of a command.
fn block_on<T>(work: impl Future<Output = T>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    Ok(runtime.context("cannot start the runtime")?.block_on(work))
}

//! The commands, one file each.

mod admin;
mod check;
mod config;
mod crawl;
mod diff;
mod doctor;
mod evaluate;
mod find;
mod import;
mod mcp;
pub(crate) mod migrate;
mod pin;
mod probe;
mod reindex;
mod scan;
mod serve;
mod snapshot;
mod status;
mod validate;
mod verify;
mod verify_bundle;
mod version;
mod worker;

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::Context as _;
use clap::Subcommand;
use tokio::signal::unix::{SignalKind, signal};
use tracing::info;

use crate::Global;
use crate::outcome::{Failure, Outcome};

/// Every command there is.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve the site and the API
    Serve(serve::ServeArgs),
    /// Look at a server now and record what it declares
    Crawl(crawl::CrawlArgs),
    /// Run the background jobs only
    Worker(worker::WorkerArgs),
    /// Take over another registry, or a file
    Import(import::ImportArgs),
    /// Check a server.json as a registry would
    Validate(validate::ValidateArgs),
    /// Look at one server now and print what it declares
    Probe(probe::ProbeArgs),
    /// Say what changed between two snapshots, and how much it matters
    Diff(diff::DiffArgs),
    /// Say what the form and the texts of one snapshot would do
    Scan(scan::ScanArgs),
    /// Write down how servers are today, in a lock file
    Pin(pin::PinArgs),
    /// Say how the servers of a lock file or of a client stand today
    Check(check::CheckArgs),
    /// Check who built an artifact, from evidence on disk
    Verify(Box<verify::VerifyArgs>),
    /// Check one signature bundle, as the Sigstore conformance suite asks
    VerifyBundle(verify_bundle::VerifyBundleArgs),
    /// Show how a server stands, or what a registry holds
    Status(status::StatusArgs),
    /// Make, list and revoke tokens of publishers
    #[command(subcommand)]
    Admin(admin::AdminCommand),
    /// Bring the database up to date
    Migrate(migrate::MigrateArgs),
    /// Say what this machine lacks, and how to get it
    Doctor(doctor::DoctorArgs),
    /// Find the tools that do a job
    Find(find::FindArgs),
    /// Offer `find_tools` on standard input and output
    Mcp(mcp::McpArgs),
    /// Build the search index anew
    Reindex(reindex::ReindexArgs),
    /// Measure the search against judged queries
    #[command(subcommand)]
    Evaluate(evaluate::EvaluateCommand),
    /// Show and check the settings
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Print the version and the commit it was built from
    Version(version::VersionArgs),
}

/// Runs one command.
pub(crate) fn run(global: &Global, command: Command) -> Result<Outcome, Failure> {
    match command {
        Command::Serve(args) => serve::run(global, &args),
        Command::Crawl(args) => crawl::run(global, &args),
        Command::Worker(args) => worker::run(global, &args),
        Command::Import(args) => import::run(global, &args),
        Command::Validate(args) => validate::run(global, &args),
        Command::Probe(args) => probe::run(global, &args),
        Command::Diff(args) => diff::run(&args),
        Command::Scan(args) => scan::run(&args),
        Command::Pin(args) => pin::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Verify(args) => verify::run(global, &args),
        Command::VerifyBundle(args) => verify_bundle::run(&args),
        Command::Status(args) => status::run(global, &args),
        Command::Admin(command) => admin::run(global, &command),
        Command::Migrate(args) => migrate::run(global, &args),
        Command::Doctor(args) => doctor::run(global, &args),
        Command::Find(args) => find::run(global, &args),
        Command::Mcp(args) => mcp::run(global, &args),
        Command::Reindex(args) => reindex::run(global, &args),
        Command::Evaluate(command) => evaluate::run(global, &command),
        Command::Config(command) => config::run(global, &command),
        Command::Version(args) => version::run(&args),
    }
}

/// The bytes of a file, one more than the limit at most, so that what is too large is told by who reads it.
pub(crate) fn read_bounded(path: &Path, limit: usize) -> Result<Vec<u8>, Failure> {
    let read = || {
        let mut bytes = Vec::new();
        File::open(path)?.take(limit as u64 + 1).read_to_end(&mut bytes)?;
        Ok::<_, std::io::Error>(bytes)
    };
    read()
        .with_context(|| format!("cannot read `{}`", path.display()))
        .map_err(Failure::unreadable)
}

/// Runs the asynchronous part of a command.
fn block_on<T>(work: impl Future<Output = T>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    Ok(runtime.context("cannot start the runtime")?.block_on(work))
}

/// Done at the first SIGTERM or SIGINT.
fn stop_signal() -> Result<impl Future<Output = ()> + Send, Failure> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot watch for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot watch for SIGINT")?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => info!("told to stop by SIGTERM"),
            _ = interrupt.recv() => info!("told to stop by SIGINT"),
        }
    })
}

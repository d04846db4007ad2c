//! `toolmark worker`: the background jobs, until it is told to stop.

use clap::Args;
use tracing::info;

use crate::Global;
use crate::opening;
use crate::outcome::{Failure, Outcome};
use crate::settings::Settings;

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  toolmark worker --database-url postgres://toolmark@db.example.com/toolmark

Run as many as you like beside any number of `toolmark serve --no-worker`; on SQLite one process writes best, so
there `toolmark serve` does the jobs itself. Ends in order on SIGTERM and SIGINT: running jobs are finished.")]
pub(crate) struct WorkerArgs {}

pub(crate) fn run(global: &Global, _args: &WorkerArgs) -> Result<Outcome, Failure> {
    let loaded = global.start(Vec::new())?;
    super::block_on(work(&loaded.settings))??;
    Ok(Outcome::Yes)
}

async fn work(settings: &Settings) -> Result<(), Failure> {
    let stop = super::stop_signal()?;
    let registry = opening::registry(settings).await?;
    opening::set_up_alerts(&registry, settings)?;
    let worker = opening::worker(settings)?;
    info!("waiting for jobs");
    registry.work(&worker, stop).await;
    registry.close().await;
    Ok(())
}

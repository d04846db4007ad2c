//! `toolmark reindex`: the search index, built anew beside the one in use.

use anyhow::Context as _;
use clap::Args;

use crate::Global;
use crate::opening;
use crate::outcome::{Failure, Outcome};
use crate::output::print;

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  toolmark reindex

The index is derived from the database and can be deleted at any time. A server that runs over the same folder takes
the new one within a second.")]
pub(crate) struct ReindexArgs {}

pub(crate) fn run(global: &Global, _args: &ReindexArgs) -> Result<Outcome, Failure> {
    let loaded = global.start(Vec::new())?;
    let (tools, servers, event) = super::block_on(async {
        let registry = opening::registry(&loaded.settings).await?;
        let built = registry.reindex().await.context("cannot build the search index");
        registry.close().await;
        built.map_err(Failure::from)
    })??;
    print(&format!(
        "indexed {tools} tools of {servers} servers, up to event {event}\n"
    ))?;
    Ok(Outcome::Yes)
}

//! `toolmark mcp`: the tool `find_tools` over standard input and output, answered by a registry.

use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use serde_json::{Map, Value};
use toolmark_server::{Find, FindTools, Finding};
use url::Url;

use super::find::remote;
use crate::Global;
use crate::outcome::{Failure, Outcome};

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  toolmark mcp --registry https://registry.example.com

Speaks the Model Context Protocol on standard input and output, until the input ends.")]
pub(crate) struct McpArgs {
    /// The registry that is asked
    #[arg(long, value_name = "URL")]
    registry: Url,
}

/// A registry somewhere else.
struct Elsewhere {
    registry: Url,
}

impl Find for Elsewhere {
    fn find<'a>(&'a self, arguments: &'a Map<String, Value>) -> Finding<'a> {
        Box::pin(async move {
            let found = remote::find(&self.registry, arguments).await;
            found.map_err(|failure| failure.text().trim().to_owned())
        })
    }
}

pub(crate) fn run(global: &Global, args: &McpArgs) -> Result<Outcome, Failure> {
    global.start(Vec::new())?;
    let elsewhere = Elsewhere {
        registry: args.registry.clone(),
    };
    let handler = FindTools::new(Arc::new(elsewhere), env!("CARGO_PKG_VERSION"));
    super::block_on(handler.serve_stdio())?.context("cannot speak on standard input and output")?;
    Ok(Outcome::Yes)
}

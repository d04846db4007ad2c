//! `toolmark find`: what `find_tools` answers, here or at a registry.

use std::fmt::Write as _;

use anyhow::{Context as _, anyhow};
use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};
use toolmark_domain::find::FindAsk;
use toolmark_registry::FindError;
use url::Url;

use crate::Global;
use crate::opening;
use crate::outcome::{Failure, Outcome};
use crate::output::{Format, plain, print, print_json};
use crate::settings::Settings;

pub(crate) mod remote;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolmark find \"send a mail with an attachment\"
  toolmark find read_file --detail full --format json --registry https://registry.example.com

Exit status: 0 something was found, 1 nothing was, 3 it could not be found out")]
pub(crate) struct FindArgs {
    /// What should be done, or what the tool is called
    #[arg(value_name = "QUERY", required = true)]
    query: Vec<String>,
    /// Ask this registry instead of the one in the data folder
    #[arg(long, value_name = "URL")]
    registry: Option<Url>,
    /// Only tools of this server
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    /// Most tools [default: 7]
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// How much is told of each tool
    #[arg(long, value_enum)]
    detail: Option<DetailArg>,
    /// Bounds the answer, in model tokens [default: 2000]
    #[arg(long, value_name = "N")]
    max_tokens: Option<u32>,
    /// Form of the answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DetailArg {
    /// The best ones whole.
    Auto,
    /// A line each.
    Compact,
    /// Whole definitions.
    Full,
}

pub(crate) fn run(global: &Global, args: &FindArgs) -> Result<Outcome, Failure> {
    let loaded = global.start(Vec::new())?;
    let arguments = arguments(args);
    let ask = FindAsk::read(&arguments).map_err(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Failure::unreadable(anyhow!("{}", errors.join("; ")))
    })?;
    let answer = super::block_on(async {
        match &args.registry {
            Some(registry) => remote::find(registry, &arguments).await,
            None => local(&loaded.settings, &ask).await,
        }
    })??;
    match args.format {
        Format::Json => print_json(&answer)?,
        Format::Text => print(&text(&answer))?,
    }
    let found = answer["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    Ok(if found { Outcome::Yes } else { Outcome::No })
}

fn arguments(args: &FindArgs) -> Map<String, Value> {
    let mut arguments = Map::new();
    arguments.insert("query".into(), args.query.join(" ").into());
    let detail = args.detail.map(|detail| match detail {
        DetailArg::Auto => "auto",
        DetailArg::Compact => "compact",
        DetailArg::Full => "full",
    });
    let given = [
        ("server", args.server.clone().map(Value::from)),
        ("limit", args.limit.map(|limit| json!(limit))),
        ("detail", detail.map(Value::from)),
        ("max_tokens", args.max_tokens.map(|tokens| json!(tokens))),
    ];
    for (name, value) in given {
        arguments.extend(value.map(|value| (name.to_owned(), value)));
    }
    arguments
}

/// Follows the feed to its head, then asks; a server that runs over the same folder keeps its own index.
async fn local(settings: &Settings, ask: &FindAsk) -> Result<Value, Failure> {
    let registry = opening::registry(settings).await?;
    let head = registry.head().await.map_err(Failure::unknown)?;
    let found = tokio::select! {
        () = registry.follow_feed() => Err(FindError::Rebuilding),
        found = async {
            registry.wait_indexed(head).await;
            registry.find(ask).await
        } => found,
    };
    registry.close().await;
    let answer = found.context("cannot search").map_err(Failure::unknown)?;
    Ok(answer.value)
}

fn text(answer: &Value) -> String {
    let mut out = String::new();
    let word = |value: &Value| plain(value.as_str().unwrap_or_default());
    for tool in answer["tools"].as_array().into_iter().flatten() {
        let _ = writeln!(out, "{}  ({})", word(&tool["id"]), word(&tool["match"]));
        let _ = writeln!(out, "  {}", word(&tool["summary"]));
        let verdict = tool["verdict"]
            .as_str()
            .map_or_else(|| "not checked".to_owned(), plain);
        let _ = writeln!(
            out,
            "  {}  {}  origin: {verdict}  {} tokens",
            word(&tool["version"]),
            word(&tool["run"]),
            tool["tokens"]
        );
        if let Some(definition) = tool.get("definition") {
            let _ = writeln!(out, "  {}", plain(&definition.to_string()));
        }
    }
    out.push_str(&word(&answer["note"]));
    out.push('\n');
    out
}

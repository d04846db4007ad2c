//! `toolmark crawl`: looks at a server now and records what was seen.

use std::fmt::Write as _;

use anyhow::anyhow;
use clap::Args;
use serde_json::{Value, json};
use toolmark_domain::manifest::ItemKind;
use toolmark_domain::snapshot::Snapshot;
use toolmark_domain::target::Target;
use toolmark_registry::{CrawlError, Observed, Registry, WorkerSettings};

use crate::Global;
use crate::eyes::Eyes;
use crate::opening;
use crate::outcome::{Failure, Outcome};
use crate::output::{Format, plain, print, print_json, shown};
use crate::settings::Settings;
use crate::waiting::spinner;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolmark crawl com.example/weather
  toolmark crawl com.example/weather@1.2.0 --format json
  toolmark crawl --due

Packages are run in a sandbox; `toolmark doctor` says whether this machine has one.
Exit status: 0 every target was seen, 1 some were not, 2 no such version")]
pub(crate) struct CrawlArgs {
    /// A server, or one version of it; its current version unless one is named
    #[arg(
        value_name = "NAME[@VERSION]",
        required_unless_present = "due",
        conflicts_with = "due"
    )]
    name: Option<String>,
    /// Look at everything that is due, and end when nothing is
    #[arg(long)]
    due: bool,
    /// Form of the answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(global: &Global, args: &CrawlArgs) -> Result<Outcome, Failure> {
    let loaded = global.start(Vec::new())?;
    super::block_on(async {
        let registry = opening::registry(&loaded.settings).await?;
        let done = match &args.name {
            Some(name) => one(&registry, &loaded.settings, name, args.format).await,
            None => due(&registry, &loaded.settings, args.format).await,
        };
        registry.close().await;
        done
    })?
}

async fn due(registry: &Registry, settings: &Settings, format: Format) -> Result<Outcome, Failure> {
    let worker: WorkerSettings = opening::worker(settings)?;
    let count = registry.run_due_jobs(&worker).await.map_err(Failure::unknown)?;
    match format {
        Format::Text => print(&format!("{count} jobs done, none is due\n"))?,
        Format::Json => print_json(&json!({"schema": "toolmark.crawl/1", "jobs": count}))?,
    }
    Ok(Outcome::Yes)
}

async fn one(
    registry: &Registry,
    settings: &Settings,
    name: &str,
    format: Format,
) -> Result<Outcome, Failure> {
    let (name, version) = match name.split_once('@') {
        Some((name, version)) => (name, version.to_owned()),
        None => (name, current(registry, name).await?),
    };
    let bar = spinner();
    let told = bar.clone();
    let eyes = Eyes::new(settings).telling(move |stage| told.set_message(stage.as_str()));
    let seen = registry.crawl(&eyes, name, &version).await;
    bar.finish_and_clear();
    let seen = seen.map_err(|error| match error {
        CrawlError::NoVersion { .. } => no_version(name, &version),
        other => Failure::unknown(other),
    })?;
    match format {
        Format::Text => print(&text(name, &version, &seen))?,
        Format::Json => print_json(&document(name, &version, &seen))?,
    }
    let whole = seen
        .iter()
        .all(|(_, snapshot, _)| snapshot.outcome.has_manifest());
    Ok(if whole { Outcome::Yes } else { Outcome::No })
}

async fn current(registry: &Registry, name: &str) -> Result<String, Failure> {
    let found = registry.current(name).await.map_err(Failure::unknown)?;
    match found {
        Some(found) => Ok(found.version.to_string()),
        None => Err(Failure::unreadable(anyhow!("no server `{}` is recorded", shown(name)))
            .hint("publish or import it first; `toolmark probe` looks at a package or address that is not recorded")),
    }
}

fn no_version(name: &str, version: &str) -> Failure {
    let error = anyhow!("server `{}` has no version `{}`", shown(name), shown(version));
    Failure::unreadable(error).hint("leave the version out for the current one")
}

type Seen = [(Target, Snapshot, Observed)];

fn text(name: &str, version: &str, seen: &Seen) -> String {
    let mut out = String::new();
    if seen.is_empty() {
        let _ = writeln!(
            out,
            "{}@{} names no package and no remote",
            plain(name),
            plain(version)
        );
    }
    for (target, snapshot, observed) in seen {
        let tools = snapshot.list(ItemKind::Tool).map_or(0, <[_]>::len);
        let _ = write!(
            out,
            "{}: {}, {}",
            shown(&target.text()),
            snapshot.outcome.as_str(),
            snapshot.outcome.meaning()
        );
        if let Some(reason) = &snapshot.reason {
            let _ = write!(out, " ({})", plain(reason));
        }
        if snapshot.outcome.has_manifest() {
            let _ = write!(out, "; {tools} tools");
        }
        out.push('\n');
        if !observed.confirmed {
            let _ = writeln!(
                out,
                "  it differs so much that it is looked at again before it is believed"
            );
        }
        if let Some(step) = &observed.change {
            let _ = writeln!(
                out,
                "  changed: {}, {} findings",
                step.label.as_str(),
                step.findings.len()
            );
        }
        if let Some(words) = snapshot.look.get("words").and_then(Value::as_str) {
            let _ = writeln!(
                out,
                "  it says: {}",
                plain(words.lines().next().unwrap_or_default())
            );
        }
    }
    out
}

fn document(name: &str, version: &str, seen: &Seen) -> Value {
    let looks = seen.iter().map(|(target, snapshot, observed)| {
        json!({
            "target": target.text(),
            "snapshot": observed.snapshot,
            "outcome": snapshot.outcome,
            "reason": snapshot.reason,
            "confirmed": observed.confirmed,
            "tools": snapshot.list(ItemKind::Tool).map_or(0, <[_]>::len),
            "change": observed.change.as_ref().map(|step| json!({"label": step.label, "severity": step.severity, "findings": step.findings.len()})),
        })
    });
    json!({"schema": "toolmark.crawl/1", "name": name, "version": version, "looks": looks.collect::<Vec<_>>()})
}

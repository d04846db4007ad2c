//! `toolmark probe`: looks at one server now and prints what it declares.

use std::ffi::OsString;
use std::fmt::Write as _;

use anyhow::anyhow;
use clap::Args;
use serde_json::Value;
use tokio::sync::OnceCell;
use toolmark_crawler::{Progress, Stage};
use toolmark_domain::manifest::ItemKind;
use toolmark_domain::reason::Reason;
use toolmark_domain::snapshot::{Outcome as Ended, Snapshot};

use crate::Global;
use crate::looking::{Looking, Target};
use crate::outcome::{Failure, Outcome};
use crate::output::{Format, plain, print, print_json, shown, table};
use crate::waiting::spinner;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolmark probe https://mcp.example.com/mcp
  toolmark probe --allow-local http://127.0.0.1:3000/mcp --format json > snapshot.json
  toolmark probe --env API_KEY=placeholder -- node server.js
  toolmark probe npm:@modelcontextprotocol/server-filesystem@2026.8.31 --arg /tmp

The server is asked for its lists twice, by clients of different names; none of its tools is called. A command runs in
a sandbox without network, which shows it its own files, the working directory and the paths it is given, read-only.
A package is installed in a sandbox that reaches its package registry only, then runs in one without network.
Exit status: 0 observed; 3 could not tell (timed out, unreachable, not looked at); 2 bad usage; else 1")]
pub(crate) struct ProbeArgs {
    /// `npm:NAME@V`, `pypi:NAME@V`, `oci:REF`, `mcpb:FILE`, or an https URL
    #[arg(
        value_name = "TARGET",
        required_unless_present = "command",
        conflicts_with = "command"
    )]
    target: Option<String>,
    /// A command that starts a server on its standard input and output
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
    /// A variable for the server, which gets none of yours
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// An argument for the server of a package
    #[arg(
        long = "arg",
        value_name = "TEXT",
        allow_hyphen_values = true,
        conflicts_with = "command"
    )]
    package_args: Vec<String>,
    /// Reach addresses of this machine and its network, also by plain http
    #[arg(long)]
    allow_local: bool,
    /// Form of the answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Run the command as it is. Only for servers of our own tests: it may do whatever you may
    #[arg(long, hide = true, requires = "command")]
    without_sandbox: bool,
}

pub(crate) fn run(global: &Global, args: &ProbeArgs) -> Result<Outcome, Failure> {
    let local = args.allow_local.then(|| "true".to_owned());
    let loaded = global.start(vec![("--allow-local", "policy.allow_local_remotes", local)])?;
    let target = target(args)?;
    let bar = spinner();
    let tell = |stage: Stage| bar.set_message(stage.as_str());
    let looking = Looking {
        settings: &loaded.settings,
        local: loaded.settings.policy.allow_local_remotes,
        bare: args.without_sandbox,
        volatile: &[],
        packages: &OnceCell::new(),
        progress: Progress::to(&tell),
    };
    let snapshot = super::block_on(looking.at(&target))??;
    bar.finish_and_clear();
    match args.format {
        Format::Text => print(&text(&snapshot))?,
        Format::Json => print_json(&snapshot)?,
    }
    Ok(status(snapshot.outcome))
}

fn target(args: &ProbeArgs) -> Result<Target, Failure> {
    let Some((name, rest)) = args.command.split_first() else {
        let mut target = Target::parse(args.target.as_deref().unwrap_or_default())?;
        if let Target::Package { given, .. } = &mut target {
            let pairs = args.env.iter().map(|text| variable::<String>(text));
            given.env = pairs.collect::<Result<_, _>>()?;
            given.package_args.clone_from(&args.package_args);
        }
        return Ok(target);
    };
    Ok(Target::Command {
        program: name.clone(),
        args: rest.to_vec(),
        env: args
            .env
            .iter()
            .map(|text| variable::<OsString>(text))
            .collect::<Result<_, _>>()?,
    })
}

fn variable<T: for<'a> From<&'a str>>(text: &str) -> Result<(T, T), Failure> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => Err(Failure::unreadable(anyhow!(
            "`--env {}`: expected NAME=VALUE",
            shown(text)
        ))),
    }
}

fn status(ended: Ended) -> Outcome {
    match ended {
        Ended::Observed => Outcome::Yes,
        Ended::TimedOut | Ended::Unreachable | Ended::NotObserved => Outcome::Unknown,
        Ended::Declared
        | Ended::AuthRequired
        | Ended::NeedsConfiguration
        | Ended::Crashed
        | Ended::DoesNotSpeakMcp
        | Ended::RefusedByPolicy => Outcome::No,
    }
}

/// The answer for people.
fn text(snapshot: &Snapshot) -> String {
    let mut out = String::new();
    let target = shown(&snapshot.target);
    let ended = snapshot.outcome;
    let _ = writeln!(out, "{target}: {}, {}", ended.as_str(), ended.meaning());
    let reason = snapshot.reason.as_deref().and_then(Reason::parse);
    if let Some(reason) = reason {
        let _ = writeln!(out, "reason: {reason}, {}", reason.meaning());
    }
    if let Some(words) = snapshot.look.get("words").and_then(Value::as_str) {
        let _ = writeln!(
            out,
            "it says: {}",
            plain(words.lines().next().unwrap_or_default())
        );
    }
    out.push_str(&table(&facts(snapshot)));
    for finding in &snapshot.findings {
        let of = |key: &str| finding.get(key).and_then(Value::as_str).unwrap_or_default();
        let subject = match of("key") {
            "" => String::new(),
            key => format!("{} `{}`: ", of("kind"), plain(key)),
        };
        let _ = writeln!(
            out,
            "{} {}: {subject}{}",
            of("rule"),
            of("severity"),
            plain(of("summary"))
        );
    }
    if let Some(tail) = snapshot
        .stderr_tail
        .as_deref()
        .filter(|_| ended != Ended::Observed)
    {
        out.push_str("the last it wrote to its error output:\n");
        for line in tail.lines() {
            let _ = writeln!(out, "  {}", plain(line));
        }
    }
    out
}

fn facts(snapshot: &Snapshot) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut row = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    if let Some(version) = &snapshot.protocol_version {
        let era = snapshot.era.map_or("", |era| match era {
            toolmark_domain::manifest::Era::Modern => " (modern)",
            toolmark_domain::manifest::Era::Legacy => " (legacy)",
        });
        row("protocol", format!("{}{era}", plain(version)));
    }
    for kind in [
        ItemKind::Tool,
        ItemKind::Prompt,
        ItemKind::Resource,
        ItemKind::Template,
    ] {
        if let Some(items) = snapshot.list(kind) {
            row(&kind.list().replace('_', " "), items.len().to_string());
        }
    }
    for name in ["manifest/1", "raw"] {
        if let Some(digest) = snapshot.digests.get(name).and_then(Value::as_str) {
            row(name, digest.to_owned());
        }
    }
    for pointer in &snapshot.volatile {
        row("moves by itself", plain(pointer));
    }
    for place in &snapshot.egress {
        row(
            "reached for",
            format!("{}:{} {}", plain(&place.host), place.port, place.protocol),
        );
    }
    row("took", format!("{} ms", snapshot.took_ms));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_status_follows_the_outcome() {
        let of = |ended| status(ended);
        assert_eq!(of(Ended::Observed), Outcome::Yes);
        for unknown in [Ended::TimedOut, Ended::Unreachable, Ended::NotObserved] {
            assert_eq!(of(unknown), Outcome::Unknown);
        }
        assert_eq!(of(Ended::AuthRequired), Outcome::No);
        assert_eq!(of(Ended::RefusedByPolicy), Outcome::No);
    }

    #[test]
    fn foreign_words_cannot_command_the_terminal() {
        let mut snapshot = Snapshot::failed("-- x", Ended::Crashed, Some("exit_status"));
        snapshot.look = serde_json::json!({"words": "\u{1b}[2J bad"});
        snapshot.stderr_tail = Some("\u{202e}evil".to_owned());
        let text = text(&snapshot);
        assert_eq!(
            text,
            "-- x: crashed, ended by itself\nreason: exit_status, ended by itself\nit says: \\u{1b}[2J bad\ntook  0 ms\n\
             the last it wrote to its error output:\n  \\u{202e}evil\n"
        );
    }
}

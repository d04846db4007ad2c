//! `toolmark config`: what is in force and where it comes from.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::Global;
use crate::outcome::{Failure, Outcome};
use crate::output::{Format, print, print_json, table};
use crate::settings::{Loaded, masked, sample};

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print every setting with where its value comes from; secrets are masked
    Show(ShowArgs),
    /// Check the settings and print nothing else
    Check(CheckArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolmark config show --config /etc/toolmark/toolmark.toml
  toolmark config show --sample > toolmark.toml")]
pub(crate) struct ShowArgs {
    /// Print a commented sample of the settings file instead
    #[arg(long)]
    sample: bool,
    /// Form of the answer
    #[arg(long, value_enum, default_value_t, conflicts_with = "sample")]
    format: Format,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  toolmark config check --config /etc/toolmark/toolmark.toml")]
pub(crate) struct CheckArgs {}

pub(crate) fn run(global: &Global, command: &ConfigCommand) -> Result<Outcome, Failure> {
    match command {
        ConfigCommand::Show(args) if args.sample => print(&sample())?,
        ConfigCommand::Show(args) => show(&global.load(Vec::new())?, args.format)?,
        ConfigCommand::Check(CheckArgs {}) => {
            let loaded = global.load(Vec::new())?;
            let read = loaded.file.as_ref().map_or_else(
                || "there is no settings file".to_owned(),
                |path| format!("read `{}`", path.display()),
            );
            print(&format!("the settings are right; {read}\n"))?;
        }
    }
    Ok(Outcome::Yes)
}

/// One line of the answer.
struct Row {
    name: String,
    value: Value,
    origin: String,
}

fn rows(loaded: &Loaded) -> Vec<Row> {
    let mut rows = Vec::new();
    for section in loaded.settings.sections() {
        for field in section.fields() {
            let name = format!("{}.{}", section.name(), field.key);
            rows.push(Row {
                value: masked(&section.get(field.key), field.secret),
                origin: loaded.origin(&name).to_string(),
                name,
            });
        }
    }
    rows
}

fn show(loaded: &Loaded, format: Format) -> Result<(), Failure> {
    let rows = rows(loaded);
    match format {
        Format::Text => {
            let shown = |value: &Value| match value {
                Value::Null => "unset".to_owned(),
                other => other.to_string(),
            };
            let cells = |row: &Row| vec![row.name.clone(), shown(&row.value), row.origin.clone()];
            print(&table(&rows.iter().map(cells).collect::<Vec<_>>()))?;
        }
        Format::Json => {
            let settings = rows
                .into_iter()
                .map(|row| json!({"name": row.name, "value": row.value, "from": row.origin}));
            print_json(&json!({
                "schema": "toolmark.settings/1",
                "file": loaded.file,
                "settings": settings.collect::<Vec<_>>(),
            }))?;
        }
    }
    Ok(())
}

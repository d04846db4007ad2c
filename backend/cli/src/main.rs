//! The program `toolmark`: one door to everything. Each command has its file in [`commands`]; what decides something
//! lives in the other crates.

mod commands;
mod eyes;
mod logs;
mod looking;
mod opening;
mod other;
mod outcome;
mod output;
mod settings;
mod waiting;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser};
use toolmark_crawler::sandbox::cage;

use crate::commands::Command;
use crate::outcome::Failure;
use crate::settings::{Loaded, Sources};

/// A public registry of MCP servers: what is published, what it declares, what changed.
#[derive(Debug, Parser)]
#[command(name = "toolmark", version = version_line(), max_term_width = 100)]
#[command(arg_required_else_help = true, propagate_version = false)]
#[command(after_help = "Exit status: 0 yes, 1 no, 2 bad usage or unreadable input, 3 could not tell")]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// Options of every command; each is also a setting.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Global {
    /// Folder of the database [default: ./toolmark-data]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Global options")]
    data_dir: Option<String>,
    /// Database: a PostgreSQL URL, or `sqlite:` and a file
    #[arg(long, global = true, value_name = "URL", help_heading = "Global options")]
    database_url: Option<String>,
    /// Settings file [default: ./toolmark.toml where it exists]
    #[arg(long, global = true, value_name = "FILE", help_heading = "Global options")]
    config: Option<PathBuf>,
}

/// A flag that is a setting: the flag as typed, the setting's name, the value if given.
pub(crate) type SettingFlag = (&'static str, &'static str, Option<String>);

impl Global {
    /// The settings in force, `flags` being those of the command itself.
    pub(crate) fn load(&self, flags: Vec<SettingFlag>) -> Result<Loaded, Failure> {
        let mut all: Vec<SettingFlag> = vec![
            ("--data-dir", "store.data_dir", self.data_dir.clone()),
            ("--database-url", "store.database_url", self.database_url.clone()),
        ];
        all.extend(flags);
        let given = all
            .into_iter()
            .filter_map(|(flag, name, value)| Some((flag, name, value?)));
        settings::load(&Sources {
            file: self.config.clone(),
            environment: environment(),
            flags: given.collect(),
        })
        .map_err(Failure::settings)
    }

    /// As [`Self::load`], and logging is set up as they say.
    pub(crate) fn start(&self, flags: Vec<SettingFlag>) -> Result<Loaded, Failure> {
        let loaded = self.load(flags)?;
        logs::start(&loaded.settings.log);
        Ok(loaded)
    }
}

/// The variables of the process that are text; ours are.
fn environment() -> Vec<(String, String)> {
    let pairs = std::env::vars_os();
    pairs
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// The version, and the commit the program was built from where that is known.
pub(crate) fn version_line() -> String {
    let version = env!("CARGO_PKG_VERSION");
    match option_env!("TOOLMARK_COMMIT") {
        Some(commit) => format!("{version} ({commit})"),
        None => version.to_owned(),
    }
}

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == cage::CAGE) {
        // Not a command: the inner half of the sandbox, which this program starts by itself.
        return cage::enter(&arguments.next().unwrap_or_default());
    }
    let cli = Cli::parse();
    match commands::run(&cli.global, cli.command) {
        Ok(outcome) => outcome.into(),
        Err(failure) => {
            failure.print();
            failure.outcome().into()
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    fn each(command: &clap::Command, path: &str, check: &mut impl FnMut(&clap::Command, &str)) {
        let path = format!("{path}{}", command.get_name());
        check(command, &path);
        for child in command.get_subcommands() {
            each(child, &format!("{path} "), check);
        }
    }

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_shows_an_example() {
        each(&Cli::command(), "", &mut |command, path| {
            if command.has_subcommands() {
                return;
            }
            let help = command.clone().render_long_help().to_string();
            assert!(help.contains("Example"), "`{path} --help` has no example");
            assert!(
                help.contains(&format!("  {path}")),
                "the example of `{path}` is of another command"
            );
        });
    }
}

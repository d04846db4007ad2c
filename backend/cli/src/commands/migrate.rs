//! `toolmark migrate`: brings the database up to date, or says what is left to do.

use anyhow::anyhow;
use clap::Args;
use serde_json::json;
use toolmark_registry::{Database, MigrationState, Registry};

use crate::Global;
use crate::opening;
use crate::outcome::{Failure, Outcome};
use crate::output::{Format, print, print_json};
use crate::settings::masked_text;

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  toolmark migrate --check

`serve`, `import` and `admin` migrate by themselves; this command is for doing it apart from them.

Exit status: 0 up to date, 1 with --check when something is pending")]
pub(crate) struct MigrateArgs {
    /// Only say whether something is pending
    #[arg(long)]
    check: bool,
    /// Form of the answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(global: &Global, args: &MigrateArgs) -> Result<Outcome, Failure> {
    let loaded = global.start(Vec::new())?;
    let store = opening::registry_settings(&loaded.settings)?.store;
    let (before, after) = super::block_on(async {
        let before = Registry::migration_state(&store)
            .await
            .map_err(Failure::unknown)?;
        refuse_newer(&before)?;
        if args.check || before.up_to_date() {
            return Ok((before.clone(), before));
        }
        Registry::migrate(&store).await.map_err(anyhow::Error::new)?;
        let after = Registry::migration_state(&store)
            .await
            .map_err(Failure::unknown)?;
        Ok::<_, Failure>((before, after))
    })??;
    let pending: Vec<&str> = after
        .steps
        .iter()
        .filter(|step| !step.applied)
        .map(|step| step.name.as_str())
        .collect();
    match args.format {
        Format::Text => print(&text(&place(&store.database), &before, &after))?,
        Format::Json => print_json(&json!({
            "schema": "toolmark.migration/1",
            "database": place(&store.database),
            "from": number(&before),
            "to": number(&after),
            "newest": newest(&after),
            "pending": pending,
        }))?,
    }
    Ok(if pending.is_empty() {
        Outcome::Yes
    } else {
        Outcome::No
    })
}

/// A database that a newer release has used is not touched.
fn refuse_newer(state: &MigrationState) -> Result<(), Failure> {
    let Some(newer) = state.unknown.iter().max() else {
        return Ok(());
    };
    let error = anyhow!(
        "the database is at schema {newer}, this release knows {}",
        newest(state)
    );
    Err(Failure::from(error).hint("run the release that wrote it, or a newer one"))
}

/// Number of the last applied migration; 0 for a new database.
pub(crate) fn number(state: &MigrationState) -> i64 {
    let applied = state.steps.iter().filter(|step| step.applied);
    applied.map(|step| step.number).max().unwrap_or(0)
}

/// Number of the last migration of this release.
pub(super) fn newest(state: &MigrationState) -> i64 {
    state.steps.iter().map(|step| step.number).max().unwrap_or(0)
}

/// Where the rows are, without credentials.
pub(crate) fn place(database: &Database) -> String {
    match database {
        Database::Sqlite(path) => path.display().to_string(),
        Database::Postgres(url) => masked_text(url),
    }
}

fn text(place: &str, before: &MigrationState, after: &MigrationState) -> String {
    let (from, to, newest) = (number(before), number(after), newest(after));
    if !after.up_to_date() {
        return format!("{place}: schema {from}, {newest} is pending\n");
    }
    if from == to {
        return format!("{place}: schema {to}, up to date\n");
    }
    format!("{place}: schema {from} to {to}\n")
}

#[cfg(test)]
mod tests {
    use toolmark_registry::MigrationStep;

    use super::*;

    fn state(applied: &[bool]) -> MigrationState {
        let step = |(at, applied): (usize, &bool)| MigrationStep {
            number: i64::try_from(at + 1).unwrap(),
            name: format!("step {at}"),
            applied: *applied,
        };
        MigrationState {
            steps: applied.iter().enumerate().map(step).collect(),
            unknown: Vec::new(),
        }
    }

    #[test]
    fn the_answer_says_from_and_to() {
        let (new, half, full) = (
            state(&[false, false]),
            state(&[true, false]),
            state(&[true, true]),
        );
        assert_eq!(text("a", &new, &full), "a: schema 0 to 2\n");
        assert_eq!(text("a", &half, &half), "a: schema 1, 2 is pending\n");
        assert_eq!(text("a", &full, &full), "a: schema 2, up to date\n");
    }

    #[test]
    fn a_newer_database_is_refused() {
        let newer = MigrationState {
            unknown: vec![3],
            ..state(&[true, true])
        };
        let failure = refuse_newer(&newer).unwrap_err();
        assert!(
            failure
                .text()
                .starts_with("error: the database is at schema 3, this release knows 2\nhint: ")
        );
    }
}

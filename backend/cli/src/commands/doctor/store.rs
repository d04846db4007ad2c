//! The database: whether it opens, is at this release's schema, takes a write, and has room.

use std::path::{Path, PathBuf};

use toolmark_registry::{Database, Registry, StoreSettings};

use super::{Check, State};
use crate::commands::migrate::{newest, number, place};

/// Less free space than this is a note: a catalogue of 100,000 versions with its journal fits into it.
const COMFORTABLE_BYTES: u64 = 2 * 1024 * 1024 * 1024;
/// Less than this is too little for the journal of a single import.
const NEEDED_BYTES: u64 = 64 * 1024 * 1024;

pub(super) async fn checks(settings: &StoreSettings) -> Vec<Check> {
    let mut checks = vec![database(settings).await];
    if let Database::Sqlite(path) = &settings.database {
        checks.push(space(path));
    }
    checks
}

async fn database(settings: &StoreSettings) -> Check {
    let place = place(&settings.database);
    let missing = |found: String| Check::new("store", "database", State::Missing, found);
    let state = match Registry::migration_state(settings).await {
        Ok(state) => state,
        Err(error) => {
            return missing(format!("{place}: {:#}", anyhow::Error::new(error)))
                .hint("check `store.database_url`, that the server runs, and who may connect");
        }
    };
    if let Some(newer) = state.unknown.iter().max() {
        return missing(format!("{place}: schema {newer} is newer than this release"))
            .hint("run the release that wrote it, or a newer one");
    }
    if number(&state) == 0 {
        return new_database(settings, &place);
    }
    if !state.up_to_date() {
        return missing(format!(
            "{place}: schema {}, {} is pending",
            number(&state),
            newest(&state)
        ))
        .hint("`toolmark migrate`; `serve` does it too");
    }
    match Registry::check_writable(settings).await {
        Ok(()) => {
            let found = format!("{place}: schema {}, writable", number(&state));
            Check::new("store", "database", State::Ok, found)
        }
        Err(error) => missing(format!("{place}: {:#}", anyhow::Error::new(error)))
            .hint("let the user that runs `toolmark` write there"),
    }
}

/// A database without tables: nothing is made by looking, but the folder must take a file.
fn new_database(settings: &StoreSettings, place: &str) -> Check {
    let Database::Sqlite(path) = &settings.database else {
        return Check::new(
            "store",
            "database",
            State::Ok,
            format!("{place}: empty, `serve` makes the tables"),
        );
    };
    let folder = existing(path);
    let writable = rustix::fs::access(
        &folder,
        rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK,
    );
    if writable.is_err() {
        let found = format!("{place}: not there, and `{}` cannot be written", folder.display());
        return Check::new("store", "database", State::Missing, found)
            .hint("choose another folder with `--data-dir`");
    }
    Check::new(
        "store",
        "database",
        State::Ok,
        format!("{place}: not there yet, `serve` makes it"),
    )
}

fn space(path: &Path) -> Check {
    let folder = existing(path);
    let free = match rustix::fs::statvfs(&folder) {
        Ok(found) => found.f_bavail.saturating_mul(found.f_frsize),
        Err(error) => {
            let found = format!("{}: {error}", folder.display());
            return Check::new("store", "free space", State::Note, found);
        }
    };
    let found = format!("{} MiB in `{}`", free / (1024 * 1024), folder.display());
    let check = |state| Check::new("store", "free space", state, found.clone());
    match free {
        0..NEEDED_BYTES => {
            check(State::Missing).hint("free some, or choose another folder with `--data-dir`")
        }
        NEEDED_BYTES..COMFORTABLE_BYTES => check(State::Note).hint("a large import may need more"),
        _ => check(State::Ok),
    }
}

/// The nearest folder above `path` that exists.
fn existing(path: &Path) -> PathBuf {
    let above = path.ancestors().skip(1).find(|folder| folder.is_dir());
    above.map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(path: PathBuf) -> StoreSettings {
        StoreSettings {
            database: Database::Sqlite(path),
            connections: 1,
        }
    }

    #[tokio::test]
    async fn looking_makes_nothing_and_a_migrated_database_is_tried() {
        let folder = tempfile::tempdir().unwrap();
        let settings = at(folder.path().join("data/registry.db"));
        let before = database(&settings).await;
        assert_eq!(before.state, State::Ok);
        assert!(
            before.found.ends_with("not there yet, `serve` makes it"),
            "{}",
            before.found
        );
        assert!(!folder.path().join("data").exists());

        Registry::migrate(&settings).await.unwrap();
        let after = database(&settings).await;
        assert!(after.found.ends_with(", writable"), "{}", after.found);
    }

    #[tokio::test]
    async fn what_is_no_database_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("registry.db");
        std::fs::write(
            &path,
            "not a database, but long enough to be taken for one".repeat(40),
        )
        .unwrap();
        let check = database(&at(path)).await;
        assert_eq!(check.state, State::Missing, "{}", check.found);
    }
}

//! The database: whether it opens, is at this release's schema, takes a write, and has room.

use std::path::{Path, PathBuf};
use std::time::Duration;

use toolmark_registry::{BlobPlace, Database, Registry, RegistrySettings, StoreSettings};

use super::{Check, State};
use crate::commands::migrate::{newest, number, place};
use crate::settings::masked_text;

/// How long the place of the blobs has to take and give back a few bytes.
const BLOBS_WAIT: Duration = Duration::from_secs(10);

/// Less free space than this is a note: a catalogue of 100,000 versions with its journal fits into it.
const COMFORTABLE_BYTES: u64 = 2 * 1024 * 1024 * 1024;
/// Less than this is too little for the journal of a single import.
const NEEDED_BYTES: u64 = 64 * 1024 * 1024;

pub(super) async fn checks(settings: &RegistrySettings) -> Vec<Check> {
    let mut checks = vec![database(&settings.store).await, blobs(&settings.blobs).await];
    if let Database::Sqlite(path) = &settings.store.database {
        checks.push(space(path));
    }
    checks
}

/// Puts a small blob, reads it and takes it away again. A folder that is not there yet is not made by looking.
async fn blobs(place: &BlobPlace) -> Check {
    let check = |state, found: String| Check::new("store", "blobs", state, found);
    let (name, hint) = match place {
        BlobPlace::Directory(path) => (
            path.display().to_string(),
            "let the user that runs `toolmark` write there",
        ),
        BlobPlace::Url { url, .. } => (
            masked_text(url),
            "check `store.blobs_url`, that the bucket exists, and `AWS_ENDPOINT`, `AWS_REGION`, `AWS_ACCESS_KEY_ID`, \
             `AWS_SECRET_ACCESS_KEY`; for a plain http endpoint also `AWS_ALLOW_HTTP=true`",
        ),
    };
    if let BlobPlace::Directory(path) = place
        && !path.exists()
    {
        return new_folder(path, &name);
    }
    match tokio::time::timeout(BLOBS_WAIT, place.try_out()).await {
        Ok(Ok(())) => check(
            State::Ok,
            format!("{name}: writable, what is written is read back"),
        ),
        Ok(Err(error)) => {
            check(State::Missing, format!("{name}: {:#}", anyhow::Error::new(error))).hint(hint)
        }
        Err(_) => {
            let found = format!("{name}: no answer within {} s", BLOBS_WAIT.as_secs());
            check(State::Missing, found).hint(hint)
        }
    }
}

/// A folder that is not there yet: the one above it must take it.
fn new_folder(path: &Path, name: &str) -> Check {
    let above = existing(path);
    let check = |state, found: String| Check::new("store", "blobs", state, found);
    if is_writable(&above) {
        return check(State::Ok, format!("{name}: not there yet, `serve` makes it"));
    }
    let found = format!("{name}: not there, and `{}` cannot be written", above.display());
    check(State::Missing, found).hint("choose another folder with `store.blobs_url`")
}

fn is_writable(folder: &Path) -> bool {
    let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    rustix::fs::access(folder, access).is_ok()
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
    if !is_writable(&folder) {
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
    async fn blobs_are_tried_where_they_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("blobs");
        let place = BlobPlace::Directory(path.clone());
        let before = blobs(&place).await;
        assert!(before.found.ends_with("`serve` makes it"), "{}", before.found);
        assert!(!path.exists());

        std::fs::create_dir(&path).unwrap();
        let after = blobs(&place).await;
        assert_eq!(after.state, State::Ok, "{}", after.found);
        let left = walk(&path);
        assert_eq!(left, 0, "the blob was taken away");

        let file = folder.path().join("file");
        std::fs::write(&file, "x").unwrap();
        let wrong = blobs(&BlobPlace::Directory(file)).await;
        assert_eq!(wrong.state, State::Missing, "{}", wrong.found);
    }

    fn walk(folder: &Path) -> usize {
        let entries = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        entries
            .map(|path| if path.is_dir() { walk(&path) } else { 1 })
            .sum()
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

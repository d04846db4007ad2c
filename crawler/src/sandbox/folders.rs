//! Temporary folders of cages and installs, and the removal of those whose maker was killed.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use nix::unistd::geteuid;
use tempfile::TempDir;

/// Beginning of their names; the id of the process that made it follows.
const PREFIX: &str = "toolmark-cage-";
/// Younger ones are left alone: their maker may live where we do not see its id.
const AGE: Duration = Duration::from_hours(1);

/// A folder that only we may enter, removed when dropped.
pub(crate) fn make() -> io::Result<TempDir> {
    let prefix = format!("{PREFIX}{}-", std::process::id());
    tempfile::Builder::new().prefix(&prefix).tempdir()
}

/// Removes old ones of makers that are gone.
pub(super) fn sweep() {
    sweep_in(&std::env::temp_dir(), AGE);
}

fn sweep_in(folder: &Path, age: Duration) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let maker = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX)?.split('-').next()?.parse::<u32>().ok());
        let gone = maker.is_some_and(|maker| !Path::new("/proc").join(maker.to_string()).exists());
        // Does not follow links, so what is removed is a folder of our own user.
        let ours = entry.metadata().is_ok_and(|meta| {
            let old = meta
                .modified()
                .ok()
                .and_then(|at| at.elapsed().ok())
                .is_some_and(|passed| passed >= age);
            meta.is_dir() && meta.uid() == geteuid().as_raw() && old
        });
        if gone && ours {
            // Whoever looks next tries again.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_makers_that_are_gone_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: String| folder.path().join(name);
        let own = format!("{PREFIX}{}-a", std::process::id());
        // No process has an id this large.
        let gone = format!("{PREFIX}4194999-a");
        let link = format!("{PREFIX}4194999-b");
        for name in [&own, &gone, &"other-4194999-a".to_owned()] {
            fs::create_dir(at(name.clone())).unwrap();
        }
        std::os::unix::fs::symlink(at(own.clone()), at(link)).unwrap();
        sweep_in(folder.path(), Duration::from_hours(1));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4);
        sweep_in(folder.path(), Duration::ZERO);
        assert!(!at(gone).exists() && at(own).exists());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }
}

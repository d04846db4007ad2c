//! Reads what an install left behind. Its author may have put links there that lead elsewhere; none is followed out.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use nix::fcntl::{OFlag, OpenHow, ResolveFlag, open, openat2};
use nix::sys::stat::Mode;

/// A file below a folder, at most so long; nothing where it is not there, longer, or outside.
pub(super) fn read(folder: &Path, path: impl AsRef<Path>, most: u64) -> Option<Vec<u8>> {
    let top = open(
        folder,
        OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC,
        Mode::empty(),
    )
    .ok()?;
    let how = OpenHow::new()
        .flags(OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)
        .resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_MAGICLINKS);
    let file = File::from(openat2(&top, path.as_ref(), how).ok()?);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= most).then_some(bytes)
}

/// The bytes and files below a folder; links are not followed. Counting ends above `most`.
pub(super) fn size(folder: &Path, most: u64) -> (u64, u64) {
    let (mut bytes, mut count) = (0, 0);
    let mut folders: Vec<PathBuf> = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            // Does not follow links, so a folder here is one.
            let Ok(meta) = entry.metadata() else { continue };
            count += 1;
            bytes += meta.len();
            if meta.is_dir() {
                folders.push(entry.path());
            }
        }
        if bytes > most {
            break;
        }
    }
    (bytes, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_out_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let app = folder.path().join("app");
        fs::create_dir_all(app.join("in")).unwrap();
        fs::write(folder.path().join("secret"), "secret").unwrap();
        fs::write(app.join("in/file"), "inside").unwrap();
        std::os::unix::fs::symlink("../secret", app.join("up")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("secret"), app.join("absolute")).unwrap();
        std::os::unix::fs::symlink("in/file", app.join("near")).unwrap();
        std::os::unix::fs::symlink("/proc/self", app.join("magic")).unwrap();
        assert_eq!(read(&app, "near", 100).unwrap(), b"inside");
        assert_eq!(read(&app, "in/file", 6).unwrap(), b"inside");
        for (path, most) in [
            ("up", 100),
            ("absolute", 100),
            ("../secret", 100),
            ("magic/stat", 9999),
            ("in", 100),
            ("near", 5),
        ] {
            assert_eq!(read(&app, path, most), None, "{path}");
        }
        let (bytes, count) = size(&app, u64::MAX);
        assert!(bytes >= 6 && count == 6, "{bytes} {count}");
    }
}

//! What a command line needs to see to run: its program with its links and interpreters, the working directory, and
//! the paths it is given. Everything at the same place as outside, nothing to be written, and nothing else.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::plan::Mount;

/// Longest chain of links and interpreters followed.
const CHAIN: usize = 16;
/// Longest first line of a script that the kernel reads.
const FIRST_LINE: u64 = 256;
/// Folders that a cage shows anyway.
const SYSTEM: [&str; 8] = [
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/proc", "/dev",
];
/// Folders that hold much besides one program.
const SHARED: [&str; 12] = [
    "/", "/etc", "/home", "/media", "/mnt", "/opt", "/root", "/run", "/srv", "/sys", "/tmp", "/var",
];
/// Folders of a home that hold settings, keys or tokens beside programs.
const PRIVATE: [&str; 14] = [
    ".aws", ".azure", ".cache", ".cargo", ".config", ".docker", ".gem", ".gnupg", ".gradle", ".kube",
    ".local", ".m2", ".npm", ".ssh",
];
/// Folders of programs below the folder of what they belong to.
const PROGRAMS: [&str; 4] = ["bin", "sbin", "shims", "libexec"];

/// A command line, ready for a cage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub program: PathBuf,
    pub mounts: Vec<Mount>,
    /// Folders in which the program may look for others.
    pub path: Vec<PathBuf>,
    /// Nothing when there is no such folder inside: all of it would show too much.
    pub cwd: Option<PathBuf>,
}

/// There is no such program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no program `{}`", .0.display())]
pub struct NotFound(pub PathBuf);

impl Found {
    /// Reads a command line as it would run in `cwd` by a user with this `home`.
    pub fn read(
        program: &OsStr,
        args: &[OsString],
        cwd: &Path,
        home: Option<&Path>,
    ) -> Result<Self, NotFound> {
        let missing = || NotFound(program.into());
        let named = program.as_bytes().contains(&b'/');
        let path = if named {
            Some(cwd.join(program)).filter(|path| path.is_file())
        } else {
            self::program(program)
        };
        let path = path.ok_or_else(missing)?;
        let mut found = Self {
            program: path.clone(),
            mounts: Vec::new(),
            path: Vec::new(),
            cwd: None,
        };
        found.follow(path, home);
        let is_wide = is_too_wide(cwd, home);
        if !is_wide {
            found.show(cwd);
            found.cwd = Some(cwd.to_owned());
        }
        for arg in args.iter().filter(|arg| !arg.is_empty()) {
            let path = cwd.join(arg);
            if path.exists() && path != Path::new("/") {
                found.show(&path);
            }
        }
        // Not shown itself, but what lies in it and is shown has its place there, and may be named from there.
        if found.mounts.iter().any(|mount| mount.target.starts_with(cwd)) {
            found.cwd = Some(cwd.to_owned());
        }
        Ok(found)
    }

    /// The program, what it links to, and what interprets it.
    fn follow(&mut self, first: PathBuf, home: Option<&Path>) {
        let mut next = Some(first);
        for _ in 0..CHAIN {
            let Some(path) = next else {
                return;
            };
            if let Some(folder) = path
                .parent()
                .filter(|folder| !self.path.iter().any(|known| known == folder))
            {
                self.path.push(folder.to_owned());
            }
            let prefix = prefix(&path);
            self.show(if is_too_wide(&prefix, home) {
                &path
            } else {
                &prefix
            });
            next = match fs::read_link(&path) {
                Ok(link) => path.parent().map(|folder| folder.join(link)),
                Err(_) => interpreter(&path),
            };
        }
    }

    fn show(&mut self, path: &Path) {
        let Ok(path) = std::path::absolute(path) else {
            return;
        };
        let shown = SYSTEM.iter().any(|system| path.starts_with(system))
            || self.mounts.iter().any(|mount| path.starts_with(&mount.target));
        if !shown {
            self.mounts.push(Mount::same(path));
        }
    }
}

/// A program on our own path.
pub(super) fn program(name: impl AsRef<OsStr>) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name.as_ref()))
        .find(|file| {
            fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
        })
}

/// What the first line of a script names.
fn interpreter(path: &Path) -> Option<PathBuf> {
    let mut line = Vec::new();
    fs::File::open(path)
        .ok()?
        .take(FIRST_LINE)
        .read_to_end(&mut line)
        .ok()?;
    let line = line.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let text = std::str::from_utf8(line).ok()?;
    let mut words = text.split_whitespace();
    let first = Path::new(words.next()?);
    if first.file_name()? != "env" {
        return Some(first.to_owned());
    }
    program(words.find(|word| !word.starts_with('-') && !word.contains('='))?)
}

/// The folder a program was installed to.
fn prefix(path: &Path) -> PathBuf {
    // A package of npm needs those beside it.
    let modules = path
        .ancestors()
        .filter(|folder| folder.file_name().is_some_and(|name| name == "node_modules"));
    if let Some(modules) = modules.last() {
        return modules.to_owned();
    }
    let folder = path.parent().unwrap_or(path);
    let is_programs = folder
        .file_name()
        .is_some_and(|name| PROGRAMS.iter().any(|one| name == *one));
    let whole = if is_programs { folder.parent() } else { None };
    whole.unwrap_or(folder).to_owned()
}

/// Whether a folder holds more than one program or project: a top folder, a home, or what lies above one.
fn is_too_wide(folder: &Path, home: Option<&Path>) -> bool {
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    if SHARED.iter().any(|shared| folder == Path::new(shared)) || folder.parent() == Some(Path::new("/home"))
    {
        return true;
    }
    let Some(home) = home.and_then(|home| fs::canonicalize(home).ok()) else {
        return false;
    };
    home.starts_with(&folder) || PRIVATE.iter().any(|private| folder == home.join(private))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(found: &Found) -> Vec<String> {
        let mut all: Vec<String> = found
            .mounts
            .iter()
            .map(|m| m.target.display().to_string())
            .collect();
        all.sort();
        all
    }

    fn script(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_program_brings_its_interpreter_and_nothing_of_the_home() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        let venv = home.join("tools/venv");
        script(&venv.join("bin/python"), "");
        script(
            &home.join(".local/bin/serve"),
            &format!("#!{}\n", venv.join("bin/python").display()),
        );
        script(&home.join("work/given.txt"), "");
        let cwd = home.join("work");
        let args = [
            "given.txt".into(),
            "--none".into(),
            "/".into(),
            home.join("tools").into(),
        ];
        let program = home.join(".local/bin/serve");
        let found = Found::read(program.as_os_str(), &args, &cwd, Some(&home)).unwrap();
        let at = |path: &str| home.join(path).display().to_string();
        assert_eq!(
            targets(&found),
            [at(".local/bin/serve"), at("tools"), at("tools/venv"), at("work")]
        );
        assert_eq!(found.path, [home.join(".local/bin"), venv.join("bin")]);
        assert_eq!(found.cwd, Some(cwd));
    }

    #[test]
    fn the_home_itself_is_not_shown_as_a_working_directory() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        script(&home.join("run"), "");
        let found = Found::read(OsStr::new("./run"), &[], &home, Some(&home)).unwrap();
        assert_eq!(found.cwd.as_deref(), Some(home.as_path()));
        assert_eq!(found.mounts, [Mount::same(home.join("./run"))]);
        let elsewhere = Found::read(OsStr::new("/bin/sh"), &[], &home, Some(&home)).unwrap();
        assert_eq!((elsewhere.cwd, elsewhere.mounts), (None, Vec::new()));
        let missing = Found::read(OsStr::new("./other"), &[], &home, Some(&home));
        assert_eq!(missing, Err(NotFound("./other".into())));
    }

    #[test]
    fn a_linked_program_brings_the_package_it_links_to() {
        let folder = tempfile::tempdir().unwrap();
        let modules = folder.path().join("app/node_modules");
        script(&modules.join("server/dist/index.js"), "#!/usr/bin/env node\n");
        fs::create_dir_all(modules.join(".bin")).unwrap();
        std::os::unix::fs::symlink("../server/dist/index.js", modules.join(".bin/server")).unwrap();
        script(&folder.path().join("cwd/x"), "");
        let program = modules.join(".bin/server");
        let found = Found::read(program.as_os_str(), &[], &folder.path().join("cwd"), None).unwrap();
        assert!(
            targets(&found).contains(&modules.display().to_string()),
            "{found:?}"
        );
    }
}

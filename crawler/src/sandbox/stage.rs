//! The files of a cage, put together in a mount namespace of its own: what is on this list is all a server can see,
//! and all of it is gone with the last process that has it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use nix::fcntl::{OFlag, open};
use nix::mount::{MsFlags, mount};
use nix::sys::stat::Mode;
use nix::unistd::{Gid, Uid, chown};

use super::plan::{Base, Mount, Plan};

/// Where the parts lie until bubblewrap takes them. It exists everywhere, and what is below stays as it is: only the
/// cage sees it covered.
const STAGE: &str = "/tmp";
/// The home of the server, as it sees it.
pub(super) const HOME: &str = "/home/probe";
/// The user of the server, as it sees it.
pub(super) const USER: u32 = 1000;
/// The host name, as the server sees it.
const MACHINE: &str = "probe";

/// Top folders of a system, beside `/usr`.
const TOP: [&str; 7] = ["bin", "sbin", "lib", "lib32", "lib64", "libx32", "libo32"];
/// Settings of a system that programs need to run: none says anything about its users.
const SETTINGS: [&str; 8] = [
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/mime.types",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/ca-certificates",
];

/// Puts all parts in place and gives bubblewrap's arguments for them.
pub(super) fn build(plan: &Plan, owner: (Uid, Gid)) -> io::Result<Vec<OsString>> {
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(None::<&str>, "/", None::<&str>, private, None::<&str>)?;
    let sources = sources(plan)?;
    memory(Path::new(STAGE), "size=1m,nr_inodes=4096,mode=0755")?;
    let stage = Path::new(STAGE);
    let home = room(stage, "home", plan.bounds.home_bytes, owner)?;
    let temp = room(stage, "temp", plan.bounds.temp_bytes, owner)?;
    for folder in ["0", "1"] {
        folder_of(&home.join(folder), owner)?;
    }
    let mut args = root(plan, stage, &sources)?;
    words(&mut args, &["--proc", "/proc", "--dev", "/dev"]);
    folder_of(&temp.join(".shm"), owner)?;
    pair(&mut args, "--bind", temp.join(".shm"), "/dev/shm");
    words(&mut args, &["--remount-ro", "/dev"]);
    pair(&mut args, "--bind", home, HOME);
    pair(&mut args, "--bind", temp, "/tmp");
    for (number, wanted) in plan.mounts.iter().enumerate() {
        let part = bound(stage, &format!("m{number}"), &sources[number])?;
        let how = if wanted.writable { "--bind" } else { "--ro-bind" };
        pair(&mut args, how, part, &wanted.target);
    }
    words(&mut args, &["--remount-ro", "/", "--chdir"]);
    args.push(plan.cwd.clone());
    Ok(args)
}

/// Handles on what lies outside, taken while paths still lead there: the user of the server may not.
fn sources(plan: &Plan) -> io::Result<Vec<OwnedFd>> {
    let tree = match &plan.base {
        Base::System => None,
        Base::Tree(path) => Some(path),
    };
    let all = plan.mounts.iter().map(|mount| &mount.source).chain(tree);
    all.map(|path| {
        open(path, OFlag::O_PATH | OFlag::O_CLOEXEC, Mode::empty()).map_err(|error| {
            let error = io::Error::from(error);
            io::Error::new(error.kind(), format!("`{}`: {error}", path.display()))
        })
    })
    .collect()
}

/// What lies below `/`.
fn root(plan: &Plan, stage: &Path, sources: &[OwnedFd]) -> io::Result<Vec<OsString>> {
    let mut args = Vec::new();
    if let (Base::Tree(_), Some(tree)) = (&plan.base, sources.last()) {
        let part = bound(stage, "tree", tree)?;
        pair(&mut args, "--ro-bind", part, "/");
        pair(
            &mut args,
            "--ro-bind",
            written(stage, "resolv", RESOLVER)?,
            "/etc/resolv.conf",
        );
        return Ok(args);
    }
    pair(&mut args, "--ro-bind", "/usr", "/usr");
    for name in TOP {
        let path = Path::new("/").join(name);
        match fs::read_link(&path) {
            Ok(link) => pair(&mut args, "--symlink", link, path),
            Err(_) => pair(&mut args, "--ro-bind-try", path.clone(), path),
        }
    }
    for path in SETTINGS {
        pair(&mut args, "--ro-bind-try", path, path);
    }
    let id = USER;
    let files = [
        (
            "passwd",
            format!("root:x:0:0::/nonexistent:/bin/false\nprobe:x:{id}:{id}::{HOME}:/bin/sh\n"),
        ),
        ("group", format!("root:x:0:\nprobe:x:{id}:\n")),
        ("hosts", format!("127.0.0.1 localhost {MACHINE}\n::1 localhost\n")),
        (
            "nsswitch.conf",
            "passwd: files\ngroup: files\nhosts: files dns\n".to_owned(),
        ),
        ("resolv.conf", RESOLVER.to_owned()),
        ("hostname", format!("{MACHINE}\n")),
    ];
    for (name, text) in files {
        let target = Path::new("/etc").join(name);
        pair(&mut args, "--ro-bind", written(stage, name, &text)?, target);
    }
    words(&mut args, &["--hostname", MACHINE]);
    Ok(args)
}

const RESOLVER: &str = "nameserver 127.0.0.1\noptions timeout:2 attempts:1\n";

/// A file of our own.
fn written(stage: &Path, name: &str, text: &str) -> io::Result<PathBuf> {
    let path = stage.join(name);
    fs::write(&path, text)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644))?;
    Ok(path)
}

/// A file system in memory.
fn memory(target: &Path, options: &str) -> io::Result<()> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    Ok(mount(Some("tmpfs"), target, Some("tmpfs"), flags, Some(options))?)
}

/// A place the server may write to, with a bound that the kernel holds.
fn room(stage: &Path, name: &str, bytes: u64, owner: (Uid, Gid)) -> io::Result<PathBuf> {
    let path = stage.join(name);
    fs::create_dir(&path)?;
    let entries = (bytes / 4096).clamp(1024, 65_536);
    memory(&path, &format!("size={bytes},nr_inodes={entries},mode=0755"))?;
    chown(&path, Some(owner.0), Some(owner.1))?;
    Ok(path)
}

fn folder_of(path: &Path, owner: (Uid, Gid)) -> io::Result<()> {
    fs::DirBuilder::new().mode(0o755).create(path)?;
    Ok(chown(path, Some(owner.0), Some(owner.1))?)
}

/// Makes what a handle stands for appear below the stage.
fn bound(stage: &Path, name: &str, source: &OwnedFd) -> io::Result<PathBuf> {
    let path = stage.join(name);
    let here = format!("/proc/self/fd/{}", source.as_raw_fd());
    if fs::metadata(&here)?.is_dir() {
        fs::create_dir(&path)?;
    } else {
        fs::write(&path, "")?;
    }
    let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
    mount(Some(here.as_str()), &path, None::<&str>, flags, None::<&str>)?;
    Ok(path)
}

fn words(args: &mut Vec<OsString>, words: &[&str]) {
    args.extend(words.iter().map(OsString::from));
}

fn pair(args: &mut Vec<OsString>, how: &str, from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) {
    args.extend([how.into(), from.as_ref().to_owned(), to.as_ref().to_owned()]);
}

/// Whether one of the places for writing was filled to its bound.
pub(super) fn is_full() -> bool {
    ["home", "temp"].iter().any(|name| {
        let stats = nix::sys::statvfs::statvfs(&Path::new(STAGE).join(name));
        stats.is_ok_and(|stats| stats.blocks_available() == 0 || stats.files_free() == 0)
    })
}

/// Paths below which nothing may be mounted: the cage puts its own there.
pub(super) fn is_reserved(mount: &Mount) -> bool {
    ["/proc", "/dev", "/sys"]
        .iter()
        .any(|own| mount.target.starts_with(own))
}

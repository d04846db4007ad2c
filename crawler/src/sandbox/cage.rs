//! The inside half of the sandbox: a process of this same program that builds the cage around itself, gives up all
//! it may, starts bubblewrap with the server, and stays outside the server's reach as its recorder and keeper.
//!
//! It runs alone in its process and before anything else, so that it may change the namespaces and the user of the
//! whole process. Nothing here is asynchronous.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::process::ExitCode;

use nix::sched::{CloneFlags, unshare};
use nix::sys::resource::{Resource, setrlimit};
use nix::unistd::{Gid, Uid, getegid, geteuid, setgid, setgroups, setuid};

use super::keeper::{self, Pipes, Sockets};
use super::plan::{Bounds, Plan};
use super::relay::Outside;
use super::report::{Line, Report};
use super::{network, stage};

/// The hidden first argument by which the program knows that it is to be a cage.
pub const CAGE: &str = "__cage";
/// Where a server finds what a relay offers.
pub(crate) const RELAY: (&str, u16) = ("127.0.0.1", 7999);

/// Becomes a cage as the plan in the named file says, and ends with the server's status.
pub fn enter(plan: &OsStr) -> ExitCode {
    // Before any other file is opened, so that they have low numbers.
    let pipes = Pipes::keep();
    let Some(plan) = std::fs::read(plan)
        .ok()
        .and_then(|text| serde_json::from_slice::<Plan>(&text).ok())
    else {
        return ExitCode::from(125);
    };
    let Ok(file) = OpenOptions::new().append(true).open(&plan.report) else {
        return ExitCode::from(125);
    };
    let mut report = Report::new(file);
    let run = || {
        let (files, sockets) = build(&plan)?;
        keeper::keep(&plan, pipes?, files, &sockets, &mut report)
    };
    match run() {
        Ok(status) => ExitCode::from(u8::try_from(status).unwrap_or(255)),
        Err(error) => {
            report.say(&Line::Failed(error.to_string()));
            ExitCode::from(125)
        }
    }
}

/// Everything up to the point where nothing is allowed any more. Gives bubblewrap's arguments.
fn build(plan: &Plan) -> io::Result<(Vec<OsString>, Sockets)> {
    for group in &plan.groups {
        let joined = File::options().write(true).open(group);
        joined
            .and_then(|mut file| file.write_all(b"0"))
            .map_err(|error| step("join its control group", &error))?;
    }
    let owner = match plan.uid {
        Some(uid) => (Uid::from_raw(uid), Gid::from_raw(uid)),
        None => (Uid::from_raw(0), Gid::from_raw(0)),
    };
    let outside = plan.relay.as_deref().map(Outside::find).transpose();
    let outside = outside.map_err(|error| step("find its relay", &error))?;
    let spaces = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWNET;
    if plan.uid.is_some() {
        unshare(spaces).map_err(|error| step("make its namespaces", &error.into()))?;
    } else {
        let (uid, gid) = (geteuid(), getegid());
        unshare(spaces | CloneFlags::CLONE_NEWUSER)
            .map_err(|error| step("make its namespaces", &error.into()))?;
        map_ids(uid, gid).map_err(|error| step("map its user", &error))?;
    }
    let files = stage::build(plan, owner).map_err(|error| step("put its files in place", &error))?;
    network::close().map_err(|error| step("close its network", &error))?;
    let sockets = Sockets::open(outside).map_err(|error| step("watch its network", &error))?;
    bound(&plan.bounds, plan.uid.is_some()).map_err(|error| step("set its bounds", &error))?;
    if let Some(uid) = plan.uid {
        become_user(uid).map_err(|error| step("change its user", &error))?;
    }
    Ok((files, sockets))
}

fn step(what: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("the cage could not {what}: {error}"))
}

/// In a user namespace of our own we are its root, which outside is who we were.
fn map_ids(uid: Uid, gid: Gid) -> io::Result<()> {
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("0 {uid} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("0 {gid} 1"))
}

/// Never a bound on address space: runtimes reserve far more of it than they use.
fn bound(bounds: &Bounds, own_user: bool) -> io::Result<()> {
    let mut limits = vec![
        (Resource::RLIMIT_CORE, 0),
        (Resource::RLIMIT_NOFILE, bounds.files),
        (Resource::RLIMIT_FSIZE, bounds.file_bytes),
        (Resource::RLIMIT_CPU, bounds.cpu_secs),
        (Resource::RLIMIT_MEMLOCK, 64 * 1024),
        (Resource::RLIMIT_MSGQUEUE, 64 * 1024),
    ];
    if own_user {
        // Counted by user: only a user with nothing else may have it.
        limits.push((Resource::RLIMIT_NPROC, bounds.processes));
    }
    for (resource, most) in limits {
        let (_, hard) = nix::sys::resource::getrlimit(resource)?;
        let most = most.min(hard);
        setrlimit(resource, most, most)?;
    }
    Ok(())
}

fn become_user(uid: u32) -> io::Result<()> {
    setgroups(&[])?;
    setgid(Gid::from_raw(uid))?;
    Ok(setuid(Uid::from_raw(uid))?)
}

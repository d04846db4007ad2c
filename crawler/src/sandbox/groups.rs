//! Control groups: bounds that the kernel holds over all processes of a cage together, whatever they do. Version 2,
//! or the controllers of version 1, each wherever this machine has it; made by us, removed by us.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use toolmark_domain::reason::Reason;

/// Beginning of the names of our groups; the id of the process that made it follows, then a number.
const PREFIX: &str = "toolmark-";
/// Longest wait until the processes of a group are gone.
const EMPTYING: Duration = Duration::from_secs(3);
/// Processor time is given out in slices of this length, in microseconds.
const PERIOD: u64 = 100_000;

/// Bounds of one group.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupBounds {
    pub(super) memory_bytes: u64,
    pub(super) tasks: u64,
    /// Processors' worth of time.
    pub(super) processors: u64,
}

/// Where groups are made: the folders of our own group in each hierarchy that matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Groups {
    /// One folder, all controllers.
    Unified(PathBuf),
    /// A folder for each: memory, pids, cpu.
    Split {
        memory: PathBuf,
        pids: PathBuf,
        cpu: PathBuf,
    },
}

impl Groups {
    /// What this machine lets us use, found by making a group and removing it.
    pub(super) fn find() -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let candidates = [unified(&mounts, &own), split(&mounts, &own)];
        candidates.into_iter().flatten().find(Self::works)
    }

    fn works(&self) -> bool {
        self.sweep();
        let bounds = GroupBounds {
            memory_bytes: 64 << 20,
            tasks: 8,
            processors: 1,
        };
        self.make(&bounds).is_ok_and(Group::remove)
    }

    fn folders(&self) -> Vec<&Path> {
        match self {
            Self::Unified(folder) => vec![folder],
            Self::Split { memory, pids, cpu } => vec![memory, pids, cpu],
        }
    }

    /// A new group.
    pub(super) fn make(&self, bounds: &GroupBounds) -> io::Result<Group> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{number}", std::process::id());
        let mut group = Group {
            unified: matches!(self, Self::Unified(_)),
            folders: Vec::new(),
        };
        for folder in self.folders() {
            let folder = folder.join(&name);
            fs::create_dir(&folder)?;
            group.folders.push(folder);
        }
        group.bound(bounds)?;
        Ok(group)
    }

    /// Removes what a process of ours that was killed has left.
    fn sweep(&self) {
        for folder in self.folders() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let name = entry.file_name();
                let maker = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
                let maker = maker.and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
                if maker.is_some_and(|maker| !Path::new("/proc").join(maker.to_string()).exists()) {
                    // Not empty yet: the next one tries again.
                    let _ = fs::remove_dir(entry.path());
                }
            }
        }
    }
}

/// Our own group of version 2, with the controllers handed down.
fn unified(mounts: &str, own: &str) -> Option<Groups> {
    let folder = place(mounts, own, "cgroup2", "")?;
    // Refused where our group may not hand them down; then the trial fails.
    let _ = fs::write(folder.join("cgroup.subtree_control"), "+memory +pids +cpu");
    Some(Groups::Unified(folder))
}

fn split(mounts: &str, own: &str) -> Option<Groups> {
    Some(Groups::Split {
        memory: place(mounts, own, "cgroup", "memory")?,
        pids: place(mounts, own, "cgroup", "pids")?,
        cpu: place(mounts, own, "cgroup", "cpu")?,
    })
}

/// The folder of our own group: below a mount of this kind with this controller.
fn place(mounts: &str, own: &str, kind: &str, controller: &str) -> Option<PathBuf> {
    let has = |list: &str| controller.is_empty() || list.split(',').any(|one| one == controller);
    let mount = mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut after = after.split(' ');
        let right = after.next()? == kind && has(after.nth(1)?);
        right.then(|| before.split(' ').nth(4))?
    })?;
    let path = own.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let controllers = parts.next()?;
        let right = if controller.is_empty() {
            controllers.is_empty()
        } else {
            has(controllers)
        };
        right.then(|| parts.next())?
    })?;
    let below = Path::new(mount).join(path.trim_start_matches('/'));
    // In a container the path may be that outside of it.
    Some(if below.is_dir() {
        below
    } else {
        PathBuf::from(mount)
    })
}

/// One group, removed at the latest when dropped.
#[derive(Debug)]
pub(super) struct Group {
    unified: bool,
    folders: Vec<PathBuf>,
}

impl Group {
    fn bound(&self, bounds: &GroupBounds) -> io::Result<()> {
        let memory = bounds.memory_bytes.to_string();
        let tasks = bounds.tasks.to_string();
        let share = bounds.processors * PERIOD;
        if let [folder] = self.folders.as_slice() {
            fs::write(folder.join("memory.max"), memory)?;
            fs::write(folder.join("pids.max"), tasks)?;
            fs::write(folder.join("cpu.max"), format!("{share} {PERIOD}"))?;
            // Neither is on every machine.
            let _ = fs::write(folder.join("memory.swap.max"), "0");
            let _ = fs::write(folder.join("memory.oom.group"), "1");
            return Ok(());
        }
        let [memory_folder, pids_folder, cpu_folder] = self.folders.as_slice() else {
            return Err(io::Error::other("a group has one folder or three"));
        };
        fs::write(memory_folder.join("memory.limit_in_bytes"), &memory)?;
        // Only where swap is counted.
        let _ = fs::write(memory_folder.join("memory.memsw.limit_in_bytes"), &memory);
        fs::write(pids_folder.join("pids.max"), tasks)?;
        fs::write(cpu_folder.join("cpu.cfs_period_us"), PERIOD.to_string())?;
        fs::write(cpu_folder.join("cpu.cfs_quota_us"), share.to_string())
    }

    /// Files through which a process joins.
    pub(super) fn doors(&self) -> Vec<PathBuf> {
        self.folders
            .iter()
            .map(|folder| folder.join("cgroup.procs"))
            .collect()
    }

    fn counter(&self, file: &str, key: &str) -> u64 {
        let files = self.folders.iter().map(|folder| folder.join(file));
        let text = files
            .map(fs::read_to_string)
            .find_map(Result::ok)
            .unwrap_or_default();
        let values = text.lines().filter_map(|line| line.split_once(' '));
        let value = values
            .filter(|(name, _)| *name == key)
            .find_map(|(_, value)| value.parse().ok());
        value.unwrap_or(0)
    }

    /// The bound that processes of the group met, if they met one.
    pub(super) fn met(&self) -> Option<Reason> {
        let memory = if self.unified {
            "memory.events"
        } else {
            "memory.oom_control"
        };
        if self.counter(memory, "oom_kill") > 0 {
            Some(Reason::MemoryLimit)
        } else if self.counter("pids.events", "max") > 0 {
            Some(Reason::ProcessLimit)
        } else {
            None
        }
    }

    /// Kills what is left in it and removes it; whether it is gone.
    pub(super) fn remove(mut self) -> bool {
        self.clear()
    }

    fn clear(&mut self) -> bool {
        let until = Instant::now() + EMPTYING;
        loop {
            self.folders
                .retain(|folder| fs::remove_dir(folder).is_err() && folder.exists());
            if self.folders.is_empty() || Instant::now() > until {
                return self.folders.is_empty();
            }
            for door in self.doors() {
                let left = fs::read_to_string(door).unwrap_or_default();
                for pid in left
                    .lines()
                    .filter_map(|line| line.parse().ok())
                    .filter(|pid| *pid > 0)
                {
                    let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
                }
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
30 20 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n\
32 30 0:28 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n\
33 30 0:29 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n\
34 30 0:30 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw,nsdelegate\n";
    const OWN: &str = "4:memory:/a\n3:cpuset:/\n2:cpu,cpuacct:/b/c\n0::/u\n";

    #[test]
    fn folders_are_found_by_controller() {
        let place = |kind, controller| place(MOUNTS, OWN, kind, controller);
        let path = |text: &str| Some(PathBuf::from(text));
        // The paths below do not exist where this test runs, so the mounts themselves are taken.
        assert_eq!(place("cgroup", "cpu"), path("/sys/fs/cgroup/cpu,cpuacct"));
        assert_eq!(place("cgroup", "memory"), path("/sys/fs/cgroup/memory"));
        assert_eq!(place("cgroup", "pids"), None);
        assert_eq!(place("cgroup2", ""), path("/sys/fs/cgroup/unified"));
    }
}

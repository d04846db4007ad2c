//! Bounds over all processes of a cage where the machine has no control groups to hold them: looked at ten times a
//! second, so a server can pass them for that long.

use std::collections::HashMap;
use std::fs;

use super::keeper::number;
use super::plan::Watched;
use super::report::Limit;

/// The bound that is passed now, if one is.
pub(super) fn met(bounds: &Watched) -> Option<Limit> {
    let all = below(std::process::id().cast_signed());
    let tasks: u64 = all.iter().map(|process| process.tasks).sum();
    let pages: u64 = all.iter().map(|process| process.pages).sum();
    if tasks > bounds.tasks {
        Some(Limit::Processes)
    } else if pages * 4096 > bounds.memory_bytes {
        Some(Limit::Memory)
    } else {
        None
    }
}

#[derive(Debug)]
struct Process {
    parent: i32,
    tasks: u64,
    pages: u64,
}

/// Every process there is, with its id.
fn all() -> impl Iterator<Item = (i32, Process)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| number(&entry.file_name()));
    pids.filter_map(|pid| {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        Some((pid, read(&text)?))
    })
}

/// The ids of what a process has started.
pub(super) fn children(parent: i32) -> Vec<i32> {
    let of = all().filter(|(_, process)| process.parent == parent);
    of.map(|(pid, _)| pid).collect()
}

/// All descendants of a process.
fn below(top: i32) -> Vec<Process> {
    let mut children: HashMap<i32, Vec<(i32, Process)>> = HashMap::new();
    for (pid, process) in all() {
        children.entry(process.parent).or_default().push((pid, process));
    }
    let (mut found, mut parents) = (Vec::new(), vec![top]);
    while let Some(parent) = parents.pop() {
        for (pid, process) in children.remove(&parent).unwrap_or_default() {
            parents.push(pid);
            found.push(process);
        }
    }
    found
}

/// Parent, threads and resident pages of `/proc/PID/stat`.
fn read(text: &str) -> Option<Process> {
    // The name of the program may hold anything, a bracket too.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    Some(Process {
        parent: fields.get(1)?.parse().ok()?,
        tasks: fields.get(17)?.parse().ok()?,
        pages: fields.get(21)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_found_below_their_parent() {
        let own = fs::read_to_string("/proc/self/stat").unwrap();
        let process = read(&own).unwrap();
        assert!(process.tasks >= 1 && process.pages > 0);
        let mut child = std::process::Command::new("sleep").arg("20").spawn().unwrap();
        let all = below(std::process::id().cast_signed());
        assert!(!all.is_empty());
        assert_eq!(
            met(&Watched {
                memory_bytes: u64::MAX,
                tasks: 0
            }),
            Some(Limit::Processes)
        );
        assert_eq!(
            met(&Watched {
                memory_bytes: 0,
                tasks: 1000
            }),
            Some(Limit::Memory)
        );
        assert_eq!(
            met(&Watched {
                memory_bytes: 1 << 40,
                tasks: 1000
            }),
            None
        );
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_name_with_a_bracket_is_read() {
        let text = "7 (a) b) S 3 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 5 0 9 100 42 0";
        let process = read(text).unwrap();
        assert_eq!((process.parent, process.tasks, process.pages), (3, 5, 42));
    }
}

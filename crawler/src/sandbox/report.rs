//! What a cage tells the program that started it, one JSON line each, in a file that the caged server cannot see.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write as _;

use serde::{Deserialize, Serialize};

/// Most different places named for one process; what a server tries beyond that is only counted as more.
pub(super) const REACHED: usize = 500;
/// Most bytes of a report that are read: as many places as are named, with the longest names.
pub(super) const REPORT_BYTES: u64 = 256 * 1024;

/// One statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    /// The server is being started; what fails from here on is its own.
    Entered,
    /// It tried to reach something.
    Reached(Reached),
    /// It tried to reach more than is named.
    More,
    /// It met one of our limits.
    Limit(Limit),
    /// It ended by itself, with this status as a shell would give it.
    Ended(i32),
    /// The cage could not be built.
    Failed(String),
}

/// A place a server tried to reach.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Reached {
    pub(super) host: String,
    pub(super) port: u16,
    /// `tcp`, `udp`, `dns`.
    pub(super) protocol: String,
}

/// A limit that the cage itself watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Limit {
    Memory,
    Processes,
    Disk,
    Cpu,
}

/// The writing end.
pub(super) struct Report {
    file: File,
    seen: BTreeSet<Reached>,
    more: bool,
}

impl Report {
    pub(super) fn new(file: File) -> Self {
        Self {
            file,
            seen: BTreeSet::new(),
            more: false,
        }
    }

    pub(super) fn say(&mut self, line: &Line) {
        let mut text = serde_json::to_vec(line).expect("a statement has text as keys");
        text.push(b'\n');
        // There is nobody to tell when this fails; the reader then finds less.
        let _ = self.file.write_all(&text);
    }

    /// Names a place once.
    pub(super) fn reached(&mut self, host: String, port: u16, protocol: &str) {
        let place = Reached {
            host,
            port,
            protocol: protocol.to_owned(),
        };
        if self.seen.contains(&place) || self.more {
            return;
        }
        if self.seen.len() == REACHED {
            self.more = true;
            self.say(&Line::More);
            return;
        }
        self.say(&Line::Reached(place.clone()));
        self.seen.insert(place);
    }
}

/// Reads a report; a last line that was not written to its end is left out.
pub(super) fn read(text: &str) -> Vec<Line> {
    let lines = text.lines().map_while(|line| serde_json::from_str(line).ok());
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_named_once_and_not_without_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report");
        let mut report = Report::new(File::create(&path).unwrap());
        report.say(&Line::Entered);
        for round in 0..2 {
            for port in 0..600 {
                report.reached("a.example".to_owned(), port, "tcp");
            }
            assert_eq!(report.seen.len(), REACHED, "round {round}");
        }
        report.say(&Line::Limit(Limit::Disk));
        report.say(&Line::Ended(0));
        let mut text = std::fs::read_to_string(&path).unwrap();
        let lines = read(&text);
        assert_eq!(lines.len(), 1 + REACHED + 1 + 2);
        assert_eq!(lines[REACHED + 1], Line::More);
        text.truncate(text.len() - 3);
        assert_eq!(read(&text).len(), lines.len() - 1);
    }
}

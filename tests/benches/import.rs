//! The promised figures of the import: 100,000 versions, made from the corpus by renaming, go into SQLite at 3,000 a
//! second or better with a peak memory under 300 MB. Measured on the program as it is shipped.

#![expect(clippy::print_stdout, reason = "its output is its result")]
#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use toolmark_tests::data::{OFFICIAL, corpus, many_versions};
use toolmark_tests::program::{self, toolmark};

const VERSIONS: usize = 100_000;
const LEAST_PER_SEC: f64 = 3000.0;
const MOST_MEMORY_KB: u64 = 300 * 1000;

fn main() -> ExitCode {
    let Some(file) = corpus("import", OFFICIAL) else {
        return ExitCode::SUCCESS;
    };
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("versions.jsonl");
    let bytes = many_versions(&file, &input, VERSIONS);
    println!(
        "input: {VERSIONS} versions, {} MB, program {}",
        bytes / 1_000_000,
        program::path().display()
    );
    let first = import("into an empty store", folder.path(), &input);
    let second = import("the same again", folder.path(), &input);
    let fast = first.per_sec >= LEAST_PER_SEC;
    let small = first.memory_kb.max(second.memory_kb) < MOST_MEMORY_KB;
    println!(
        "promised: at least {LEAST_PER_SEC:.0} a second {}, under 300 MB {}",
        word(fast),
        word(small)
    );
    if fast && small {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn word(kept: bool) -> &'static str {
    if kept { "kept" } else { "broken" }
}

struct Figures {
    per_sec: f64,
    memory_kb: u64,
}

fn import(what: &str, folder: &Path, input: &Path) -> Figures {
    let mut command = toolmark(folder);
    command.arg("import").arg(input).args(["--format", "json"]);
    let begun = Instant::now();
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut memory_kb = 0;
    while child.try_wait().unwrap().is_none() {
        memory_kb = memory_kb.max(peak_kb(child.id()).unwrap_or(0));
        std::thread::sleep(Duration::from_millis(5));
    }
    let took = begun.elapsed();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "the import failed");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let [added, unchanged] = ["added", "unchanged"].map(|key| report[key].as_u64().unwrap());
    assert_eq!(added + unchanged, VERSIONS as u64);
    let per_sec = f64::from(u32::try_from(VERSIONS).unwrap()) / took.as_secs_f64();
    println!(
        "{what}: {per_sec:.0} versions a second ({:.1} s), peak memory {} MB; {added} added, {unchanged} unchanged",
        took.as_secs_f64(),
        memory_kb / 1000,
    );
    Figures { per_sec, memory_kb }
}

/// The kernel's high-water mark of a running process's memory.
fn peak_kb(id: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

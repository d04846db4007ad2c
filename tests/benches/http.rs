//! The promised figures of reading over HTTP: with 100,000 versions in SQLite and the load generator on the same
//! cores, 16 connections get details at 5,000 a second, lists of 30 at 1,500 uncached and 5,000 from the cache, 99 of
//! 100 under 10 ms, in under 250 MB; and a page costs the same however deep it is.

#![expect(clippy::print_stdout, reason = "its output is its result")]
#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode};

use serde_json::Value;
use toolmark_tests::app::encoded;
use toolmark_tests::data::{OFFICIAL, corpus, many_versions};
use toolmark_tests::program::{self, Serving, run, toolmark};

const VERSIONS: usize = 100_000;
const MOST_P99_MS: f64 = 10.0;
const MOST_MEMORY_KB: u64 = 250 * 1000;
const MOST_DEEP_OVER_FIRST: f64 = 1.5;
const PAGE: usize = 30;
const DEEP_PAGE: usize = 3_000;
/// Pages around the first and the deep one: enough never to meet the same page twice in the cache.
const NEAR: usize = 3_000;

fn main() -> ExitCode {
    let Some(file) = corpus("http", OFFICIAL) else {
        return ExitCode::SUCCESS;
    };
    if Command::new("wrk").arg("-v").output().is_err() {
        println!("skipped: http: no `wrk`");
        return ExitCode::SUCCESS;
    }
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("versions.jsonl");
    many_versions(&file, &input, VERSIONS);
    let imported = run(toolmark(folder.path()).arg("import").arg(&input));
    assert_eq!(imported.code, Some(0), "{}", imported.stderr);
    let rows = rows(&input);
    let server = Serving::start(folder.path(), &[]);
    println!("{} versions, program {}", rows.len(), program::path().display());

    let load = |what: &str, targets: &[String]| load(folder.path(), &server.url, what, targets);
    let list = |(name, version): &(String, String)| {
        format!(
            "/v0.1/servers?limit={PAGE}&cursor={}:{}",
            encoded(name),
            encode(version)
        )
    };
    let details: Vec<String> = shuffled(&rows).map(detail).collect();
    let lists: Vec<String> = shuffled(&rows).map(list).collect();
    let deep = PAGE * DEEP_PAGE;
    let near = |from: usize| rows[from..from + NEAR].iter().map(list).collect::<Vec<_>>();

    let mut kept = load("details", &details).keeps(5_000.0);
    kept &= load("lists of 30, uncached", &lists).keeps(1_500.0);
    kept &= load("lists of 30, cached", &[format!("/v0.1/servers?limit={PAGE}")]).keeps(5_000.0);
    let times = Times::of(&server.url, &near(0), &near(deep));
    kept &= times.keeps();
    let (now, peak) = (memory_kb(server.id(), "VmRSS:"), memory_kb(server.id(), "VmHWM:"));
    kept &= peak < MOST_MEMORY_KB;
    println!(
        "memory: {} MB, peak {} MB (promised: under 250)",
        now / 1000,
        peak / 1000
    );
    println!("promised figures {}", if kept { "kept" } else { "broken" });
    if kept {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Name and version of every row, in the order of the list.
fn rows(input: &Path) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(input).unwrap();
    let mut rows: Vec<(String, String)> = text
        .lines()
        .map(|line| {
            let row: Value = serde_json::from_str(line).unwrap();
            let part = |key: &str| row["server"][key].as_str().unwrap().to_owned();
            (part("name"), part("version"))
        })
        .collect();
    rows.sort_unstable();
    rows
}

/// Each row once, neighbours far apart: no request is helped by the one before.
fn shuffled(rows: &[(String, String)]) -> impl Iterator<Item = &(String, String)> {
    // A step without a common divisor meets every row.
    let step = (40_009..50_000).find(|step| gcd(*step, rows.len()) == 1).unwrap();
    (0..rows.len()).map(move |index| &rows[index * step % rows.len()])
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn detail((name, version): &(String, String)) -> String {
    format!("/v0.1/servers/{}/versions/{}", encoded(name), encode(version))
}

/// A version as part of a URL.
fn encode(version: &str) -> String {
    let mut out = String::new();
    for byte in version.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_') {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

struct Figures {
    per_sec: f64,
    p99_ms: f64,
    bad: bool,
}

impl Figures {
    fn keeps(&self, least_per_sec: f64) -> bool {
        self.per_sec >= least_per_sec && self.p99_ms < MOST_P99_MS && !self.bad
    }
}

/// Ten seconds of 16 connections that ask for `targets` in turn.
fn load(folder: &Path, url: &str, what: &str, targets: &[String]) -> Figures {
    let list = folder.join("targets");
    let script = folder.join("targets.lua");
    std::fs::write(&list, targets.join("\n")).unwrap();
    let lua = format!(
        "local asked = {{}}\n\
         for target in io.lines(\"{}\") do asked[#asked + 1] = target end\n\
         local at = 0\n\
         request = function() at = at % #asked + 1; return wrk.format(\"GET\", asked[at]) end\n",
        list.display()
    );
    std::fs::write(&script, lua).unwrap();
    let mut wrk = Command::new("wrk");
    wrk.args([
        "--threads",
        "1",
        "--connections",
        "16",
        "--duration",
        "10s",
        "--latency",
    ]);
    let ended = run(wrk.arg("--script").arg(&script).arg(url));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let figure = |start: &str| {
        let mut lines = ended.stdout.lines().map(str::trim);
        lines.find_map(|line| line.strip_prefix(start)).map(str::trim)
    };
    let figures = Figures {
        per_sec: figure("Requests/sec:").unwrap().parse().unwrap(),
        p99_ms: millis(figure("99%").unwrap()),
        bad: figure("Non-2xx").or(figure("Socket errors")).is_some(),
    };
    println!(
        "{what}: {:.0} a second, p99 {:.1} ms{}",
        figures.per_sec,
        figures.p99_ms,
        if figures.bad { ", with errors" } else { "" }
    );
    figures
}

/// `812.00us`, `3.51ms`, `1.02s`.
fn millis(text: &str) -> f64 {
    for (unit, millis) in [("us", 0.001), ("ms", 1.0), ("s", 1000.0)] {
        if let Some(number) = text
            .strip_suffix(unit)
            .and_then(|number| number.parse::<f64>().ok())
        {
            return number * millis;
        }
    }
    panic!("no time: {text}")
}

/// What an uncached page costs at the beginning of the list and deep in it, one request after the other.
struct Times {
    first_us: u128,
    deep_us: u128,
}

impl Times {
    /// The two kinds take turns, so that what else the machine does falls on both.
    fn of(url: &str, first: &[String], deep: &[String]) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let (mut firsts, mut deeps) = (Vec::new(), Vec::new());
        runtime.block_on(async {
            let client = reqwest::Client::new();
            for (first, deep) in first.iter().zip(deep) {
                for (target, times) in [(first, &mut firsts), (deep, &mut deeps)] {
                    let begun = std::time::Instant::now();
                    let answer = client.get(format!("{url}{target}")).send().await.unwrap();
                    assert_eq!(answer.status(), 200);
                    answer.bytes().await.unwrap();
                    times.push(begun.elapsed().as_micros());
                }
            }
        });
        let median = |times: &mut Vec<u128>| {
            times.sort_unstable();
            times[times.len() / 2]
        };
        Self {
            first_us: median(&mut firsts),
            deep_us: median(&mut deeps),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "microseconds of one request")]
    fn keeps(&self) -> bool {
        let ratio = self.deep_us as f64 / self.first_us as f64;
        println!(
            "page 1: {} µs, page {DEEP_PAGE}: {} µs (medians), {ratio:.2} times",
            self.first_us, self.deep_us
        );
        ratio <= MOST_DEEP_OVER_FIRST
    }
}

/// A line of the kernel's account of a process.
fn memory_kb(id: u32, line: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find_map(|text| text.strip_prefix(line)).unwrap();
    line.split_ascii_whitespace().next().unwrap().parse().unwrap()
}

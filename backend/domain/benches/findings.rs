//! The promised figures of findings: scan and diff of at least 5,000 real tools a second on one core, a manifest of
//! 260 kB under 50 ms, and no input whose time grows faster than its size.

#![expect(clippy::print_stdout, reason = "its output is its result")]
#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

use std::process::ExitCode;
use std::time::Instant;

use serde_json::{Value, json};
use toolmark_domain::diff::diff;
use toolmark_domain::manifest::{Manifest, read};
use toolmark_domain::scan::scan;

#[path = "../tests/support/data.rs"]
mod data;

const LEAST_PER_SEC: f64 = 5000.0;
const MOST_MILLIS: f64 = 50.0;

fn main() -> ExitCode {
    if data::file("findings", "manifests/labels.tsv").is_none() {
        return ExitCode::SUCCESS;
    }
    let captures = captures();
    let fast = throughput(&captures);
    let short = large(&captures);
    if fast && short {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Every captured manifest, in the order of package and version.
fn captures() -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(data::folder().join("manifests")).unwrap();
    let mut captures: Vec<(String, Vec<u8>)> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| (path.display().to_string(), std::fs::read(&path).unwrap()))
        .collect();
    captures.sort();
    captures
}

/// Time this thread was on a core, where the system tells; what else the machine does is not measured.
fn on_core() -> Option<f64> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanos: u64 = told.split_whitespace().next()?.parse().ok()?;
    Some(std::time::Duration::from_nanos(nanos).as_secs_f64() * 1000.0)
}

fn millis(work: impl Fn()) -> f64 {
    let best = (0..5).map(|_| {
        let (started, before) = (Instant::now(), on_core());
        work();
        match (before, on_core()) {
            (Some(before), Some(after)) => after - before,
            _ => started.elapsed().as_secs_f64() * 1000.0,
        }
    });
    best.fold(f64::INFINITY, f64::min)
}

/// Each capture is read, scanned, and compared with the one before it.
fn throughput(captures: &[(String, Vec<u8>)]) -> bool {
    let read_all = || -> Vec<Manifest> { captures.iter().map(|(_, bytes)| read(bytes).unwrap()).collect() };
    let manifests = read_all();
    let tools: usize = manifests.iter().map(|manifest| manifest.tools().count()).sum();
    let reading = millis(|| drop(read_all()));
    let scanning = millis(|| manifests.iter().for_each(|manifest| drop(scan(manifest))));
    let comparing = millis(|| manifests.windows(2).for_each(|two| drop(diff(&two[0], &two[1]))));
    let tools = f64::from(u32::try_from(tools).unwrap());
    let per_sec = tools * 1000.0 / (scanning + comparing);
    println!("{tools} tools: read {reading:.0} ms, scan {scanning:.0} ms, diff {comparing:.0} ms");
    println!("scan and diff: {per_sec:.0} tools a second, promised {LEAST_PER_SEC}");
    per_sec >= LEAST_PER_SEC
}

/// A manifest of 260 kB, made of the largest capture and its forerunner.
fn large(captures: &[(String, Vec<u8>)]) -> bool {
    let bytes = captures
        .iter()
        .map(|(_, bytes)| bytes)
        .max_by_key(|bytes| bytes.len())
        .unwrap();
    let document: Value = serde_json::from_slice(bytes).unwrap();
    let mut tools = document["tools"].as_array().unwrap().clone();
    while json!({ "tools": tools }).to_string().len() > 261_000 {
        tools.pop();
    }
    let text = json!({ "tools": tools }).to_string();
    let mut other = tools;
    for tool in &mut other {
        tool["description"] = json!(format!(
            "{} And more.",
            tool["description"].as_str().unwrap_or_default()
        ));
    }
    let other = read(json!({ "tools": other }).to_string().as_bytes()).unwrap();
    let took = millis(|| {
        let manifest = read(text.as_bytes()).unwrap();
        drop(scan(&manifest));
        drop(diff(&other, &manifest));
    });
    println!(
        "{} bytes read, scanned and compared in {took:.1} ms, promised {MOST_MILLIS}",
        text.len()
    );
    took < MOST_MILLIS
}

//! The corpora, which do not lie in this repository.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The file `name` of the corpora; says that the test `test` is skipped where it is absent.
pub fn corpus(test: &str, name: &str) -> Option<PathBuf> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data");
    let folder = std::env::var_os("TOOLMARK_TEST_DATA").map_or_else(|| PathBuf::from(default), PathBuf::from);
    let file = folder.join(name);
    if file.exists() {
        return Some(file);
    }
    println!("skipped: {test}: no `{name}` in TOOLMARK_TEST_DATA");
    None
}

/// The corpus of the official registry.
pub const OFFICIAL: &str = "official-registry-servers.2025-12-12.jsonl";

/// Writes the corpus again and again, each time under other names, until there are `count` versions. Returns the
/// bytes written.
pub fn many_versions(corpus: &Path, input: &Path, count: usize) -> u64 {
    let text = std::fs::read_to_string(corpus).expect("the corpus is there");
    let rows: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of the corpus is JSON"))
        .collect();
    let rows: Vec<&Value> = rows.iter().filter(|row| is_plain(row)).collect();
    let mut out = BufWriter::new(File::create(input).expect("a file can be made"));
    for number in 0..count {
        let mut row = rows[number % rows.len()].clone();
        let round = number / rows.len();
        let name = row["server"]["name"].as_str().expect("a row has a name");
        row["server"]["name"] = format!("{name}-{round}").into();
        serde_json::to_writer(&mut out, &row).expect("the disk takes it");
        out.write_all(b"\n").expect("the disk takes it");
    }
    out.into_inner()
        .expect("the disk takes it")
        .metadata()
        .expect("the file is there")
        .len()
}

/// A name with one slash: one row of the corpus has two and would be skipped.
fn is_plain(row: &Value) -> bool {
    row["server"]["name"]
        .as_str()
        .is_some_and(|name| name.matches('/').count() == 1)
}

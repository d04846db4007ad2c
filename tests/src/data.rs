//! The corpora, which do not lie in this repository.

use std::path::PathBuf;

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

//! Where the corpora are.

use std::path::PathBuf;

/// The folder of the corpora.
pub(crate) fn folder() -> PathBuf {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    std::env::var_os("TOOLMARK_TEST_DATA").map_or(default.into(), PathBuf::from)
}

/// The text of a corpus file; without it, prints that `test` is skipped.
pub(crate) fn file(test: &str, file: &str) -> Option<String> {
    match std::fs::read_to_string(folder().join(file)) {
        Ok(content) => Some(content),
        Err(error) => {
            // Straight to the stream, so that the line is seen of tests that pass, too.
            use std::io::Write as _;
            let _ = writeln!(std::io::stderr(), "skipped: {test}: {file}: {error}");
            None
        }
    }
}

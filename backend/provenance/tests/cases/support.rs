//! Reading the corpus of evidence.

use std::io::Write as _;
use std::path::PathBuf;

use serde_json::Value;
use toolmark_provenance::Artifact;

/// The folder of evidence.
pub(crate) struct Data {
    folder: PathBuf,
}

impl Data {
    /// The folder, or nothing and a line that says so.
    pub(crate) fn open(test: &str) -> Option<Self> {
        let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
        let folder = std::env::var_os("TOOLMARK_TEST_DATA").map_or(default.into(), PathBuf::from);
        let folder = folder.join("provenance");
        if let Err(error) = std::fs::metadata(folder.join("cases.json")) {
            // Straight to the stream, so that the line is seen of tests that pass, too.
            let _ = writeln!(
                std::io::stderr(),
                "skipped: {test}: {}: {error}",
                folder.display()
            );
            return None;
        }
        Some(Self { folder })
    }

    pub(crate) fn bytes(&self, file: &str) -> Vec<u8> {
        std::fs::read(self.folder.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    pub(crate) fn json(&self, file: &str) -> Value {
        serde_json::from_slice(&self.bytes(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    /// Every file of a folder by name.
    pub(crate) fn folder(&self, folder: &str) -> Vec<(String, Vec<u8>)> {
        let entries = std::fs::read_dir(self.folder.join(folder)).unwrap();
        let mut files: Vec<(String, Vec<u8>)> = entries
            .map(|entry| {
                let entry = entry.unwrap();
                let name = entry.file_name().into_string().unwrap();
                (name, std::fs::read(entry.path()).unwrap())
            })
            .collect();
        files.sort();
        files
    }
}

/// A field that is text.
pub(crate) fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str)
}

/// The digests in an object of digests; other algorithms bind nothing.
pub(crate) fn digests(value: &Value) -> Artifact {
    fn read<const N: usize>(value: &Value, name: &str) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        hex::decode_to_slice(text(value, name)?, &mut bytes).unwrap();
        Some(bytes)
    }
    Artifact {
        sha256: read(value, "sha256"),
        sha512: read(value, "sha512"),
    }
}

//! Bytes that are hashed while they come.

use std::fs::File as Disk;
use std::io::{self, Seek as _, Write as _};
use std::path::Path;

use sha2::{Digest as _, Sha256, Sha512};
use toolmark_outbound::Receive;
use url::Url;

use crate::release::{File, Said};

/// Hashes what it is given with SHA-256 and SHA-512 at once, and may write it to a file.
pub struct Hashing {
    sha256: Sha256,
    sha512: Sha512,
    bytes: u64,
    disk: Option<Disk>,
}

impl Hashing {
    /// Keeps the digests only.
    pub fn only() -> Self {
        Self {
            sha256: Sha256::new(),
            sha512: Sha512::new(),
            bytes: 0,
            disk: None,
        }
    }

    /// Writes to a file as well.
    pub fn to_file(path: &Path) -> io::Result<Self> {
        Ok(Self {
            disk: Some(Disk::create(path)?),
            ..Self::only()
        })
    }

    /// The end: digests, and where they differ from what is said of `file`.
    pub(crate) fn finish(self, file: &File, url: Url) -> io::Result<Fetched> {
        if let Some(mut disk) = self.disk {
            disk.flush()?;
        }
        let mut fetched = Fetched {
            sha256: self.sha256.finalize().into(),
            sha512: self.sha512.finalize().into(),
            bytes: self.bytes,
            url,
            differences: Vec::new(),
        };
        fetched.differences = fetched.compare(&file.said, file.bytes);
        Ok(fetched)
    }
}

impl Receive for Hashing {
    fn restart(&mut self) -> io::Result<()> {
        self.sha256 = Sha256::new();
        self.sha512 = Sha512::new();
        self.bytes = 0;
        if let Some(disk) = &mut self.disk {
            disk.set_len(0)?;
            disk.rewind()?;
        }
        Ok(())
    }

    fn take(&mut self, piece: &[u8]) -> io::Result<()> {
        self.sha256.update(piece);
        self.sha512.update(piece);
        self.bytes += piece.len() as u64;
        self.disk.as_mut().map_or(Ok(()), |disk| disk.write_all(piece))
    }
}

/// A file that was fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    pub sha256: [u8; 32],
    pub sha512: [u8; 64],
    pub bytes: u64,
    /// Where it came from, after redirects.
    pub url: Url,
    /// Where the registry of origin said otherwise. Not an error here: who asked decides what it means.
    pub differences: Vec<Difference>,
}

/// Something that was said of a file and is not so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// `sha256`, `sha512` or `bytes`.
    pub what: &'static str,
    pub said: String,
    pub found: String,
}

impl Fetched {
    /// Where `said`, and a size, differ from what was fetched. Use it for the digest in a `server.json` too.
    pub fn compare(&self, said: &Said, bytes: Option<u64>) -> Vec<Difference> {
        let hashes = [
            ("sha256", said.sha256.map(hex::encode), hex::encode(self.sha256)),
            ("sha512", said.sha512.map(hex::encode), hex::encode(self.sha512)),
            (
                "bytes",
                bytes.map(|bytes| bytes.to_string()),
                self.bytes.to_string(),
            ),
        ];
        let differing = |(what, said, found): (&'static str, Option<String>, String)| {
            let said = said.filter(|said| *said != found)?;
            Some(Difference { what, said, found })
        };
        hashes.into_iter().filter_map(differing).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coordinate::Kind;

    #[test]
    fn both_digests_are_taken_and_a_restart_forgets() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let mut hashing = Hashing::to_file(&path).unwrap();
        hashing.restart().unwrap();
        hashing.take(b"half of someth").unwrap();
        hashing.restart().unwrap();
        hashing.take(b"a").unwrap();
        hashing.take(b"bc").unwrap();
        let url = Url::parse("https://a.example/f").unwrap();
        let mut file = File::at(Kind::Url, "f", url.clone());
        file.bytes = Some(4);
        file.said.sha512 = Some(Sha512::digest(b"abc").into());
        file.said.sha256 = Some(Sha256::digest(b"abd").into());
        let fetched = hashing.finish(&file, url).unwrap();
        assert_eq!(fetched.sha256, <[u8; 32]>::from(Sha256::digest(b"abc")));
        assert_eq!(std::fs::read(&path).unwrap(), b"abc");
        let what: Vec<_> = fetched.differences.iter().map(|d| d.what).collect();
        assert_eq!(what, ["sha256", "bytes"]);
    }
}

//! What differs between two takes of the same target, so that what moves by itself shows.

use std::ffi::OsString;

/// The circumstances of one take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Place among the takes of a snapshot, from 0.
    pub take: u32,
    /// Name the client gives itself.
    pub client_name: &'static str,
    pub client_version: &'static str,
    /// `TZ` of the process.
    pub time_zone: &'static str,
    /// `PYTHONHASHSEED` of the process.
    pub hash_seed: &'static str,
}

impl Condition {
    /// The two takes of a snapshot.
    pub const TAKES: [Self; 2] = [
        Self {
            take: 0,
            client_name: "toolmark-crawler",
            client_version: env!("CARGO_PKG_VERSION"),
            time_zone: "Etc/UTC",
            hash_seed: "1",
        },
        Self {
            take: 1,
            client_name: "mcp-client",
            client_version: "1.0.0",
            time_zone: "Asia/Tokyo",
            hash_seed: "4242",
        },
    ];

    /// Variables of the process that follow from it.
    pub fn env(&self) -> [(OsString, OsString); 2] {
        [
            ("TZ".into(), self.time_zone.into()),
            ("PYTHONHASHSEED".into(), self.hash_seed.into()),
        ]
    }
}

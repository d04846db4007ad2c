//! The status of a version, as the official registry has it.

use serde::{Deserialize, Serialize};

/// Any status can follow any other. `Deleted` hides a version, it never erases it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Active,
    Deprecated,
    Deleted,
}

impl Status {
    /// Every status, in the order the official contract names them.
    pub const ALL: [Self; 3] = [Self::Active, Self::Deprecated, Self::Deleted];

    /// The word used in JSON, SQL, URLs and prose.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Deprecated => "deprecated",
            Self::Deleted => "deleted",
        }
    }

    /// Reads the word back.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }
}

//! Where in its source an element stands, for people who want to look.

use std::fmt;

use serde::{Serialize, Serializer};

/// A place in a source. All numbers count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Line(u64),
    Element(u64),
    Row { page: u64, row: u64 },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(number) => write!(f, "line {number}"),
            Self::Element(number) => write!(f, "document {number}"),
            Self::Row { page, row } => write!(f, "page {page}, row {row}"),
        }
    }
}

impl Serialize for Place {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

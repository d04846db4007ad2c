//! Work that must happen once for a fact, each kind in its own file. A job row is written with its cause; running one
//! twice is harmless.

pub(crate) mod crawl;
pub(crate) mod recheck;
pub(crate) mod verify;

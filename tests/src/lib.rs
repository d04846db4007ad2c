//! Test support.

pub mod data;
pub mod fake_official;
pub mod program;

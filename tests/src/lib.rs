//! Test support.

#![expect(clippy::print_stdout, reason = "the runner reads what a test says")]

pub mod app;
pub mod data;
pub mod fake_official;
pub mod observed;
pub mod program;
pub mod receiver;
pub mod scripted;

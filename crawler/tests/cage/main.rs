//! The sandbox, tried from inside: what a process in it can see, reach, use up and leave behind.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bounds;
mod plain_user;
mod reach;
mod sight;
mod support;

//! Integration tests.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod alerts;
mod crash;
mod findings;
mod http;
mod import;
mod mcp;
mod observe;
mod search;
mod workspace;

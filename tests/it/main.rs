//! Integration tests.

mod import;
mod workspace;

//! Integration tests.

mod workspace;

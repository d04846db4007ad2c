//! Contracts of the store, each run on SQLite and on PostgreSQL (`TOOLMARK_TEST_POSTGRES_URL`; skipped without it).
#![expect(clippy::unwrap_used, reason = "a step that fails fails its test")]

mod support;

mod alerts;
mod blobs;
mod catalogue;
mod feed;
mod imports;
mod observations;
mod opening;
mod queue;
mod verdicts;

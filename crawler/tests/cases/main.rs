//! Servers of every shape, as processes and behind sockets, and what a take makes of them.
#![expect(clippy::unwrap_used, reason = "a test that lacks what it asks for has failed")]

mod captures;
mod http;
mod pages;
mod peers;
mod remote;
mod snapshots;
mod states;
mod stdio;
mod support;

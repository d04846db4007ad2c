//! Servers of every shape, as processes and behind sockets, and what a take makes of them.

mod http;
mod pages;
mod peers;
mod remote;
mod snapshots;
mod states;
mod stdio;
mod support;

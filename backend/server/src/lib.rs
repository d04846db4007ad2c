//! HTTP: the official registry's contract, our own API, the pages, and what is around every request.
//!
//! Reading order: `routes.rs` names every route; `api/`, `ext/` and `pages/` hold one file per operation;
//! `problem.rs` every error; `middleware.rs` what happens before and after a handler.

mod answer;
mod api;
mod cursor;
mod ext;
mod extract;
mod feeds;
mod lists;
mod mcp;
mod metrics;
mod middleware;
mod observed;
mod outlines;
mod pages;
mod problem;
mod routes;
mod serve;
mod settings;
mod site;
mod state;

pub use mcp::{Find, FindTools, Finding, tool_definition};
pub use problem::{Code, FieldError, Problem};
pub use serve::serve;
pub use settings::{Build, RateLimit, ServerSettings};

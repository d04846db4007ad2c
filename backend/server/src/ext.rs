//! Our own API, `/api/v1`: one file per operation. What it does not know it refuses, and names.

mod alerts;
mod check_pins;
mod complete;
mod find;
mod get_document;
mod get_evidence;
mod get_manifest;
mod get_own_version;
mod get_provenance;
mod get_server;
mod get_stats;
mod get_tool;
mod list_events;
mod list_own_servers;
mod list_own_versions;
mod list_snapshots;
mod list_tools;
pub(crate) mod listing;
mod openapi;
mod shapes;

pub(crate) use alerts::{
    confirm_endpoint, create_endpoint, create_subscription, delete_endpoint, delete_subscription,
    get_delivery, get_endpoint, get_subscription, list_deliveries, list_endpoints, list_subscriptions,
    pause_endpoint, replace_subscription, replay_delivery, replay_events, resume_endpoint, rotate_secret,
    test_endpoint,
};
pub(crate) use check_pins::check_pins;
pub(crate) use complete::complete;
pub(crate) use find::{find, find_by_post};
pub(crate) use get_document::get_document;
pub(crate) use get_evidence::get_evidence;
pub(crate) use get_manifest::get_manifest;
pub(crate) use get_own_version::get_own_version;
pub(crate) use get_provenance::get_provenance;
pub(crate) use get_server::get_server;
pub(crate) use get_stats::get_stats;
pub(crate) use get_tool::get_tool;
pub(crate) use list_events::list_events;
pub(crate) use list_own_servers::list_own_servers;
pub(crate) use list_own_versions::list_own_versions;
pub(crate) use list_snapshots::list_snapshots;
pub(crate) use list_tools::{list_tools, marks, problem as find_problem};
pub(crate) use openapi::{document, get_own_openapi};

use serde::Serialize;

use crate::problem::{Code, Problem};

/// The body of an answer.
fn text(body: &impl Serialize) -> String {
    serde_json::to_string(body).expect("strings, numbers and JSON values always serialise")
}

fn invalid_cursor() -> Problem {
    Problem::new(Code::InvalidCursor, "query.cursor: not a cursor of this list")
        .hint("take `next_cursor` of the page before, as it is; leave it out for the first page")
}

fn no_server(name: &str) -> Problem {
    let shown: String = name.chars().take(200).collect();
    Problem::new(Code::NotFound, format!("no server `{shown}` is recorded"))
}

fn no_version(name: &str, version: &str) -> Problem {
    let shown: String = version.chars().take(255).collect();
    Problem::new(
        Code::NotFound,
        format!("server `{name}` has no version `{shown}`"),
    )
    .hint("the versions are listed one level up")
}

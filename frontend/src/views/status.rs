//! `/status`: the state of this instance.

use askama::Template;
use serde::Serialize;
use toolmark_domain::timestamp::Timestamp;

use super::{Head, Moment, Site};

/// What the server knows of itself.
#[derive(Clone, Debug)]
pub struct InstanceStatus {
    /// Of the program.
    pub version: String,
    /// Commit it was built from, if known.
    pub commit: Option<String>,
    /// `SQLite` or `PostgreSQL`.
    pub store: &'static str,
    /// Whether the store answered just now.
    pub ready: bool,
    /// The newest event number; `None` when the store did not answer.
    pub event: Option<i64>,
    /// Jobs waiting or running; `None` when not known.
    pub jobs_waiting: Option<i64>,
    pub jobs_running: Option<i64>,
    /// When the program was started.
    pub started_at: Timestamp,
    /// When this was asked.
    pub asked_at: Timestamp,
}

#[derive(Debug, Serialize, Template)]
#[template(path = "status.html")]
pub struct StatusView {
    pub schema: &'static str,
    #[serde(skip)]
    pub head: Head,
    pub ready: bool,
    pub version: String,
    pub commit: Option<String>,
    pub store: &'static str,
    pub event: Option<i64>,
    pub jobs_waiting: Option<i64>,
    pub jobs_running: Option<i64>,
    pub started_at: Moment,
    pub asked_at: Moment,
}

impl StatusView {
    pub fn new(site: &Site, instance: InstanceStatus) -> Self {
        let mut head = Head::new(site, "/status".to_owned(), "status").with_twin();
        head.indexed = false;
        Self {
            schema: "toolmark.page.status/1",
            head,
            ready: instance.ready,
            version: instance.version,
            commit: instance.commit,
            store: instance.store,
            event: instance.event,
            jobs_waiting: instance.jobs_waiting,
            jobs_running: instance.jobs_running,
            started_at: Moment(instance.started_at),
            asked_at: Moment(instance.asked_at),
        }
    }
}

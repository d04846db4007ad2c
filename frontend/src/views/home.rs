//! `/`.

use askama::Template;
use serde::Serialize;
use toolmark_domain::record::{ServerSummary, Stats};

use super::{Change, ChangeRow, Head, ServerRow, Site};

#[derive(Debug, Serialize, Template)]
#[template(path = "home.html")]
pub struct HomeView {
    pub schema: &'static str,
    #[serde(skip)]
    pub head: Head,
    pub servers: i64,
    pub versions: i64,
    pub event: i64,
    /// Recently updated, newest first.
    pub recent: Vec<ServerRow>,
    /// The newest changes that are medium or graver.
    pub changes: Vec<ChangeRow>,
}

impl HomeView {
    /// `recent`: servers by time of update, newest first; `changes`: the newest grave ones.
    pub fn new(site: &Site, stats: &Stats, recent: &[ServerSummary], changes: &[Change]) -> Self {
        let mut head = Head::new(site, "/".to_owned(), "a public registry of MCP servers");
        head.search_box = false;
        Self {
            schema: "toolmark.page.home/1",
            head,
            servers: stats.servers,
            versions: stats.versions,
            event: stats.events,
            recent: ServerRow::all(recent),
            changes: changes.iter().map(ChangeRow::new).collect(),
        }
    }
}

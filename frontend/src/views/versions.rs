//! `/s/{namespace}/{name}/versions?cursor=`.

use askama::Template;
use serde::Serialize;
use toolmark_domain::limits::SHOWN_VERSIONS;
use toolmark_domain::name::ServerName;
use toolmark_domain::record::Version;

use super::rows::newest_first;
use super::{Head, Site, VersionRow};
use crate::paths;

#[derive(Debug, Serialize, Template)]
#[template(path = "versions.html")]
pub struct VersionsView {
    pub schema: &'static str,
    #[serde(skip)]
    pub head: Head,
    pub name: ServerName,
    #[serde(skip)]
    pub server_href: String,
    /// All versions of the server, deleted ones too.
    pub count: usize,
    /// Newest first by the order of versions; on the first page without prereleases.
    pub versions: Vec<VersionRow>,
    /// Prereleases, newest first; on the first page only, at most as many as a page holds.
    pub prereleases: Vec<VersionRow>,
    /// How many prereleases there are.
    pub prerelease_count: usize,
    /// Path of the next page.
    pub next: Option<String>,
    #[serde(skip)]
    pub later: bool,
}

impl VersionsView {
    /// `all`: every version of the server, deleted ones too, in any order. `cursor`: the version after which this
    /// page begins. A cursor that is no version of this server gives an empty page.
    pub fn new(site: &Site, name: &ServerName, all: &[Version], cursor: Option<&str>) -> Self {
        let path = format!("{}/versions", paths::server(name));
        let mut sorted: Vec<&Version> = all.iter().collect();
        newest_first(&mut sorted);
        let (pre, releases): (Vec<&Version>, Vec<&Version>) = sorted
            .into_iter()
            .partition(|version| toolmark_domain::version::is_prerelease(version.version.as_str()));
        let from = match cursor {
            None => 0,
            Some(cursor) => releases
                .iter()
                .position(|version| version.version.as_str() == cursor)
                .map_or(releases.len(), |at| at + 1),
        };
        let shown: Vec<VersionRow> = releases[from..]
            .iter()
            .take(SHOWN_VERSIONS)
            .map(|version| VersionRow::new(version))
            .collect();
        let last = releases
            .get(from + SHOWN_VERSIONS)
            .and(releases.get(from + SHOWN_VERSIONS - 1));
        let next = last.map(|last| format!("{path}?cursor={}", paths::segment(last.version.as_str())));
        let first_page = cursor.is_none();
        let shown_pre = if first_page {
            pre.len().min(SHOWN_VERSIONS)
        } else {
            0
        };
        let mut head = Head::new(site, path, format!("versions of {name}")).with_twin();
        head.description =
            format!("Every version of the MCP server {name} that Toolmark lists, newest first.");
        head.indexed = first_page;
        Self {
            schema: "toolmark.page.versions/1",
            head,
            name: name.clone(),
            server_href: paths::server(name),
            count: all.len(),
            versions: shown,
            prereleases: pre[..shown_pre]
                .iter()
                .map(|version| VersionRow::new(version))
                .collect(),
            prerelease_count: pre.len(),
            next,
            later: !first_page,
        }
    }
}

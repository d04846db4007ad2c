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

/// Foreign text a page may hold, in bytes, so that odd versions do not make a heavy page. Ordinary rows of a whole
/// page are well below.
const RELEASE_BYTES: usize = 24_000;
const PRERELEASE_BYTES: usize = 8_000;

/// The first rows: at most a page, at most so much foreign text, at least one.
fn rows(versions: &[&Version], most_bytes: usize) -> Vec<VersionRow> {
    let mut bytes = 0;
    let mut rows = Vec::new();
    for version in versions.iter().take(SHOWN_VERSIONS) {
        let row = VersionRow::new(version);
        bytes += row.foreign_bytes();
        if bytes > most_bytes && !rows.is_empty() {
            break;
        }
        rows.push(row);
    }
    rows
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
        let shown = rows(&releases[from..], RELEASE_BYTES);
        let reached = from + shown.len();
        let last = (reached < releases.len() && reached > from).then(|| releases[reached - 1]);
        let next = last.map(|last| format!("{path}?cursor={}", paths::segment(last.version.as_str())));
        let first_page = cursor.is_none();
        let prereleases = if first_page {
            rows(&pre, PRERELEASE_BYTES)
        } else {
            Vec::new()
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
            prereleases,
            prerelease_count: pre.len(),
            next,
            later: !first_page,
        }
    }
}

//! `/s/{namespace}/{name}/versions?cursor=`.

use askama::Template;
use serde::Serialize;
use toolmark_domain::limits::SHOWN_VERSIONS;
use toolmark_domain::name::ServerName;
use toolmark_domain::record::{Outline, Version};
use toolmark_domain::version::VersionId;

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
fn rows(outlines: &[&Outline], versions: &[Version], most_bytes: usize) -> Vec<VersionRow> {
    let mut bytes = 0;
    let mut rows = Vec::new();
    let of = |outline: &Outline| versions.iter().find(|version| version.version == outline.version);
    for version in outlines
        .iter()
        .take(SHOWN_VERSIONS)
        .filter_map(|outline| of(outline))
    {
        let row = VersionRow::new(version);
        bytes += row.foreign_bytes();
        if bytes > most_bytes && !rows.is_empty() {
            break;
        }
        rows.push(row);
    }
    rows
}

/// Prereleases, releases, and where among these the page begins.
fn parts<'a>(all: &'a [Outline], cursor: Option<&str>) -> (Vec<&'a Outline>, Vec<&'a Outline>, usize) {
    let (pre, releases): (Vec<&Outline>, Vec<&Outline>) =
        all.iter().partition(|outline| outline.is_prerelease());
    let from = match cursor {
        None => 0,
        Some(cursor) => releases
            .iter()
            .position(|outline| outline.version.as_str() == cursor)
            .map_or(releases.len(), |at| at + 1),
    };
    (pre, releases, from)
}

impl VersionsView {
    /// The versions whose documents the page shows something of.
    pub fn needs(all: &[Outline], cursor: Option<&str>) -> Vec<VersionId> {
        let (pre, releases, from) = parts(all, cursor);
        let pre = pre
            .into_iter()
            .take(if cursor.is_none() { SHOWN_VERSIONS } else { 0 });
        let shown = releases[from..].iter().copied().take(SHOWN_VERSIONS).chain(pre);
        shown.map(|outline| outline.version.clone()).collect()
    }

    /// `all`: every version of the server, the greatest first, deleted ones too. `versions`: at least those of
    /// [`Self::needs`]. `cursor`: the version after which this page begins. A cursor that is no version of this server
    /// gives an empty page.
    pub fn new(
        site: &Site,
        name: &ServerName,
        all: &[Outline],
        versions: &[Version],
        cursor: Option<&str>,
    ) -> Self {
        let path = format!("{}/versions", paths::server(name));
        let (pre, releases, from) = parts(all, cursor);
        let shown = rows(&releases[from..], versions, RELEASE_BYTES);
        let reached = from + shown.len();
        let last = (reached < releases.len() && reached > from).then(|| releases[reached - 1]);
        let next = last.map(|last| format!("{path}?cursor={}", paths::segment(last.version.as_str())));
        let first_page = cursor.is_none();
        let prereleases = if first_page {
            rows(&pre, versions, PRERELEASE_BYTES)
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

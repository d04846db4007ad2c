//! `/search?q=&cursor=`.

use askama::Template;
use serde::Serialize;
use toolmark_domain::record::ServerSummary;

use super::{Head, ServerRow, Site};
use crate::foreign::Foreign;
use crate::paths::segment;

#[derive(Debug, Serialize, Template)]
#[template(path = "search.html")]
pub struct SearchView {
    pub schema: &'static str,
    #[serde(skip)]
    pub head: Head,
    /// The words searched for; absent when nothing was found, so that an empty answer repeats nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<Foreign>,
    pub servers: Vec<ServerRow>,
    /// Path of the next page.
    pub next: Option<String>,
    /// Whether words were given at all; without them every server is listed.
    #[serde(skip)]
    pub asked: bool,
    /// Whether this is a page after the first.
    #[serde(skip)]
    pub later: bool,
}

impl SearchView {
    /// `cursor`: of this page, if it is not the first; `next`: of the page after this one.
    pub fn new(
        site: &Site,
        query: &str,
        found: &[ServerSummary],
        cursor: Option<&str>,
        next: Option<&str>,
    ) -> Self {
        let query = query.trim();
        let asked = !query.is_empty();
        let shown = (asked && !found.is_empty()).then(|| Foreign::line(query));
        let title = match &shown {
            Some(words) => format!("{} · search", words.plain()),
            None if asked => "nothing found".to_owned(),
            None => "all servers".to_owned(),
        };
        let mut head = Head::new(site, "/search".to_owned(), title);
        head.search_box = false;
        head.indexed = !asked && cursor.is_none();
        // The twin of this very answer; an empty one has none to link to, since the link would repeat the words.
        let empty = asked && shown.is_none();
        head.json = (!empty).then(|| format!("/search.json{}", parameters(query, cursor)));
        Self {
            schema: "toolmark.page.search/1",
            head,
            query: shown,
            servers: ServerRow::all(found),
            next: next.map(|next| format!("/search{}", parameters(query, Some(next)))),
            asked,
            later: cursor.is_some(),
        }
    }

    /// What stands in the search box.
    pub fn box_text(&self) -> &str {
        self.query.as_ref().map_or("", Foreign::raw)
    }
}

fn parameters(query: &str, cursor: Option<&str>) -> String {
    let mut parts = Vec::new();
    if !query.is_empty() {
        parts.push(format!("q={}", segment(query)));
    }
    if let Some(cursor) = cursor {
        parts.push(format!("cursor={}", segment(cursor)));
    }
    if parts.is_empty() {
        String::new()
    } else {
        format!("?{}", parts.join("&"))
    }
}

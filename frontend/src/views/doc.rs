//! `/docs` and below.

use askama::Template;
use serde::Serialize;

use super::{Head, Site};
use crate::docs;

/// A documentation page in the list of them.
#[derive(Clone, Debug, Serialize)]
pub struct DocEntry {
    pub title: &'static str,
    pub href: String,
    pub summary: &'static str,
    #[serde(skip)]
    pub here: bool,
}

#[derive(Debug, Serialize, Template)]
#[template(path = "doc.html")]
pub struct DocView {
    pub schema: &'static str,
    #[serde(skip)]
    pub head: Head,
    pub title: &'static str,
    /// The page as Markdown; also at its path plus `.md`.
    pub markdown: &'static str,
    pub pages: Vec<DocEntry>,
    /// Made by us from our own Markdown, raw HTML left out.
    #[serde(skip)]
    pub html: &'static str,
    #[serde(skip)]
    pub markdown_path: String,
}

impl DocView {
    /// The page `slug` (empty: the first page), or `None`.
    pub fn new(site: &Site, slug: &str) -> Option<Self> {
        let page = docs::page(slug)?;
        let path = docs::path(slug);
        let mut head = Head::new(site, path, page.title).with_twin();
        page.summary.clone_into(&mut head.description);
        Some(Self {
            schema: "toolmark.page.doc/1",
            head,
            title: page.title,
            markdown: page.markdown,
            pages: entries(slug),
            html: page.html(),
            markdown_path: docs::markdown_path(slug),
        })
    }
}

pub(crate) fn entries(here: &str) -> Vec<DocEntry> {
    let api = DocEntry {
        title: "API",
        href: "/docs/api".to_owned(),
        summary: "Every operation of our own API, from its OpenAPI description.",
        here: here == "api",
    };
    let written = docs::all().iter().map(|page| DocEntry {
        title: page.title,
        href: docs::path(page.slug),
        summary: page.summary,
        here: page.slug == here,
    });
    written.chain([api]).collect()
}

//! `/publishers/{namespace}`.

use askama::Template;
use serde::Serialize;
use toolmark_domain::record::ServerSummary;

use super::{Head, ServerRow, Site};
use crate::foreign::Foreign;
use crate::paths;

#[derive(Debug, Serialize, Template)]
#[template(path = "publisher.html")]
pub struct PublisherView {
    pub schema: &'static str,
    #[serde(skip)]
    pub head: Head,
    pub namespace: Foreign,
    /// How a namespace of this form is proved, in plain words.
    pub proof: String,
    pub servers: Vec<ServerRow>,
    pub next: Option<String>,
}

impl PublisherView {
    /// `servers`: of this namespace, by name; `next`: cursor of the page after this one.
    pub fn new(site: &Site, namespace: &str, servers: &[ServerSummary], next: Option<&str>) -> Self {
        let shown = Foreign::line(namespace);
        let path = paths::publisher(namespace);
        let mut head = Head::new(site, path.clone(), shown.plain()).with_twin();
        head.description = format!("MCP servers listed under the namespace {}.", shown.plain());
        Self {
            schema: "toolmark.page.publisher/1",
            head,
            proof: meaning(namespace),
            namespace: shown,
            servers: ServerRow::all(servers),
            next: next.map(|next| format!("{path}?cursor={}", paths::segment(next))),
        }
    }
}

/// What the form of a namespace says. It is a claim of the name's form only; nothing is checked here.
fn meaning(namespace: &str) -> String {
    let plain = Foreign::line(namespace).plain();
    if let Some(owner) = plain.strip_prefix("io.github.").filter(|owner| !owner.is_empty()) {
        return format!("By its form, this name belongs to the GitHub account “{owner}”.");
    }
    let parts: Vec<&str> = plain.split('.').collect();
    if parts.len() < 2 || parts.iter().any(|part| part.is_empty()) {
        return "This name has neither the form of a domain nor of a GitHub account.".to_owned();
    }
    let domain: Vec<&str> = parts.into_iter().rev().collect();
    format!(
        "By its form, this name belongs to whoever holds the domain “{}”.",
        domain.join(".")
    )
}

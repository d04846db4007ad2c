//! `/search`: a form, the tools and servers that fit, and counts to narrow them by.

use std::collections::BTreeMap;

use askama::Template;
use serde::Serialize;
use toolmark_domain::name::ServerName;
use toolmark_domain::record::ServerSummary;

use super::tools::tool_path;
use super::{Head, ServerRow, Site};
use crate::foreign::{Foreign, MarkedText};
use crate::paths::{self, segment};

/// What was asked.
#[derive(Clone, Debug, Default)]
pub struct SearchWords {
    /// As typed.
    pub query: String,
    /// Parameters that narrow the list, with their values.
    pub narrow: Vec<(String, String)>,
    /// Whether this is a page after the first.
    pub later: bool,
}

/// The tools of a page, with what is known of all that were found.
#[derive(Clone, Debug, Default)]
pub struct FoundTools {
    pub groups: Vec<ToolGroup>,
    pub total: usize,
    pub facets: Vec<FacetView>,
    /// Words that not every tool has.
    pub relaxed: Vec<String>,
    /// Words that were searched for in place of others.
    pub instead: Vec<(String, String)>,
    /// The event the index reflects.
    pub event: i64,
}

/// Tools of one server.
#[derive(Clone, Debug)]
pub struct ToolGroup {
    pub server: String,
    pub version: String,
    /// How many of its tools were found.
    pub found: usize,
    pub tools: Vec<ToolRowView>,
}

/// One tool of a list.
#[derive(Clone, Debug, Default)]
pub struct ToolRowView {
    pub id: String,
    pub name: String,
    pub title: Option<String>,
    pub summary: String,
    /// Character offsets of the words that were searched for.
    pub marks: Vec<[usize; 2]>,
    pub deprecated: bool,
    pub high_findings: usize,
    pub copies: usize,
    pub tokens: usize,
    /// On the origin of its server.
    pub verdict: Option<String>,
}

/// A group of values and how many tools have each.
#[derive(Clone, Debug)]
pub struct FacetView {
    pub name: &'static str,
    pub values: Vec<(&'static str, u32)>,
}

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
    pub tools: Vec<ServerTools>,
    /// Tools found; copies count.
    pub total: usize,
    pub facets: Vec<Choices>,
    /// Words of the query that not every tool of the list has.
    pub relaxed: Vec<Foreign>,
    /// Words that were searched for in place of others.
    pub instead: Vec<Instead>,
    /// The event the search index reflects.
    pub event: i64,
    /// Path of the next page.
    pub next: Option<String>,
    /// Whether the index is being built, so that tools are not searched yet.
    pub rebuilding: bool,
    /// Whether words or filters were given at all; without them every server is listed.
    #[serde(skip)]
    pub asked: bool,
    /// Whether this is a page after the first.
    #[serde(skip)]
    pub later: bool,
    /// Path of the list without the filters.
    #[serde(skip)]
    pub unnarrowed: Option<String>,
    /// Filters that have no choice among the counts, to be kept by the form.
    #[serde(skip)]
    pub kept: Vec<(String, Foreign)>,
}

/// Tools of one server, as shown.
#[derive(Debug, Serialize)]
pub struct ServerTools {
    pub server: Foreign,
    pub href: String,
    pub tools: Vec<ToolLine>,
    /// How many more of its tools were found.
    pub more: usize,
    /// Path of the list of all of them.
    pub all: String,
}

/// A tool, as shown.
#[derive(Debug, Serialize)]
pub struct ToolLine {
    pub id: Foreign,
    pub name: Foreign,
    pub title: Option<Foreign>,
    pub summary: MarkedText,
    /// Path of its page.
    pub href: String,
    /// On the origin of its server; none while it was not checked.
    pub verdict: Option<String>,
    pub deprecated: bool,
    pub high_findings: usize,
    /// Copies in other servers.
    pub copies: usize,
    /// What its definition costs a model, in tokens.
    pub tokens: usize,
}

/// A word and the one searched for in its place.
#[derive(Debug, Serialize)]
pub struct Instead {
    pub word: Foreign,
    pub searched: Foreign,
}

/// Values a list can be narrowed to.
#[derive(Debug, Serialize)]
pub struct Choices {
    pub name: &'static str,
    #[serde(skip)]
    pub label: &'static str,
    pub values: Vec<Choice>,
}

/// One value.
#[derive(Debug, Serialize)]
pub struct Choice {
    pub value: &'static str,
    pub count: u32,
    pub chosen: bool,
}

impl SearchView {
    /// `cursor`: of the page after this one.
    pub fn new(
        site: &Site,
        words: &SearchWords,
        servers: &[ServerSummary],
        found: &FoundTools,
        cursor: Option<String>,
    ) -> Self {
        let query = words.query.trim();
        let asked = !query.is_empty() || !words.narrow.is_empty();
        let empty = servers.is_empty() && found.groups.is_empty();
        let shown = (!query.is_empty() && !empty).then(|| Foreign::line(query));
        let title = match &shown {
            Some(words) => format!("{} · search", words.plain()),
            None if asked && empty => "nothing found".to_owned(),
            None if asked => "search".to_owned(),
            None => "all servers".to_owned(),
        };
        let mut head = Head::new(site, "/search".to_owned(), title);
        head.search_box = false;
        head.indexed = !asked && !words.later;
        // The twin of this very answer; an empty one has none to link to, since the link would repeat the words.
        let twin = || format!("/search.json{}", parameters(words, None));
        head.json = (!(words.later || asked && empty)).then(twin);
        let facets = choices(&found.facets, &words.narrow);
        let offered = |name: &str| facets.iter().any(|choices| choices.name == name);
        let kept = words.narrow.iter().filter(|(name, _)| !empty && !offered(name));
        let kept = kept
            .map(|(name, value)| (name.clone(), Foreign::line(value)))
            .collect();
        let unnarrowed = SearchWords {
            query: words.query.clone(),
            ..SearchWords::default()
        };
        Self {
            schema: "toolmark.page.search/1",
            head,
            query: shown,
            servers: ServerRow::all(servers),
            tools: found.groups.iter().map(|group| group.shown(words)).collect(),
            total: found.total,
            kept,
            facets,
            relaxed: found.relaxed.iter().map(|word| Foreign::line(word)).collect(),
            instead: found
                .instead
                .iter()
                .map(|(word, searched)| Instead {
                    word: Foreign::line(word),
                    searched: Foreign::line(searched),
                })
                .collect(),
            event: found.event,
            next: cursor.map(|cursor| format!("/search{}", parameters(words, Some(&cursor)))),
            rebuilding: false,
            asked,
            later: words.later,
            unnarrowed: (!words.narrow.is_empty() && !empty)
                .then(|| format!("/search{}", parameters(&unnarrowed, None))),
        }
    }

    /// The same, said to be made without the index.
    #[must_use]
    pub fn being_built(mut self) -> Self {
        self.rebuilding = true;
        self
    }

    /// What stands in the search box.
    pub fn box_text(&self) -> &str {
        self.query.as_ref().map_or("", Foreign::raw)
    }

    /// Whether there is anything to show.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty() && self.tools.is_empty()
    }
}

impl ToolGroup {
    /// Path of the page of the version.
    fn page(&self) -> Option<String> {
        let name = ServerName::parse(&self.server).ok()?;
        Some(paths::version(&name, &self.version))
    }

    fn shown(&self, words: &SearchWords) -> ServerTools {
        let (namespace, name) = self.server.split_once('/').unwrap_or((&self.server, ""));
        let mut narrow: BTreeMap<String, String> = words.narrow.iter().cloned().collect();
        narrow.insert("server".to_owned(), self.server.clone());
        let of_server = SearchWords {
            query: words.query.clone(),
            narrow: narrow.into_iter().collect(),
            later: false,
        };
        ServerTools {
            server: Foreign::line(&self.server),
            href: format!("/s/{}/{}", segment(namespace), segment(name)),
            tools: self.tools.iter().map(|tool| tool.shown(self)).collect(),
            more: self.found.saturating_sub(self.tools.len()),
            all: format!("/search{}", parameters(&of_server, None)),
        }
    }
}

impl ToolRowView {
    fn shown(&self, group: &ToolGroup) -> ToolLine {
        ToolLine {
            id: Foreign::line(&self.id),
            name: Foreign::line(&self.name),
            title: self
                .title
                .as_deref()
                .filter(|title| *title != self.name)
                .map(Foreign::line),
            summary: MarkedText::new(&self.summary, &self.marks),
            href: group.page().map_or_else(
                || format!("/search{}", parameters(&SearchWords::default(), None)),
                |base| tool_path(&base, &self.name),
            ),
            verdict: self.verdict.clone(),
            deprecated: self.deprecated,
            high_findings: self.high_findings,
            copies: self.copies,
            tokens: self.tokens,
        }
    }
}

fn choices(facets: &[FacetView], narrow: &[(String, String)]) -> Vec<Choices> {
    let chosen = |name: &str, value: &str| narrow.iter().any(|(n, v)| n == name && v == value);
    let each = facets.iter().map(|facet| Choices {
        name: facet.name,
        label: label(facet.name),
        values: facet
            .values
            .iter()
            .map(|(value, count)| Choice {
                value,
                count: *count,
                chosen: chosen(facet.name, value),
            })
            .collect(),
    });
    each.collect()
}

fn label(name: &str) -> &'static str {
    match name {
        "registry_type" => "Package kind",
        "transport" => "Transport",
        "era" => "Protocol era",
        "verdict" => "Origin",
        "read_only" => "Read-only (claimed)",
        "destructive" => "Destructive (claimed)",
        "output_schema" => "Output schema",
        "auth" => "Secret asked for",
        "severity" => "Gravest finding",
        "status" => "Status",
        _ => "Other",
    }
}

fn parameters(words: &SearchWords, cursor: Option<&str>) -> String {
    let mut parts = Vec::new();
    if !words.query.trim().is_empty() {
        parts.push(format!("q={}", segment(words.query.trim())));
    }
    for (name, value) in &words.narrow {
        parts.push(format!("{}={}", segment(name), segment(value)));
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

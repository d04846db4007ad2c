//! `/changes` and `/s/{namespace}/{name}/changes`: what changed between two looks, newest first.

use askama::Template;
use serde::Serialize;
use toolmark_domain::event::Severity;
use toolmark_domain::finding::Label;
use toolmark_domain::name::ServerName;
use toolmark_domain::record::Outline;
use toolmark_domain::timestamp::Timestamp;

use super::{Head, Moment, Site};
use crate::foreign::Foreign;
use crate::paths;

/// Releases and changes drawn on the timeline; the newest ones.
const DRAWN: usize = 120;
/// Width and height of the timeline, in its own units.
const WIDTH: i64 = 1000;
const HEIGHT: i64 = 96;
/// Tools named in a row.
const TOOLS: usize = 6;

/// A change, as the registry keeps it.
#[derive(Clone, Debug)]
pub struct Change {
    pub seq: i64,
    pub server: ServerName,
    pub at: Timestamp,
    pub line: String,
    pub from_version: String,
    pub to_version: String,
    pub label: Label,
    pub severity: Option<Severity>,
    pub backfill: bool,
    pub rules: Vec<String>,
    /// The gravest finding, in words.
    pub summary: Option<String>,
    pub tools: Vec<String>,
    pub finding_count: usize,
}

/// A change in a list.
#[derive(Clone, Debug, Serialize)]
pub struct ChangeRow {
    /// The number of its event.
    pub event: i64,
    pub server: ServerName,
    pub server_href: String,
    pub at: Moment,
    pub target: Foreign,
    pub from_version: Foreign,
    pub to_version: Foreign,
    pub to_href: String,
    /// The page that compares the two versions; none where one version changed under its own number.
    pub diff_href: Option<String>,
    pub label: Label,
    pub severity: Option<Severity>,
    /// A step of the past that was seen late.
    pub backfill: bool,
    pub rules: Vec<Foreign>,
    pub summary: Option<Foreign>,
    pub tools: Vec<Foreign>,
    pub more_tools: usize,
    pub finding_count: usize,
}

impl ChangeRow {
    pub(crate) fn new(change: &Change) -> Self {
        let server_href = paths::server(&change.server);
        let other = change.from_version != change.to_version;
        let diff = || {
            let ends = [&change.from_version, &change.to_version].map(|version| paths::segment(version));
            format!("{server_href}/diff/{}...{}", ends[0], ends[1])
        };
        Self {
            event: change.seq,
            at: Moment(change.at),
            target: Foreign::line(&change.line),
            from_version: Foreign::line(&change.from_version),
            to_version: Foreign::line(&change.to_version),
            to_href: paths::version(&change.server, &change.to_version),
            diff_href: other.then(diff),
            label: change.label,
            severity: change.severity,
            backfill: change.backfill,
            rules: change
                .rules
                .iter()
                .take(TOOLS * 2)
                .map(|rule| Foreign::line(rule))
                .collect(),
            summary: change.summary.as_deref().map(Foreign::line),
            tools: change
                .tools
                .iter()
                .take(TOOLS)
                .map(|tool| Foreign::line(tool))
                .collect(),
            more_tools: change.tools.len().saturating_sub(TOOLS),
            finding_count: change.finding_count,
            server: change.server.clone(),
            server_href,
        }
    }

    /// The severity's word; a step without findings has none.
    pub fn severity_word(&self) -> &'static str {
        self.severity.map_or("info", Severity::as_str)
    }

    /// Whether one version changed under its own number.
    pub fn under_one_version(&self) -> bool {
        self.diff_href.is_none()
    }
}

/// A mark on the timeline.
#[derive(Clone, Debug, Serialize)]
pub struct Mark {
    /// `release` or the word of a severity.
    pub kind: &'static str,
    pub x: i64,
    pub title: String,
}

/// Releases below, changes above, on one axis of time.
#[derive(Clone, Debug, Serialize)]
pub struct Timeline {
    pub from: Moment,
    pub to: Moment,
    pub releases: Vec<Mark>,
    pub changes: Vec<Mark>,
    /// In words, for those who do not see it.
    pub says: String,
}

impl Timeline {
    fn new(versions: &[Outline], changes: &[Change]) -> Option<Self> {
        let mut sorted: Vec<&Outline> = versions.iter().collect();
        sorted.sort_by_key(|version| std::cmp::Reverse(version.published_at));
        sorted.truncate(DRAWN);
        let changes = &changes[..changes.len().min(DRAWN)];
        let times = sorted.iter().map(|version| version.published_at);
        let times: Vec<Timestamp> = times.chain(changes.iter().map(|change| change.at)).collect();
        let (from, to) = (*times.iter().min()?, *times.iter().max()?);
        if from == to {
            return None;
        }
        let span = to.as_micros() - from.as_micros();
        // A margin on both sides, so that the first and the last mark are whole.
        let x = |at: Timestamp| 16 + (at.as_micros() - from.as_micros()) / (span / (WIDTH - 32)).max(1);
        let releases = sorted.iter().map(|version| Mark {
            kind: "release",
            x: x(version.published_at),
            title: format!(
                "{}, {}",
                Foreign::line(version.version.as_str()).plain(),
                Moment(version.published_at).day()
            ),
        });
        let steps = changes.iter().map(|change| Mark {
            kind: change.severity.map_or("info", Severity::as_str),
            x: x(change.at),
            title: format!(
                "{} → {}: {}, {}",
                Foreign::line(&change.from_version).plain(),
                Foreign::line(&change.to_version).plain(),
                change.label.as_str(),
                Moment(change.at).day()
            ),
        });
        let grave = changes
            .iter()
            .filter(|change| change.severity >= Some(Severity::High))
            .count();
        Some(Self {
            from: Moment(from),
            to: Moment(to),
            says: format!(
                "{} releases and {} changes from {} to {}, {grave} of them high or critical",
                sorted.len(),
                changes.len(),
                Moment(from).day(),
                Moment(to).day()
            ),
            releases: releases.collect(),
            changes: steps.collect(),
        })
    }

    pub fn width(&self) -> i64 {
        WIDTH
    }

    pub fn height(&self) -> i64 {
        HEIGHT
    }
}

#[derive(Debug, Serialize, Template)]
#[template(path = "changes.html")]
pub struct ChangesView {
    pub schema: &'static str,
    #[serde(skip)]
    pub head: Head,
    /// None: of all servers.
    pub server: Option<ServerName>,
    #[serde(skip)]
    pub server_href: Option<String>,
    pub timeline: Option<Timeline>,
    pub changes: Vec<ChangeRow>,
    /// The least severity shown, when it is filtered.
    pub least: Option<Severity>,
    #[serde(skip)]
    pub base: String,
    /// Path of the next page.
    pub next: Option<String>,
    #[serde(skip)]
    pub later: bool,
}

impl ChangesView {
    /// Of everything. `more`: whether there are older ones. `before`: the number this page begins below.
    pub fn of_all(
        site: &Site,
        changes: &[Change],
        least: Option<Severity>,
        more: bool,
        before: Option<i64>,
    ) -> Self {
        let mut head = Head::new(site, "/changes".to_owned(), "changes");
        "What MCP servers changed in what they declare, as Toolmark saw it, newest first."
            .clone_into(&mut head.description);
        Self::new(head, None, changes, least, more, before)
    }

    /// Of one server.
    pub fn of_server(
        site: &Site,
        name: &ServerName,
        versions: &[Outline],
        changes: &[Change],
        more: bool,
        before: Option<i64>,
    ) -> Self {
        let path = format!("{}/changes", paths::server(name));
        let mut head = Head::new(site, path, format!("changes of {name}"));
        head.description = format!("What the MCP server {name} changed in what it declares, newest first.");
        let mut view = Self::new(head, Some(name), changes, None, more, before);
        if before.is_none() {
            view.timeline = Timeline::new(versions, changes);
        }
        view
    }

    fn new(
        mut head: Head,
        server: Option<&ServerName>,
        changes: &[Change],
        least: Option<Severity>,
        more: bool,
        before: Option<i64>,
    ) -> Self {
        head.indexed = before.is_none();
        let filter = least.map_or(String::new(), |least| format!("severity={}&", least.as_str()));
        let oldest = changes.last().filter(|_| more);
        Self {
            schema: "toolmark.page.changes/1",
            next: oldest.map(|oldest| format!("{}?{filter}cursor={}", head.path, oldest.seq)),
            base: head.path.clone(),
            head,
            server: server.cloned(),
            server_href: server.map(paths::server),
            timeline: None,
            changes: changes.iter().map(ChangeRow::new).collect(),
            least,
            later: before.is_some(),
        }
    }

    /// Every severity, for the filter.
    pub fn severities(&self) -> [Severity; 5] {
        Severity::ALL
    }

    /// Whether it is the one that is filtered by.
    pub fn chosen(&self, severity: &Severity) -> bool {
        self.least == Some(*severity)
    }
}

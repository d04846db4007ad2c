//! `/s/{namespace}/{name}/diff/{from}...{to}`: what changed between two versions, with every finding.

use askama::Template;
use serde::Serialize;
use serde_json::Value;
use toolmark_domain::diff::Diff;
use toolmark_domain::digest::Digest;
use toolmark_domain::finding::{Finding, Label, Severity};
use toolmark_domain::name::ServerName;
use toolmark_domain::timestamp::Timestamp;

use super::{Head, Moment, Site};
use crate::foreign::{Excerpt, Foreign};
use crate::paths;

/// Findings shown on the page; all are in its twin.
const SHOWN: usize = 200;

/// One side of the comparison.
#[derive(Clone, Debug)]
pub struct Side {
    pub version: String,
    pub target: String,
    pub observed_at: Timestamp,
    pub manifest: Option<Digest>,
}

/// One side, as it is shown.
#[derive(Clone, Debug, Serialize)]
pub struct SideRow {
    pub version: Foreign,
    pub href: String,
    pub target: Foreign,
    pub observed_at: Moment,
    pub manifest: Option<Digest>,
}

/// One finding, as it is shown.
#[derive(Clone, Debug)]
pub struct StepRow {
    pub rule: &'static str,
    pub severity: Severity,
    pub effect: Label,
    pub kind: &'static str,
    pub key: Option<Foreign>,
    pub pointer: Foreign,
    pub summary: Foreign,
    pub before: Option<Excerpt>,
    pub after: Option<Excerpt>,
}

impl StepRow {
    fn new(finding: &Finding) -> Self {
        let side = |value: &Option<Value>| {
            value.as_ref().map(|value| match value {
                Value::String(text) => Excerpt::new(text),
                other => Excerpt::new(&other.to_string()),
            })
        };
        Self {
            rule: finding.rule,
            severity: finding.severity,
            effect: finding.effect,
            kind: finding.kind.as_str(),
            key: finding.key.as_deref().map(Foreign::line),
            pointer: Foreign::line(&finding.pointer),
            summary: Foreign::line(&finding.summary),
            before: side(&finding.before),
            after: side(&finding.after),
        }
    }
}

#[derive(Debug, Serialize, Template)]
#[template(path = "diff.html")]
pub struct DiffView {
    pub schema: &'static str,
    #[serde(skip)]
    pub head: Head,
    pub server: ServerName,
    #[serde(skip)]
    pub server_href: String,
    pub from: SideRow,
    pub to: SideRow,
    /// The comparison as `toolmark diff` prints it.
    pub diff: Diff,
    #[serde(skip)]
    pub rows: Vec<StepRow>,
    #[serde(skip)]
    pub more: usize,
    #[serde(skip)]
    pub path: String,
}

impl DiffView {
    pub fn new(site: &Site, server: &ServerName, from: &Side, to: &Side, diff: Diff) -> Self {
        let path = format!(
            "{}/diff/{}...{}",
            paths::server(server),
            paths::segment(&from.version),
            paths::segment(&to.version)
        );
        let title = format!("{server} {} to {}", from.version, to.version);
        let mut head = Head::new(site, path.clone(), Foreign::line(&title).plain());
        head.json = Some(format!("{path}.json"));
        head.indexed = false;
        let row = |side: &Side| SideRow {
            version: Foreign::line(&side.version),
            href: paths::version(server, &side.version),
            target: Foreign::line(&side.target),
            observed_at: Moment(side.observed_at),
            manifest: side.manifest,
        };
        Self {
            schema: "toolmark.page.diff/1",
            head,
            server: server.clone(),
            server_href: paths::server(server),
            from: row(from),
            to: row(to),
            rows: diff.findings.iter().take(SHOWN).map(StepRow::new).collect(),
            more: diff.findings.len().saturating_sub(SHOWN),
            diff,
            path,
        }
    }
}

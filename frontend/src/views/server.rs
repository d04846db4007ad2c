//! `/s/{namespace}/{name}` (its current version) and `/s/{namespace}/{name}/{version}`.

use askama::Template;
use serde::Serialize;
use serde_json::Value;
use toolmark_domain::document::Document;
use toolmark_domain::limits::SHOWN_FINDINGS;
use toolmark_domain::name::ServerName;
use toolmark_domain::provenance::Verdict;
use toolmark_domain::record::{Origin, Outline, Version};
use toolmark_domain::status::Status;
use toolmark_domain::timestamp::Timestamp;
use toolmark_domain::version::{VersionId, is_prerelease};

use super::rows::{dated, newest_first, vouched};
use super::targets::{count, shown};
use super::{Declared, Head, Look, LookRow, Moment, PackageRow, RemoteRow, Site, ToolsPart, VersionRow};
use crate::foreign::{Excerpt, Foreign};
use crate::links::Link;
use crate::paths;

/// Versions shown beside a server; all are on their own page.
const NEWEST: usize = 5;

/// Bytes of findings on the page; they repeat keys of the document.
const FINDING_BYTES: usize = 8 * 1024;

/// The status of the shown version, in words.
#[derive(Clone, Debug, Serialize)]
pub struct StatusLine {
    pub status: Status,
    pub changed_at: Moment,
    /// What whoever changed it gave as the reason.
    pub message: Option<Excerpt>,
}

/// A check that was not made yet.
#[derive(Clone, Debug, Serialize)]
pub struct Unchecked {
    /// `not yet verified`, `not yet observed`.
    pub state: &'static str,
    pub means: &'static str,
}

const NOT_VERIFIED: Trust = Trust {
    kind: "unchecked",
    checked_at: None,
    href: None,
    state: "not yet verified",
    means: "Toolmark has not looked for signed build evidence of this version, so it cannot say who built it. \
                        Once it has, this place names the repository, the workflow and the commit, and the day they were checked.",
};

const NOT_OBSERVED: Unchecked = Unchecked {
    state: "not yet observed",
    means: "Toolmark has not run or asked this version, so it does not know which tools it offers. \
                        Once it has, this place lists them as the server itself declares them, with the day they were seen.",
};

const NOT_SEEN: Unchecked = Unchecked {
    state: "not observed",
    means: "Toolmark looked, and could not see what this version offers; below stands how each look ended.",
};

/// What is said of who built it.
#[derive(Clone, Debug, Serialize)]
pub struct Trust {
    /// The word of the verdict, or `unchecked`.
    pub kind: &'static str,
    pub checked_at: Option<Moment>,
    /// The page that has all of it.
    pub href: Option<String>,
    pub state: &'static str,
    pub means: &'static str,
}

/// What the validator said of the document.
#[derive(Clone, Debug, Serialize)]
pub struct FormFinding {
    /// `error`, `warning` or `info`.
    pub severity: &'static str,
    /// As in the official contract: `packages[0].transport.url`.
    pub path: Foreign,
    pub message: Foreign,
}

impl FormFinding {
    pub fn new(severity: &'static str, path: &str, message: &str) -> Self {
        Self {
            severity,
            path: Foreign::line(path),
            message: Foreign::line(message),
        }
    }
}

#[derive(Debug, Serialize, Template)]
#[template(path = "server.html")]
pub struct ServerView {
    pub schema: &'static str,
    #[serde(skip)]
    pub head: Head,
    pub name: ServerName,
    pub title: Foreign,
    pub description: Option<Excerpt>,
    pub version: Foreign,
    /// Whether this is the version people and agents should see.
    pub current: bool,
    pub origin: Origin,
    pub vouched: &'static str,
    pub status: StatusLine,
    pub published_at: Moment,
    pub updated_at: Moment,
    /// The current version, when this page shows another.
    pub current_version: Option<VersionRow>,
    /// The newest prerelease, when it is later than the current version.
    pub prerelease: Option<VersionRow>,
    pub packages: Vec<PackageRow>,
    pub package_count: usize,
    pub remotes: Vec<RemoteRow>,
    pub remote_count: usize,
    pub links: Vec<Link>,
    pub provenance: Trust,
    /// What is said of tools while nothing was observed.
    pub unobserved: Option<Unchecked>,
    /// What it declares, once it was observed.
    pub declared: Option<ToolsPart>,
    /// How the last look at each target ended.
    pub looks: Vec<LookRow>,
    /// Whether the validator found no error when the document was stored.
    pub valid: bool,
    pub findings: Vec<FormFinding>,
    /// How many findings there are, when more than are shown.
    pub finding_count: usize,
    /// The newest versions; all are at `versions_href`.
    pub versions: Vec<VersionRow>,
    pub version_count: usize,
    /// SHA-256 of the bytes as received.
    pub sha256: String,
    /// The document as the official contract serves it.
    pub document_href: String,
    pub versions_href: String,
    pub publisher_href: String,
    #[serde(skip)]
    pub server_href: String,
}

impl ServerView {
    /// What `published_at` is the time of.
    pub(crate) fn dated(&self) -> &'static str {
        dated(self.origin)
    }

    /// The versions whose documents the page of `shown` needs: itself, the current one, the newest prerelease and the
    /// newest ones. `all`: every version of the server, the greatest first.
    pub fn needs(shown: &VersionId, all: &[Outline]) -> Vec<VersionId> {
        let current = all.iter().find(|outline| outline.is_current);
        let pre = all
            .iter()
            .find(|outline| outline.status == Status::Active && outline.is_prerelease());
        let listed = all.iter().filter(|outline| outline.status != Status::Deleted);
        let chosen = current.into_iter().chain(pre).chain(listed.take(NEWEST));
        let mut needed = vec![shown.clone()];
        for outline in chosen {
            if !needed.contains(&outline.version) {
                needed.push(outline.version.clone());
            }
        }
        needed
    }

    /// The page of the server: `shown` is its current version; `all` holds at least what it [needs](Self::needs), and
    /// [`Self::with_version_count`] says how many there are.
    pub fn of_server(site: &Site, shown: &Version, all: &[Version]) -> Self {
        Self::new(site, shown, all, paths::server(&shown.server))
    }

    /// The page of one version.
    pub fn of_version(site: &Site, shown: &Version, all: &[Version]) -> Self {
        Self::new(
            site,
            shown,
            all,
            paths::version(&shown.server, shown.version.as_str()),
        )
    }

    /// `all`: versions of the server, in any order.
    fn new(site: &Site, version: &Version, all: &[Version], path: String) -> Self {
        let document: Value = serde_json::from_str(&version.document).unwrap_or(Value::Null);
        let facts = Document::read(&document);
        let name = version.server.clone();
        let title = Foreign::line(
            facts
                .title
                .as_deref()
                .filter(|t| !t.trim().is_empty())
                .unwrap_or(name.local()),
        );
        let (current, prerelease) = offered(version, all);
        let mut sorted: Vec<&Version> = all.iter().filter(|v| v.status != Status::Deleted).collect();
        newest_first(&mut sorted);
        Self {
            schema: "toolmark.page.server/1",
            head: head(site, path, version, &title, &facts),
            description: facts
                .description
                .as_deref()
                .filter(|d| !d.is_empty())
                .map(Excerpt::new),
            version: Foreign::line(version.version.as_str()),
            current: version.is_current,
            origin: version.origin,
            vouched: vouched(version.origin),
            status: StatusLine {
                status: version.status,
                changed_at: Moment(version.status_changed_at),
                message: version.status_message.as_deref().map(Excerpt::new),
            },
            published_at: Moment(version.published_at),
            updated_at: Moment(version.updated_at),
            current_version: current.map(VersionRow::new),
            prerelease: prerelease.map(VersionRow::new),
            packages: packages(name.local(), &document),
            package_count: count(&document, "packages"),
            remotes: remotes(name.local(), &document),
            remote_count: count(&document, "remotes"),
            links: links(&facts),
            provenance: NOT_VERIFIED,
            unobserved: Some(NOT_OBSERVED),
            declared: None,
            looks: Vec::new(),
            valid: version.valid,
            findings: Vec::new(),
            finding_count: 0,
            versions: sorted.iter().take(NEWEST).map(|v| VersionRow::new(v)).collect(),
            version_count: all.len(),
            sha256: version.digest.to_string(),
            document_href: document_href(version),
            versions_href: format!("{}/versions", paths::server(&name)),
            publisher_href: paths::publisher(name.namespace()),
            server_href: paths::server(&name),
            title,
            name,
        }
    }

    /// Adds what is known of who built its packages: the gravest verdict of those that could tell.
    #[must_use]
    pub fn with_verdict(mut self, verdict: Option<(Verdict, Timestamp)>) -> Self {
        if let Some((verdict, at)) = verdict {
            let base = paths::version(&self.name, self.version.raw());
            self.provenance = Trust {
                kind: verdict.as_str(),
                checked_at: Some(Moment(at)),
                href: Some(format!("{base}/provenance")),
                state: match verdict {
                    Verdict::Unsigned => "no provenance published",
                    other => other.as_str(),
                },
                means: verdict.meaning(),
            };
        }
        self
    }

    /// Says how many versions the server has.
    #[must_use]
    pub fn with_version_count(mut self, count: usize) -> Self {
        self.version_count = count;
        self
    }

    /// Adds how the last looks ended, and what was seen.
    #[must_use]
    pub fn with_looks(mut self, looks: &[Look], declared: Option<&Declared>) -> Self {
        let base = paths::version(&self.name, self.version.raw());
        self.looks = looks.iter().map(LookRow::new).collect();
        self.declared = declared.map(|declared| ToolsPart::new(&base, declared));
        self.unobserved = match (&self.declared, looks.first()) {
            (Some(_), _) => None,
            (None, Some(_)) => Some(NOT_SEEN),
            (None, None) => Some(NOT_OBSERVED),
        };
        self
    }

    /// Adds what the validator says of the document.
    #[must_use]
    pub fn with_findings(mut self, mut findings: Vec<FormFinding>) -> Self {
        self.finding_count = findings.len();
        let mut left = FINDING_BYTES;
        let fitting = findings.iter().take_while(|finding| {
            let size = finding.path.raw().len() + finding.message.raw().len();
            let fits = size <= left;
            left = left.saturating_sub(size);
            fits
        });
        let shown = fitting.count().min(SHOWN_FINDINGS);
        findings.truncate(shown);
        self.findings = findings;
        self
    }

    /// Whether there is a block to install from.
    pub fn installable(&self) -> bool {
        !self.packages.is_empty() || !self.remotes.is_empty()
    }
}

fn packages(local: &str, document: &Value) -> Vec<PackageRow> {
    let entries = shown(document, "packages").into_iter();
    entries.map(|entry| PackageRow::new(local, entry)).collect()
}

fn remotes(local: &str, document: &Value) -> Vec<RemoteRow> {
    let entries = shown(document, "remotes").into_iter();
    entries.map(|entry| RemoteRow::new(local, entry)).collect()
}

fn document_href(version: &Version) -> String {
    let path = paths::official(&version.server, version.version.as_str());
    if version.status == Status::Deleted {
        format!("{path}?include_deleted=true")
    } else {
        path
    }
}

fn head(site: &Site, path: String, version: &Version, title: &Foreign, facts: &Document) -> Head {
    let named = format!(
        "{} {} · {}",
        title.plain(),
        Foreign::line(version.version.as_str()).plain(),
        version.server
    );
    let mut head = Head::new(site, path, named).with_twin();
    let description = Excerpt::short(facts.description.as_deref().unwrap_or_default())
        .text
        .plain();
    if !description.is_empty() {
        head.description = description;
    }
    head.indexed = version.status != Status::Deleted;
    head
}

/// The current version, if another is shown, and the newest prerelease, if it is later than the current one.
fn offered<'a>(shown: &Version, all: &'a [Version]) -> (Option<&'a Version>, Option<&'a Version>) {
    let current = all.iter().find(|version| version.is_current);
    let mut pre: Vec<&Version> = all
        .iter()
        .filter(|version| version.status == Status::Active && is_prerelease(version.version.as_str()))
        .collect();
    newest_first(&mut pre);
    let later = pre.first().copied().filter(|pre| {
        current.is_some_and(|current| {
            toolmark_domain::version::compare(
                (pre.version.as_str(), pre.published_at),
                (current.version.as_str(), current.published_at),
            )
            .is_gt()
        })
    });
    let differs = |version: &&Version| version.version != shown.version;
    (current.filter(differs), later.filter(differs))
}

fn links(facts: &Document) -> Vec<Link> {
    let repository = facts
        .repository_url
        .as_deref()
        .map(|url| Link::new("repository", url));
    let website = facts.website_url.as_deref().map(|url| Link::new("website", url));
    repository
        .into_iter()
        .chain(website)
        .filter(|link| !link.url.raw().is_empty())
        .collect()
}

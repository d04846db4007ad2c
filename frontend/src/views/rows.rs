//! Rows that several pages share.

use serde::Serialize;
use toolmark_domain::document::Document;
use toolmark_domain::name::ServerName;
use toolmark_domain::record::{Origin, ServerSummary, Version};
use toolmark_domain::status::Status;
use toolmark_domain::timestamp::Timestamp;
use toolmark_domain::version::is_prerelease;

use crate::foreign::{Excerpt, Foreign};
use crate::paths;

/// A moment: the exact time for machines, the day for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Moment(pub Timestamp);

impl Moment {
    /// RFC 3339, for `datetime`.
    pub fn exact(&self) -> String {
        self.0.to_string()
    }

    /// `2025-09-10`.
    pub fn day(&self) -> String {
        self.0.to_string().chars().take(10).collect()
    }

    /// `2025-09-10 13:57 UTC`.
    pub fn minute(&self) -> String {
        let text = self.0.to_string();
        let time: String = text.chars().skip(11).take(5).collect();
        format!("{} {time} UTC", self.day())
    }
}

/// What the time of publication of a version is the time of: for our own listing it is not its publisher's act.
pub(crate) fn dated(origin: Origin) -> &'static str {
    match origin {
        Origin::Published | Origin::Imported => "Published",
        Origin::Listed => "Listed here",
    }
}

/// Who vouches that a version is listed, in one sentence.
pub fn vouched(origin: Origin) -> &'static str {
    match origin {
        Origin::Published => "Its publisher, here, with a token for this name.",
        Origin::Imported => "Another registry it was imported from; its publisher did not publish it here.",
        Origin::Listed => "Toolmark, which listed it from public coordinates; not its publisher.",
    }
}

/// The same in two or three words, for rows.
pub(crate) fn vouched_short(origin: Origin) -> &'static str {
    match origin {
        Origin::Published => "published here",
        Origin::Imported => "imported",
        Origin::Listed => "listed by Toolmark",
    }
}

/// A server in a list.
#[derive(Clone, Debug, Serialize)]
pub struct ServerRow {
    pub name: ServerName,
    pub href: String,
    pub title: Option<Foreign>,
    pub description: Option<Excerpt>,
    pub version: Foreign,
    pub status: Status,
    pub origin: Origin,
    pub updated_at: Moment,
    pub registry_types: Vec<Foreign>,
    pub remote_transports: Vec<Foreign>,
}

/// Kinds shown in a row of a list; a server has one or two.
const KINDS_IN_ROW: usize = 6;

impl ServerRow {
    pub(crate) fn new(summary: &ServerSummary) -> Self {
        let words = |list: &[String]| {
            list.iter()
                .take(KINDS_IN_ROW)
                .map(|word| Foreign::line(word))
                .collect()
        };
        Self {
            name: summary.name.clone(),
            href: paths::server(&summary.name),
            title: summary.title.as_deref().map(Foreign::line),
            description: summary.description.as_deref().map(Excerpt::short),
            version: Foreign::line(summary.version.as_str()),
            status: summary.status,
            origin: summary.origin,
            updated_at: Moment(summary.updated_at),
            registry_types: words(&summary.registry_types),
            remote_transports: words(&summary.remote_transports),
        }
    }

    pub(crate) fn all(summaries: &[ServerSummary]) -> Vec<Self> {
        summaries.iter().map(Self::new).collect()
    }

    /// Who vouches, in two or three words.
    pub fn vouched(&self) -> &'static str {
        vouched_short(self.origin)
    }
}

/// A version in a list of one server's versions.
#[derive(Clone, Debug, Serialize)]
pub struct VersionRow {
    pub version: Foreign,
    pub href: String,
    pub status: Status,
    pub status_message: Option<Excerpt>,
    pub current: bool,
    pub prerelease: bool,
    pub origin: Origin,
    pub valid: bool,
    pub published_at: Moment,
    pub registry_types: Vec<Foreign>,
    pub remote_count: usize,
}

impl VersionRow {
    pub(crate) fn new(version: &Version) -> Self {
        let document = read(version);
        let mut types: Vec<&str> = Vec::new();
        for package in &document.packages {
            if !types.contains(&package.registry_type.as_str()) && types.len() < KINDS_IN_ROW {
                types.push(&package.registry_type);
            }
        }
        Self {
            version: Foreign::line(version.version.as_str()),
            href: paths::version(&version.server, version.version.as_str()),
            status: version.status,
            status_message: version.status_message.as_deref().map(Excerpt::remark),
            current: version.is_current,
            prerelease: is_prerelease(version.version.as_str()),
            origin: version.origin,
            valid: version.valid,
            published_at: Moment(version.published_at),
            registry_types: types.into_iter().map(Foreign::line).collect(),
            remote_count: document.remotes.len(),
        }
    }

    /// Bytes of foreign text in the row; the version stands in its link too, encoded.
    pub(crate) fn foreign_bytes(&self) -> usize {
        self.version.raw().len()
            + self.href.len()
            + self.status_message.as_ref().map_or(0, |m| m.text.raw().len())
    }

    /// Who vouches, in two or three words.
    pub fn vouched(&self) -> &'static str {
        vouched_short(self.origin)
    }

    /// Whether the version string is empty, so that a link needs a word of ours.
    pub fn unnamed(&self) -> bool {
        self.version.raw().trim().is_empty()
    }
}

/// Reads the stored document; an unreadable one is an empty one, the raw link still shows it.
pub(crate) fn read(version: &Version) -> Document {
    serde_json::from_str(&version.document)
        .map_or_else(|_| Document::default(), |value| Document::read(&value))
}

/// Newest first by the order of versions.
pub(crate) fn newest_first(versions: &mut [&Version]) {
    versions.sort_by(|a, b| {
        toolmark_domain::version::compare(
            (b.version.as_str(), b.published_at),
            (a.version.as_str(), a.published_at),
        )
        .then_with(|| b.published_at.cmp(&a.published_at))
        .then_with(|| b.version.cmp(&a.version))
    });
}

//! What `/api/v1` says, as types: they are serialised into answers and described in the OpenAPI document.

use serde::Serialize;
use serde_json::value::RawValue;
use toolmark_domain::record::{Origin, ServerSummary, Stats, Version};
use toolmark_domain::status::Status;
use utoipa::ToSchema;

/// A server, by its current version.
#[derive(Serialize, ToSchema)]
#[schema(as = ServerSummary)]
pub(crate) struct Summary {
    /// `namespace/name`.
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) description: Option<String>,
    /// The current version: the greatest stable active one, else the greatest.
    pub(crate) version: String,
    pub(crate) status: StatusWord,
    pub(crate) origin: OriginWord,
    #[schema(format = DateTime)]
    pub(crate) published_at: String,
    #[schema(format = DateTime)]
    pub(crate) updated_at: String,
    /// Of its packages: `npm`, `pypi`, `oci`, …
    pub(crate) registry_types: Vec<String>,
    /// Of its remotes: `streamable-http`, `sse`, …
    pub(crate) remote_transports: Vec<String>,
}

impl From<ServerSummary> for Summary {
    fn from(summary: ServerSummary) -> Self {
        Self {
            name: summary.name.to_string(),
            title: summary.title,
            description: summary.description,
            version: summary.version.to_string(),
            status: summary.status.into(),
            origin: summary.origin.into(),
            published_at: summary.published_at.to_string(),
            updated_at: summary.updated_at.to_string(),
            registry_types: summary.registry_types,
            remote_transports: summary.remote_transports,
        }
    }
}

/// The status its publisher gave it.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[schema(as = Status)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StatusWord {
    Active,
    Deprecated,
    Deleted,
}

impl From<Status> for StatusWord {
    fn from(status: Status) -> Self {
        match status {
            Status::Active => Self::Active,
            Status::Deprecated => Self::Deprecated,
            Status::Deleted => Self::Deleted,
        }
    }
}

/// Who vouches for the listing: its publisher, another registry, or Toolmark.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[schema(as = Origin)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OriginWord {
    Published,
    Imported,
    Listed,
}

impl From<Origin> for OriginWord {
    fn from(origin: Origin) -> Self {
        match origin {
            Origin::Published => Self::Published,
            Origin::Imported => Self::Imported,
            Origin::Listed => Self::Listed,
        }
    }
}

/// One version, without its document.
#[derive(Serialize, ToSchema)]
#[schema(as = VersionSummary)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own in the answer"
)]
pub(crate) struct VersionFacts {
    /// As published; may be no semantic version.
    pub(crate) version: String,
    pub(crate) status: StatusWord,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) status_message: Option<String>,
    #[schema(format = DateTime)]
    pub(crate) status_changed_at: String,
    #[schema(format = DateTime)]
    pub(crate) published_at: String,
    #[schema(format = DateTime)]
    pub(crate) updated_at: String,
    /// The one to use.
    pub(crate) current: bool,
    /// What the official registry's contract calls the latest.
    pub(crate) latest: bool,
    /// A semantic version with a prerelease part.
    pub(crate) prerelease: bool,
    pub(crate) origin: OriginWord,
    /// Whether the validator found no error when the document was stored.
    pub(crate) valid: bool,
    /// SHA-256 of the document's bytes as received, lower-case hex.
    pub(crate) sha256: String,
}

impl From<&Version> for VersionFacts {
    fn from(version: &Version) -> Self {
        Self {
            version: version.version.to_string(),
            status: version.status.into(),
            status_message: version.status_message.clone(),
            status_changed_at: version.status_changed_at.to_string(),
            published_at: version.published_at.to_string(),
            updated_at: version.updated_at.to_string(),
            current: version.is_current,
            latest: version.is_latest,
            prerelease: toolmark_domain::version::is_prerelease(version.version.as_str()),
            origin: version.origin.into(),
            valid: version.valid,
            sha256: version.digest.to_string(),
        }
    }
}

/// One version with its document.
#[derive(Serialize, ToSchema)]
#[schema(as = Version)]
pub(crate) struct WholeVersion {
    /// `namespace/name`.
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) facts: VersionFacts,
    /// The `server.json` as served by the official contract; its bytes as received are one level down, at `document`.
    #[schema(value_type = Object)]
    pub(crate) document: Box<RawValue>,
}

impl WholeVersion {
    pub(crate) fn new(version: &Version) -> Result<Self, serde_json::Error> {
        Ok(Self {
            name: version.server.to_string(),
            facts: version.into(),
            document: RawValue::from_string(version.document.clone())?,
        })
    }
}

/// A page of servers.
#[derive(Serialize, ToSchema)]
pub(crate) struct ServerPage {
    /// By name.
    pub(crate) servers: Vec<Summary>,
    /// For the page after this one; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) next_cursor: Option<String>,
}

/// A page of a server's versions.
#[derive(Serialize, ToSchema)]
pub(crate) struct VersionPage {
    /// `namespace/name`.
    pub(crate) name: String,
    /// The greatest first: semantic versions by precedence, before all others, those by time of publication.
    pub(crate) versions: Vec<VersionFacts>,
    /// For the page after this one; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) next_cursor: Option<String>,
}

/// A part of the feed.
#[derive(Serialize, ToSchema)]
pub(crate) struct EventPage {
    /// In order, without gaps. After a takedown an event keeps only `schema`, `seq` and `blanked`.
    #[schema(value_type = Vec<Object>)]
    pub(crate) events: Vec<serde_json::Value>,
    /// Give this as `after` next time.
    pub(crate) last: i64,
    /// The newest event number.
    pub(crate) head: i64,
}

/// How many of something.
#[derive(Serialize, ToSchema)]
pub(crate) struct Count {
    pub(crate) kind: String,
    pub(crate) count: i64,
}

/// What the registry holds.
#[derive(Serialize, ToSchema)]
#[schema(as = Stats)]
pub(crate) struct Numbers {
    /// Servers with a current version that is not deleted.
    pub(crate) servers: i64,
    /// Versions that are not deleted.
    pub(crate) versions: i64,
    /// The newest event number.
    pub(crate) events: i64,
    /// Current versions by registry type of their packages; one may count under several.
    pub(crate) by_registry_type: Vec<Count>,
    /// Current versions by transport of their remotes; one may count under several.
    pub(crate) by_remote_transport: Vec<Count>,
    /// Current versions by who vouches for the listing.
    pub(crate) by_origin: Vec<Count>,
}

impl From<Stats> for Numbers {
    fn from(stats: Stats) -> Self {
        let counts = |list: Vec<(String, i64)>| {
            list.into_iter()
                .map(|(kind, count)| Count { kind, count })
                .collect()
        };
        Self {
            servers: stats.servers,
            versions: stats.versions,
            events: stats.events,
            by_registry_type: counts(stats.by_registry_type),
            by_remote_transport: counts(stats.by_remote_transport),
            by_origin: counts(
                stats
                    .by_origin
                    .into_iter()
                    .map(|(origin, count)| (origin.as_str().to_owned(), count))
                    .collect(),
            ),
        }
    }
}

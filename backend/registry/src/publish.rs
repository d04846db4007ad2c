//! Publishing and editing a version: who, what, and the one transaction that writes it.

use serde_json::Value;
use toolmark_domain::document::Document;
use toolmark_domain::json::{self, Finding, ReadError};
use toolmark_domain::limits::SERVER_JSON_BYTES;
use toolmark_domain::name::ServerName;
use toolmark_domain::permission::{Action, Permission};
use toolmark_domain::record::{Origin, Version};
use toolmark_domain::status::Status;
use toolmark_domain::timestamp::Timestamp;
use toolmark_domain::validation::{self, FieldError, PublisherMetaError, Validation};
use toolmark_domain::version::VersionId;
use toolmark_store::{EditConflict, NewVersion, PublishConflict, StoreError};

use crate::{Actor, Registry, jobs};

/// A `server.json` that passed the gate: it can be read, and its fields have the right form.
#[derive(Clone, Debug)]
pub struct Draft {
    /// As received.
    raw: Vec<u8>,
    value: Value,
    /// As served: keys in their right spelling, empty optional fields dropped.
    served: Value,
    server: ServerName,
    version: VersionId,
}

/// Why bytes are no draft.
#[derive(Debug, thiserror::Error)]
pub enum DraftError {
    #[error("cannot read the document")]
    Unreadable(#[from] ReadError),
    /// JSON allows it, we do not: it would be read otherwise by others, or cannot be kept.
    #[error("the document is ambiguous")]
    Doubtful(Vec<Finding>),
    #[error("the document does not pass the gate")]
    Gate(Vec<FieldError>),
}

/// Why a version cannot be published or edited. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// The actor may not.
    #[error("not allowed")]
    Forbidden {
        allowed: Vec<Permission>,
        attempted: String,
    },
    /// The operator blocks this namespace.
    #[error("the namespace `{namespace}` is blocked here")]
    Blocked { namespace: String },
    /// The rules of meaning are broken.
    #[error("the document is invalid")]
    Invalid(Validation),
    #[error(transparent)]
    MetaTooLarge(#[from] PublisherMetaError),
    #[error("the version is empty")]
    EmptyVersion,
    #[error("a server named `{existing}` exists, and two names may not differ by letter case alone")]
    NameCase { existing: String },
    #[error("remote URL {url} is already used by server {server}")]
    RemoteTaken { url: String, server: String },
    #[error("a server has at most {limit} versions")]
    TooManyVersions { limit: i64 },
    #[error("invalid version: cannot publish duplicate version")]
    DuplicateVersion,
    #[error("the server was taken down by the operator")]
    TakenDown,
    /// Edit: no such server or version, or it is deleted.
    #[error("not found")]
    NotFound,
    /// Edit: the document names another server than the path.
    #[error("the document names another server")]
    Renamed,
    /// Edit: the document names another version than the path.
    #[error("the document names another version")]
    OtherVersion,
    #[error("the store failed")]
    Store(#[from] StoreError),
}

impl From<PublishConflict> for PublishError {
    fn from(conflict: PublishConflict) -> Self {
        match conflict {
            PublishConflict::NameCase { existing } => Self::NameCase { existing },
            PublishConflict::RemoteTaken { url, server } => Self::RemoteTaken { url, server },
            PublishConflict::TooManyVersions { limit } => Self::TooManyVersions { limit },
            PublishConflict::DuplicateVersion => Self::DuplicateVersion,
            PublishConflict::TakenDown => Self::TakenDown,
        }
    }
}

impl From<EditConflict> for PublishError {
    fn from(conflict: EditConflict) -> Self {
        match conflict {
            EditConflict::NotFound => Self::NotFound,
            EditConflict::RemoteTaken { url, server } => Self::RemoteTaken { url, server },
        }
    }
}

/// A field the store cannot keep, in the gate's form.
fn refused(value: &Value, key: &str, message: String) -> DraftError {
    let location = format!("body.{key}");
    DraftError::Gate(vec![FieldError {
        message,
        location,
        value: value.get(key).cloned(),
    }])
}

impl Draft {
    /// Reads a document of at most 1 MiB and puts it through the gate.
    pub fn read(raw: Vec<u8>) -> Result<Self, DraftError> {
        let read = json::read(&raw, SERVER_JSON_BYTES)?;
        if !read.findings.is_empty() {
            return Err(DraftError::Doubtful(read.findings));
        }
        let errors = validation::gate(&read.value);
        if !errors.is_empty() {
            return Err(DraftError::Gate(errors));
        }
        // The gate takes keys in any letter case; the served form has them right.
        let form = validation::served_form(&read.value);
        let text = |key: &str| form.get(key).and_then(Value::as_str).unwrap_or_default();
        let server =
            ServerName::parse(text("name")).map_err(|error| refused(&form, "name", error.to_string()))?;
        let version = VersionId::parse(text("version"))
            .map_err(|error| refused(&form, "version", error.to_string()))?;
        Ok(Self {
            value: read.value,
            raw,
            served: form,
            server,
            version,
        })
    }

    /// The server it names.
    pub fn server(&self) -> &ServerName {
        &self.server
    }

    /// The version it names.
    pub fn version(&self) -> &VersionId {
        &self.version
    }

    /// The document.
    pub fn value(&self) -> &Value {
        &self.value
    }

    fn new_version(&self, at: Timestamp) -> NewVersion {
        NewVersion {
            server: self.server.clone(),
            version: self.version.clone(),
            origin: Origin::Published,
            valid: validation::validate(&self.value).valid,
            document: self.served.to_string(),
            raw: self.raw.clone(),
            facts: Document::read(&self.served),
            hidden: false,
            jobs: jobs::of_new_version(&self.server, &self.version, &self.served, at),
        }
    }
}

impl Registry {
    /// Publishes a version as its publisher.
    pub async fn publish(&self, actor: &Actor, draft: &Draft) -> Result<Version, PublishError> {
        self.permit(actor, Action::Publish, draft.server.as_str(), "publish")
            .await?;
        self.check(draft)?;
        validation::check_publisher_meta(&draft.value)?;
        let outcome = self
            .store()
            .publish(&draft.new_version(self.now()), &actor.by(), self.now())
            .await?;
        let version = outcome?;
        tracing::info!(
            server.name = %version.server, server.version = %version.version, actor = %actor.label,
            "published `{}@{}`", version.server, version.version
        );
        Ok(version)
    }

    /// Replaces the document of `name@version`.
    pub async fn edit(
        &self,
        actor: &Actor,
        name: &str,
        version: &str,
        draft: &Draft,
    ) -> Result<Version, PublishError> {
        self.permit(actor, Action::Edit, name, "edit").await?;
        let known = self.store().version(name, version).await?;
        if known.is_none_or(|known| known.status == Status::Deleted) {
            return Err(PublishError::NotFound);
        }
        if draft.server.as_str() != name {
            return Err(PublishError::Renamed);
        }
        if draft.version.as_str() != version {
            return Err(PublishError::OtherVersion);
        }
        self.check(draft)?;
        validation::check_publisher_meta(&draft.value)?;
        Ok(self
            .store()
            .edit(&draft.new_version(self.now()), &actor.by(), self.now())
            .await??)
    }

    /// What stands against publishing a document, under this installation's policy.
    pub fn publish_issues(&self, document: &Value) -> Validation {
        let mut found = validation::publish_issues(document);
        if self.settings().allow_local_remotes {
            found.issues.retain(|issue| !is_local_remote(document, issue));
            found.valid = !found
                .issues
                .iter()
                .any(|issue| issue.severity == validation::Severity::Error);
        }
        found
    }

    fn check(&self, draft: &Draft) -> Result<(), PublishError> {
        if self.is_blocked(draft.server.namespace()) {
            return Err(PublishError::Blocked {
                namespace: draft.server.namespace().to_owned(),
            });
        }
        // The official registry's gate lets it pass and its database refuses it.
        if draft.version.as_str().trim().is_empty() {
            return Err(PublishError::EmptyVersion);
        }
        let found = self.publish_issues(&draft.value);
        if found.valid {
            Ok(())
        } else {
            Err(PublishError::Invalid(found))
        }
    }

    async fn permit(
        &self,
        actor: &Actor,
        action: Action,
        name: &str,
        word: &str,
    ) -> Result<(), PublishError> {
        if actor.may(action, name) {
            return Ok(());
        }
        self.store()
            .audit_refusal(&actor.by(), self.now(), word, name, "not allowed")
            .await?;
        Err(PublishError::Forbidden {
            allowed: actor.permissions.clone(),
            attempted: name.to_owned(),
        })
    }
}

/// Whether an issue only says that a remote is on this machine.
fn is_local_remote(document: &Value, issue: &validation::Issue) -> bool {
    let remote = issue
        .path
        .strip_prefix("remotes[")
        .and_then(|rest| rest.split_once(']'))
        .and_then(|(index, _)| {
            document
                .get("remotes")?
                .get(index.parse::<usize>().ok()?)?
                .get("url")?
                .as_str()
        })
        .and_then(|url| url::Url::parse(url).ok());
    issue.reference == "invalid-remote-url"
        && remote.is_some_and(|url| match url.host() {
            Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            Some(url::Host::Ipv4(address)) => address.is_loopback() || address.is_private(),
            Some(url::Host::Ipv6(address)) => address.is_loopback() || address.is_unique_local(),
            None => false,
        })
}

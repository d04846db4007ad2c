//! Changing the status of a version, or of all versions of a server.

use toolmark_domain::limits::STATUS_MESSAGE_CHARS;
use toolmark_domain::name::ServerName;
use toolmark_domain::permission::{Action, Permission};
use toolmark_domain::record::Version;
use toolmark_domain::status::Status;
use toolmark_store::{StatusChange, StatusConflict, StoreError};

use crate::{Actor, Registry};

/// Why a status cannot be changed.
#[derive(Debug, thiserror::Error)]
pub enum StatusError {
    /// No such server, or no such version of it.
    #[error("not found")]
    NotFound,
    /// The actor may not.
    #[error("not allowed")]
    Forbidden {
        allowed: Vec<Permission>,
        attempted: String,
    },
    /// An active version needs no explanation, not even an empty one.
    #[error("a message was given with status active")]
    MessageWithActive,
    #[error("the message is longer than {STATUS_MESSAGE_CHARS} characters")]
    MessageTooLong,
    /// Everything already is so.
    #[error("nothing would change")]
    NoChange,
    /// A restored version's remote has meanwhile been taken.
    #[error("remote `{url}` is already used by `{server}`")]
    RemoteTaken { url: String, server: String },
    #[error("the store failed")]
    Store(#[from] StoreError),
}

impl Registry {
    /// Sets the status of `version`, or of every version of the server. Returns the versions that changed.
    pub async fn set_status(
        &self,
        actor: &Actor,
        name: &str,
        version: Option<&str>,
        change: &StatusChange,
    ) -> Result<Vec<Version>, StatusError> {
        let server = ServerName::parse(name).map_err(|_| StatusError::NotFound)?;
        if !self.may_see(&server, version).await? {
            return Err(StatusError::NotFound);
        }
        if !actor.may(Action::Publish, name) && !actor.may(Action::Edit, name) {
            self.store()
                .audit_refusal(&actor.by(), self.now(), "status", name, "not allowed")
                .await?;
            return Err(StatusError::Forbidden {
                allowed: actor.permissions.clone(),
                attempted: name.to_owned(),
            });
        }
        let message = change.message.as_deref().filter(|message| !message.is_empty());
        if change.status == Status::Active && change.message.is_some() {
            return Err(StatusError::MessageWithActive);
        }
        if message.is_some_and(|message| message.chars().count() > STATUS_MESSAGE_CHARS) {
            return Err(StatusError::MessageTooLong);
        }
        // PostgreSQL keeps no NUL in text; nobody writes one on purpose.
        let message = message.map(|message| message.replace('\0', "\u{fffd}"));
        let change = StatusChange {
            status: change.status,
            message,
        };
        let outcome = self
            .store()
            .set_status(&server, version, &change, &actor.by(), self.now())
            .await?;
        outcome.map_err(|conflict| match conflict {
            StatusConflict::NotFound => StatusError::NotFound,
            StatusConflict::NoChange => StatusError::NoChange,
            StatusConflict::RemoteTaken { url, server } => StatusError::RemoteTaken { url, server },
        })
    }

    async fn may_see(&self, server: &ServerName, version: Option<&str>) -> Result<bool, StoreError> {
        Ok(match version {
            Some(version) => self.store().version(server.as_str(), version).await?.is_some(),
            None => self.store().current(server.as_str()).await?.is_some(),
        })
    }
}

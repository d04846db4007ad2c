//! Publishing and editing a version: each one transaction that writes the version, its targets, the audit line and
//! the event.

use serde_json::json;
use toolmark_domain::digest::Digest;
use toolmark_domain::document::Document;
use toolmark_domain::event::EventKind;
use toolmark_domain::limits::VERSIONS_PER_SERVER;
use toolmark_domain::name::ServerName;
use toolmark_domain::record::{Origin, Version};
use toolmark_domain::status::Status;
use toolmark_domain::timestamp::Timestamp;
use toolmark_domain::version::{self, VersionId};
use uuid::Uuid;

use crate::audit::{self, AuditOutcome};
use crate::jobs::NewJob;
use crate::pools::Tx;
use crate::version_set::{Member, VersionSet};
use crate::{Store, StoreError, events, ids, search, targets};

/// Who does it, for the audit log.
#[derive(Clone, Debug)]
pub struct By {
    /// Label of the token, or name of the account.
    pub actor: String,
    /// How they proved it: `token`, `none`, `cli`.
    pub method: String,
}

/// A version to be published. All checks that need no other row are done.
#[derive(Clone, Debug)]
pub struct NewVersion {
    pub server: ServerName,
    pub version: VersionId,
    pub origin: Origin,
    pub valid: bool,
    /// As served.
    pub document: String,
    /// As received.
    pub raw: Vec<u8>,
    pub facts: Document,
    /// The operator's settings hide this name.
    pub hidden: bool,
    /// What must follow.
    pub jobs: Vec<NewJob>,
}

/// Why a version cannot be published beside what is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublishConflict {
    /// Another server's name differs only by case.
    NameCase {
        existing: String,
    },
    /// Another server's active latest version has this remote.
    RemoteTaken {
        url: String,
        server: String,
    },
    TooManyVersions {
        limit: i64,
    },
    DuplicateVersion,
    /// An operator took the server down.
    TakenDown,
}

/// Why a version cannot be edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditConflict {
    NotFound,
    RemoteTaken { url: String, server: String },
}

#[derive(sqlx::FromRow)]
pub(crate) struct ServerRow {
    pub(crate) id: Uuid,
    pub(crate) taken_down_at: Option<i64>,
}

/// The names a writer of `server` must hold: its folded name, so that two spellings of it wait for each other.
pub(crate) fn lock_key(server: &ServerName) -> String {
    format!("server:{}", server.folded())
}

impl Tx {
    pub(crate) async fn server(&mut self, name: &str) -> Result<Option<ServerRow>, StoreError> {
        const SERVER: &str = "select id, taken_down_at from servers where name = $1";
        Ok(on!(tx self, db => sqlx::query_as(SERVER).bind(name).fetch_optional(db).await)?)
    }

    async fn insert_server(&mut self, new: &NewVersion, at: Timestamp) -> Result<Uuid, StoreError> {
        const INSERT: &str = "insert into servers \
             (id, name, name_folded, namespace, search_text, created_at, hidden) values ($1, $2, $3, $4, $5, $6, $7)";
        let id = ids::new_id();
        on!(tx self, db => sqlx::query(INSERT)
            .bind(id)
            .bind(new.server.as_str())
            .bind(new.server.folded())
            .bind(new.server.namespace())
            .bind(search::text(new.server.as_str(), &new.facts))
            .bind(at.as_micros())
            .bind(new.hidden)
            .execute(db).await.map(|_| ()))?;
        Ok(id)
    }

    async fn insert_version(
        &mut self,
        server_id: Uuid,
        new: &NewVersion,
        at: Timestamp,
    ) -> Result<Uuid, StoreError> {
        const INSERT: &str = "insert into versions (id, server_id, name, version, status, status_changed_at, \
             published_at, updated_at, is_latest, is_current, origin, valid, digest, document, raw, hidden) \
             values ($1, $2, $3, $4, 'active', $5, $5, $5, false, false, $6, $7, $8, $9, $10, $11)";
        let id = ids::new_id();
        on!(tx self, db => sqlx::query(INSERT)
            .bind(id)
            .bind(server_id)
            .bind(new.server.as_str())
            .bind(new.version.as_str())
            .bind(at.as_micros())
            .bind(new.origin.as_str())
            .bind(new.valid)
            .bind(Digest::of(&new.raw).as_bytes().to_vec())
            .bind(new.document.as_str())
            .bind(raw_if_other(&new.document, &new.raw))
            .bind(new.hidden)
            .execute(db).await.map(|_| ()))?;
        self.insert_targets(targets::rows(server_id, id, &new.facts))
            .await?;
        Ok(id)
    }

    async fn refuse_taken_remotes(
        &mut self,
        new: &NewVersion,
    ) -> Result<Option<(String, String)>, StoreError> {
        for remote in &new.facts.remotes {
            if let Some(server) = self.remote_claimed(&remote.url, new.server.as_str()).await? {
                return Ok(Some((remote.url.clone(), server)));
            }
        }
        Ok(None)
    }

    async fn publish_conflict(
        &mut self,
        new: &NewVersion,
        server: Option<&ServerRow>,
        set: &VersionSet,
    ) -> Result<Option<PublishConflict>, StoreError> {
        const OTHER_CASE: &str = "select name from servers where name_folded = $1 and name <> $2 limit 1";
        if server.is_none() {
            let existing: Option<String> = on!(tx self, db => sqlx::query_scalar(OTHER_CASE)
                .bind(new.server.folded()).bind(new.server.as_str()).fetch_optional(db).await)?;
            if let Some(existing) = existing {
                return Ok(Some(PublishConflict::NameCase { existing }));
            }
        }
        if server.is_some_and(|server| server.taken_down_at.is_some()) {
            return Ok(Some(PublishConflict::TakenDown));
        }
        if let Some((url, server)) = self.refuse_taken_remotes(new).await? {
            return Ok(Some(PublishConflict::RemoteTaken { url, server }));
        }
        if i64::try_from(set.members.len()).unwrap_or(i64::MAX) >= VERSIONS_PER_SERVER {
            return Ok(Some(PublishConflict::TooManyVersions {
                limit: VERSIONS_PER_SERVER,
            }));
        }
        let duplicate = set
            .members
            .iter()
            .any(|member| member.version == new.version.as_str());
        Ok(duplicate.then_some(PublishConflict::DuplicateVersion))
    }
}

/// The bytes to keep beside the document: none when they are the same.
pub(crate) fn raw_if_other(document: &str, raw: &[u8]) -> Option<Vec<u8>> {
    (document.as_bytes() != raw).then(|| raw.to_vec())
}

fn lock_keys(new: &NewVersion) -> Vec<String> {
    let remotes = new
        .facts
        .remotes
        .iter()
        .map(|remote| format!("remote:{}", remote.url));
    remotes.chain([lock_key(&new.server)]).collect()
}

/// Upstream's rule: the new version takes over if it compares strictly greater than the latest one. A deleted latest
/// is no latest.
fn takes_over(set: &VersionSet, version: &VersionId, at: Timestamp) -> bool {
    let Some(latest) = set.flagged_latest().map(|index| &set.members[index]) else {
        return true;
    };
    latest.status == Status::Deleted
        || version::compare((version.as_str(), at), (&latest.version, latest.published_at)).is_gt()
}

impl Store {
    /// Publishes a version, or says which row is in its way. Nothing is written in the latter case.
    pub async fn publish(
        &self,
        new: &NewVersion,
        by: &By,
        at: Timestamp,
    ) -> Result<Result<Version, PublishConflict>, StoreError> {
        let mut tx = self.begin().await?;
        tx.lock(&lock_keys(new)).await?;
        let server = tx.server(new.server.as_str()).await?;
        let mut set = match &server {
            Some(server) => VersionSet::load(&mut tx, server.id).await?,
            None => VersionSet::empty(),
        };
        if let Some(conflict) = tx.publish_conflict(new, server.as_ref(), &set).await? {
            return Ok(Err(conflict));
        }
        // Numbers and times go together: a later publication of one server is never dated before an earlier one.
        let newest = set
            .members
            .iter()
            .map(|member| member.published_at.as_micros() + 1)
            .max();
        let at = Timestamp::from_micros(newest.map_or(at.as_micros(), |newest| newest.max(at.as_micros())));
        let server_id = match server {
            Some(server) => server.id,
            None => tx.insert_server(new, at).await?,
        };
        let takes_over = takes_over(&set, &new.version, at);
        let id = tx.insert_version(server_id, new, at).await?;
        set.push(server_id, Member::new(id, new.version.as_str(), at));
        let latest = if takes_over {
            Some(set.members.len() - 1)
        } else {
            set.flagged_latest()
        };
        let current = set.computed_current();
        set.flag(&mut tx, latest, current).await?;
        if set.members.last().is_some_and(|member| member.is_current) {
            set.refresh_search_text(&mut tx, new.server.as_str()).await?;
        }
        let subject = format!("{}@{}", new.server, new.version);
        tx.audit(audit::entry(by, at, "publish", &subject, AuditOutcome::Done))
            .await?;
        self.tell(tx, EventKind::VersionPublished, new, &set, at)
            .await
            .map(Ok)
    }

    /// Replaces the document of a version. Its status, times of publication and place stay.
    pub async fn edit(
        &self,
        new: &NewVersion,
        by: &By,
        at: Timestamp,
    ) -> Result<Result<Version, EditConflict>, StoreError> {
        const TARGET: &str = "select v.id, v.server_id, v.status from versions v \
             where v.name = $1 and v.version = $2 and not v.hidden";
        const UPDATE: &str = "update versions set document = $1, raw = $2, digest = $3, valid = $4, updated_at = $5 \
             where id = $6";
        let mut tx = self.begin().await?;
        tx.lock(&lock_keys(new)).await?;
        let target: Option<(Uuid, Uuid, String)> = on!(tx &mut tx, db => sqlx::query_as(TARGET)
            .bind(new.server.as_str()).bind(new.version.as_str()).fetch_optional(db).await)?;
        let Some((id, server_id, _)) = target.filter(|(_, _, status)| status != Status::Deleted.as_str())
        else {
            return Ok(Err(EditConflict::NotFound));
        };
        if let Some((url, server)) = tx.refuse_taken_remotes(new).await? {
            return Ok(Err(EditConflict::RemoteTaken { url, server }));
        }
        on!(tx &mut tx, db => sqlx::query(UPDATE)
            .bind(new.document.as_str())
            .bind(raw_if_other(&new.document, &new.raw))
            .bind(Digest::of(&new.raw).as_bytes().to_vec())
            .bind(new.valid)
            .bind(at.as_micros())
            .bind(id)
            .execute(db).await.map(|_| ()))?;
        tx.delete_targets(id).await?;
        tx.insert_targets(targets::rows(server_id, id, &new.facts))
            .await?;
        let set = VersionSet::load(&mut tx, server_id).await?;
        set.refresh_search_text(&mut tx, new.server.as_str()).await?;
        let subject = format!("{}@{}", new.server, new.version);
        tx.audit(audit::entry(by, at, "edit", &subject, AuditOutcome::Done))
            .await?;
        self.tell(tx, EventKind::VersionEdited, new, &set, at)
            .await
            .map(Ok)
    }

    /// Ends a writing transaction with its event, and reads what was written.
    async fn tell(
        &self,
        mut tx: Tx,
        kind: EventKind,
        new: &NewVersion,
        set: &VersionSet,
        at: Timestamp,
    ) -> Result<Version, StoreError> {
        for job in &new.jobs {
            tx.enqueue(job, at).await?;
        }
        let mut event = events::event(kind, at, &new.server, Some(&new.version));
        event.data.insert("sha256".into(), json!(Digest::of(&new.raw)));
        event.data.insert("valid".into(), json!(new.valid));
        event.data.insert("current".into(), json!(set.current_version()));
        let seq = tx.append_events(&[event]).await?;
        self.commit_with(tx, seq).await?;
        self.written(&new.server, &new.version).await
    }

    /// The version just written.
    async fn written(&self, server: &ServerName, version: &VersionId) -> Result<Version, StoreError> {
        match self.version(server.as_str(), version.as_str()).await? {
            Some(version) => Ok(version),
            // Hidden by the operator between the commit and this read.
            None => Err(StoreError::inconsistent(
                "versions",
                format!("`{server}@{version}` vanished"),
            )),
        }
    }
}

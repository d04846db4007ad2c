//! Changing the status of one version or of all versions of a server.

use serde_json::json;
use sqlx::FromRow;
use toolmark_domain::event::{EventKind, Severity};
use toolmark_domain::name::ServerName;
use toolmark_domain::record::Version;
use toolmark_domain::status::Status;
use toolmark_domain::timestamp::Timestamp;
use uuid::Uuid;

use crate::audit::{self, AuditOutcome};
use crate::pools::Tx;
use crate::publish::{By, lock_key};
use crate::version_set::VersionSet;
use crate::{Store, StoreError, events, rows, targets};

/// What to change a status to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusChange {
    pub status: Status,
    /// Replaces the message; `None` clears it.
    pub message: Option<String>,
}

/// Why a status cannot be changed so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusConflict {
    NotFound,
    /// Everything already is so.
    NoChange,
    /// A restored version's remote has meanwhile been taken.
    RemoteTaken {
        url: String,
        server: String,
    },
}

#[derive(FromRow)]
struct StatusRow {
    id: Uuid,
    version: String,
    status: String,
    status_message: Option<String>,
}

async fn restored_remote_taken(
    tx: &mut Tx,
    server: &ServerName,
    row: &StatusRow,
) -> Result<Option<(String, String)>, StoreError> {
    const REMOTES: &str =
        "select identifier from targets where version_id = $1 and kind = $2 order by position";
    let urls: Vec<String> = on!(tx tx, db =>
        sqlx::query_scalar(REMOTES).bind(row.id).bind(targets::REMOTE).fetch_all(db).await)?;
    for url in urls {
        if let Some(other) = tx.remote_claimed(&url, server.as_str()).await? {
            return Ok(Some((url, other)));
        }
    }
    Ok(None)
}

async fn set_one(
    tx: &mut Tx,
    row: &StatusRow,
    change: &StatusChange,
    at: Timestamp,
) -> Result<(), StoreError> {
    const UPDATE: &str = "update versions set status = $1, status_message = $2, updated_at = $3, \
         status_changed_at = case when status = $1 then status_changed_at else $3 end where id = $4";
    on!(tx tx, db => sqlx::query(UPDATE)
        .bind(change.status.as_str())
        .bind(change.message.as_deref())
        .bind(at.as_micros())
        .bind(row.id)
        .execute(db).await.map(|_| ()))?;
    Ok(())
}

impl Store {
    /// Sets the status of one version (`version` given) or of every version that differs, and recomputes latest and
    /// current. Returns the changed versions, or what stands in the way; then nothing is written.
    pub async fn set_status(
        &self,
        server: &ServerName,
        version: Option<&str>,
        change: &StatusChange,
        by: &By,
        at: Timestamp,
    ) -> Result<Result<Vec<Version>, StatusConflict>, StoreError> {
        const ROWS: &str = "select v.id, v.version, v.status, v.status_message from versions v \
             where v.server_id = $1 and not v.hidden order by v.published_at, v.id";
        let mut tx = self.begin().await?;
        tx.lock(&[lock_key(server)]).await?;
        let Some(found) = tx.server(server.as_str()).await? else {
            return Ok(Err(StatusConflict::NotFound));
        };
        let all: Vec<StatusRow> =
            on!(tx &mut tx, db => sqlx::query_as(ROWS).bind(found.id).fetch_all(db).await)?;
        let chosen: Vec<&StatusRow> = all
            .iter()
            .filter(|row| version.is_none_or(|version| row.version == version))
            .collect();
        if chosen.is_empty() {
            return Ok(Err(StatusConflict::NotFound));
        }
        let differing: Vec<&StatusRow> = chosen
            .into_iter()
            .filter(|row| row.status != change.status.as_str() || row.status_message != change.message)
            .collect();
        if differing.is_empty() {
            return Ok(Err(StatusConflict::NoChange));
        }
        for row in &differing {
            if row.status == Status::Deleted.as_str()
                && change.status != Status::Deleted
                && let Some((url, server)) = restored_remote_taken(&mut tx, server, row).await?
            {
                return Ok(Err(StatusConflict::RemoteTaken { url, server }));
            }
        }
        for row in &differing {
            set_one(&mut tx, row, change, at).await?;
        }
        let seq = self
            .record_status(&mut tx, server, found.id, &differing, change, by, at)
            .await?;
        self.commit_with(tx, seq).await?;
        let changed: Vec<&str> = differing.iter().map(|row| row.version.as_str()).collect();
        let mut versions = self.versions_of(server.as_str()).await?;
        versions.retain(|v| changed.contains(&v.version.as_str()));
        Ok(Ok(versions))
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the second half of one unit of work, split for its length"
    )]
    async fn record_status(
        &self,
        tx: &mut Tx,
        server: &ServerName,
        server_id: Uuid,
        differing: &[&StatusRow],
        change: &StatusChange,
        by: &By,
        at: Timestamp,
    ) -> Result<i64, StoreError> {
        let mut set = VersionSet::load(tx, server_id).await?;
        let (latest, current) = (set.computed_latest(), set.computed_current());
        set.flag(tx, latest, current).await?;
        set.refresh_search_text(tx, server.as_str()).await?;
        let mut news = Vec::with_capacity(differing.len());
        for row in differing {
            let version = rows::version_id("versions", &row.version)?;
            let mut event = events::event(EventKind::VersionStatus, at, server, Some(&version));
            // Rule X01: whoever uses a version hears that its publisher withdrew it.
            event.severity = match change.status {
                Status::Deleted => Severity::Medium,
                Status::Deprecated => Severity::Low,
                Status::Active => Severity::Info,
            };
            event.data.insert("rules".into(), json!(["X01"]));
            event.data.insert("from".into(), json!(row.status));
            event.data.insert("to".into(), json!(change.status.as_str()));
            event.data.insert("message".into(), json!(change.message));
            event.data.insert("current".into(), json!(set.current_version()));
            news.push(event);
        }
        let subject = match differing {
            [row] => format!("{server}@{}", row.version),
            _ => server.to_string(),
        };
        let mut entry = audit::entry(by, at, "status", &subject, AuditOutcome::Done);
        entry.detail = format!("{} on {} versions", change.status.as_str(), differing.len());
        tx.audit(entry).await?;
        tx.append_events(&news).await
    }
}

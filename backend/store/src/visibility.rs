//! What is hidden: namespaces the operator blocks, and servers taken down.

use serde_json::json;
use toolmark_domain::event::EventKind;
use toolmark_domain::name::ServerName;
use toolmark_domain::timestamp::Timestamp;
use uuid::Uuid;

use crate::audit::{self, AuditOutcome};
use crate::publish::{By, lock_key};
use crate::{Store, StoreError, events, rows};

/// Rows changed in one transaction.
const CHUNK: usize = 200;

impl Store {
    /// Makes exactly those servers hidden that are taken down or whose namespace `is_blocked`; each change is an
    /// event, so that caches and mirrors follow. Returns how many changed.
    pub async fn apply_blocked(
        &self,
        is_blocked: impl Fn(&str) -> bool,
        at: Timestamp,
    ) -> Result<usize, StoreError> {
        const NAMESPACES: &str =
            "select id, name, namespace, hidden from servers where taken_down_at is null";
        const HIDE_SERVER: &str = "update servers set hidden = $1 where id = $2";
        const HIDE_VERSIONS: &str = "update versions set hidden = $1 where server_id = $2";
        let servers: Vec<(Uuid, String, String, bool)> =
            on!(read self, db => sqlx::query_as(NAMESPACES).fetch_all(db).await)?;
        let wrong: Vec<(Uuid, String, bool)> = servers
            .into_iter()
            .map(|(id, name, namespace, hidden)| (id, name, is_blocked(&namespace), hidden))
            .filter(|(_, _, blocked, hidden)| blocked != hidden)
            .map(|(id, name, blocked, _)| (id, name, blocked))
            .collect();
        for chunk in wrong.chunks(CHUNK) {
            let mut tx = self.begin().await?;
            let mut news = Vec::with_capacity(chunk.len());
            for (id, name, hidden) in chunk {
                on!(tx &mut tx, db => sqlx::query(HIDE_SERVER).bind(hidden).bind(id).execute(db).await.map(|_| ()))?;
                on!(tx &mut tx, db => sqlx::query(HIDE_VERSIONS).bind(hidden).bind(id).execute(db).await.map(|_| ()))?;
                let kind = if *hidden {
                    EventKind::ServerHidden
                } else {
                    EventKind::ServerShown
                };
                news.push(events::event(
                    kind,
                    at,
                    &rows::server_name("servers", name)?,
                    None,
                ));
            }
            let seq = tx.append_events(&news).await?;
            self.commit_with(tx, seq).await?;
        }
        Ok(wrong.len())
    }

    /// Takes a server down: hidden everywhere, its events blanked (their numbers and leaf hashes stay), the reason
    /// kept. Returns false when there is no such server or it already is down.
    pub async fn take_down(
        &self,
        server: &ServerName,
        reason: &str,
        by: &By,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        const DOWN: &str =
            "update servers set hidden = true, taken_down_at = $1, taken_down_reason = $2 where id = $3";
        const HIDE_VERSIONS: &str = "update versions set hidden = true where server_id = $1";
        const BLANK: &str = "update events set body = null where server = $1";
        let mut tx = self.begin().await?;
        tx.lock(&[lock_key(server)]).await?;
        let Some(found) = tx
            .server(server.as_str())
            .await?
            .filter(|row| row.taken_down_at.is_none())
        else {
            return Ok(false);
        };
        on!(tx &mut tx, db => sqlx::query(DOWN)
            .bind(at.as_micros()).bind(reason).bind(found.id).execute(db).await.map(|_| ()))?;
        on!(tx &mut tx, db => sqlx::query(HIDE_VERSIONS).bind(found.id).execute(db).await.map(|_| ()))?;
        on!(tx &mut tx, db => sqlx::query(BLANK).bind(server.as_str()).execute(db).await.map(|_| ()))?;
        let mut entry = audit::entry(by, at, "take_down", server.as_str(), AuditOutcome::Done);
        entry.detail = reason.to_owned();
        tx.audit(entry).await?;
        let mut event = events::event(EventKind::ServerTakenDown, at, server, None);
        event.data.insert("reason".into(), json!(reason));
        let seq = tx.append_events(&[event]).await?;
        self.commit_with(tx, seq).await?;
        Ok(true)
    }
}

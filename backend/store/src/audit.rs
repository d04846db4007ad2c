//! The append-only audit log: who did or tried what.

use sqlx::FromRow;
use toolmark_domain::timestamp::Timestamp;
use uuid::Uuid;

use crate::pools::Tx;
use crate::publish::By;
use crate::{Store, StoreError, ids};

/// Whether it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditOutcome {
    Done,
    Refused,
}

impl AuditOutcome {
    fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused => "refused",
        }
    }
}

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    pub id: Uuid,
    pub at: Timestamp,
    pub actor: String,
    pub method: String,
    /// `publish`, `edit`, `status`, `take_down`, `token.create`, …
    pub action: String,
    /// What it concerns: `namespace/name@version`, a token's label.
    pub subject: String,
    pub outcome: AuditOutcome,
    /// Why it was refused, or what changed; empty when the action says it all.
    pub detail: String,
}

#[derive(FromRow)]
struct AuditRow {
    id: Uuid,
    at: i64,
    actor: String,
    method: String,
    action: String,
    subject: String,
    outcome: String,
    detail: String,
}

pub(crate) fn entry(
    by: &By,
    at: Timestamp,
    action: &str,
    subject: &str,
    outcome: AuditOutcome,
) -> AuditEntry {
    AuditEntry {
        id: ids::new_id(),
        at,
        actor: by.actor.clone(),
        method: by.method.clone(),
        action: action.to_owned(),
        subject: subject.to_owned(),
        outcome,
        detail: String::new(),
    }
}

impl Tx {
    pub(crate) async fn audit(&mut self, entry: AuditEntry) -> Result<(), StoreError> {
        const INSERT: &str = "insert into audit (id, at, actor, method, action, subject, outcome, detail) \
             values ($1, $2, $3, $4, $5, $6, $7, $8)";
        on!(tx self, db => sqlx::query(INSERT)
            .bind(entry.id)
            .bind(entry.at.as_micros())
            .bind(entry.actor)
            .bind(entry.method)
            .bind(entry.action)
            .bind(entry.subject)
            .bind(entry.outcome.as_str())
            .bind(entry.detail)
            .execute(db).await.map(|_| ()))?;
        Ok(())
    }
}

impl Store {
    /// Writes that something was refused: the one audit line that has no transaction of a cause.
    pub async fn audit_refusal(
        &self,
        by: &By,
        at: Timestamp,
        action: &str,
        subject: &str,
        detail: &str,
    ) -> Result<(), StoreError> {
        // Whatever was tried is foreign text: cut, and without what PostgreSQL cannot keep.
        let clean = |text: &str| text.chars().filter(|c| *c != '\0').take(500).collect::<String>();
        let mut entry = entry(by, at, action, &clean(subject), AuditOutcome::Refused);
        entry.detail = clean(detail);
        let mut tx = self.begin().await?;
        tx.audit(entry).await?;
        tx.commit().await
    }

    /// The log, newest first, strictly before `before`.
    pub async fn list_audit(
        &self,
        before: Option<(Timestamp, Uuid)>,
        limit: u32,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        const NEWEST: &str = "select id, at, actor, method, action, subject, outcome, detail from audit \
             where (at, id) < ($1, $2) order by at desc, id desc limit $3";
        let (at, id) = before.map_or((i64::MAX, Uuid::max()), |(at, id)| (at.as_micros(), id));
        let rows: Vec<AuditRow> = on!(read self, db =>
            sqlx::query_as(NEWEST).bind(at).bind(id).bind(i64::from(limit)).fetch_all(db).await)?;
        let entry = |row: AuditRow| AuditEntry {
            id: row.id,
            at: Timestamp::from_micros(row.at),
            actor: row.actor,
            method: row.method,
            action: row.action,
            subject: row.subject,
            outcome: if row.outcome == "done" {
                AuditOutcome::Done
            } else {
                AuditOutcome::Refused
            },
            detail: row.detail,
        };
        Ok(rows.into_iter().map(entry).collect())
    }
}

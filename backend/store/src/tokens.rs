//! Tokens: only their SHA-256 is kept.

use sqlx::FromRow;
use toolmark_domain::digest::Digest;
use toolmark_domain::permission::Permission;
use toolmark_domain::timestamp::Timestamp;
use uuid::Uuid;

use crate::audit::{self, AuditOutcome};
use crate::publish::By;
use crate::{Store, StoreError, ids};

/// A token to be kept.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// Unique among tokens that are not revoked is not required; it is for people.
    pub label: String,
    pub hash: Digest,
    /// Its first characters, for lists.
    pub hint: String,
    pub permissions: Vec<Permission>,
    pub expires_at: Option<Timestamp>,
}

/// A token as kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredToken {
    pub id: Uuid,
    pub label: String,
    pub hint: String,
    pub permissions: Vec<Permission>,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    pub last_used_at: Option<Timestamp>,
}

#[derive(FromRow)]
struct TokenRow {
    id: Uuid,
    label: String,
    hint: String,
    permissions: String,
    created_at: i64,
    expires_at: Option<i64>,
    revoked_at: Option<i64>,
    last_used_at: Option<i64>,
}

impl TryFrom<TokenRow> for StoredToken {
    type Error = StoreError;

    fn try_from(row: TokenRow) -> Result<Self, StoreError> {
        let permissions = serde_json::from_str(&row.permissions).map_err(|e| {
            StoreError::inconsistent("tokens", format!("permissions of `{}`: {e}", row.label))
        })?;
        Ok(Self {
            id: row.id,
            label: row.label,
            hint: row.hint,
            permissions,
            created_at: Timestamp::from_micros(row.created_at),
            expires_at: row.expires_at.map(Timestamp::from_micros),
            revoked_at: row.revoked_at.map(Timestamp::from_micros),
            last_used_at: row.last_used_at.map(Timestamp::from_micros),
        })
    }
}

impl Store {
    /// Keeps a token.
    pub async fn create_token(
        &self,
        token: &NewToken,
        by: &By,
        at: Timestamp,
    ) -> Result<StoredToken, StoreError> {
        const INSERT: &str = "insert into tokens (id, label, hash, hint, permissions, created_at, expires_at) \
             values ($1, $2, $3, $4, $5, $6, $7)";
        let id = ids::new_id();
        let permissions = serde_json::to_string(&token.permissions).expect("permissions are plain strings");
        let mut tx = self.begin().await?;
        on!(tx &mut tx, db => sqlx::query(INSERT)
            .bind(id)
            .bind(token.label.as_str())
            .bind(token.hash.as_bytes().to_vec())
            .bind(token.hint.as_str())
            .bind(permissions)
            .bind(at.as_micros())
            .bind(token.expires_at.map(Timestamp::as_micros))
            .execute(db).await.map(|_| ()))?;
        tx.audit(audit::entry(
            by,
            at,
            "token.create",
            &token.label,
            AuditOutcome::Done,
        ))
        .await?;
        tx.commit().await?;
        Ok(StoredToken {
            id,
            label: token.label.clone(),
            hint: token.hint.clone(),
            permissions: token.permissions.clone(),
            created_at: at,
            expires_at: token.expires_at,
            revoked_at: None,
            last_used_at: None,
        })
    }

    /// The token with this hash, revoked and expired ones too: the caller decides.
    pub async fn token(&self, hash: &Digest) -> Result<Option<StoredToken>, StoreError> {
        const BY_HASH: &str = "select id, label, hint, permissions, created_at, expires_at, revoked_at, last_used_at \
             from tokens where hash = $1";
        let row: Option<TokenRow> = on!(read self, db =>
            sqlx::query_as(BY_HASH).bind(hash.as_bytes().to_vec()).fetch_optional(db).await)?;
        row.map(StoredToken::try_from).transpose()
    }

    /// All tokens, oldest first.
    pub async fn list_tokens(&self) -> Result<Vec<StoredToken>, StoreError> {
        const ALL: &str = "select id, label, hint, permissions, created_at, expires_at, revoked_at, last_used_at \
             from tokens order by created_at, id";
        let rows: Vec<TokenRow> = on!(read self, db => sqlx::query_as(ALL).fetch_all(db).await)?;
        rows.into_iter().map(StoredToken::try_from).collect()
    }

    /// Revokes a token; false when there is none or it already was.
    pub async fn revoke_token(&self, id: Uuid, by: &By, at: Timestamp) -> Result<bool, StoreError> {
        const REVOKE: &str = "update tokens set revoked_at = $1 where id = $2 and revoked_at is null";
        let mut tx = self.begin().await?;
        let changed = on!(tx &mut tx, db => sqlx::query(REVOKE)
            .bind(at.as_micros()).bind(id).execute(db).await.map(|done| done.rows_affected()))?;
        if changed > 0 {
            tx.audit(audit::entry(
                by,
                at,
                "token.revoke",
                &id.to_string(),
                AuditOutcome::Done,
            ))
            .await?;
        }
        tx.commit().await?;
        Ok(changed > 0)
    }

    /// Notes that a token was used.
    pub async fn touch_token(&self, id: Uuid, at: Timestamp) -> Result<(), StoreError> {
        const TOUCH: &str = "update tokens set last_used_at = $1 where id = $2";
        let mut tx = self.begin().await?;
        on!(tx &mut tx, db => sqlx::query(TOUCH).bind(at.as_micros()).bind(id).execute(db).await.map(|_| ()))?;
        tx.commit().await
    }
}

//! Stored tokens: made and revoked by an operator, shown once.

use toolmark_domain::digest::Digest;
use toolmark_domain::permission::Permission;
use toolmark_domain::timestamp::Timestamp;
use toolmark_domain::token;
use toolmark_store::{By, NewToken, StoreError, StoredToken};
use uuid::Uuid;

use crate::Registry;

/// What a new token may do and how long.
#[derive(Clone, Debug)]
pub struct TokenRequest {
    pub label: String,
    pub permissions: Vec<Permission>,
    pub expires_at: Option<Timestamp>,
}

/// Why a token cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("a token needs a label of 1 to 100 characters")]
    BadLabel,
    #[error("a token without a permission can do nothing")]
    NoPermission,
    /// Not `*`, a whole name, or a prefix that ends in `*`.
    #[error("not a pattern of server names: `{0}`")]
    BadPattern(String),
    #[error("the expiry is in the past")]
    Expired,
    #[error("the store failed")]
    Store(#[from] StoreError),
}

fn is_pattern(text: &str) -> bool {
    let stem = text.strip_suffix('*').unwrap_or(text);
    !text.is_empty()
        && text.len() <= 200
        && stem
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'/'))
}

impl Registry {
    /// Makes a token; the text is returned once and not kept.
    pub async fn create_token(
        &self,
        request: TokenRequest,
        by: &By,
    ) -> Result<(String, StoredToken), TokenError> {
        let chars = request.label.chars().count();
        if chars == 0 || chars > 100 || request.label.chars().any(char::is_control) {
            return Err(TokenError::BadLabel);
        }
        if request.permissions.is_empty() {
            return Err(TokenError::NoPermission);
        }
        if let Some(bad) = request
            .permissions
            .iter()
            .find(|permission| !is_pattern(&permission.resource))
        {
            return Err(TokenError::BadPattern(bad.resource.clone()));
        }
        let now = self.now();
        if request.expires_at.is_some_and(|at| at <= now) {
            return Err(TokenError::Expired);
        }
        let text = token::format(rand::random());
        let new = NewToken {
            label: request.label,
            hash: Digest::of(text.as_bytes()),
            hint: token::hint(&text),
            permissions: request.permissions,
            expires_at: request.expires_at,
        };
        let stored = self.store().create_token(&new, by, now).await?;
        Ok((text, stored))
    }

    /// All tokens, oldest first.
    pub async fn list_tokens(&self) -> Result<Vec<StoredToken>, StoreError> {
        self.store().list_tokens().await
    }

    /// Revokes a token; false when there is none or it already was.
    pub async fn revoke_token(&self, id: Uuid, by: &By) -> Result<bool, StoreError> {
        self.store().revoke_token(id, by, self.now()).await
    }
}

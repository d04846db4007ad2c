//! Who asks: stored tokens, and the official contract's registry tokens (a JWT signed with `EdDSA`, five minutes).
//!
//! The other login flows of the contract give the same [`RegistryToken`]; they join [`Registry::login_none`] here.

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};
use toolmark_domain::digest::Digest;
use toolmark_domain::permission::{self, Action, Permission};
use toolmark_domain::timestamp::Timestamp;
use toolmark_domain::token;
use toolmark_store::{By, Store, StoreError};

use crate::{OpenError, Registry};

/// Issuer of our registry tokens, as the contract has it.
const ISSUER: &str = "mcp-registry";
/// Life of a registry token, in seconds.
const LIFE_SECS: i64 = 300;
/// A token's last use is written at most this often, in seconds.
const TOUCH_SECS: i64 = 60;
/// Longest bearer looked at, in bytes.
const BEARER_BYTES: usize = 16 * 1024;
/// What the development login may publish and edit.
const ANONYMOUS: &str = "io.modelcontextprotocol.anonymous/*";

/// Somebody who proved what they may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// Label of the token, or subject of the login.
    pub label: String,
    /// `token`, `none`, …
    pub method: String,
    pub permissions: Vec<Permission>,
}

impl Actor {
    /// Whether they may do `action` to the server `name`.
    pub fn may(&self, action: Action, name: &str) -> bool {
        permission::allowed(&self.permissions, action, name)
    }

    pub(crate) fn by(&self) -> By {
        By {
            actor: self.label.clone(),
            method: self.method.clone(),
        }
    }
}

/// The answer to a login.
#[derive(Clone, Debug)]
pub struct RegistryToken {
    pub token: String,
    pub expires_at: Timestamp,
}

/// Why somebody is not let in.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    /// Not one of ours, or changed.
    #[error("the token is not valid")]
    Invalid,
    #[error("the token has expired")]
    Expired,
    #[error("the token was revoked")]
    Revoked,
    /// The way to log in is switched off.
    #[error("this login is not enabled")]
    Disabled,
    #[error("the store failed")]
    Store(#[from] StoreError),
}

#[derive(Serialize, Deserialize)]
struct Claims {
    iss: String,
    iat: i64,
    nbf: i64,
    exp: i64,
    auth_method: String,
    auth_method_sub: String,
    permissions: Vec<Permission>,
}

/// The Ed25519 key of this installation's registry tokens; every replica reads the same seed.
pub(crate) struct SigningKeys {
    encoding: EncodingKey,
    decoding: DecodingKey,
}

/// RFC 8410: the PKCS #8 wrapping of a 32-byte Ed25519 seed.
const PKCS8_PREFIX: [u8; 16] = [
    0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20,
];

impl SigningKeys {
    pub(crate) async fn load(store: &Store, now: Timestamp) -> Result<Self, OpenError> {
        let fresh: [u8; 32] = rand::random();
        let seed = store.instance_value("registry-token-seed", &fresh, now).await?;
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|_| OpenError::BadSeed)?;
        let der = [&PKCS8_PREFIX[..], &seed].concat();
        Ok(Self {
            encoding: EncodingKey::from_ed_der(&der),
            decoding: DecodingKey::from_ed_der(pair.public_key().as_ref()),
        })
    }
}

impl Registry {
    /// Who holds `bearer`: a stored token (`tmk_…`) or a registry token.
    pub async fn authenticate(&self, bearer: &str) -> Result<Actor, AuthError> {
        if bearer.len() > BEARER_BYTES {
            return Err(AuthError::Invalid);
        }
        if bearer.starts_with(token::PREFIX) {
            self.authenticate_stored(bearer).await
        } else {
            self.authenticate_registry_token(bearer)
        }
    }

    async fn authenticate_stored(&self, bearer: &str) -> Result<Actor, AuthError> {
        if !token::is_well_formed(bearer) {
            return Err(AuthError::Invalid);
        }
        let stored = self
            .store()
            .token(&Digest::of(bearer.as_bytes()))
            .await?
            .ok_or(AuthError::Invalid)?;
        let now = self.now();
        if stored.revoked_at.is_some() {
            return Err(AuthError::Revoked);
        }
        if stored.expires_at.is_some_and(|at| at <= now) {
            return Err(AuthError::Expired);
        }
        if stored
            .last_used_at
            .is_none_or(|at| at.plus_secs(TOUCH_SECS) < now)
        {
            self.store().touch_token(stored.id, now).await?;
        }
        Ok(Actor {
            label: stored.label,
            method: "token".into(),
            permissions: stored.permissions,
        })
    }

    fn authenticate_registry_token(&self, bearer: &str) -> Result<Actor, AuthError> {
        let mut validation = Validation::new(Algorithm::EdDSA);
        validation.set_issuer(&[ISSUER]);
        validation.set_required_spec_claims(&["exp", "nbf", "iss"]);
        // Times are checked below, by our own clock.
        validation.validate_exp = false;
        validation.validate_nbf = false;
        validation.validate_aud = false;
        let claims = jsonwebtoken::decode::<Claims>(bearer, &self.inner.keys.decoding, &validation)
            .map_err(|_| AuthError::Invalid)?
            .claims;
        let now = self.now().as_secs();
        if claims.exp <= now {
            return Err(AuthError::Expired);
        }
        if claims.nbf > now {
            return Err(AuthError::Invalid);
        }
        Ok(Actor {
            label: claims.auth_method_sub,
            method: claims.auth_method,
            permissions: claims.permissions,
        })
    }

    /// The development login; [`AuthError::Disabled`] unless the operator switched it on.
    pub fn login_none(&self) -> Result<RegistryToken, AuthError> {
        if !self.settings().dev_auth {
            return Err(AuthError::Disabled);
        }
        let grant = |action| Permission {
            action,
            resource: ANONYMOUS.into(),
        };
        Ok(self.registry_token(
            "none",
            "anonymous",
            vec![grant(Action::Publish), grant(Action::Edit)],
        ))
    }

    fn registry_token(&self, method: &str, subject: &str, permissions: Vec<Permission>) -> RegistryToken {
        let now = self.now();
        let expires_at = Timestamp::from_micros(now.as_secs() * 1_000_000).plus_secs(LIFE_SECS);
        let claims = Claims {
            iss: ISSUER.into(),
            iat: now.as_secs(),
            nbf: now.as_secs(),
            exp: expires_at.as_secs(),
            auth_method: method.into(),
            auth_method_sub: subject.into(),
            permissions,
        };
        let token = jsonwebtoken::encode(&Header::new(Algorithm::EdDSA), &claims, &self.inner.keys.encoding)
            .expect("a key made from 32 bytes signs plain claims");
        RegistryToken { token, expires_at }
    }
}

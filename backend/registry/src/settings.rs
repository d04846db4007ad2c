//! What the registry is opened with.

use toolmark_store::{StoreError, StoreSettings};

use crate::policy::NamespacePattern;

/// Settings of the use cases.
#[derive(Clone, Debug)]
pub struct RegistrySettings {
    pub store: StoreSettings,
    /// Development login: `/v0/auth/none`, for names below `io.modelcontextprotocol.anonymous/`.
    pub dev_auth: bool,
    /// Namespaces that are shown nowhere and cannot be published to.
    pub blocked_namespaces: Vec<NamespacePattern>,
    /// Accept remotes on this machine or a private network: for private registries.
    pub allow_local_remotes: bool,
}

/// Why a registry cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("cannot open the store")]
    Store(#[from] StoreError),
    /// The stored signing seed is not one.
    #[error("the stored signing seed cannot be used")]
    BadSeed,
}

//! What the registry is opened with.

use std::path::PathBuf;

use toolmark_store::{BlobError, Blobs, StoreError, StoreSettings};

use crate::policy::NamespacePattern;

/// Settings of the use cases.
#[derive(Clone, Debug)]
pub struct RegistrySettings {
    pub store: StoreSettings,
    pub blobs: BlobPlace,
    /// Where the search index is kept; none: in memory, made anew at every start.
    pub index_folder: Option<PathBuf>,
    /// How tools are ranked.
    pub search_mode: toolmark_search::Mode,
    /// Development login: `/v0/auth/none`, for names below `io.modelcontextprotocol.anonymous/`.
    pub dev_auth: bool,
    /// Namespaces that are shown nowhere and cannot be published to.
    pub blocked_namespaces: Vec<NamespacePattern>,
    /// Accept remotes on this machine or a private network: for private registries.
    pub allow_local_remotes: bool,
}

/// Where documents and artifacts are kept.
#[derive(Clone, Debug)]
pub enum BlobPlace {
    /// A folder, made when absent.
    Directory(PathBuf),
    /// A URL such as `s3://bucket/prefix`, and what its client is to know (`endpoint`, `region`, `access_key_id`, …).
    Url {
        url: String,
        options: Vec<(String, String)>,
    },
}

impl BlobPlace {
    /// Puts a small blob there, reads it back and takes it away.
    pub async fn try_out(&self) -> Result<(), BlobError> {
        // Bytes nobody else keeps: taking them away takes nothing from anyone.
        let probe = format!("toolmark blob check {}", std::process::id());
        let blobs = self.open()?;
        let digest = blobs.put(probe.into_bytes().into()).await?;
        let found = blobs.get(&digest).await;
        blobs.delete(&digest).await?;
        match found? {
            Some(_) => Ok(()),
            None => Err(BlobError::Corrupt { expected: digest }),
        }
    }

    pub(crate) fn open(&self) -> Result<Blobs, BlobError> {
        match self {
            Self::Directory(path) => Blobs::directory(path),
            Self::Url { url, options } => Blobs::url(url, options),
        }
    }
}

/// Why a registry cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("cannot open the store")]
    Store(#[from] StoreError),
    #[error("cannot open the blob store")]
    Blobs(#[from] BlobError),
    /// The stored signing seed is not one.
    #[error("the stored signing seed cannot be used")]
    BadSeed,
}

//! Bytes by their SHA-256, in a directory or an S3-compatible store.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use object_store::path::Path as ObjectPath;
use object_store::{ObjectStore, ObjectStoreExt as _, PutMode, PutOptions};
use toolmark_domain::digest::Digest;

/// A store of bytes; cheap to clone.
#[derive(Clone)]
pub struct Blobs {
    objects: Arc<dyn ObjectStore>,
    prefix: ObjectPath,
}

/// A failure of the blob store.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    #[error("cannot use `{path}` for blobs")]
    Folder {
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[error("not a place for blobs: `{url}`")]
    BadUrl {
        url: String,
        #[source]
        source: object_store::Error,
    },
    #[error("the blob store failed")]
    Store(#[from] object_store::Error),
    /// The bytes are not those that were put there.
    #[error("blob {expected} holds other bytes")]
    Corrupt { expected: Digest },
}

impl Blobs {
    /// Blobs below a folder, which is made.
    pub fn directory(path: &Path) -> Result<Self, BlobError> {
        let folder = |source| BlobError::Folder {
            path: path.display().to_string(),
            source,
        };
        std::fs::create_dir_all(path).map_err(folder)?;
        let objects = object_store::local::LocalFileSystem::new_with_prefix(path)?.with_fsync(true);
        Ok(Self {
            objects: Arc::new(objects),
            prefix: ObjectPath::default(),
        })
    }

    /// Blobs below a URL such as `s3://bucket/prefix`. `options` are the client's own names (`endpoint`, `region`,
    /// `access_key_id`, …).
    pub fn url(url: &str, options: &[(String, String)]) -> Result<Self, BlobError> {
        let bad = |source| BlobError::BadUrl {
            url: url.to_owned(),
            source,
        };
        let parsed = url::Url::parse(url).map_err(|source| {
            bad(object_store::Error::Generic {
                store: "url",
                source: Box::new(source),
            })
        })?;
        let (objects, prefix) =
            object_store::parse_url_opts(&parsed, options.iter().map(|(k, v)| (k.as_str(), v.as_str())))
                .map_err(bad)?;
        Ok(Self {
            objects: objects.into(),
            prefix,
        })
    }

    fn path(&self, digest: &Digest) -> ObjectPath {
        let hex = digest.to_string();
        let below = ["sha256", &hex[..2], &hex[2..4], &hex];
        self.prefix.parts().chain(below.map(Into::into)).collect()
    }

    /// Keeps `bytes`; putting the same bytes again changes nothing.
    pub async fn put(&self, bytes: Bytes) -> Result<Digest, BlobError> {
        let digest = Digest::of(&bytes);
        let create = PutOptions {
            mode: PutMode::Create,
            ..PutOptions::default()
        };
        match self
            .objects
            .put_opts(&self.path(&digest), bytes.into(), create)
            .await
        {
            Ok(_) | Err(object_store::Error::AlreadyExists { .. }) => Ok(digest),
            Err(error) => Err(error.into()),
        }
    }

    /// The bytes with this digest, checked against it.
    pub async fn get(&self, digest: &Digest) -> Result<Option<Bytes>, BlobError> {
        let bytes = match self.objects.get(&self.path(digest)).await {
            Ok(found) => found.bytes().await?,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if Digest::of(&bytes) == *digest {
            Ok(Some(bytes))
        } else {
            Err(BlobError::Corrupt { expected: *digest })
        }
    }

    /// A part of the bytes with this digest; not checked.
    pub async fn get_range(
        &self,
        digest: &Digest,
        range: std::ops::Range<u64>,
    ) -> Result<Option<Bytes>, BlobError> {
        match self.objects.get_range(&self.path(digest), range).await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether bytes with this digest are kept.
    pub async fn contains(&self, digest: &Digest) -> Result<bool, BlobError> {
        match self.objects.head(&self.path(digest)).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes the bytes with this digest; nothing happens when there are none.
    pub async fn delete(&self, digest: &Digest) -> Result<(), BlobError> {
        match self.objects.delete(&self.path(digest)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

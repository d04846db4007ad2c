//! What an operator asks of the store itself, without opening the registry.

use toolmark_store::{Store, StoreError, StoreSettings};

use crate::Registry;

impl Registry {
    /// Applies the migrations that are missing, and nothing else.
    pub async fn migrate(settings: &StoreSettings) -> Result<(), StoreError> {
        Store::open(settings).await?.close().await;
        Ok(())
    }

    /// Opens the store as it is and tries to write, leaving nothing behind.
    pub async fn check_writable(settings: &StoreSettings) -> Result<(), StoreError> {
        let store = Store::open_migrated(settings).await?;
        let written = store.check_writable().await;
        store.close().await;
        written
    }
}

//! Trying the store without leaving anything behind.

use crate::{Store, StoreError};

impl Store {
    /// Writes a row and takes it back: fails where a publish would, on a full disk apart.
    pub async fn check_writable(&self) -> Result<(), StoreError> {
        const TOUCH: &str = "update feed set seq = seq where id = 1";
        let mut tx = self.begin().await?;
        on!(tx &mut tx, db => sqlx::query(TOUCH).execute(db).await.map(|_| ()))?;
        // Dropping the transaction takes the write back.
        drop(tx);
        Ok(())
    }
}

//! Facts of this installation that are made once and then stay.

use toolmark_domain::timestamp::Timestamp;

use crate::{Store, StoreError};

impl Store {
    /// The value of `key`, if it was ever set.
    pub async fn read_instance_value(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        const READ: &str = "select value from instance where key = $1";
        Ok(on!(read self, db => sqlx::query_scalar(READ).bind(key).fetch_optional(db).await)?)
    }

    /// Sets the value of `key`, whatever it was.
    pub async fn set_instance_value(&self, key: &str, value: &[u8], at: Timestamp) -> Result<(), StoreError> {
        const SET: &str = "insert into instance (key, value, created_at) values ($1, $2, $3) \
             on conflict (key) do update set value = excluded.value, created_at = excluded.created_at";
        let mut tx = self.begin().await?;
        on!(tx &mut tx, db => sqlx::query(SET)
            .bind(key).bind(value).bind(at.as_micros()).execute(db).await.map(|_| ()))?;
        tx.commit().await
    }

    /// The value of `key`, or `fresh` if there was none: the first writer wins, and everyone gets its value.
    pub async fn instance_value(
        &self,
        key: &str,
        fresh: &[u8],
        at: Timestamp,
    ) -> Result<Vec<u8>, StoreError> {
        const READ: &str = "select value from instance where key = $1";
        const INSERT: &str = "insert into instance (key, value, created_at) values ($1, $2, $3) \
             on conflict (key) do nothing";
        let known: Option<Vec<u8>> =
            on!(read self, db => sqlx::query_scalar(READ).bind(key).fetch_optional(db).await)?;
        if let Some(value) = known {
            return Ok(value);
        }
        let mut tx = self.begin().await?;
        on!(tx &mut tx, db => sqlx::query(INSERT)
            .bind(key).bind(fresh).bind(at.as_micros()).execute(db).await.map(|_| ()))?;
        let value: Vec<u8> = on!(tx &mut tx, db => sqlx::query_scalar(READ).bind(key).fetch_one(db).await)?;
        tx.commit().await?;
        Ok(value)
    }
}

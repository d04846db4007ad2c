//! How far each follower of the feed has read. A follower stores its cursor after its work, so that a crash repeats
//! work and never skips it.

use toolmark_domain::timestamp::Timestamp;

use crate::{Store, StoreError};

impl Store {
    /// The last event number the follower `name` has dealt with; 0 when it never ran.
    pub async fn follower_cursor(&self, name: &str) -> Result<i64, StoreError> {
        const CURSOR: &str = "select seq from cursors where name = $1";
        let seq: Option<i64> =
            on!(read self, db => sqlx::query_scalar(CURSOR).bind(name).fetch_optional(db).await)?;
        Ok(seq.unwrap_or(0))
    }

    /// Moves a follower's cursor forward; it never goes back.
    pub async fn move_follower_cursor(&self, name: &str, seq: i64, at: Timestamp) -> Result<(), StoreError> {
        const MOVE: &str = "insert into cursors (name, seq, updated_at) values ($1, $2, $3) \
             on conflict (name) do update set seq = excluded.seq, updated_at = excluded.updated_at \
             where cursors.seq < excluded.seq";
        let mut tx = self.begin().await?;
        on!(tx &mut tx, db => sqlx::query(MOVE)
            .bind(name).bind(seq).bind(at.as_micros()).execute(db).await.map(|_| ()))?;
        tx.commit().await
    }
}

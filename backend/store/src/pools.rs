//! The database switch: one enum of pools, one of transactions, and the macro that writes a statement once for both.

use std::path::Path;
use std::str::FromStr as _;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{Postgres, Sqlite, Transaction};

use crate::{Database, Store, StoreError, StoreSettings};

/// Which engine holds the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    Postgres,
}

impl Engine {
    /// The name people know it by.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
        }
    }
}

pub(crate) enum Pools {
    /// One connection writes, several read: several writers with a plain `begin` fail two times in three, one writer
    /// never failed and waited least.
    Sqlite {
        write: SqlitePool,
        read: SqlitePool,
    },
    Postgres(PgPool),
}

pub(crate) enum Tx {
    Sqlite(Transaction<'static, Sqlite>),
    Postgres(Transaction<'static, Postgres>),
}

/// Repeats an expression for both engines: `on!(read store, db => …)` outside a transaction, `on!(tx tx, db => …)`
/// inside one.
macro_rules! on {
    (read $store:expr, $db:ident => $body:expr) => {
        match $store.pools() {
            $crate::pools::Pools::Sqlite { read: $db, .. } => $body,
            $crate::pools::Pools::Postgres($db) => $body,
        }
    };
    (tx $tx:expr, $db:ident => $body:expr) => {
        match $tx {
            $crate::pools::Tx::Sqlite(transaction) => {
                let $db = &mut **transaction;
                $body
            }
            $crate::pools::Tx::Postgres(transaction) => {
                let $db = &mut **transaction;
                $body
            }
        }
    };
}

/// Time a statement waits for another process to finish writing (SQLite), and a request for a connection.
const BUSY: Duration = Duration::from_secs(30);

pub(crate) fn sqlite_options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .foreign_keys(true)
        .journal_mode(SqliteJournalMode::Wal)
        // An acknowledged write survives a power cut too; measured at 0.2 ms a commit.
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(BUSY)
        // 16 MiB of page cache a connection.
        .pragma("cache_size", "-16000")
        .pragma("temp_store", "memory")
        .optimize_on_close(true, Some(400))
}

pub(crate) fn postgres_options(url: &str) -> Result<PgConnectOptions, StoreError> {
    Ok(PgConnectOptions::from_str(url)
        .map_err(StoreError::BadUrl)?
        .application_name("toolmark"))
}

impl Pools {
    pub(crate) async fn open(settings: &StoreSettings) -> Result<Self, StoreError> {
        match &settings.database {
            Database::Sqlite(path) => {
                let options = sqlite_options(path);
                let write = SqlitePoolOptions::new()
                    .max_connections(1)
                    .acquire_timeout(BUSY)
                    .connect_with(options.clone())
                    .await?;
                let read = SqlitePoolOptions::new()
                    .max_connections(settings.connections.max(1))
                    .acquire_timeout(BUSY)
                    // `query_only` instead of a read-only open: the latter cannot recover a journal left by a crash.
                    .connect_with(options.pragma("query_only", "on"))
                    .await?;
                Ok(Self::Sqlite { write, read })
            }
            Database::Postgres(url) => {
                let pool = PgPoolOptions::new()
                    .max_connections(settings.connections.max(2))
                    .acquire_timeout(BUSY)
                    .connect_with(postgres_options(url)?)
                    .await?;
                Ok(Self::Postgres(pool))
            }
        }
    }

    pub(crate) fn engine(&self) -> Engine {
        match self {
            Self::Sqlite { .. } => Engine::Sqlite,
            Self::Postgres(_) => Engine::Postgres,
        }
    }

    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite { write, read } => {
                read.close().await;
                write.close().await;
            }
            Self::Postgres(pool) => pool.close().await,
        }
    }
}

impl Store {
    /// Begins to write. On SQLite this takes the write lock at once.
    pub(crate) async fn begin(&self) -> Result<Tx, StoreError> {
        Ok(match self.pools() {
            Pools::Sqlite { write, .. } => Tx::Sqlite(write.begin_with("begin immediate").await?),
            Pools::Postgres(pool) => Tx::Postgres(pool.begin().await?),
        })
    }
}

impl Tx {
    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(transaction) => transaction.commit().await?,
            Self::Postgres(transaction) => transaction.commit().await?,
        }
        Ok(())
    }

    /// Serialises writers that concern any of `keys` until the transaction ends. On SQLite every writer already is
    /// alone. The numbers are locked in order, so that two writers cannot wait for each other.
    pub(crate) async fn lock(&mut self, keys: &[String]) -> Result<(), StoreError> {
        let Self::Postgres(transaction) = self else {
            return Ok(());
        };
        let mut numbers: Vec<i64> = keys.iter().map(|key| lock_number(key)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        for number in numbers {
            sqlx::query("select pg_advisory_xact_lock($1)")
                .bind(number)
                .execute(&mut **transaction)
                .await?;
        }
        Ok(())
    }
}

/// The first eight bytes of the key's SHA-256: unlike a shorter hash, two names practically never share it.
fn lock_number(key: &str) -> i64 {
    let digest = toolmark_domain::digest::Digest::of(key.as_bytes());
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&digest.as_bytes()[..8]);
    i64::from_be_bytes(bytes)
}

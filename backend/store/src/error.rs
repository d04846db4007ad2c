//! What can go wrong in the store itself. That something is absent is not an error here.

/// A failure of the store. The cause's text is in the chain, not in the message.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Somebody else changed the same rows first.
    #[error("the rows changed meanwhile")]
    Conflict(#[source] sqlx::Error),
    /// A row that cannot have been written by this program.
    #[error("inconsistent row in `{table}`: {what}")]
    Inconsistent { table: &'static str, what: String },
    /// The database did not do what was asked.
    #[error("the database failed")]
    Database(#[source] sqlx::Error),
    /// The schema could not be brought up to date.
    #[error("the migrations could not be applied")]
    Migrate(#[from] sqlx::migrate::MigrateError),
    /// The folder or a file of the store could not be used.
    #[error("cannot use `{path}`")]
    Io {
        path: String,
        #[source]
        source: std::io::Error,
    },
    /// The database URL cannot be read.
    #[error("not a database URL")]
    BadUrl(#[source] sqlx::Error),
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        let conflict = error.as_database_error().is_some_and(|e| {
            e.is_unique_violation() || matches!(e.code().as_deref(), Some("40001" | "40P01"))
        });
        if conflict {
            Self::Conflict(error)
        } else {
            Self::Database(error)
        }
    }
}

impl StoreError {
    pub(crate) fn inconsistent(table: &'static str, what: impl Into<String>) -> Self {
        Self::Inconsistent {
            table,
            what: what.into(),
        }
    }
}

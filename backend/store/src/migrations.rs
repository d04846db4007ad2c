//! Brings the schema up to date: under a file lock on SQLite (sqlx takes none there), under sqlx's own advisory lock
//! on PostgreSQL, so that any number of processes may start at once.

use std::path::Path;

use sqlx::migrate::{Migrate as _, Migration, MigrationType, Migrator};
use sqlx::{Connection as _, SqlSafeStr as _};

use crate::pools::{postgres_options, sqlite_options};
use crate::{Database, StoreError, StoreSettings};

/// One migration of this release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigrationStep {
    pub number: i64,
    pub name: String,
    pub applied: bool,
}

/// The migrations of this release against those of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigrationState {
    pub steps: Vec<MigrationStep>,
    /// Numbers the database has and this release does not know: it was used by a newer one.
    pub unknown: Vec<i64>,
}

impl MigrationState {
    /// Whether nothing is left to apply and nothing is unknown.
    pub fn up_to_date(&self) -> bool {
        self.unknown.is_empty() && self.steps.iter().all(|step| step.applied)
    }
}

/// Number, name, SQLite text, PostgreSQL text. Never edit one that was released.
const MIGRATIONS: &[(i64, &str, &str, &str)] = &[
    (
        1,
        "core",
        include_str!("../../../migrations/sqlite/0001_core.sql"),
        include_str!("../../../migrations/postgres/0001_core.sql"),
    ),
    (
        2,
        "observations",
        include_str!("../../../migrations/sqlite/0002_observations.sql"),
        include_str!("../../../migrations/postgres/0002_observations.sql"),
    ),
    (
        3,
        "alerts",
        include_str!("../../../migrations/sqlite/0003_alerts.sql"),
        include_str!("../../../migrations/postgres/0003_alerts.sql"),
    ),
    (
        5,
        "provenance",
        include_str!("../../../migrations/sqlite/0005_provenance.sql"),
        include_str!("../../../migrations/postgres/0005_provenance.sql"),
    ),
];

fn migrator(sqlite: bool) -> Migrator {
    let migrations = MIGRATIONS.iter().map(|(number, name, for_sqlite, for_postgres)| {
        let sql = if sqlite { *for_sqlite } else { *for_postgres };
        Migration::new(
            *number,
            (*name).into(),
            MigrationType::Simple,
            sql.into_sql_str(),
            false,
        )
    });
    Migrator::with_migrations(migrations.collect())
}

pub(crate) async fn migrate(settings: &StoreSettings) -> Result<(), StoreError> {
    match &settings.database {
        Database::Sqlite(path) => {
            let lock = lock_file(path).await?;
            let options = sqlite_options(path).create_if_missing(true);
            let mut connection = sqlx::SqliteConnection::connect_with(&options).await?;
            migrator(true).run(&mut connection).await?;
            connection.close().await?;
            drop(lock);
        }
        Database::Postgres(url) => {
            let mut connection = sqlx::PgConnection::connect_with(&postgres_options(url)?).await?;
            migrator(false).run(&mut connection).await?;
            connection.close().await?;
        }
    }
    Ok(())
}

/// Waits for the lock beside the database file; it is released when the file is closed, also by a crash.
async fn lock_file(database: &Path) -> Result<std::fs::File, StoreError> {
    let mut path = database.as_os_str().to_owned();
    path.push(".migrate-lock");
    let shown = path.to_string_lossy().into_owned();
    let parent = database.parent().map(Path::to_path_buf);
    tokio::task::spawn_blocking(move || {
        if let Some(parent) = parent {
            std::fs::create_dir_all(parent)?;
        }
        let file = std::fs::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)?;
        fs4::FileExt::lock(&file)?;
        Ok(file)
    })
    .await
    .unwrap_or_else(|panic| Err(std::io::Error::other(panic)))
    .map_err(|source| StoreError::Io { path: shown, source })
}

pub(crate) async fn state(settings: &StoreSettings) -> Result<MigrationState, StoreError> {
    let applied: Vec<i64> = match &settings.database {
        Database::Sqlite(path) if !path.exists() => Vec::new(),
        Database::Sqlite(path) => {
            let mut connection = sqlx::SqliteConnection::connect_with(&sqlite_options(path)).await?;
            let known = sqlx::query_scalar::<_, i64>(
                "select count(*) from sqlite_schema where name = '_sqlx_migrations'",
            )
            .fetch_one(&mut connection)
            .await?;
            let applied = if known == 0 {
                Vec::new()
            } else {
                connection.list_applied_migrations("_sqlx_migrations").await?
            };
            connection.close().await?;
            applied.into_iter().map(|migration| migration.version).collect()
        }
        Database::Postgres(url) => {
            let mut connection = sqlx::PgConnection::connect_with(&postgres_options(url)?).await?;
            let known = sqlx::query_scalar::<_, bool>("select to_regclass('_sqlx_migrations') is not null")
                .fetch_one(&mut connection)
                .await?;
            let applied = if known {
                connection.list_applied_migrations("_sqlx_migrations").await?
            } else {
                Vec::new()
            };
            connection.close().await?;
            applied.into_iter().map(|migration| migration.version).collect()
        }
    };
    let steps = MIGRATIONS.iter().map(|(number, name, _, _)| MigrationStep {
        number: *number,
        name: (*name).to_owned(),
        applied: applied.contains(number),
    });
    let unknown = applied
        .iter()
        .filter(|number| !MIGRATIONS.iter().any(|m| m.0 == **number))
        .copied();
    Ok(MigrationState {
        steps: steps.collect(),
        unknown: unknown.collect(),
    })
}

//! Opening: migrations, several at once, and both schemas alike.

use std::collections::BTreeMap;
use std::process::Command;

use sqlx::Connection as _;
use tempfile::TempDir;
use toolmark_store::{Database, Store, StoreSettings};

use crate::support::{self, postgres_settings, publish, sqlite_settings};

/// The URL or path a child process is told to open.
const CHILD: &str = "TOOLMARK_TEST_OPEN_STORE";

fn settings_of(text: &str) -> StoreSettings {
    let database = if text.starts_with("postgres") {
        Database::Postgres(text.into())
    } else {
        Database::Sqlite(text.into())
    };
    StoreSettings {
        database,
        connections: 2,
    }
}

/// Not a test of its own: what the six processes below run.
#[tokio::test]
async fn a_child_opens_and_writes() {
    let Ok(place) = std::env::var(CHILD) else { return };
    let store = Store::open(&settings_of(&place)).await.unwrap();
    publish(
        &store,
        &format!("com.example/p{}", std::process::id()),
        "1.0.0",
        1,
    )
    .await;
}

fn six_at_once(place: &str) {
    let program = std::env::current_exe().unwrap();
    let children: Vec<_> = (0..6)
        .map(|_| {
            Command::new(&program)
                .args(["--exact", "opening::a_child_opens_and_writes", "--nocapture"])
                .env(CHILD, place)
                .output_in_background()
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        let text = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
    }
}

trait Background {
    fn output_in_background(&mut self) -> std::process::Child;
}

impl Background for Command {
    fn output_in_background(&mut self) -> std::process::Child {
        self.stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap()
    }
}

async fn has_six_servers(settings: &StoreSettings) {
    let store = Store::open(settings).await.unwrap();
    assert_eq!(store.stats().await.unwrap().servers, 6);
    assert_eq!(store.head().await.unwrap(), 6);
    store.close().await;
}

#[tokio::test]
async fn six_processes_open_a_new_sqlite_store_at_once() {
    let folder = TempDir::new().unwrap();
    let place = folder.path().join("deep/er/toolmark.db");
    six_at_once(place.to_str().unwrap());
    has_six_servers(&settings_of(place.to_str().unwrap())).await;
}

#[tokio::test]
async fn six_processes_open_a_new_postgres_store_at_once() {
    let Some((settings, ..)) = postgres_settings().await else {
        println!(
            "skipped: six_processes_open_a_new_postgres_store_at_once: TOOLMARK_TEST_POSTGRES_URL is not set"
        );
        return;
    };
    let Database::Postgres(url) = &settings.database else {
        unreachable!()
    };
    six_at_once(url);
    has_six_servers(&settings).await;
}

#[tokio::test]
async fn the_state_of_migrations_is_told_without_applying_them() {
    let folder = TempDir::new().unwrap();
    let settings = sqlite_settings(&folder);
    let new = Store::migration_state(&settings).await.unwrap();
    assert!(!new.up_to_date() && !folder.path().join("toolmark.db").exists());
    Store::open(&settings).await.unwrap().close().await;
    assert!(Store::migration_state(&settings).await.unwrap().up_to_date());
}

#[tokio::test]
async fn a_store_of_a_newer_release_is_not_opened() {
    let fresh = support::sqlite().await;
    let Database::Sqlite(path) = &fresh.settings.database else {
        unreachable!()
    };
    let mut connection = sqlx::SqliteConnection::connect(path.to_str().unwrap())
        .await
        .unwrap();
    sqlx::query(
        "insert into _sqlx_migrations (version, description, success, checksum, execution_time) \
         values (9999, 'future', true, x'00', 0)",
    )
    .execute(&mut connection)
    .await
    .unwrap();
    assert_eq!(
        Store::migration_state(&fresh.settings).await.unwrap().unknown,
        [9999]
    );
    assert!(Store::open(&fresh.settings).await.is_err());
    fresh.end().await;
}

/// Tables, their columns and indexes, with the types of both engines brought to one word.
type Schema = BTreeMap<String, Vec<String>>;

fn one_word(kind: &str) -> &str {
    match kind.to_ascii_lowercase().as_str() {
        "integer" | "bigint" | "boolean" => "number",
        "blob" | "bytea" | "uuid" => "bytes",
        "text" => "text",
        other => panic!("a type without a twin: {other}"),
    }
}

async fn sqlite_schema() -> Schema {
    let fresh = support::sqlite().await;
    let Database::Sqlite(path) = &fresh.settings.database else {
        unreachable!()
    };
    let mut connection = sqlx::SqliteConnection::connect(path.to_str().unwrap())
        .await
        .unwrap();
    let columns: Vec<(String, String, String, bool)> = sqlx::query_as(
        "select t.name, c.name, c.type, c.\"notnull\" from sqlite_schema t, pragma_table_info(t.name) c \
         where t.type = 'table' and t.name not like '\\_sqlx%' escape '\\' and t.name not like 'sqlite%'",
    )
    .fetch_all(&mut connection)
    .await
    .unwrap();
    let indexes: Vec<(String, String)> = sqlx::query_as(
        "select tbl_name, name from sqlite_schema where type = 'index' and name not like 'sqlite%'",
    )
    .fetch_all(&mut connection)
    .await
    .unwrap();
    drop(connection);
    fresh.end().await;
    schema(columns, indexes)
}

async fn postgres_schema() -> Option<Schema> {
    let fresh = support::postgres().await?;
    let Database::Postgres(url) = &fresh.settings.database else {
        unreachable!()
    };
    let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
    let columns: Vec<(String, String, String, bool)> = sqlx::query_as(
        "select table_name::text, column_name::text, data_type::text, is_nullable = 'NO' \
         from information_schema.columns where table_schema = 'public' and table_name not like '\\_sqlx%'",
    )
    .fetch_all(&mut connection)
    .await
    .unwrap();
    let indexes: Vec<(String, String)> = sqlx::query_as(
        "select tablename::text, indexname::text from pg_indexes where schemaname = 'public' \
         and tablename not like '\\_sqlx%' and indexname not like '%\\_key' and indexname not like '%\\_pkey'",
    )
    .fetch_all(&mut connection)
    .await
    .unwrap();
    connection.close().await.unwrap();
    fresh.end().await;
    Some(schema(columns, indexes))
}

fn schema(columns: Vec<(String, String, String, bool)>, indexes: Vec<(String, String)>) -> Schema {
    let mut schema = Schema::new();
    for (table, column, kind, not_null) in columns {
        let null = if not_null { "not null" } else { "null" };
        schema
            .entry(table)
            .or_default()
            .push(format!("{column} {} {null}", one_word(&kind)));
    }
    for (table, index) in indexes {
        schema.entry(table).or_default().push(format!("index {index}"));
    }
    for parts in schema.values_mut() {
        parts.sort();
    }
    schema
}

#[tokio::test]
async fn both_engines_have_the_same_tables_columns_and_indexes() {
    let Some(postgres) = postgres_schema().await else {
        println!(
            "skipped: both_engines_have_the_same_tables_columns_and_indexes: TOOLMARK_TEST_POSTGRES_URL is not set"
        );
        return;
    };
    let sqlite = sqlite_schema().await;
    assert!(sqlite.len() >= 10);
    assert_eq!(sqlite, postgres);
}

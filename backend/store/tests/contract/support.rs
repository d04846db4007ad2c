//! A fresh store of either engine for each contract, and builders of what goes into it.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use sqlx::{Connection as _, Executor as _};
use tempfile::TempDir;
use toolmark_domain::document::Document;
use toolmark_domain::name::ServerName;
use toolmark_domain::record::{Origin, Version};
use toolmark_domain::status::Status;
use toolmark_domain::timestamp::Timestamp;
use toolmark_domain::version::VersionId;
use toolmark_store::{By, Database, ImportRow, NewVersion, PublishConflict, Store, StoreSettings};

pub(crate) struct Fresh {
    pub(crate) store: Store,
    pub(crate) settings: StoreSettings,
    _folder: TempDir,
    database: Option<(String, String)>,
}

pub(crate) fn sqlite_settings(folder: &TempDir) -> StoreSettings {
    StoreSettings {
        database: Database::Sqlite(folder.path().join("toolmark.db")),
        connections: 4,
    }
}

pub(crate) async fn sqlite() -> Fresh {
    let folder = TempDir::new().unwrap();
    let settings = sqlite_settings(&folder);
    let store = Store::open(&settings).await.unwrap();
    Fresh {
        store,
        settings,
        _folder: folder,
        database: None,
    }
}

/// Settings of an empty PostgreSQL database of its own, with its name and the server's URL.
pub(crate) async fn postgres_settings() -> Option<(StoreSettings, String, String)> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let server = std::env::var("TOOLMARK_TEST_POSTGRES_URL").ok()?;
    let name = format!(
        "contract_{}_{}",
        std::process::id(),
        NUMBER.fetch_add(1, Ordering::SeqCst)
    );
    let mut admin = sqlx::PgConnection::connect(&server).await.unwrap();
    let create = sqlx::AssertSqlSafe(format!("create database {name}"));
    admin.execute(sqlx::query(create)).await.unwrap();
    admin.close().await.unwrap();
    let mut url = url::Url::parse(&server).unwrap();
    url.set_path(&name);
    let settings = StoreSettings {
        database: Database::Postgres(url.into()),
        connections: 8,
    };
    Some((settings, name, server))
}

pub(crate) async fn postgres() -> Option<Fresh> {
    let (settings, name, server) = postgres_settings().await?;
    let store = Store::open(&settings).await.unwrap();
    let folder = TempDir::new().unwrap();
    Some(Fresh {
        store,
        settings,
        _folder: folder,
        database: Some((server, name)),
    })
}

impl Fresh {
    /// Changes the rows behind the store's back.
    pub(crate) async fn execute(&self, statement: &'static str) {
        match &self.settings.database {
            Database::Sqlite(path) => {
                let mut db = sqlx::SqliteConnection::connect(path.to_str().unwrap())
                    .await
                    .unwrap();
                db.execute(statement).await.unwrap();
                db.close().await.unwrap();
            }
            Database::Postgres(url) => {
                let mut db = sqlx::PgConnection::connect(url).await.unwrap();
                db.execute(statement).await.unwrap();
                db.close().await.unwrap();
            }
        }
    }

    pub(crate) async fn end(self) {
        self.store.close().await;
        if let Some((server, name)) = self.database {
            let mut admin = sqlx::PgConnection::connect(&server).await.unwrap();
            let drop = sqlx::AssertSqlSafe(format!("drop database {name} with (force)"));
            admin.execute(sqlx::query(drop)).await.unwrap();
        }
    }
}

/// Writes one test for each engine from an async function that takes a [`Fresh`] store.
macro_rules! contract {
    ($($name:ident)+) => {
        mod on_sqlite {
            $(#[tokio::test]
            async fn $name() {
                let fresh = crate::support::sqlite().await;
                super::$name(&fresh).await;
                fresh.end().await;
            })+
        }
        mod on_postgres {
            $(#[tokio::test]
            async fn $name() {
                match crate::support::postgres().await {
                    Some(fresh) => {
                        super::$name(&fresh).await;
                        fresh.end().await;
                    }
                    None => println!("skipped: {}: TOOLMARK_TEST_POSTGRES_URL is not set", stringify!($name)),
                }
            })+
        }
    };
}
pub(crate) use contract;

pub(crate) fn by() -> By {
    By {
        actor: "tester".into(),
        method: "token".into(),
    }
}

/// Microsecond `n` of an arbitrary day.
pub(crate) fn at(n: i64) -> Timestamp {
    Timestamp::from_micros(1_760_000_000_000_000 + n)
}

pub(crate) fn document(name: &str, version: &str) -> Value {
    json!({ "name": name, "version": version, "description": "Weather lookups" })
}

pub(crate) fn new_version(document: &Value) -> NewVersion {
    let text = document.to_string();
    NewVersion {
        server: ServerName::parse(document["name"].as_str().unwrap()).unwrap(),
        version: VersionId::parse(document["version"].as_str().unwrap()).unwrap(),
        origin: Origin::Published,
        valid: true,
        raw: format!(" {text}\n").into_bytes(),
        facts: Document::read(document),
        document: text,
        hidden: false,
        jobs: Vec::new(),
    }
}

pub(crate) async fn publish(store: &Store, name: &str, version: &str, n: i64) -> Version {
    try_publish(store, &document(name, version), n).await.unwrap()
}

pub(crate) async fn try_publish(store: &Store, document: &Value, n: i64) -> Result<Version, PublishConflict> {
    store.publish(&new_version(document), &by(), at(n)).await.unwrap()
}

pub(crate) fn import_row(name: &str, version: &str, n: i64) -> ImportRow {
    let document = document(name, version);
    ImportRow {
        server: ServerName::parse(name).unwrap(),
        version: VersionId::parse(version).unwrap(),
        status: Status::Active,
        status_changed_at: at(n),
        status_message: None,
        published_at: at(n),
        updated_at: at(n),
        is_latest: None,
        origin: Origin::Imported,
        raw: document.to_string().into_bytes(),
        document: document.to_string(),
        valid: true,
        facts: Document::read(&document),
        hidden: false,
        jobs: Vec::new(),
    }
}

pub(crate) fn shown(versions: &[Version]) -> Vec<String> {
    versions
        .iter()
        .map(|v| format!("{}@{}", v.server, v.version))
        .collect()
}

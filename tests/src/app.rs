//! The server as a test sees it: in this process, on a loopback port, over a store of its own, with a clock that is
//! moved by hand.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sqlx::{Connection as _, Executor as _};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use toolmark_domain::permission::{Action, Permission};
use toolmark_registry::{
    AlertSettings, BlobPlace, Database, HandClock, ImportOptions, NamespacePattern, Registry,
    RegistrySettings, StoreSettings, TokenRequest,
};
use toolmark_server::{RateLimit, ServerSettings};
use toolmark_store::By;

/// The URL of a new database of the PostgreSQL server the environment names; `None` when it names none.
pub async fn new_database(purpose: &str) -> Option<String> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let server = std::env::var("TOOLMARK_TEST_POSTGRES_URL").ok()?;
    let number = NUMBER.fetch_add(1, Ordering::SeqCst);
    let name = format!("{purpose}_{}_{number}", std::process::id());
    let mut admin = sqlx::PgConnection::connect(&server)
        .await
        .expect("PostgreSQL answers");
    let create = sqlx::AssertSqlSafe(format!("create database {name}"));
    admin
        .execute(sqlx::query(create))
        .await
        .expect("a database can be made");
    let (base, _) = server.rsplit_once('/').expect("the URL names a database");
    Some(format!("{base}/{name}"))
}

/// How an app is made.
pub struct Builder {
    database: Database,
    server: ServerSettings,
    blocked: Vec<NamespacePattern>,
    dev_auth: bool,
    /// Other than a folder beside the database.
    blobs: Option<BlobPlace>,
    /// Kept by the app: the store is in it.
    folder: Arc<TempDir>,
}

impl Builder {
    /// Over a new SQLite file.
    pub fn sqlite() -> Self {
        let folder = TempDir::new().expect("a temporary folder can be made");
        Self::over(Database::Sqlite(folder.path().join("registry.db")), folder)
    }

    /// Over a new database of the PostgreSQL server the environment names; `None` when it names none.
    pub async fn postgres() -> Option<Self> {
        let url = new_database("http").await?;
        let folder = TempDir::new().expect("a temporary folder can be made");
        Some(Self::over(Database::Postgres(url), folder))
    }

    fn over(database: Database, folder: TempDir) -> Self {
        Self {
            database,
            server: ServerSettings {
                access_log: false,
                ..ServerSettings::default()
            },
            blocked: Vec::new(),
            dev_auth: true,
            blobs: None,
            folder: Arc::new(folder),
        }
    }

    /// Another builder over the same store, for a restart with other settings.
    #[must_use]
    pub fn again(&self) -> Self {
        Self {
            database: self.database.clone(),
            server: self.server.clone(),
            blocked: self.blocked.clone(),
            dev_auth: self.dev_auth,
            blobs: self.blobs.clone(),
            folder: Arc::clone(&self.folder),
        }
    }

    /// Where everything of it is.
    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    #[must_use]
    pub fn rate_limit(mut self, per_minute: u32, burst: u32) -> Self {
        self.server.rate_limit = Some(RateLimit { per_minute, burst });
        self
    }

    #[must_use]
    pub fn blocked(mut self, namespace: &str) -> Self {
        self.blocked
            .push(NamespacePattern::parse(namespace).expect("a namespace"));
        self
    }

    #[must_use]
    pub fn without_dev_auth(mut self) -> Self {
        self.dev_auth = false;
        self
    }

    #[must_use]
    pub fn blobs(mut self, place: BlobPlace) -> Self {
        self.blobs = Some(place);
        self
    }

    #[must_use]
    pub fn server(mut self, change: impl FnOnce(&mut ServerSettings)) -> Self {
        change(&mut self.server);
        self
    }

    /// Starts it.
    pub async fn start(self) -> TestApp {
        let start = "2026-03-01T12:00:00Z".parse().expect("a time");
        let clock = HandClock::at(start);
        let settings = RegistrySettings {
            blobs: self
                .blobs
                .unwrap_or_else(|| BlobPlace::Directory(self.folder.path().join("blobs"))),
            store: StoreSettings {
                database: self.database.clone(),
                connections: 4,
            },
            index_folder: Some(self.folder.path().join("search")),
            search_mode: toolmark_registry::search::Mode::Default,
            dev_auth: self.dev_auth,
            blocked_namespaces: self.blocked.clone(),
            allow_local_remotes: false,
        };
        let registry = Registry::open(settings, Arc::new(clock.clone()))
            .await
            .expect("a new store opens");
        registry.set_up_alerts(alerts());
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let metrics = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound address").to_string();
        let metrics_address = metrics.local_addr().expect("a bound address").to_string();
        let (stop, stopped) = oneshot::channel::<()>();
        let served = toolmark_server::serve(
            listener,
            Some(metrics),
            registry.clone(),
            self.server.clone(),
            async {
                let _ = stopped.await;
            },
        );
        let task = tokio::spawn(async move { served.await.expect("the server ends in order") });
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_gzip()
            .no_brotli()
            .timeout(Duration::from_mins(1))
            .build()
            .expect("a client");
        TestApp {
            address,
            metrics_address,
            registry,
            clock,
            client,
            stop,
            task,
            _folder: self.folder,
        }
    }
}

/// Webhooks may reach this machine; mail is what a test sets up.
fn alerts() -> AlertSettings {
    let mut settings = toolmark_outbound::Settings::new(Duration::from_secs(5));
    settings.trusted = vec![IpAddr::V4(Ipv4Addr::LOCALHOST)];
    AlertSettings {
        client: toolmark_outbound::Client::new(settings).expect("a client"),
        mailer: None,
        base: "https://registry.example".into(),
        pause_after_secs: 3 * 86_400,
    }
}

/// A running server.
pub struct TestApp {
    pub address: String,
    pub metrics_address: String,
    pub registry: Registry,
    pub clock: HandClock,
    client: reqwest::Client,
    stop: oneshot::Sender<()>,
    task: tokio::task::JoinHandle<()>,
    _folder: Arc<TempDir>,
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("the body is text")
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("not JSON: {:?}", self.text()))
    }

    pub fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name).map(HeaderValue::to_str);
        value.and_then(Result::ok).unwrap_or("")
    }

    /// The answer, when it has this status.
    #[track_caller]
    #[must_use]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        self
    }

    /// `server.version` of each row of an official list.
    pub fn versions(&self) -> Vec<String> {
        self.rows("version")
    }

    /// `server.name` of each row of an official list.
    pub fn names(&self) -> Vec<String> {
        self.rows("name")
    }

    fn rows(&self, key: &str) -> Vec<String> {
        let body = self.json();
        let rows = body["servers"].as_array().expect("a list").iter();
        rows.map(|row| row["server"][key].as_str().expect("a text").to_owned())
            .collect()
    }
}

impl TestApp {
    /// A new app on SQLite with the usual settings.
    pub fn builder() -> Builder {
        Builder::sqlite()
    }

    pub async fn get(&self, target: &str) -> Answer {
        self.send(Method::GET, target, &[], None).await
    }

    pub async fn get_with(&self, target: &str, headers: &[(&str, &str)]) -> Answer {
        self.send(Method::GET, target, headers, None).await
    }

    pub async fn send(
        &self,
        method: Method,
        target: &str,
        headers: &[(&str, &str)],
        body: Option<Vec<u8>>,
    ) -> Answer {
        let mut request = self
            .client
            .request(method, format!("http://{}{target}", self.address));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request.body(body);
        }
        let response = request.send().await.expect("the server answers");
        Answer {
            status: response.status(),
            headers: response.headers().clone(),
            body: response.bytes().await.expect("the body arrives").to_vec(),
        }
    }

    /// Sends JSON, with a token when there is one.
    pub async fn write(&self, method: Method, target: &str, token: Option<&str>, body: &Value) -> Answer {
        let bearer = token.map(|token| format!("Bearer {token}"));
        let mut headers = vec![("content-type", "application/json")];
        if let Some(bearer) = &bearer {
            headers.push(("authorization", bearer));
        }
        self.send(method, target, &headers, Some(body.to_string().into_bytes()))
            .await
    }

    /// The bytes of an answer to bytes, for requests no client would send. The connection must end by itself or by
    /// `Connection: close`.
    pub async fn raw(&self, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(&self.address).await.expect("the port is open");
        stream.write_all(request).await.expect("the request is taken");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.expect("the answer arrives");
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// A token for these names.
    pub async fn token(&self, resource: &str, actions: &[Action]) -> String {
        let permissions = actions.iter().map(|action| Permission {
            action: *action,
            resource: resource.into(),
        });
        let request = TokenRequest {
            label: format!("test of {resource}"),
            permissions: permissions.collect(),
            expires_at: None,
        };
        let by = By {
            actor: "test".into(),
            method: "cli".into(),
        };
        let made = self.registry.create_token(request, &by).await;
        made.expect("a token can be made").0
    }

    /// A token for everything.
    pub async fn any_token(&self) -> String {
        self.token("*", &[Action::Publish, Action::Edit]).await
    }

    /// Publishes versions of a server, in this order.
    pub async fn publish(&self, name: &str, versions: &[&str]) {
        let token = self.any_token().await;
        for version in versions {
            let _ = self
                .write(
                    Method::POST,
                    "/v0/publish",
                    Some(&token),
                    &document(name, version),
                )
                .await
                .expect(200);
        }
    }

    /// Takes over a file; nothing in it may be skipped.
    pub async fn import(&self, file: &std::path::Path) {
        let imported = self
            .registry
            .import_file(file, &ImportOptions::default(), &|_| {})
            .await;
        let report = imported.expect("the file is read and the rows are kept");
        assert!(report.skipped.is_empty(), "{:?}", report.skipped);
    }

    /// Changes a status as the publisher.
    pub async fn set_status(&self, name: &str, version: &str, status: &str) {
        let token = self.any_token().await;
        let target = format!("/v0/servers/{}/versions/{version}/status", encoded(name));
        let _ = self
            .write(Method::PATCH, &target, Some(&token), &json!({"status": status}))
            .await
            .expect(200);
    }

    /// Stops it and waits until it has ended.
    pub async fn stop(self) {
        let _ = self.stop.send(());
        self.task.await.expect("the server ends");
        self.registry.close().await;
    }
}

/// A `server.json` without fault.
pub fn document(name: &str, version: &str) -> Value {
    json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": name,
        "description": "Answers questions about the weather",
        "version": version,
    })
}

/// A name as one path segment.
pub fn encoded(name: &str) -> String {
    name.replace('%', "%25").replace('/', "%2F")
}

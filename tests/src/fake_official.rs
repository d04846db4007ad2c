//! An official registry on loopback: pages real rows by name and version with cursors, `updated_since` and
//! tombstones, and misbehaves when told to.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use bytes::Bytes;
use futures_util::stream;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use toolmark_domain::record::OFFICIAL_META;

/// What it does in place of answering.
#[derive(Clone, Copy, Debug)]
pub enum Trouble {
    /// 429 with `Retry-After` in seconds.
    Busy(u64),
    /// 503.
    Down,
    /// A body that breaks off in its middle.
    Drop,
    /// A page of HTML with status 200.
    Junk,
    /// 400, as for a cursor it does not know.
    Refuse,
    /// The right rows with the cursor that led here.
    Loop,
}

type Rows = BTreeMap<(String, String), Value>;

#[derive(Default)]
struct Shared {
    rows: Mutex<Rows>,
    troubles: Mutex<HashMap<usize, Trouble>>,
    queries: Mutex<Vec<HashMap<String, String>>>,
    pause: Mutex<Duration>,
}

/// A running fake; stops when dropped.
pub struct FakeOfficial {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl FakeOfficial {
    /// Serves `rows`, each `{server, _meta}`.
    pub fn start(rows: impl IntoIterator<Item = Value>) -> Self {
        let shared = Arc::new(Shared::default());
        let (address_out, address) = std::sync::mpsc::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let app = Router::new()
            .route("/v0.1/servers", get(list))
            .with_state(Arc::clone(&shared));
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime starts").block_on(async move {
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
                    .await
                    .expect("loopback is there");
                address_out
                    .send(listener.local_addr().expect("it is bound"))
                    .expect("it is awaited");
                // Dropping the server drops its connections: nothing waits for a client that keeps one open.
                tokio::select! {
                    ended = axum::serve(listener, app).into_future() => ended.expect("it serves"),
                    _ = stopped => {}
                }
            });
        });
        let fake = Self {
            address: address.recv().expect("the server has started"),
            shared,
            stop: Some(stop),
            thread: Some(thread),
        };
        rows.into_iter().for_each(|row| fake.put(row));
        fake
    }

    /// Serves the rows of a JSON-lines file.
    pub fn of_corpus(file: &Path) -> Self {
        let text = std::fs::read_to_string(file).expect("the corpus can be read");
        Self::start(
            text.lines()
                .map(|line| serde_json::from_str(line).expect("the corpus is JSON")),
        )
    }

    /// What to give as base URL.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Adds or replaces a row.
    pub fn put(&self, row: Value) {
        let key = (text(&row["server"]["name"]), text(&row["server"]["version"]));
        self.rows(|rows| rows.insert(key, row));
    }

    /// Looks at or changes its rows.
    pub fn rows<T>(&self, act: impl FnOnce(&mut Rows) -> T) -> T {
        act(&mut self
            .shared
            .rows
            .lock()
            .expect("no test thread panics while it holds this"))
    }

    /// Has the request of this number, counted from the first one ever, end otherwise.
    pub fn trouble(&self, request: usize, trouble: Trouble) {
        self.shared
            .troubles
            .lock()
            .expect("as above")
            .insert(request, trouble);
    }

    /// Takes this long for each page.
    pub fn pause(&self, time: Duration) {
        *self.shared.pause.lock().expect("as above") = time;
    }

    /// The queries of all requests so far.
    pub fn queries(&self) -> Vec<HashMap<String, String>> {
        self.shared.queries.lock().expect("as above").clone()
    }
}

impl Drop for FakeOfficial {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

async fn list(State(shared): State<Arc<Shared>>, Query(query): Query<HashMap<String, String>>) -> Response {
    let number = {
        let mut queries = shared.queries.lock().expect("as above");
        queries.push(query.clone());
        queries.len() - 1
    };
    let pause = *shared.pause.lock().expect("as above");
    tokio::time::sleep(pause).await;
    let trouble = shared.troubles.lock().expect("as above").remove(&number);
    let page = page(&shared, &query);
    match trouble {
        None => Json(page).into_response(),
        Some(Trouble::Busy(secs)) => (
            StatusCode::TOO_MANY_REQUESTS,
            [(header::RETRY_AFTER, secs.to_string())],
        )
            .into_response(),
        Some(Trouble::Down) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        Some(Trouble::Refuse) => StatusCode::BAD_REQUEST.into_response(),
        Some(Trouble::Junk) => "<html><body>back soon</body></html>".into_response(),
        Some(Trouble::Loop) => {
            let mut page = page;
            page["metadata"]["nextCursor"] = json!(query.get("cursor"));
            Json(page).into_response()
        }
        Some(Trouble::Drop) => {
            let half = page.to_string().into_bytes();
            let half = Bytes::copy_from_slice(&half[..half.len() / 2]);
            let parts = [Ok(half), Err(std::io::Error::other("the line is cut"))];
            Body::from_stream(stream::iter(parts)).into_response()
        }
    }
}

/// Upstream's rules: strictly after the cursor, deleted rows only where asked for, a next cursor on every full page.
fn page(shared: &Shared, query: &HashMap<String, String>) -> Value {
    let limit = query
        .get("limit")
        .and_then(|limit| limit.parse().ok())
        .unwrap_or(30);
    let since = query
        .get("updated_since")
        .map(|since| since.parse::<toolmark_domain::timestamp::Timestamp>());
    let since = since.map(|since| since.expect("a client sends a time"));
    let deleted = since.is_some() || query.get("include_deleted").is_some_and(|flag| flag == "true");
    let after = query.get("cursor").map(|cursor| match cursor.split_once(':') {
        Some((name, version)) => (name.to_owned(), version.to_owned()),
        None => (cursor.clone(), String::new()),
    });
    let rows = shared.rows.lock().expect("as above");
    let matching = rows.iter().filter(|(key, row)| {
        let meta = &row["_meta"][OFFICIAL_META];
        let updated_at = text(&meta["updatedAt"]).parse().ok();
        after.as_ref().is_none_or(|after| *key > after)
            && (deleted || meta["status"] != "deleted")
            && since.is_none_or(|since| updated_at > Some(since))
    });
    let found: Vec<_> = matching.take(limit).collect();
    let next = found.last().filter(|_| found.len() == limit);
    let mut metadata = json!({"count": found.len()});
    if let Some(((name, version), _)) = next {
        metadata["nextCursor"] = json!(format!("{name}:{version}"));
    }
    let servers: Vec<Value> = found
        .iter()
        .map(|(_, row)| json!({"server": row["server"], "_meta": row["_meta"]}))
        .collect();
    json!({"servers": servers, "metadata": metadata})
}

//! The only thing an install can reach: it answers as a package registry would, from the real one, and alone knows
//! where that is and holds what it takes to ask it. Names and files outside of what the registry itself said are not
//! to be had. Each file is checked against its digest, kept by that digest, and named in the record.

use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::UnixListener;
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::io::ReaderStream;
use toolmark_domain::limits::{INSTALL_BYTES, INSTALL_FILES, METADATA_BYTES};
use toolmark_packages::{File, Kind, PackageError, Packages};

use super::lock::Lock;
use super::pages;
use crate::sandbox::cage::RELAY;

type Body = UnsyncBoxBody<Bytes, io::Error>;

/// Media types asked of a Python index: the structured form first.
const SIMPLE: &str =
    "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1";
/// What npm needs of a package to install it, and no more.
const ABBREVIATED: &str = "application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8";
/// Longest name of a package.
const NAME_BYTES: usize = 300;

/// A running proxy; it ends when dropped.
pub(super) struct Proxy {
    state: Arc<State>,
    socket: PathBuf,
    accepting: AbortHandle,
}

/// What one install knows and has taken.
pub(super) struct State {
    packages: Packages,
    kind: Kind,
    cache: PathBuf,
    /// Digests of the only files that are of use, where a lock says so.
    pub(super) locked: BTreeSet<String>,
    offered: Mutex<Offered>,
    taken: Mutex<Vec<Value>>,
    bytes: AtomicU64,
    full: AtomicBool,
    unreachable: AtomicBool,
    mismatch: AtomicBool,
}

/// Files the registry named, by their number.
#[derive(Default)]
struct Offered {
    files: Vec<File>,
    numbers: HashMap<String, usize>,
}

impl State {
    /// Where a file the registry named is to be had inside; none once too many were named.
    pub(super) fn offer(&self, file: &File) -> Option<String> {
        let mut offered = self.offered.lock().unwrap_or_else(PoisonError::into_inner);
        let known = offered.numbers.get(file.url.as_str()).copied();
        let number = match known {
            Some(number) => number,
            None if offered.files.len() >= INSTALL_FILES => return None,
            None => {
                let number = offered.files.len();
                offered.numbers.insert(file.url.to_string(), number);
                offered.files.push(file.clone());
                number
            }
        };
        Some(format!("{}file/{number}/{}", base(), file.name))
    }

    fn offered(&self, number: usize) -> Option<File> {
        let offered = self.offered.lock().unwrap_or_else(PoisonError::into_inner);
        offered.files.get(number).cloned()
    }
}

/// The proxy as it is seen from inside.
pub(super) fn base() -> String {
    format!("http://{}:{}/", RELAY.0, RELAY.1)
}

impl Proxy {
    /// Listens on a socket in `folder`, which nobody else may enter.
    pub(super) fn start(
        packages: Packages,
        kind: Kind,
        cache: &Path,
        folder: &Path,
        lock: Option<&Lock>,
    ) -> io::Result<Self> {
        let gate = folder.join("gate");
        fs::create_dir(&gate)?;
        // The cage reaches it by a handle, as another user.
        fs::set_permissions(&gate, fs::Permissions::from_mode(0o711))?;
        let socket = gate.join("proxy");
        let listener = UnixListener::bind(&socket)?;
        fs::set_permissions(&socket, fs::Permissions::from_mode(0o666))?;
        fs::create_dir_all(cache)?;
        let state = Arc::new(State {
            packages,
            kind,
            cache: cache.to_owned(),
            locked: lock.map(Lock::digests).unwrap_or_default(),
            offered: Mutex::default(),
            taken: Mutex::default(),
            bytes: AtomicU64::new(0),
            full: AtomicBool::new(false),
            unreachable: AtomicBool::new(false),
            mismatch: AtomicBool::new(false),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&state))).abort_handle();
        Ok(Self {
            state,
            socket,
            accepting,
        })
    }

    pub(super) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Whether more was asked for than an install may have.
    pub(super) fn is_full(&self) -> bool {
        self.state.full.load(Ordering::Relaxed)
    }

    /// Whether the registry did not answer something.
    pub(super) fn is_unreachable(&self) -> bool {
        self.state.unreachable.load(Ordering::Relaxed)
    }

    /// Whether a file was not what the registry said.
    pub(super) fn has_mismatch(&self) -> bool {
        self.state.mismatch.load(Ordering::Relaxed)
    }

    /// What was taken, for the record.
    pub(super) fn record(&self) -> Value {
        let taken = self.state.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let cached = taken.iter().filter(|file| file["cached"] == true).count();
        json!({
            "files": taken.len(),
            "files_from_cache": cached,
            "bytes": self.state.bytes.load(Ordering::Relaxed),
        })
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: UnixListener, state: Arc<State>) {
    // Dropped, and with it every connection, when the proxy is.
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let state = Arc::clone(&state);
        connections.spawn(async move {
            let service = service_fn(|request| answer(Arc::clone(&state), request));
            // A client that breaks off has what it wanted.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn answer(state: Arc<State>, request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
    let path = request.uri().path().to_owned();
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let said = match parts.as_slice() {
        _ if !is_read => Err(Refused::NotThere),
        ["npm", name] => packument(&state, name).await,
        ["npm", scope, name] if scope.starts_with('@') => packument(&state, &format!("{scope}/{name}")).await,
        ["locked", digest, name, "-", file] => locked(&state, digest, name, file).await,
        ["locked", digest, scope, name, "-", file] if scope.starts_with('@') => {
            locked(&state, digest, &format!("{scope}/{name}"), file).await
        }
        ["pypi", name, ""] => simple(&state, name).await,
        ["file", number, name] => match number.parse() {
            Ok(number) => file(&state, number, name).await,
            Err(_) => Err(Refused::NotThere),
        },
        _ => Err(Refused::NotThere),
    };
    Ok(said.unwrap_or_else(|refused| state.refuse(&refused)))
}

enum Refused {
    NotThere,
    Full,
    Package(PackageError),
}

impl From<PackageError> for Refused {
    fn from(error: PackageError) -> Self {
        Self::Package(error)
    }
}

impl State {
    fn refuse(&self, refused: &Refused) -> Response<Body> {
        let (status, text) = match refused {
            Refused::NotThere | Refused::Package(PackageError::NotFound { .. }) => {
                (StatusCode::NOT_FOUND, "not found".to_owned())
            }
            Refused::Full => {
                self.full.store(true, Ordering::Relaxed);
                (StatusCode::INSUFFICIENT_STORAGE, "over our limit".to_owned())
            }
            // The cause may name what only we know.
            Refused::Package(_) => {
                self.unreachable.store(true, Ordering::Relaxed);
                (
                    StatusCode::BAD_GATEWAY,
                    "the registry gave no usable answer".to_owned(),
                )
            }
        };
        let mut response = Response::new(whole(text.into()));
        *response.status_mut() = status;
        response
    }
}

fn whole(bytes: Bytes) -> Body {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}

fn typed(kind: &str, bytes: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(whole(bytes.into()));
    if let Ok(kind) = kind.parse() {
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
    }
    response
}

/// Where a locked file of npm is to be had: its digest says which one it is, so that nothing need be asked when it is
/// here already.
pub(super) fn locked_at(name: &str, version: &str, sha512: &[u8; 64]) -> String {
    let own = name.rsplit('/').next().unwrap_or(name);
    format!(
        "{}locked/{}/{name}/-/{own}-{version}.tgz",
        base(),
        hex::encode(sha512)
    )
}

/// A file of npm by its digest, from the registry's usual place for it.
async fn locked(state: &State, digest: &str, name: &str, file: &str) -> Result<Response<Body>, Refused> {
    let fits = |text: &str| {
        text.chars()
            .all(|c| c.is_ascii_alphanumeric() || "@/._-~+".contains(c))
    };
    let mut sha512 = [0; 64];
    let known = hex::decode_to_slice(digest, &mut sha512).is_ok();
    if state.kind != Kind::Npm
        || !known
        || !fits(name)
        || !fits(file)
        || format!("{name}/{file}").contains("..")
    {
        return Err(Refused::NotThere);
    }
    let mut url = state.packages.source(Kind::Npm).await?.base_of(name).clone();
    let parts = name.split('/').chain(["-", file]);
    url.path_segments_mut()
        .map_err(|()| Refused::NotThere)?
        .pop_if_empty()
        .extend(parts);
    let mut wanted = File::at(Kind::Npm, file, url);
    wanted.said.sha512 = Some(sha512);
    send(state, &wanted).await
}

/// What npm asks about a package.
async fn packument(state: &Arc<State>, name: &str) -> Result<Response<Body>, Refused> {
    let name = name.replace("%2f", "/").replace("%2F", "/").replace("%40", "@");
    let fits = |c: char| c.is_ascii_alphanumeric() || "@/._-~".contains(c);
    if state.kind != Kind::Npm || name.len() > NAME_BYTES || !name.chars().all(fits) || name.contains("..") {
        return Err(Refused::NotThere);
    }
    let mut url = state.packages.source(Kind::Npm).await?.base_of(&name).clone();
    url.path_segments_mut()
        .map_err(|()| Refused::NotThere)?
        .pop_if_empty()
        .push(&name);
    let answer = state
        .packages
        .ask(Kind::Npm, &url, Some(ABBREVIATED), METADATA_BYTES)
        .await?;
    if answer.status != StatusCode::OK {
        return Err(state.not_ok(answer.status));
    }
    let state = Arc::clone(state);
    let rewritten = tokio::task::spawn_blocking(move || pages::packument(&answer.body, &state)).await;
    let bytes = rewritten.ok().flatten().ok_or(Refused::NotThere)?;
    Ok(typed("application/vnd.npm.install-v1+json", bytes))
}

impl State {
    fn not_ok(&self, status: StatusCode) -> Refused {
        if !matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE) {
            self.unreachable.store(true, Ordering::Relaxed);
        }
        Refused::NotThere
    }
}

/// What pip asks about a project.
async fn simple(state: &Arc<State>, name: &str) -> Result<Response<Body>, Refused> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if state.kind != Kind::Pypi || name.is_empty() || name.len() > NAME_BYTES || !name.chars().all(fits) {
        return Err(Refused::NotThere);
    }
    let mut url = state.packages.source(Kind::Pypi).await?.base().clone();
    url.path_segments_mut()
        .map_err(|()| Refused::NotThere)?
        .pop_if_empty()
        .extend([name, ""]);
    let answer = state
        .packages
        .ask(Kind::Pypi, &url, Some(SIMPLE), METADATA_BYTES)
        .await?;
    if answer.status != StatusCode::OK {
        return Err(state.not_ok(answer.status));
    }
    let kind = answer
        .headers
        .get(header::CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let kind = kind.unwrap_or("text/html").to_owned();
    let state = Arc::clone(state);
    let structured = kind.contains("json");
    let rewritten = tokio::task::spawn_blocking(move || {
        if structured {
            pages::simple_json(&answer.body, &answer.url, &state)
        } else {
            pages::simple_html(&answer.body, &answer.url, &state)
        }
    });
    let bytes = rewritten.await.ok().flatten().ok_or(Refused::NotThere)?;
    Ok(typed(&kind, bytes))
}

/// A file the registry named, or what it says of one.
async fn file(state: &State, number: usize, name: &str) -> Result<Response<Body>, Refused> {
    let file = state.offered(number).ok_or(Refused::NotThere)?;
    if name.strip_suffix(".metadata") == Some(&file.name) {
        let mut url = file.url.clone();
        url.set_path(&format!("{}.metadata", url.path()));
        let answer = state.packages.ask(state.kind, &url, None, METADATA_BYTES).await?;
        return match answer.status {
            StatusCode::OK => Ok(typed("application/octet-stream", answer.body.to_vec())),
            status => Err(state.not_ok(status)),
        };
    }
    send(state, &file).await
}

async fn send(state: &State, file: &File) -> Result<Response<Body>, Refused> {
    let (path, cached) = state.have(file).await?;
    let disk = tokio::fs::File::open(&path)
        .await
        .map_err(|_| Refused::NotThere)?;
    let bytes = disk.metadata().await.map_err(|_| Refused::NotThere)?.len();
    if state.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes > INSTALL_BYTES {
        return Err(Refused::Full);
    }
    let mut taken = state.taken.lock().unwrap_or_else(PoisonError::into_inner);
    taken.push(json!({"name": file.name, "cached": cached}));
    drop(taken);
    let stream = ReaderStream::new(disk).map_ok(Frame::data);
    let mut response = Response::new(BodyExt::boxed_unsync(StreamBody::new(stream)));
    response
        .headers_mut()
        .insert(header::CONTENT_LENGTH, bytes.into());
    Ok(response)
}

impl State {
    /// The file on our disk, fetched when it is not there yet; and whether it was.
    async fn have(&self, file: &File) -> Result<(PathBuf, bool), Refused> {
        let said = (
            file.said.sha256.map(hex::encode),
            file.said.sha512.map(hex::encode),
        );
        let name = match said {
            (Some(sha256), _) => Some(format!("sha256-{sha256}")),
            (None, Some(sha512)) => Some(format!("sha512-{sha512}")),
            (None, None) => None,
        };
        if let Some(path) = name
            .as_ref()
            .map(|name| self.cache.join(name))
            .filter(|path| path.is_file())
        {
            return Ok((path, true));
        }
        let write = |error| Refused::Package(PackageError::Write(error));
        let temporary = tempfile::NamedTempFile::new_in(&self.cache).map_err(write)?;
        let fetched = self.packages.fetch(file, Some(temporary.path())).await?;
        if !fetched.differences.is_empty() {
            self.mismatch.store(true, Ordering::Relaxed);
            return Err(Refused::NotThere);
        }
        let name = name.unwrap_or_else(|| format!("sha256-{}", hex::encode(fetched.sha256)));
        let path = self.cache.join(name);
        temporary.persist(&path).map_err(|error| write(error.error))?;
        Ok((path, false))
    }
}

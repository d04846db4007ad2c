//! Accepting connections: bounded in number, in time for the head of a request, and ended in order.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use http::{StatusCode, header};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use toolmark_registry::Registry;
use tower::ServiceExt;
use tracing::{info, warn};

use crate::middleware::Peer;
use crate::settings::ServerSettings;
use crate::state::App;
use crate::{metrics, routes};

/// Most header lines of a request.
const HEADERS: usize = 100;
/// Largest head of a request; its target alone is bounded tighter.
const HEAD_BYTES: usize = 64 * 1024;
/// How long running requests may take to end once we stop.
const DRAIN: Duration = Duration::from_secs(20);

/// Serves until `shutdown` is done, then lets running requests end.
pub async fn serve(
    listener: TcpListener,
    metrics_listener: Option<TcpListener>,
    registry: Registry,
    settings: ServerSettings,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    registry.apply_policy().await.map_err(io::Error::other)?;
    let following = registry.clone();
    let app = App::new(registry, settings);
    let stopping = app.stopping.clone();
    let site = accept(&app, listener, routes::router(app.clone()));
    let numbers = async {
        match metrics_listener {
            Some(listener) => accept(&app, listener, metrics::router(app.clone())).await,
            None => Ok(()),
        }
    };
    let until = app.stopping.clone();
    let index = async {
        tokio::select! {
            () = following.follow_feed() => {}
            () = until.cancelled() => {}
        }
        Ok(())
    };
    let end = async {
        shutdown.await;
        info!("stopping; running requests have {} s", DRAIN.as_secs());
        stopping.cancel();
        Ok(())
    };
    tokio::try_join!(site, numbers, index, end).map(|_| ())
}

async fn accept(app: &App, listener: TcpListener, router: Router) -> io::Result<()> {
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(app.settings.connections));
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(app.settings.head_read)
        .max_headers(HEADERS)
        .max_buf_size(HEAD_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(u32::try_from(HEAD_BYTES).unwrap_or(u32::MAX))
        .max_concurrent_streams(100)
        .keep_alive_interval(app.settings.head_read);
    let builder = Arc::new(builder);
    loop {
        // A place first: when all are taken, new connections wait in the system's queue.
        let place = tokio::select! {
            place = Arc::clone(&places).acquire_owned() => place,
            () = app.stopping.cancelled() => break,
        };
        let (stream, peer) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    pause_after(&error).await;
                    continue;
                }
            },
            () = app.stopping.cancelled() => break,
        };
        let served = connection(&builder, &graceful, stream, peer, router.clone());
        tokio::spawn(async move {
            served.await;
            drop(place);
        });
    }
    if tokio::time::timeout(DRAIN, graceful.shutdown()).await.is_err() {
        warn!("some requests did not end in time and were cut");
    }
    Ok(())
}

/// A connection that ends before it is accepted is nobody's fault; running out of files passes only with time.
async fn pause_after(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if !matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset
    ) {
        warn!(error = %error, "cannot accept a connection");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// The router writes `Allow` on every answer to a method the path does not have, also where that answer is a preflight's
/// or an unknown path's, which it would contradict. It is owed on 405 alone.
fn only_owed_allow(mut response: Response) -> Response {
    if response.status() != StatusCode::METHOD_NOT_ALLOWED {
        response.headers_mut().remove(header::ALLOW);
    }
    response
}

fn connection(
    builder: &Arc<auto::Builder<TokioExecutor>>,
    graceful: &GracefulShutdown,
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
) -> impl Future<Output = ()> + Send + use<> {
    // Answers are written whole; waiting to fill packets only costs the client time.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request: http::Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(Peer(peer));
        let router = router.clone();
        async move { router.oneshot(request).await.map(only_owed_allow) }
    });
    let connection = builder
        .serve_connection_with_upgrades(TokioIo::new(stream), service)
        .into_owned();
    let watched = graceful.watch(connection);
    async move {
        // How a client ends its connection is its own affair.
        let _ = watched.await;
    }
}

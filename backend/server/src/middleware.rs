//! What happens around every request, in one place and one layer: request id, panic catcher, NUL check, trailing
//! slash, CORS, rate limit, time limit; then problem bodies, compression, headers, metrics and the access log.

mod compress;
mod cors;
mod nul;
mod rate;
mod request_id;
mod slash;
mod surface;

use std::panic::AssertUnwindSafe;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use http::{HeaderName, HeaderValue, Method, header};
use toolmark_domain::limits::REQUEST_TARGET_BYTES;
use tracing::{error, info};

use crate::problem::{Code, Problem};
use crate::state::App;

pub(crate) use compress::{accepts_gzip, gzip, mark as mark_gzip};
pub(crate) use rate::{Limiter, Peer};
pub(crate) use request_id::RequestIds;
pub(crate) use slash::moved;
use surface::Surface;
pub(crate) use surface::{is_official, is_version_word};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// What is needed of the request after it is gone.
struct Asked {
    id: String,
    method: Method,
    path: String,
    route: Option<MatchedPath>,
    surface: Surface,
    gzip: bool,
    started: Instant,
}

/// The one layer around every route and fallback.
pub(crate) async fn around(State(app): State<App>, request: Request, next: Next) -> Response {
    let asked = Asked {
        id: app.request_ids.of(request.headers()),
        method: request.method().clone(),
        path: request.uri().path().to_owned(),
        route: request.extensions().get::<MatchedPath>().cloned(),
        surface: Surface::of(request.uri().path(), request.headers()),
        gzip: accepts_gzip(request.headers()),
        started: Instant::now(),
    };
    let mut allowance = None;
    let response = match stop(&app, &request, &mut allowance) {
        Some(response) => response,
        None => run(&app, request, next, &asked.id).await,
    };
    let mut response = finish(&app, response, &asked).await;
    if let Some(allowance) = allowance {
        allowance.write(response.headers_mut());
    }
    record(&app, &asked, &response);
    response
}

/// Answers that need no handler.
fn stop(app: &App, request: &Request, allowance: &mut Option<rate::Allowance>) -> Option<Response> {
    let uri = request.uri();
    if let Some(problem) = nul::check(uri) {
        return Some(problem.into_response());
    }
    let length = uri.path_and_query().map_or(0, |target| target.as_str().len());
    if length > REQUEST_TARGET_BYTES {
        let detail = format!("the path and query are longer than {REQUEST_TARGET_BYTES} bytes");
        return Some(Problem::new(Code::TargetTooLong, detail).into_response());
    }
    if let Some(location) = slash::tidy(uri) {
        return Some(slash::moved(&location));
    }
    if cors::is_preflight(request) {
        return Some(cors::preflight());
    }
    let limiter = app.limiter.as_ref()?;
    let (spent, problem) = limiter.spend(request)?;
    *allowance = Some(spent);
    problem.map(IntoResponse::into_response)
}

async fn run(app: &App, request: Request, next: Next, id: &str) -> Response {
    let limit = app.settings.request_time;
    match tokio::time::timeout(limit, AssertUnwindSafe(next.run(request)).catch_unwind()).await {
        Ok(Ok(response)) => response,
        Ok(Err(_)) => {
            // The panic's own words went to the log by the panic hook.
            error!(request.id = id, "a handler panicked");
            Problem::new(Code::Internal, "something went wrong here; it has been logged").into_response()
        }
        Err(_) => {
            let detail = format!("the answer took longer than {} seconds", limit.as_secs());
            Problem::new(Code::TimedOut, detail).into_response()
        }
    }
}

async fn finish(app: &App, mut response: Response, asked: &Asked) -> Response {
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        response = surface::render(app, &problem, response, asked);
    }
    if asked.gzip {
        response = compress::response(response).await;
    }
    let headers = response.headers_mut();
    cors::write(headers);
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    if let Ok(id) = HeaderValue::from_str(&asked.id) {
        headers.insert(REQUEST_ID, id);
    }
    response
}

fn record(app: &App, asked: &Asked, response: &Response) {
    let route = asked.route.as_ref().map_or("unmatched", MatchedPath::as_str);
    let took = asked.started.elapsed();
    let status = response.status().as_u16();
    app.metrics.record(&asked.method, route, status, took);
    if app.settings.access_log {
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        info!(
            target: "toolmark::access",
            { request.id = asked.id.as_str(), http.status = status, http.route = route, took_us },
            "{} {} {status}", asked.method, asked.path
        );
    }
}

//! What happens around every request, in one place and one layer: request id, NUL check, trailing slash, CORS, rate
//! limit, time limit; then problem bodies, headers, metrics and the access log. tower-http's panic catcher is inside of
//! it, its compression outside. CORS is ours: it is owed on every answer, the early ones too, and a preflight is 204.

mod compress;
mod cors;
mod nul;
mod rate;
mod request_id;
mod slash;
mod surface;

use std::any::Any;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, Method, header};
use toolmark_domain::limits::REQUEST_TARGET_BYTES;
use tracing::{error, info};

use crate::problem::{Code, Problem};
use crate::state::App;

pub(crate) use compress::{accepts_gzip, gzip, layer as compression, mark as mark_gzip};
pub(crate) use rate::{Limiter, Peer};
pub(crate) use request_id::RequestIds;
pub(crate) use slash::moved;
use surface::Surface;
pub(crate) use surface::{is_official, is_version_word};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Marks the answer that stands for a panic.
#[derive(Clone)]
struct Panicked;

/// The answer when a handler panics; the others go on.
pub(crate) fn panicked(_: Box<dyn Any + Send + 'static>) -> Response {
    let problem = Problem::new(Code::Internal, "something went wrong here; it has been logged");
    let mut response = problem.into_response();
    response.extensions_mut().insert(Panicked);
    response
}

/// What is needed of the request after it is gone.
struct Asked {
    id: String,
    method: Method,
    path: String,
    route: Option<MatchedPath>,
    surface: Surface,
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
        started: Instant::now(),
    };
    let mut allowance = None;
    let response = match stop(&app, &request, &mut allowance) {
        Some(response) => response,
        None => run(&app, request, next).await,
    };
    let mut response = finish(&app, response, &asked);
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

async fn run(app: &App, request: Request, next: Next) -> Response {
    let limit = app.settings.request_time;
    if let Ok(response) = tokio::time::timeout(limit, next.run(request)).await {
        return response;
    }
    let detail = format!("the answer took longer than {} seconds", limit.as_secs());
    Problem::new(Code::TimedOut, detail).into_response()
}

fn finish(app: &App, mut response: Response, asked: &Asked) -> Response {
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        response = surface::render(app, &problem, response, asked);
    }
    if response.extensions().get::<Panicked>().is_some() {
        // The panic's own words went to the log by the panic hook.
        error!(request.id = asked.id, "a handler panicked");
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

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::body::Body;
    use axum::routing::get;
    use tower::ServiceExt as _;
    use tower_http::catch_panic::CatchPanicLayer;

    use super::*;

    #[tokio::test]
    async fn a_panic_is_a_marked_problem() {
        async fn broken() -> &'static str {
            panic!("a test of the catcher")
        }
        let router: Router = Router::new()
            .route("/", get(broken))
            .layer(CatchPanicLayer::custom(panicked));
        let response = router
            .oneshot(Request::new(Body::empty()))
            .await
            .expect("a router always answers");
        assert_eq!(response.status(), 500);
        assert!(response.extensions().get::<Panicked>().is_some());
        assert!(response.extensions().get::<Problem>().is_some());
    }
}

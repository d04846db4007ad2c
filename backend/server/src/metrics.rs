//! What an operator can count, in the Prometheus text format, on a listener of its own.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use http::{HeaderValue, Method, StatusCode, header};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry as Catalogue;

use crate::state::App;

const BUCKETS: [f64; 13] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 10.0, 50.0,
];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answer {
    method: &'static str,
    path: String,
    status_code: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Route {
    method: &'static str,
    path: String,
}

pub(crate) struct Metrics {
    catalogue: Catalogue,
    requests: Family<Answer, Counter>,
    durations: Family<Route, Histogram, fn() -> Histogram>,
    events_head: Gauge,
    up: Gauge,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut catalogue = Catalogue::with_prefix("toolmark");
        let requests = Family::default();
        let durations = Family::new_with_constructor((|| Histogram::new(BUCKETS)) as fn() -> Histogram);
        let events_head = Gauge::default();
        let up = Gauge::default();
        catalogue.register("http_requests", "Requests answered", requests.clone());
        catalogue.register(
            "http_request_duration_seconds",
            "Time to answer a request",
            durations.clone(),
        );
        catalogue.register("events_head", "Number of the newest event", events_head.clone());
        catalogue.register("store_up", "Whether the store answers", up.clone());
        Self {
            catalogue,
            requests,
            durations,
            events_head,
            up,
        }
    }

    pub(crate) fn record(&self, method: &Method, route: &str, status_code: u16, took: Duration) {
        // Probes of the operator's own systems would drown the rest.
        if route.starts_with("/health") || route == "/ping" {
            return;
        }
        let method = word(method);
        let path = route.to_owned();
        self.durations
            .get_or_create(&Route {
                method,
                path: path.clone(),
            })
            .observe(took.as_secs_f64());
        self.requests
            .get_or_create(&Answer {
                method,
                path,
                status_code,
            })
            .inc();
    }
}

/// A client can invent methods; a label cannot grow with them.
fn word(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

/// The routes of the metrics listener.
pub(crate) fn router(app: App) -> Router {
    Router::new().route("/metrics", get(metrics)).with_state(app)
}

async fn metrics(State(app): State<App>) -> Response {
    match app.registry.head().await {
        Ok(head) => {
            app.metrics.events_head.set(head);
            app.metrics.up.set(1);
        }
        Err(_) => {
            app.metrics.up.set(0);
        }
    }
    let mut text = String::new();
    let mut response = Response::new(Body::empty());
    if encode(&mut text, &app.metrics.catalogue).is_err() {
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        return response;
    }
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8"),
    );
    *response.body_mut() = Body::from(text);
    response
}

//! The promised figure of alerts: one event is delivered to a thousand endpoints on loopback within 10 seconds.

#![expect(clippy::print_stdout, reason = "its output is its result")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;
use toolmark_domain::permission::Action;
use toolmark_registry::WorkerSettings;
use toolmark_tests::app::TestApp;
use toolmark_tests::receiver::Receiver;

const ENDPOINTS: usize = 1000;
const MOST_SECS: f64 = 10.0;

#[tokio::main]
async fn main() -> ExitCode {
    let app = TestApp::builder().start().await;
    let token = app.token("team-a", &[Action::Subscribe]).await;
    let receiver = Receiver::start().await;
    for number in 0..ENDPOINTS {
        let address = format!("{}/{number}", receiver.url);
        let body = json!({"label": "x", "channel": "webhook", "address": address});
        let made = app
            .write(Method::POST, "/api/v1/endpoints", Some(&token), &body)
            .await
            .expect(201)
            .json();
        let body = json!({"label": "x", "endpoint": made["id"]});
        let _ = app
            .write(Method::POST, "/api/v1/subscriptions", Some(&token), &body)
            .await
            .expect(201);
    }
    let registry = app.registry.clone();
    let loops = tokio::spawn(async move {
        registry
            .work(&WorkerSettings::default(), std::future::pending::<()>())
            .await;
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    app.publish("com.example/told", &["1.0.0"]).await;
    let begun = Instant::now();
    let got = receiver.wait_for(ENDPOINTS, Duration::from_mins(1)).await.len();
    let took = begun.elapsed().as_secs_f64();
    println!("one event to {got} of {ENDPOINTS} endpoints in {took:.2} s, promised {MOST_SECS}");
    loops.abort();
    if got == ENDPOINTS && took <= MOST_SECS {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

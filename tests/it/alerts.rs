//! Alerts over HTTP: who may manage them, what is sent, and what becomes of it.

mod delivery;
mod drill;
mod feeds;
mod killed;
mod manage;

use reqwest::Method;
use serde_json::{Value, json};
use toolmark_domain::permission::Action;
use toolmark_tests::app::{Answer, TestApp};
use toolmark_tests::receiver::Receiver;

/// A registry, somebody who watches it, and where they are told.
struct Watching {
    app: TestApp,
    token: String,
    receiver: Receiver,
    endpoint: String,
    secret: String,
}

impl Watching {
    async fn start() -> Self {
        let app = TestApp::builder().start().await;
        let token = app.token("team-a", &[Action::Subscribe]).await;
        let receiver = Receiver::start().await;
        let body = json!({"label": "ours", "channel": "webhook", "address": receiver.url});
        let made = app
            .write(Method::POST, "/api/v1/endpoints", Some(&token), &body)
            .await
            .expect(201)
            .json();
        let text = |key: &str| made[key].as_str().unwrap().to_owned();
        Self {
            endpoint: text("id"),
            secret: text("secret"),
            app,
            token,
            receiver,
        }
    }

    async fn send(&self, method: Method, target: &str, body: &Value) -> Answer {
        self.app.write(method, target, Some(&self.token), body).await
    }

    async fn get(&self, target: &str) -> Answer {
        let bearer = format!("Bearer {}", self.token);
        self.app.get_with(target, &[("authorization", &bearer)]).await
    }

    async fn subscribe(&self, filter: Value, cadence: &str) -> String {
        let body = json!({"endpoint": self.endpoint, "label": "all", "filter": filter, "cadence": cadence});
        let made = self
            .send(Method::POST, "/api/v1/subscriptions", &body)
            .await
            .expect(201);
        made.json()["id"].as_str().unwrap().to_owned()
    }

    /// Follows the feed and sends what is due.
    async fn work(&self) -> usize {
        self.app.registry.follow_alerts().await.unwrap();
        self.app.registry.deliver_due().await.unwrap()
    }

    async fn state(&self) -> String {
        let found = self
            .get(&format!("/api/v1/endpoints/{}", self.endpoint))
            .await
            .expect(200)
            .json();
        found["state"].as_str().unwrap().to_owned()
    }

    /// State and event number of every delivery, oldest first.
    async fn log(&self) -> Vec<(String, i64)> {
        let list = self.get("/api/v1/deliveries?limit=100").await.expect(200).json();
        let mut rows: Vec<_> = list["deliveries"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| {
                (
                    row["state"].as_str().unwrap().to_owned(),
                    row["event_seq"].as_i64().unwrap(),
                )
            })
            .collect();
        rows.sort_by_key(|row| row.1);
        rows
    }
}

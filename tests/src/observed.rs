//! Servers that were looked at, for tests of what is found.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use toolmark_registry::WorkerSettings;

use crate::app::TestApp;
use crate::scripted::{Scripted, snapshot};

/// An app whose servers are looked at as they are published.
pub struct Watched {
    pub app: TestApp,
    crawler: Arc<Scripted>,
    worker: WorkerSettings,
}

impl Watched {
    pub fn over(app: TestApp) -> Self {
        let crawler = Arc::new(Scripted::default());
        let worker = WorkerSettings {
            concurrency: 1,
            crawler: Some(crawler.clone()),
            ..WorkerSettings::default()
        };
        Self { app, crawler, worker }
    }

    /// Publishes a version whose one package declares these tools, and looks at it.
    pub async fn publish(&self, name: &str, version: &str, description: &str, tools: &Value) {
        let package = name.replace('/', "-");
        self.crawler
            .put(snapshot(&format!("npm:{package}@{version}"), tools));
        let body = json!({
            "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
            "name": name, "version": version, "description": description,
            "packages": [{
                "registryType": "npm", "identifier": package, "version": version, "transport": {"type": "stdio"},
            }],
        });
        let token = self.app.any_token().await;
        let sent = self.app.write(Method::POST, "/v0/publish", Some(&token), &body);
        let _ = sent.await.expect(200);
        let done = self.app.registry.run_due_jobs(&self.worker).await;
        done.expect("jobs run");
    }

    /// Waits until the index reflects everything that happened.
    pub async fn indexed(&self) {
        let head = self.app.registry.head().await.expect("a head");
        let indexed = self.app.registry.wait_indexed(head);
        let within = std::time::Duration::from_secs(30);
        tokio::time::timeout(within, indexed)
            .await
            .expect("the index follows");
    }

    /// What `find_tools` answers.
    pub async fn find(&self, arguments: &Value) -> Value {
        let answer = self
            .app
            .write(Method::POST, "/api/v1/find", None, arguments)
            .await;
        answer.expect(200).json()
    }

    /// Ids of the tools found for words.
    pub async fn ids(&self, query: &str) -> Vec<String> {
        let found = self
            .find(&json!({"query": query, "limit": 20, "detail": "compact", "max_tokens": 50000}))
            .await;
        let tools = found["tools"].as_array().expect("tools").iter();
        tools
            .map(|tool| tool["id"].as_str().expect("an id").to_owned())
            .collect()
    }
}

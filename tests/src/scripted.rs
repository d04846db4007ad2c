//! A crawler that finds what a test says is there.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Mutex;

use serde_json::{Value, json};
use toolmark_domain::snapshot::{Outcome, Snapshot};
use toolmark_registry::{Crawl, CrawlRequest};

/// What is found at each target; a target nobody spoke of is unreachable.
#[derive(Default)]
pub struct Scripted {
    found: Mutex<HashMap<String, Snapshot>>,
}

/// A snapshot with these tools.
pub fn snapshot(target: &str, tools: &Value) -> Snapshot {
    let mut snapshot = Snapshot::failed(target, Outcome::Observed, None);
    let document = json!({
        "schema": snapshot.schema, "target": target, "outcome": "observed", "era": "legacy",
        "protocol_version": "2025-06-18", "discover": null,
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}},
        "tools": tools, "prompts": null, "resources": null, "resource_templates": null,
        "digests": {}, "reason": null, "stderr_tail": null, "took_ms": 7,
    });
    snapshot = Snapshot::read(document.to_string().as_bytes()).expect("a snapshot of our own making");
    snapshot
}

/// A tool with a description.
pub fn tool(name: &str, description: &str) -> Value {
    json!({
        "name": name, "description": description,
        "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}},
    })
}

impl Scripted {
    /// From now on this is found at the snapshot's target.
    pub fn put(&self, snapshot: Snapshot) {
        let mut found = self.found.lock().expect("no test panics while it holds this");
        found.insert(snapshot.target.clone(), snapshot);
    }
}

impl Crawl for Scripted {
    fn look(&self, request: CrawlRequest) -> Pin<Box<dyn Future<Output = Snapshot> + Send + '_>> {
        let target = request.target.text();
        let found = self.found.lock().expect("no test panics while it holds this");
        let unreachable = || Snapshot::failed(&target, Outcome::Unreachable, Some("refused"));
        let snapshot = found.get(&target).cloned().unwrap_or_else(unreachable);
        Box::pin(async move { snapshot })
    }
}

//! What the tables share: answers of servers, and one row.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::{Value, json};
use toolmark_crawler::bare::Bare;
use toolmark_crawler::{Bounds, Condition, Launch, Progress, Take, take_process};
use toolmark_domain::manifest::Era;
use toolmark_domain::snapshot::Outcome;

/// The program that plays servers.
pub(crate) fn fake_server() -> PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let found = PROGRAM.get_or_init(|| {
        // The test lies in `target/debug/deps`, examples beside that folder.
        let deps = std::env::current_exe().unwrap();
        let program = deps
            .parent()
            .unwrap()
            .with_file_name("examples")
            .join("fake_server");
        // `cargo test --test cases` alone does not build it, and may find an old one.
        let built = Command::new(env!("CARGO"))
            .args([
                "build",
                "--quiet",
                "-p",
                "toolmark-crawler",
                "--example",
                "fake_server",
            ])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status();
        assert!(built.unwrap().success() && program.exists());
        program
    });
    found.clone()
}

pub(crate) fn launch(config: &Value) -> Launch {
    Launch {
        program: fake_server().into(),
        args: vec![config.to_string().into()],
        ..Launch::default()
    }
}

/// The bounds of the product with waits that a test can bear.
pub(crate) fn quick() -> Bounds {
    Bounds {
        probe: Duration::from_secs(4),
        answer: Duration::from_secs(4),
        take: Duration::from_secs(20),
        settle: Duration::from_millis(300),
        ..Bounds::default()
    }
}

pub(crate) async fn take(config: &Value, bounds: &Bounds) -> Take {
    take_process(
        &Bare,
        &launch(config),
        &Condition::TAKES[0],
        bounds,
        Progress::NONE,
    )
    .await
}

/// One line that answers the request with this result.
pub(crate) fn result(value: &Value) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{value}}}"#)
}

pub(crate) fn error(code: i64, message: &str) -> String {
    let error = json!({"code": code, "message": message});
    format!(r#"{{"jsonrpc":"2.0","id":$ID,"error":{error}}}"#)
}

pub(crate) fn unsupported(supported: &[&str]) -> String {
    let error = json!({"code": -32022, "message": "Unsupported protocol version",
        "data": {"supported": supported, "requested": "2026-07-28"}});
    format!(r#"{{"jsonrpc":"2.0","id":$ID,"error":{error}}}"#)
}

pub(crate) fn discover() -> Value {
    json!({
        "resultType": "complete", "supportedVersions": ["2026-07-28", "2025-11-25"],
        "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "public",
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "fake", "version": "1"}},
    })
}

pub(crate) fn initialized() -> Value {
    json!({
        "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
        "serverInfo": {"name": "fake", "version": "1"},
    })
}

pub(crate) fn tools() -> Value {
    json!({
        "resultType": "complete", "ttlMs": 0, "cacheScope": "public",
        "tools": [{"name": "add", "description": "Adds", "inputSchema": {"type": "object"}}],
    })
}

/// What a row expects.
pub(crate) struct Expected {
    pub(crate) outcome: Outcome,
    pub(crate) reason: Option<&'static str>,
    pub(crate) era: Option<Era>,
    pub(crate) evidence: Option<&'static str>,
    pub(crate) tools: Option<usize>,
}

/// Seen, one tool.
pub(crate) fn seen(era: Era, evidence: &'static str) -> Expected {
    Expected {
        outcome: Outcome::Observed,
        reason: None,
        era: Some(era),
        evidence: Some(evidence),
        tools: Some(1),
    }
}

/// Not seen.
pub(crate) fn not(outcome: Outcome, reason: &'static str) -> Expected {
    Expected {
        outcome,
        reason: Some(reason),
        era: None,
        evidence: None,
        tools: None,
    }
}

/// Every way in which a take is not what its row expects.
pub(crate) fn check(name: &str, take: &Take, expected: &Expected) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut same = |what: &str, is: String, should: String| {
        if is != should {
            wrong.push(format!(
                "{name}: {what} is {is}, expected {should}; {:?}",
                take.words
            ));
        }
    };
    same(
        "outcome",
        take.outcome.as_str().into(),
        expected.outcome.as_str().into(),
    );
    let reason = take.reason.map(toolmark_domain::reason::Reason::as_str);
    same("reason", format!("{reason:?}"), format!("{:?}", expected.reason));
    if expected.outcome == Outcome::Observed || expected.era.is_some() {
        same("era", format!("{:?}", take.era), format!("{:?}", expected.era));
    }
    if expected.outcome == Outcome::Observed {
        let evidence = take.era_evidence.map(toolmark_crawler::EraEvidence::as_str);
        same(
            "evidence",
            format!("{evidence:?}"),
            format!("{:?}", expected.evidence),
        );
        let count = take
            .lists
            .get(&toolmark_domain::manifest::ItemKind::Tool)
            .map(Vec::len);
        same("tools", format!("{count:?}"), format!("{:?}", expected.tools));
    }
    wrong
}

//! The ways real servers fail, each played by a fixture that says what real ones say; each has an outcome and a
//! reason of its own.

use serde_json::{Value, json};
use toolmark_crawler::bare::Bare;
use toolmark_crawler::{Look, Observation, Progress, observe_process};
use toolmark_domain::snapshot::Outcome;

use crate::support::{error, initialized, launch, quick, result, tools};

async fn observe(config: &Value) -> Observation {
    let bounds = quick();
    let look = Look {
        target: "-- fake",
        bounds: &bounds,
        volatile: &[],
        progress: Progress::NONE,
    };
    observe_process(&look, &Bare, &launch(config)).await
}

/// Says something on its error output and ends.
fn dies(words: &str, code: i32) -> Value {
    json!({"start": [{"err": words}, {"exit": code}]})
}

/// Listens, answers `initialize`, and does this when asked for its tools.
fn at_list(steps: Value) -> Value {
    let mut config = json!({"initialize": [{"say": result(&initialized())}]});
    config["tools/list"] = steps;
    config
}

const DRIFT_JS: &str = "file:///app/node_modules/x-mcp/dist/index.js:3\nimport { Server } from '@modelcontextprotocol/sdk';\n         ^^^^^^\nSyntaxError: The requested module '@modelcontextprotocol/sdk' does not provide an export named 'Server'";
const DRIFT_PY: &str = "Traceback (most recent call last):\n  File \"/app/bin/x-mcp\", line 3, in <module>\n    from mcp.server import FastMCP\nImportError: cannot import name 'FastMCP' from 'mcp.server'";
const MODULE_JS: &str = "node:internal/modules/esm/resolve:873\nError [ERR_MODULE_NOT_FOUND]: Cannot find package 'jsdom' imported from /app/index.js";
const MODULE_PY: &str = "Traceback (most recent call last):\n  File \"/app/x.py\", line 1, in <module>\nModuleNotFoundError: No module named 'pymupdf4llm'";
const NATIVE: &str = "Error: Cannot find module '../build/Release/keytar.node'\nRequire stack:\n- /app/node_modules/keytar/lib/keytar.js";
const ZONE: &str = "zoneinfo._common.ZoneInfoNotFoundError: 'No time zone found with key Asia/Tokyo'";
const NODE: &str = "This server requires Node.js 22 or newer, found 20.20.2";
const ROFS: &str = "OSError: [Errno 30] Read-only file system: '/app/lib/excel-mcp.log'";

#[expect(clippy::too_many_lines, reason = "a table")]
fn rows() -> Vec<(&'static str, Value, Outcome, &'static str)> {
    use Outcome as O;
    vec![
        (
            "dependency drift, npm",
            dies(DRIFT_JS, 1),
            O::Crashed,
            "dependency_drift",
        ),
        (
            "dependency drift, PyPI",
            dies(DRIFT_PY, 1),
            O::Crashed,
            "dependency_drift",
        ),
        (
            "missing module, npm",
            dies(MODULE_JS, 1),
            O::Crashed,
            "missing_module",
        ),
        (
            "missing module, PyPI",
            dies(MODULE_PY, 1),
            O::Crashed,
            "missing_module",
        ),
        ("native part", dies(NATIVE, 1), O::Crashed, "native_part_missing"),
        ("time zone", dies(ZONE, 1), O::Crashed, "needs_time_zone"),
        ("runtime too old", dies(NODE, 1), O::Crashed, "runtime_too_old"),
        (
            "read-only file system",
            dies(ROFS, 1),
            O::Crashed,
            "read_only_file_system",
        ),
        (
            "dies without its telemetry",
            dies("Error: getaddrinfo ENOTFOUND telemetry.example.com", 1),
            O::Crashed,
            "needs_network",
        ),
        (
            "cannot fetch its list",
            at_list(json!([{"say": error(-32603, "fetch failed")}])),
            O::RefusedByPolicy,
            "needs_network",
        ),
        (
            "waits for the network",
            at_list(json!([{"err": "connect ECONNREFUSED 203.0.113.7:443, retrying"}])),
            O::TimedOut,
            "needs_network",
        ),
        (
            "wants a key",
            dies("Error: STRIPE_SECRET_KEY environment variable is required", 1),
            O::NeedsConfiguration,
            "missing_setting",
        ),
        (
            "wants an argument",
            dies("Usage: mcp-server-filesystem <allowed-directory> [more…]", 1),
            O::NeedsConfiguration,
            "missing_argument",
        ),
        (
            "wants a key when asked",
            at_list(json!([{"say": error(-32000, "API key not configured")}])),
            O::NeedsConfiguration,
            "missing_setting",
        ),
        (
            "wants a key at initialize",
            json!({"initialize": [{"say": error(-32000, "missing access token")}]}),
            O::NeedsConfiguration,
            "missing_setting",
        ),
        (
            "another program",
            json!({"start": [{"say": "{\"mcpServers\": {\"x\": {}}}"}, {"exit": 0}]}),
            O::DoesNotSpeakMcp,
            "not_the_server",
        ),
        (
            "no list of tools",
            at_list(json!([{"say": error(-32601, "Method not found")}])),
            O::DoesNotSpeakMcp,
            "no_tools_list",
        ),
        (
            "refuses to initialize",
            json!({"initialize": [{"say": error(-32600, "no")}]}),
            O::DoesNotSpeakMcp,
            "initialize_refused",
        ),
        (
            "a crash without words",
            json!({"start": [{"exit": 7}]}),
            O::Crashed,
            "exit_status",
        ),
        (
            "a crash of the runtime",
            json!({"start": [{"abort": true}]}),
            O::Crashed,
            "signal",
        ),
        (
            "silence",
            json!({"start": [{"hang": true}]}),
            O::TimedOut,
            "no_answer",
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn every_state_has_an_outcome_and_a_reason() {
    let tasks: Vec<_> = rows()
        .into_iter()
        .map(|(name, config, outcome, reason)| {
            tokio::spawn(async move {
                let seen = observe(&config).await.snapshot;
                let found = (seen.outcome, seen.reason.as_deref());
                (found != (outcome, Some(reason))).then(|| format!("{name}: {seen:?}"))
            })
        })
        .collect();
    let mut wrong = Vec::new();
    for task in tasks {
        wrong.extend(task.await.unwrap());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn its_own_words_are_kept_without_secrets() {
    let secret = format!("{}{}", "ghp_", "a".repeat(36));
    let seen = observe(&dies(
        &format!("starting\nError: invalid token {secret}, API_KEY is required\nbye"),
        1,
    ))
    .await
    .snapshot;
    assert_eq!(seen.outcome, Outcome::NeedsConfiguration);
    let words = seen.look["words"].as_str().unwrap();
    assert_eq!(words, "Error: invalid token ********, API_KEY is required");
    assert!(!String::from_utf8(seen.to_bytes()).unwrap().contains(&secret));
    assert_eq!(seen.stderr_tail.unwrap().lines().count(), 3);
}

#[tokio::test]
async fn noise_and_a_stubborn_end_are_no_failure() {
    let mut config = at_list(json!([{"say": result(&tools())}]));
    config["start"] = json!([{"repeat": 313, "say": "Skipping tool: not enabled"}, {"err": "listening"}]);
    config["at_end"] = json!([{"hang": true}]);
    let seen = observe(&config).await.snapshot;
    assert_eq!(seen.outcome, Outcome::Observed, "{seen:?}");
    let findings = serde_json::to_string(&seen.findings).unwrap();
    assert!(
        findings.contains("\"C01\"") && findings.contains("(313 times)") && findings.contains("\"C09\""),
        "{findings}"
    );
    assert_eq!(seen.stderr_tail.as_deref(), Some("listening"));
}

#[tokio::test]
async fn each_take_has_a_folder_of_its_own() {
    let mut config = at_list(json!([{"say": result(&tools())}]));
    config["start"] = json!([{"cwd": true}]);
    let launch = launch(&config);
    let mut seen = Vec::new();
    for condition in &toolmark_crawler::Condition::TAKES {
        let take = toolmark_crawler::take_process(&Bare, &launch, condition, &quick(), Progress::NONE).await;
        seen.push(take.stderr_tail.unwrap());
    }
    assert_ne!(seen[0], seen[1]);
    assert!(!std::path::Path::new(&seen[0]).exists(), "it is left behind");
}

//! The decision table of Streamable HTTP, each row a server behind a socket.

use serde_json::json;
use toolmark_crawler::{Condition, Progress, take_remote};
use toolmark_domain::manifest::Era;
use toolmark_domain::snapshot::Outcome;
use toolmark_outbound::Client;

use crate::peers::{Asked, Peer, Reply, client};
use crate::support::{
    Expected, check, discover, error, initialized, not, quick, result, seen, tools, unsupported,
};

/// A row: the answers to the probe in order, who the server is otherwise, and what is expected.
struct Row(&'static str, Vec<Reply>, Kind, Expected);

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Answers `initialize`.
    Legacy,
    /// Refuses `initialize`.
    Modern,
    /// Must not be asked to initialize.
    NotAsked,
}

fn answer(probes: &[Reply], kind: Kind, asked: &Asked, number: usize) -> Reply {
    match asked.method().as_str() {
        "server/discover" => probes[number.min(probes.len() - 1)].clone(),
        "initialize" if kind == Kind::Legacy => {
            Reply::json(200, result(&initialized())).with("Mcp-Session-Id: s1")
        }
        "initialize" => Reply::json(400, unsupported(&["2026-07-28"])),
        "notifications/initialized" => Reply::empty(202),
        "tools/list" => Reply::json(200, result(&tools())),
        "delete" => Reply::empty(200),
        _ => Reply::json(404, error(-32601, "Method not found")),
    }
}

fn refused() -> Expected {
    seen(Era::Legacy, "refused")
}

fn found() -> Expected {
    seen(Era::Modern, "discovered")
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn modern_rows() -> Vec<Row> {
    let without = |names: &[&str]| {
        let mut value = discover();
        for name in names {
            value.as_object_mut().unwrap().remove(*name);
        }
        Reply::json(200, result(&value))
    };
    let whole = Reply::json(200, result(&discover()));
    let event = format!("data: {}\n\n", result(&discover()));
    vec![
        Row("discover", vec![whole.clone()], Kind::Modern, found()),
        Row(
            "without hints",
            vec![without(&["ttlMs", "cacheScope"])],
            Kind::Modern,
            found(),
        ),
        Row(
            "without a type",
            vec![without(&["resultType"])],
            Kind::Modern,
            found(),
        ),
        Row(
            "as an event",
            vec![Reply::events(&[": hi\n\n", &event])],
            Kind::Modern,
            found(),
        ),
        Row(
            "as an event after others",
            vec![Reply::events(&[
                "id: 0\ndata:\n\n",
                "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n",
                &event,
            ])],
            Kind::Modern,
            found(),
        ),
        Row(
            "-32022, ours named",
            vec![Reply::json(400, unsupported(&["2026-07-28"])), whole],
            Kind::Modern,
            found(),
        ),
        Row(
            "-32022, legacy named",
            vec![Reply::json(400, unsupported(&["2025-06-18"]))],
            Kind::Legacy,
            seen(Era::Legacy, "modern_error"),
        ),
        Row(
            "-32022, none of ours",
            vec![Reply::json(400, unsupported(&["2099-01-01"]))],
            Kind::NotAsked,
            not(Outcome::DoesNotSpeakMcp, "no_common_version"),
        ),
        Row(
            "-32022 twice",
            vec![Reply::json(400, unsupported(&["2026-07-28"]))],
            Kind::NotAsked,
            not(Outcome::DoesNotSpeakMcp, "no_common_version"),
        ),
        Row(
            "-32020",
            vec![Reply::json(400, error(-32020, "mismatch"))],
            Kind::NotAsked,
            not(Outcome::NotObserved, "header_mismatch"),
        ),
        Row(
            "-32021",
            vec![Reply::json(400, error(-32021, "sampling"))],
            Kind::NotAsked,
            not(Outcome::RefusedByPolicy, "needs_client_capability"),
        ),
    ]
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn legacy_rows() -> Vec<Row> {
    let old = result(&json!({"supportedVersions": ["2025-11-25"], "capabilities": {}}));
    let mut rows = vec![
        Row(
            "only legacy versions",
            vec![Reply::json(200, old)],
            Kind::Legacy,
            refused(),
        ),
        Row(
            "empty result",
            vec![Reply::json(200, result(&json!({})))],
            Kind::Legacy,
            refused(),
        ),
        Row("202", vec![Reply::empty(202)], Kind::Legacy, refused()),
        Row(
            "200 and nothing",
            vec![Reply::empty(200)],
            Kind::Legacy,
            refused(),
        ),
        Row(
            "HTML",
            vec![Reply::text(200, "text/html", "<!doctype html><p>hi")],
            Kind::Legacy,
            refused(),
        ),
        Row(
            "plain text",
            vec![Reply::text(200, "text/plain", "ok")],
            Kind::Legacy,
            refused(),
        ),
        Row(
            "an empty stream",
            vec![Reply::Http(
                200,
                "content-type: text/event-stream\r\n".into(),
                String::new(),
            )],
            Kind::Legacy,
            refused(),
        ),
        Row(
            "400 HTML",
            vec![Reply::text(400, "text/html", "<html>bad</html>")],
            Kind::Legacy,
            refused(),
        ),
        Row(
            "400 text",
            vec![Reply::text(400, "text/plain", "Bad Request")],
            Kind::Legacy,
            refused(),
        ),
        Row(
            "400, id null",
            vec![Reply::json(
                400,
                r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}"#,
            )],
            Kind::Legacy,
            refused(),
        ),
        Row(
            "400, id of its own",
            vec![Reply::json(
                400,
                r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Bad Request: Missing session ID"}}"#,
            )],
            Kind::Legacy,
            refused(),
        ),
        Row(
            "400, version not known",
            vec![Reply::json(
                400,
                r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Bad Request: Unsupported protocol version"}}"#,
            )],
            Kind::Legacy,
            refused(),
        ),
        Row(
            "400, a code of drafts",
            vec![Reply::json(400, error(-32004, "Unsupported"))],
            Kind::Legacy,
            refused(),
        ),
        Row(
            "404, method not found",
            vec![Reply::json(404, error(-32601, "x"))],
            Kind::Legacy,
            refused(),
        ),
    ];
    for (name, code) in [
        ("-32601", -32601),
        ("-32602", -32602),
        ("-32603", -32603),
        ("-32000", -32000),
    ] {
        rows.push(Row(
            name,
            vec![Reply::json(200, error(code, "x"))],
            Kind::Legacy,
            refused(),
        ));
    }
    for (name, status) in [
        ("400", 400),
        ("404", 404),
        ("405", 405),
        ("406", 406),
        ("415", 415),
        ("501", 501),
    ] {
        rows.push(Row(name, vec![Reply::empty(status)], Kind::Legacy, refused()));
    }
    rows
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn closed_rows() -> Vec<Row> {
    let auth = |reason| not(Outcome::AuthRequired, reason);
    let gone = |reason| not(Outcome::Unreachable, reason);
    let challenge = "WWW-Authenticate: Bearer scope=\"a\"";
    let mut rows = vec![
        Row(
            "401",
            vec![Reply::empty(401)],
            Kind::NotAsked,
            auth("unauthorized"),
        ),
        Row(
            "401 with a challenge",
            vec![Reply::empty(401).with(challenge)],
            Kind::NotAsked,
            auth("unauthorized"),
        ),
        Row(
            "401 with an answer of the protocol",
            vec![Reply::json(401, error(-32001, "no"))],
            Kind::NotAsked,
            auth("unauthorized"),
        ),
        Row(
            "403",
            vec![Reply::text(403, "text/html", "<html>")],
            Kind::NotAsked,
            auth("forbidden"),
        ),
        Row(
            "429",
            vec![Reply::empty(429).with("Retry-After: 7")],
            Kind::NotAsked,
            gone("rate_limited"),
        ),
        Row(
            "500 with an answer of the protocol",
            vec![Reply::json(500, error(-32603, "x"))],
            Kind::NotAsked,
            gone("server_error"),
        ),
        Row(
            "closed without a word",
            vec![Reply::Reset],
            Kind::NotAsked,
            gone("broke_off"),
        ),
        Row(
            "cut short",
            vec![Reply::Bytes(
                b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"json".to_vec(),
            )],
            Kind::NotAsked,
            gone("broke_off"),
        ),
        Row(
            "hangs",
            vec![Reply::Hang],
            Kind::NotAsked,
            not(Outcome::TimedOut, "no_answer"),
        ),
        Row(
            "trickles",
            vec![Reply::Stream(
                200,
                "content-type: application/json\r\n".into(),
                vec![(500, " ".into()); 100],
            )],
            Kind::NotAsked,
            not(Outcome::TimedOut, "no_answer"),
        ),
        Row(
            "a stream without an end",
            vec![Reply::events(&[": hi\n\n"])],
            Kind::NotAsked,
            not(Outcome::TimedOut, "no_answer"),
        ),
    ];
    for (name, status) in [("500", 500), ("502", 502), ("503", 503), ("504", 504)] {
        rows.push(Row(
            name,
            vec![Reply::empty(status)],
            Kind::NotAsked,
            gone("server_error"),
        ));
    }
    rows
}

async fn play(client: Client, row: Row) -> Vec<String> {
    let Row(name, probes, kind, expected) = row;
    let modern_count = probes.len();
    let peer = Peer::start(move |asked, number| answer(&probes, kind, asked, number)).await;
    let remote = toolmark_crawler::Remote {
        url: peer.url.clone(),
        headers: toolmark_outbound::HeaderMap::new(),
    };
    let taken = take_remote(&client, &remote, &Condition::TAKES[0], &quick(), Progress::NONE).await;
    let mut wrong = check(name, &taken, &expected);
    let methods = peer.methods();
    let initializes = methods.iter().filter(|method| *method == "initialize").count();
    if (kind == Kind::Legacy) != (initializes == 1) {
        wrong.push(format!("{name}: {methods:?}"));
    }
    let probes = methods
        .iter()
        .filter(|method| *method == "server/discover")
        .count();
    if probes > modern_count.max(2) {
        wrong.push(format!("{name}: probed too often, {methods:?}"));
    }
    if methods.iter().any(|method| method == "tools/call") {
        wrong.push(format!("{name}: called a tool"));
    }
    wrong
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_to_the_probe_leads_where_the_table_says() {
    let client = client();
    let rows = modern_rows()
        .into_iter()
        .chain(legacy_rows())
        .chain(closed_rows());
    let tasks: Vec<_> = rows.map(|row| tokio::spawn(play(client.clone(), row))).collect();
    let mut wrong = Vec::new();
    for task in tasks {
        wrong.extend(task.await.unwrap());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

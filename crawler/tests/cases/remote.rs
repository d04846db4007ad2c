//! Remotes beyond the first answer: sessions, streams, redirects, who gives access, what must never be reached.

use std::time::Duration;

use serde_json::json;
use toolmark_crawler::{Condition, Progress, Remote, Take, take_remote};
use toolmark_domain::manifest::{Era, ItemKind};
use toolmark_domain::snapshot::Outcome;
use toolmark_outbound::{Client, HeaderMap, HeaderValue, Settings};

use crate::peers::{Asked, Peer, Reply, client};
use crate::support::{check, discover, error, initialized, not, quick, result, seen, tools};

async fn look(peer: &Peer) -> Take {
    look_with(peer, HeaderMap::new()).await
}

async fn look_with(peer: &Peer, headers: HeaderMap) -> Take {
    let remote = Remote {
        url: peer.url.clone(),
        headers,
    };
    take_remote(&client(), &remote, &Condition::TAKES[0], &quick(), Progress::NONE).await
}

fn assert_row(take: &Take, expected: &crate::support::Expected) {
    let wrong = check("row", take, expected);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn modern(asked: &Asked) -> Reply {
    match asked.method().as_str() {
        "server/discover" => Reply::json(200, result(&discover())),
        "tools/list" => Reply::json(200, result(&tools())),
        _ => Reply::json(404, error(-32601, "x")),
    }
}

#[tokio::test]
async fn requests_of_the_modern_era_bear_its_headers_and_no_session() {
    let peer = Peer::start(|asked, _| modern(asked).with("Mcp-Session-Id: never")).await;
    let mut headers = HeaderMap::new();
    headers.insert("x-api-key", HeaderValue::from_static("placeholder"));
    assert_row(&look_with(&peer, headers).await, &seen(Era::Modern, "discovered"));
    for asked in peer.asked() {
        let method = asked.method().to_lowercase();
        for line in [
            "accept: application/json, text/event-stream",
            "content-type: application/json",
            "mcp-protocol-version: 2026-07-28",
            "x-api-key: placeholder",
            &format!("mcp-method: {method}"),
        ] {
            assert!(
                asked.head.contains(&format!("{line}\r\n")) || asked.head.ends_with(line),
                "{line}: {}",
                asked.head
            );
        }
        assert!(!asked.head.contains("mcp-session-id") && !asked.head.contains("cookie"));
        assert_eq!(
            asked.body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"],
            json!({})
        );
    }
    assert_eq!(peer.methods(), ["server/discover", "tools/list"]);
}

#[tokio::test]
async fn a_legacy_session_is_kept_and_ended() {
    let peer = Peer::start(|asked, _| match asked.method().as_str() {
        "initialize" => Reply::json(200, result(&initialized())).with("Mcp-Session-Id: abc"),
        "notifications/initialized" => Reply::empty(202),
        "tools/list" if asked.head.contains("mcp-session-id: abc") => Reply::json(200, result(&tools())),
        "delete" => Reply::empty(405),
        _ => Reply::empty(400),
    })
    .await;
    assert_row(&look(&peer).await, &seen(Era::Legacy, "refused"));
    let asked = peer.asked();
    let of = |method: &str| asked.iter().find(|asked| asked.method() == method).unwrap();
    assert!(!of("initialize").head.contains("mcp-protocol-version"));
    for method in ["notifications/initialized", "tools/list", "delete"] {
        let head = &of(method).head;
        assert!(head.contains("mcp-protocol-version: 2025-06-18"), "{head}");
        assert!(head.contains("mcp-session-id: abc"), "{head}");
    }
}

#[tokio::test]
async fn a_session_that_is_gone_is_begun_again_once() {
    let peer = Peer::start(|asked, number| match asked.method().as_str() {
        "initialize" => Reply::json(200, result(&initialized())).with(&format!("Mcp-Session-Id: s{number}")),
        "notifications/initialized" => Reply::empty(202),
        "tools/list" if asked.head.contains("mcp-session-id: s1") => Reply::json(200, result(&tools())),
        "tools/list" => Reply::empty(404),
        _ => Reply::empty(405),
    })
    .await;
    assert_row(&look(&peer).await, &seen(Era::Legacy, "refused"));
}

#[tokio::test]
async fn a_stream_may_hold_questions_before_the_answer_and_need_not_end() {
    let question =
        "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"sampling/createMessage\"}\n\n";
    let peer = Peer::start(move |asked, _| match asked.method().as_str() {
        "initialize" => Reply::events(&[
            "id: 1\ndata:\n\n",
            &format!("data: {}\r\n\r\n", result(&initialized())),
        ]),
        "tools/list" => Reply::events(&[question, &format!("data: {}\n\n", result(&tools()))]),
        "server/discover" => Reply::empty(400),
        _ => Reply::empty(202),
    })
    .await;
    let taken = look(&peer).await;
    assert_row(&taken, &seen(Era::Legacy, "refused"));
    assert_eq!(taken.server_requests.get("sampling/createMessage"), Some(&1));
    let refused = peer
        .asked()
        .into_iter()
        .find(|asked| asked.body["id"] == "q")
        .unwrap();
    assert_eq!(refused.body["error"]["code"], -32601);
}

#[tokio::test]
async fn the_old_transport_is_named_and_not_crawled() {
    for status in [404, 405, 400] {
        let peer = Peer::start(move |asked, _| match asked.method().as_str() {
            "get" => Reply::events(&["event: endpoint\ndata: /messages?session=1\n\n"]),
            _ => Reply::empty(status),
        })
        .await;
        assert_row(
            &look(&peer).await,
            &not(Outcome::DoesNotSpeakMcp, "http_sse_only"),
        );
        assert_eq!(peer.methods(), ["server/discover", "initialize", "get"]);
    }
}

#[tokio::test]
async fn what_is_no_server_of_this_protocol_is_told_apart() {
    let page = || Reply::text(200, "text/html; charset=utf-8", "<!DOCTYPE html><title>x</title>");
    let rows: Vec<(&str, Reply)> = vec![
        ("html", page()),
        ("not_json_rpc", Reply::text(200, "application/json", "{\"ok\":true}")),
        ("not_json_rpc", Reply::empty(404)),
        ("no_answer_to_initialize", Reply::empty(202)),
        ("initialize_refused", Reply::json(400, error(-32600, "no"))),
        ("not_json_rpc", Reply::json(200, result(&json!([1])))),
        ("invalid_utf8", Reply::Bytes(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"a\":\"\xff\"}}".to_vec())),
    ];
    for (reason, reply) in rows {
        let peer = Peer::start(move |asked, _| match asked.method().as_str() {
            "server/discover" => Reply::empty(400),
            _ => reply.clone(),
        })
        .await;
        assert_row(&look(&peer).await, &not(Outcome::DoesNotSpeakMcp, reason));
    }
}

#[tokio::test]
async fn who_gives_access_is_recorded() {
    let document =
        r#"{"resource":"https://a.example/mcp","authorization_servers":["https://login.example"]}"#;
    let peer = Peer::start(move |asked, _| {
        let head = &asked.head;
        if head.starts_with("get /.well-known/oauth-protected-resource/mcp ") {
            Reply::json(200, document)
        } else if head.starts_with("get") {
            Reply::empty(404)
        } else {
            Reply::empty(401).with("WWW-Authenticate: Bearer realm=\"x\", scope=\"tools\"")
        }
    })
    .await;
    let taken = look(&peer).await;
    assert_row(&taken, &not(Outcome::AuthRequired, "unauthorized"));
    let access = &taken.http["access"];
    assert_eq!(
        access["challenges"],
        json!(["Bearer realm=\"x\", scope=\"tools\""])
    );
    assert_eq!(
        access["metadata"]["authorization_servers"],
        json!(["https://login.example"])
    );
    assert!(!peer.methods().contains(&"initialize".to_owned()));
}

#[tokio::test]
async fn access_metadata_is_fetched_only_from_public_places_and_bounded() {
    let inside = Peer::start(|_, _| Reply::json(200, r#"{"resource":"x"}"#)).await;
    // Another loopback address is not trusted, whatever the challenge says.
    let elsewhere = inside.url.as_str().replace("127.0.0.1", "127.0.0.2");
    let big = format!("{{\"resource\":\"{}\"}}", "x".repeat(70_000));
    let peer = Peer::start(move |asked, _| {
        if asked.head.starts_with("get") {
            Reply::json(200, big.clone())
        } else {
            Reply::empty(403).with(&format!(
                "WWW-Authenticate: Bearer resource_metadata=\"{elsewhere}\""
            ))
        }
    })
    .await;
    let taken = look(&peer).await;
    assert_row(&taken, &not(Outcome::AuthRequired, "forbidden"));
    assert_eq!(taken.http["access"]["metadata"], json!(null));
    assert!(inside.asked().is_empty());
}

#[tokio::test]
async fn access_may_be_wanted_for_the_list_alone() {
    let peer = Peer::start(|asked, _| match asked.method().as_str() {
        "tools/list" => Reply::empty(401),
        _ => modern(asked),
    })
    .await;
    let taken = look(&peer).await;
    assert_row(&taken, &not(Outcome::AuthRequired, "unauthorized"));
    assert_eq!(taken.era, Some(Era::Modern));
    let peer = Peer::start(|asked, _| match asked.method().as_str() {
        "tools/list" => Reply::json(200, error(-32000, "API key is required")),
        _ => modern(asked),
    })
    .await;
    assert_row(&look(&peer).await, &not(Outcome::AuthRequired, "missing_setting"));
}

#[tokio::test]
async fn redirects_are_followed_twice_and_checked_each_time() {
    let target = Peer::start(|asked, _| modern(asked)).await;
    let to = target.url.to_string();
    let near = Peer::start(move |_, _| Reply::empty(307).with(&format!("Location: {to}"))).await;
    assert_row(&look(&near).await, &seen(Era::Modern, "discovered"));
    let round = Peer::start(|_, _| Reply::empty(308).with("Location: /mcp")).await;
    assert_row(
        &look(&round).await,
        &not(Outcome::RefusedByPolicy, "too_many_redirects"),
    );
    assert_eq!(round.asked().len(), 3);
    for place in [
        "https://127.0.0.2/",
        "https://169.254.169.254/latest/meta-data",
        "https://10.0.0.1/",
        "https://[::1]/",
    ] {
        let inward = Peer::start(move |_, _| Reply::empty(307).with(&format!("Location: {place}"))).await;
        assert_row(
            &look(&inward).await,
            &not(Outcome::RefusedByPolicy, "forbidden_address"),
        );
    }
    let plain = Peer::start(|_, _| Reply::empty(307).with("Location: http://example.com/")).await;
    assert_row(&look(&plain).await, &not(Outcome::RefusedByPolicy, "not_https"));
}

#[tokio::test]
async fn this_machine_is_not_reached_unless_it_is_trusted() {
    let peer = Peer::start(|asked, _| modern(asked)).await;
    let strict = Client::new(Settings::new(Duration::from_secs(5))).unwrap();
    for (url, reason) in [
        (peer.url.to_string(), "forbidden_address"),
        (peer.url.as_str().replace("http:", "https:"), "forbidden_address"),
        ("http://example.com/mcp".to_owned(), "not_https"),
    ] {
        let remote = Remote {
            url: url.parse().unwrap(),
            headers: HeaderMap::new(),
        };
        let taken = take_remote(&strict, &remote, &Condition::TAKES[0], &quick(), Progress::NONE).await;
        assert_row(&taken, &not(Outcome::RefusedByPolicy, reason));
    }
    assert!(peer.asked().is_empty());
}

#[tokio::test]
async fn nobody_listens() {
    let gone = Peer::start(|asked, _| modern(asked)).await.url.clone();
    tokio::time::sleep(Duration::from_millis(50)).await;
    // TLS spoken to a server that does not.
    let plain = Peer::start(|_, _| Reply::Bytes(b"HTTP/1.1 400 X\r\n\r\n".to_vec())).await;
    let secure = plain.url.as_str().replace("http:", "https:").parse().unwrap();
    for url in [gone, secure] {
        let remote = Remote {
            url,
            headers: HeaderMap::new(),
        };
        let taken = take_remote(&client(), &remote, &Condition::TAKES[0], &quick(), Progress::NONE).await;
        assert_row(&taken, &not(Outcome::Unreachable, "cannot_connect"));
    }
}

#[tokio::test]
async fn bytes_are_bounded_whoever_packs_them() {
    let rows: Vec<(&str, Reply)> = vec![
        (
            "message_too_large",
            Reply::json(200, format!("{{\"x\":\"{}\"}}", "x".repeat(5 << 20))),
        ),
        ("too_much_output", Reply::json(200, " ".repeat(9 << 20))),
        (
            "message_too_large",
            Reply::events(&[&format!("data: {}", "x".repeat(5 << 20))]),
        ),
        (
            "too_much_output",
            Reply::events(&[&format!("data: {}\n\n", "x".repeat(3 << 20)).repeat(3)]),
        ),
        (
            "too_many_messages",
            Reply::events(&["data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n"
                .repeat(20_001)
                .as_str()]),
        ),
        (
            "odd_encoding",
            Reply::Http(200, "content-encoding: br\r\n".into(), "x".into()),
        ),
    ];
    for (reason, reply) in rows {
        let peer = Peer::start(move |_, _| reply.clone()).await;
        assert_row(&look(&peer).await, &not(Outcome::RefusedByPolicy, reason));
    }
}

#[tokio::test]
async fn a_wait_that_is_asked_for_is_recorded() {
    let peer = Peer::start(|_, _| Reply::empty(429).with("Retry-After: 7")).await;
    assert_eq!(look(&peer).await.http["retry_after_secs"], 7);
}

#[tokio::test]
async fn other_lists_are_read_where_they_are_declared() {
    let peer = Peer::start(|asked, _| match asked.method().as_str() {
        "server/discover" => {
            let mut value = discover();
            value["capabilities"] = json!({"tools": {}, "prompts": {}, "resources": {}});
            Reply::json(200, result(&value))
        }
        "prompts/list" => Reply::json(200, result(&json!({"prompts": [{"name": "p"}]}))),
        "resources/list" => Reply::json(200, result(&json!({"resources": []}))),
        _ => modern(asked),
    })
    .await;
    let taken = look(&peer).await;
    assert_row(&taken, &seen(Era::Modern, "discovered"));
    let counts: Vec<(ItemKind, usize)> = taken
        .lists
        .iter()
        .map(|(kind, items)| (*kind, items.len()))
        .collect();
    assert_eq!(
        counts,
        [
            (ItemKind::Prompt, 1),
            (ItemKind::Resource, 0),
            (ItemKind::Tool, 1)
        ]
    );
}

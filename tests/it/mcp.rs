//! The MCP endpoint as clients meet it: both eras on one address, and what is refused before the protocol.

use reqwest::Method;
use serde_json::{Value, json};
use toolmark_tests::app::{Answer, TestApp};
use toolmark_tests::observed::Watched;
use toolmark_tests::scripted::tool;

const BOTH: (&str, &str) = ("accept", "application/json, text/event-stream");
const JSON: (&str, &str) = ("content-type", "application/json");

fn modern(id: u64, method: &str, params: &Value) -> Value {
    let mut params = params.clone();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

async fn send(app: &TestApp, body: &Value, headers: &[(&str, &str)]) -> Answer {
    let headers = [&[BOTH, JSON], headers].concat();
    app.send(
        Method::POST,
        "/mcp",
        &headers,
        Some(body.to_string().into_bytes()),
    )
    .await
}

async fn ask(app: &TestApp, method: &str, params: &Value) -> Answer {
    let mut headers = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
    let name = params["name"].as_str().unwrap_or_default().to_owned();
    if method == "tools/call" {
        headers.push(("mcp-name", &name));
    }
    send(app, &modern(1, method, params), &headers).await
}

#[tokio::test]
async fn a_modern_client_discovers_lists_and_calls() {
    let watched = Watched::over(TestApp::builder().start().await);
    watched
        .publish(
            "com.acme/mail",
            "1.0.0",
            "Mail",
            &json!([tool("send_mail", "Sends a mail")]),
        )
        .await;
    watched.indexed().await;
    let app = &watched.app;
    let found = ask(app, "server/discover", &json!({})).await.expect(200).json();
    assert_eq!(found["result"]["supportedVersions"][0], "2026-07-28");
    assert_eq!(found["result"]["cacheScope"], "public");
    let list = ask(app, "tools/list", &json!({})).await.expect(200).json();
    let tools = list["result"]["tools"].as_array().unwrap();
    assert_eq!((tools.len(), &tools[0]["name"]), (1, &json!("find_tools")));
    assert_eq!(tools[0]["annotations"]["readOnlyHint"], true);
    assert_eq!(
        list["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "toolmark"
    );
    let call = json!({"name": "find_tools", "arguments": {"query": "send a mail"}});
    let answer = ask(app, "tools/call", &call).await.expect(200).json();
    let result = &answer["result"];
    assert_eq!(
        result["structuredContent"]["tools"][0]["id"],
        "com.acme/mail#send_mail"
    );
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, result["structuredContent"]);
    let schema = &tools[0]["outputSchema"];
    assert!(jsonschema::is_valid(schema, &result["structuredContent"]));
    let wrong = json!({"name": "find_tools", "arguments": {"limit": "x"}});
    let answer = ask(app, "tools/call", &wrong).await.expect(200).json();
    assert_eq!(answer["result"]["isError"], true);
    assert!(
        answer["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("`limit`")
    );
}

#[tokio::test]
async fn clients_of_every_earlier_version_are_answered_without_a_session() {
    let app = TestApp::builder().start().await;
    app.registry.wait_indexed(0).await;
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"},
        }});
        let answer = send(&app, &body, &[]).await.expect(200);
        assert_eq!(answer.json()["result"]["protocolVersion"], version);
        assert!(answer.headers.get("mcp-session-id").is_none());
        let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(
            send(&app, &told, &[("mcp-protocol-version", version)])
                .await
                .status,
            202
        );
        let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
        let list = send(&app, &list, &[("mcp-protocol-version", version)])
            .await
            .expect(200)
            .json();
        assert_eq!(list["result"]["tools"][0]["name"], "find_tools");
        let call = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call",
            "params": {"name": "find_tools", "arguments": {"query": "x"}}});
        let call = send(&app, &call, &[("mcp-protocol-version", version)])
            .await
            .expect(200)
            .json();
        assert_eq!(call["result"]["structuredContent"]["schema"], "toolmark.find/1");
    }
    app.stop().await;
}

#[tokio::test]
async fn what_is_no_request_is_refused_in_the_words_of_the_protocol() {
    let app = TestApp::builder().start().await;
    let raw = async |body: &[u8], headers: &[(&str, &str)]| {
        let headers = [&[BOTH, JSON], headers].concat();
        app.send(Method::POST, "/mcp", &headers, Some(body.to_vec()))
            .await
    };
    for (body, code) in [
        (&b"{"[..], -32700),
        (b"[]", -32600),
        (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        (br#"{"jsonrpc":"2.0","id":0.5,"method":"ping"}"#, -32600),
    ] {
        let answer = raw(body, &[]).await.expect(400).json();
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert!(answer.get("id").is_none());
    }
    let list = br#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#;
    let answer = raw(list, &[("mcp-protocol-version", "1999-01-01")])
        .await
        .expect(400)
        .json();
    assert_eq!(
        (&answer["error"]["code"], &answer["id"]),
        (&json!(-32022), &json!(7))
    );
    assert_eq!(answer["error"]["data"]["requested"], "1999-01-01");
    let typed =
        br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"find_tools","arguments":[1]}}"#;
    assert_eq!(raw(typed, &[]).await.json()["error"]["code"], -32602);
    let unknown = br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"other"}}"#;
    assert_eq!(raw(unknown, &[]).await.json()["error"]["code"], -32602);
    let answer = ask(&app, "no/such", &json!({})).await.expect(404).json();
    assert_eq!(answer["error"]["code"], -32601);
    assert!(answer["error"]["message"].as_str().unwrap().contains("no/such"));
    let cursor = br#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":"x"}}"#;
    assert_eq!(raw(cursor, &[]).await.json()["error"]["code"], -32602);
    let huge = vec![b' '; 70_000];
    assert_eq!(raw(&huge, &[]).await.status, 413);
    for method in [Method::GET, Method::DELETE] {
        let answer = app.send(method, "/mcp", &[BOTH], None).await;
        assert_eq!((answer.status.as_u16(), answer.header("allow")), (405, "POST"));
    }
    assert_eq!(
        app.send(Method::POST, "/mcp/more", &[BOTH, JSON], Some(list.to_vec()))
            .await
            .status,
        404
    );
    app.stop().await;
}

#[tokio::test]
async fn foreign_hosts_and_origins_are_refused_and_our_own_are_not() {
    let app = TestApp::builder()
        .server(|server| {
            server.public_url = Some("https://registry.example".to_owned());
            server.mcp_hosts = vec!["registry.internal".to_owned()];
            server.mcp_origins = vec!["https://app.example".to_owned()];
        })
        .start()
        .await;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let status = async |headers: &[(&str, &str)]| send(&app, &list, headers).await.status.as_u16();
    for host in [
        "registry.example",
        "REGISTRY.example:443",
        "registry.internal",
        "localhost:1",
        "192.0.2.7",
        "[::1]:9",
    ] {
        assert_eq!(status(&[("host", host)]).await, 200, "{host}");
    }
    for host in [
        "evil.example",
        "registry.example.evil.example",
        "localhost.evil.example",
    ] {
        assert_eq!(status(&[("host", host)]).await, 403, "{host}");
    }
    for origin in [
        "https://registry.example",
        "https://app.example",
        "http://localhost:3000",
    ] {
        let answer = send(&app, &list, &[("origin", origin)]).await.expect(200);
        assert_eq!(answer.header("access-control-allow-origin"), "*");
    }
    for origin in [
        "https://evil.example",
        "null",
        "http://registry.example",
        "https://localhost.evil.example",
        "x",
    ] {
        assert_eq!(status(&[("origin", origin)]).await, 403, "{origin}");
    }
    app.stop().await;
}

#[tokio::test]
async fn the_rate_limit_holds_for_calls() {
    let app = TestApp::builder().rate_limit(60, 3).start().await;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    for _ in 0..3 {
        let _ = send(&app, &list, &[]).await.expect(200);
    }
    let refused = send(&app, &list, &[]).await.expect(429);
    assert!(!refused.header("retry-after").is_empty());
    app.stop().await;
}

//! What is pasted into clients: exact, pinned, without secrets, and not a way in.

#[path = "pages/samples.rs"]
#[expect(dead_code, reason = "the page tests use all of it")]
mod samples;

use serde_json::{Value, json};
use toolmark_frontend::snippets::{NoLaunch, Snippet, of_package, of_remote, snippets};

fn of(client: &str, all: &[Snippet]) -> String {
    all.iter()
        .find(|snippet| snippet.client == client)
        .map(|snippet| snippet.code.clone())
        .expect("the client has a snippet")
}

fn package(entry: &Value) -> Vec<Snippet> {
    snippets("weather", &of_package(entry).expect("it can be started"))
}

#[test]
fn each_client_gets_its_own_shape() {
    let document = samples::weather();
    let npm = package(&document["packages"][0]);
    let read = |client: &str| -> Value { serde_json::from_str(&of(client, &npm)).unwrap() };
    let args = json!(["-y", "@northwind/weather@1.4.0", "--units", "metric", "<harbour>"]);
    let env = json!({ "WEATHER_API_KEY": "<WEATHER_API_KEY>", "LOG_LEVEL": "info" });
    let plain = json!({ "command": "npx", "args": args, "env": env });
    for client in ["Claude Desktop", "Cursor", "Windsurf", "Gemini CLI"] {
        assert_eq!(
            read(client),
            json!({ "mcpServers": { "weather": plain } }),
            "{client}"
        );
    }
    assert_eq!(
        read("VS Code")["servers"]["weather"]["env"]["WEATHER_API_KEY"],
        "${input:WEATHER_API_KEY}"
    );
    assert_eq!(read("VS Code")["servers"]["weather"]["type"], "stdio");
    let inputs = read("VS Code")["inputs"].clone();
    assert_eq!(
        (&inputs[1]["id"], &inputs[1]["password"]),
        (&json!("WEATHER_API_KEY"), &json!(true))
    );
    assert_eq!(
        (&inputs[0]["id"], &inputs[0]["password"]),
        (&json!("harbour"), &json!(false))
    );
    assert_eq!(
        read("Claude Code")["mcpServers"]["weather"]["env"]["WEATHER_API_KEY"],
        "${WEATHER_API_KEY}"
    );
    assert_eq!(read("Zed")["context_servers"]["weather"]["source"], "custom");
    assert_eq!(
        read("OpenCode")["mcp"]["weather"]["command"][2],
        "@northwind/weather@1.4.0"
    );
    insta::assert_snapshot!("codex", of("Codex", &npm));
    insta::assert_snapshot!("goose", of("Goose", &npm));
}

#[test]
fn an_image_gets_its_variables_and_keeps_its_tag() {
    let oci = package(&samples::weather()["packages"][1]);
    let read: Value = serde_json::from_str(&of("Cursor", &oci)).unwrap();
    assert_eq!(
        read["mcpServers"]["weather"]["args"],
        json!([
            "run",
            "-i",
            "--rm",
            "-e",
            "WEATHER_API_KEY",
            "ghcr.io/northwind/weather:1.4.0"
        ])
    );
}

#[test]
fn a_remote_keeps_its_header_and_asks_for_the_token() {
    let all = snippets("weather", &of_remote(&samples::weather()["remotes"][0]).unwrap());
    let read = |client: &str| -> Value { serde_json::from_str(&of(client, &all)).unwrap() };
    assert_eq!(
        read("VS Code")["servers"]["weather"]["headers"]["Authorization"],
        "Bearer ${input:token}"
    );
    assert_eq!(
        read("Windsurf")["mcpServers"]["weather"]["serverUrl"],
        "https://weather.northwind.example/mcp"
    );
    assert_eq!(read("Claude Code")["mcpServers"]["weather"]["type"], "http");
    assert!(!all.iter().any(|snippet| snippet.client == "Claude Desktop"));
    let open = snippets(
        "weather",
        &of_remote(&json!({ "type": "sse", "url": "https://a.example/sse" })).unwrap(),
    );
    assert_eq!(
        of("Claude Code", &open),
        "claude mcp add --transport sse weather https://a.example/sse"
    );
    assert!(!open.iter().any(|snippet| snippet.client == "Codex"));
}

#[test]
fn runners_of_each_registry_are_pinned() {
    let line = |kind: &str, identifier: &str, more: Value| {
        let mut entry = json!({ "registryType": kind, "identifier": identifier, "version": "1.2.3" });
        for (key, value) in more.as_object().unwrap() {
            entry[key] = value.clone();
        }
        of("Claude Code", &package(&entry))
    };
    let argument = json!({ "packageArguments": [{ "type": "positional", "value": "it's" }] });
    for (kind, identifier, more, expected) in [
        ("npm", "weather", json!({}), "npx -y weather@1.2.3"),
        (
            "pypi",
            "weather",
            argument.clone(),
            "uvx weather@1.2.3 'it'\\''s'",
        ),
        (
            "nuget",
            "Weather.Mcp",
            argument,
            "dnx Weather.Mcp@1.2.3 --yes -- 'it'\\''s'",
        ),
        (
            "oci",
            "example.com/weather",
            json!({}),
            "docker run -i --rm example.com/weather:1.2.3",
        ),
        (
            "oci",
            "localhost:5000/weather",
            json!({}),
            "docker run -i --rm localhost:5000/weather:1.2.3",
        ),
    ] {
        assert_eq!(
            line(kind, identifier, more),
            format!("claude mcp add --transport stdio weather -- {expected}")
        );
    }
}

#[test]
fn what_cannot_be_pinned_or_trusted_gets_no_snippet() {
    let entry = |kind: &str, identifier: &str, version: Value| {
        of_package(&json!({ "registryType": kind, "identifier": identifier, "version": version }))
            .unwrap_err()
    };
    for (kind, identifier, version, why) in [
        ("npm", "weather", Value::Null, NoLaunch::NotPinned),
        ("npm", "weather", json!("latest"), NoLaunch::NotPinned),
        (
            "oci",
            "example.com/weather:latest",
            Value::Null,
            NoLaunch::NotPinned,
        ),
        ("oci", "example.com/weather", Value::Null, NoLaunch::NotPinned),
        ("npm", "--eval=x", json!("1.0.0"), NoLaunch::OddIdentifier),
        ("npm", "a b", json!("1.0.0"), NoLaunch::OddIdentifier),
        ("npm", "weather@other", json!("1.0.0"), NoLaunch::OddIdentifier),
        ("npm", "weather", json!("1.0.0 --x"), NoLaunch::OddIdentifier),
        (
            "pypi",
            "git+https://example.com/x",
            json!("1"),
            NoLaunch::OddIdentifier,
        ),
        (
            "mcpb",
            "https://example.com/a.mcpb",
            Value::Null,
            NoLaunch::Bundle,
        ),
        ("cargo", "weather", json!("1.0.0"), NoLaunch::NoRunner),
    ] {
        assert_eq!(entry(kind, identifier, version), why, "{kind} {identifier}");
    }
    let remote = |url: &str| of_remote(&json!({ "type": "sse", "url": url })).unwrap_err();
    for url in [
        "http://example.com",
        "javascript:alert(1)",
        "https://u@example.com",
        "",
    ] {
        assert_eq!(remote(url), NoLaunch::OddAddress, "{url}");
    }
    let local = json!({ "registryType": "npm", "identifier": "a", "version": "1.0.0", "transport": { "type": "sse", "url": "http://localhost" } });
    assert_eq!(of_package(&local).unwrap_err(), NoLaunch::LocalServer);
    let many: Vec<Value> = (0..100)
        .map(|at| json!({ "name": format!("V{at}"), "isRequired": true }))
        .collect();
    let large =
        json!({ "registryType": "npm", "identifier": "a", "version": "1.0.0", "environmentVariables": many });
    assert_eq!(of_package(&large).unwrap_err(), NoLaunch::TooLarge);
}

#[test]
fn secrets_are_asked_for_even_when_the_document_holds_them() {
    let entry = json!({
        "registryType": "npm", "identifier": "a", "version": "1.0.0",
        "environmentVariables": [{ "name": "TOKEN", "value": "s3cret", "default": "s3cret", "isSecret": true }],
        "packageArguments": [{ "type": "named", "name": "--key", "value": "{key}", "variables": { "key": { "isSecret": true, "default": "s3cret" } } }],
    });
    for snippet in package(&entry) {
        assert!(!snippet.code.contains("s3cret"), "{}", snippet.client);
        assert!(
            snippet.code.contains("TOKEN") && !snippet.asks.is_empty(),
            "{}",
            snippet.client
        );
    }
}

#[test]
fn hidden_characters_are_escapes_and_never_reach_a_shell() {
    let entry = json!({
        "registryType": "npm", "identifier": "a", "version": "1.0.0",
        "packageArguments": [{ "type": "positional", "value": "a\u{202E}b\u{E0041}\n" }],
    });
    let all = package(&entry);
    for snippet in &all {
        assert!(
            !snippet.code.contains(['\u{202E}', '\u{E0041}']),
            "{}",
            snippet.client
        );
        assert!(snippet.place != "shell");
    }
    let read: Value = serde_json::from_str(&of("Cursor", &all)).unwrap();
    assert_eq!(read["mcpServers"]["weather"]["args"][2], "a\u{202E}b\u{E0041}\n");
    assert!(of("Codex", &all).contains("\\u202eb\\U000E0041\\n"));
}

//! The command `probe` from outside: its document, its words, its exit status.

#![expect(
    clippy::unwrap_used,
    reason = "a helper that fails should end its test where it stands"
)]

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// How a probe ended: exit status, standard output, standard error.
fn probe(arguments: &[&str]) -> (i32, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolmark"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("TOOLMARK_") {
            command.env_remove(name);
        }
    }
    let output = command
        .arg("probe")
        .args(arguments)
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (
        output.status.code().unwrap(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

fn document(arguments: &[&str]) -> (i32, Value) {
    let (code, out, errors) = probe(&[arguments, &["--format", "json"]].concat());
    let read = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{errors}"));
    (code, read)
}

/// A modern server on loopback; its address.
fn server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            answer(&mut stream.unwrap());
        }
    });
    url
}

fn answer(stream: &mut TcpStream) {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    let request: Value = loop {
        let read = stream.read(&mut piece).unwrap_or(0);
        bytes.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        match serde_json::from_str(body) {
            Ok(request) => break request,
            Err(_) if read == 0 => return,
            Err(_) => {}
        }
    };
    let result = if request["method"] == "server/discover" {
        json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
            "ttlMs": 0, "cacheScope": "public"})
    } else {
        json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "public",
            "tools": [{"name": "add", "description": "\u{1b}[2JAdds", "inputSchema": {"type": "object"}}]})
    };
    let body = json!({"jsonrpc": "2.0", "id": request["id"], "result": result}).to_string();
    let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ";
    let _ = stream.write_all(format!("{head}{}\r\n\r\n{body}", body.len()).as_bytes());
}

#[test]
fn a_server_on_this_machine_is_observed_when_that_is_allowed() {
    let url = server();
    let (code, seen) = document(&["--allow-local", &url]);
    assert_eq!((code, &seen["outcome"]), (0, &json!("observed")), "{seen}");
    let keys: Vec<&String> = seen.as_object().unwrap().keys().collect();
    assert_eq!(keys[0], "schema");
    assert_eq!(seen["schema"], "toolmark.snapshot/1");
    assert_eq!((&seen["target"], &seen["era"]), (&json!(url), &json!("modern")));
    assert_eq!(seen["tools"][0]["name"], "add");
    assert_eq!(seen["digests"]["items"][0]["key"], "add");
    // The same by its name, for people.
    let named = url.replace("127.0.0.1", "localhost");
    let (code, out, errors) = probe(&["--allow-local", &named]);
    assert_eq!(code, 0, "{out}{errors}");
    assert!(out.starts_with(&format!("{named}: observed, ")), "{out}");
    assert!(
        out.contains("2026-07-28 (modern)") && !out.contains('\u{1b}'),
        "{out}"
    );
    assert_eq!(errors, "", "nothing is shown of its progress where nobody looks");
}

#[test]
fn what_is_not_observed_has_a_document_too() {
    let url = server();
    let (code, seen) = document(&[&url]);
    let found = (code, &seen["outcome"], &seen["reason"]);
    assert_eq!(
        found,
        (1, &json!("refused_by_policy"), &json!("forbidden_address"))
    );
    assert_eq!(seen["tools"], Value::Null);
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (code, seen) = document(&["--allow-local", &format!("http://{closed}/")]);
    assert_eq!((code, &seen["outcome"]), (3, &json!("unreachable")), "{seen}");
}

#[test]
fn bad_usage_is_told_from_a_bad_server() {
    for (arguments, said) in [
        (&["server"][..], "`server` is no target"),
        (&["https://me:pw@example.com/"], "user name or password"),
        (&["--", "no-such-program-zzqx"], "no-such-program-zzqx"),
        (&["--env", "X", "--", "/bin/true"], "NAME=VALUE"),
        (&[], "required"),
    ] {
        let (code, out, errors) = probe(arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}: {errors}");
        assert!(errors.contains(said) && !errors.contains("pw@"), "{errors}");
    }
}

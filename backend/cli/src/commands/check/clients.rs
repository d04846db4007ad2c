//! Servers in the settings of clients: what is started, from which package, or which address is asked.
//!
//! Claude, Cursor and others: JSON with `mcpServers`. VS Code: JSON with comments and `servers` (or `mcp.servers`).
//! Codex: TOML with `[mcp_servers.NAME]`. Goose: YAML with `extensions:`. Values of variables and headers are left
//! alone: they are secrets.

mod json;
mod launch;
mod yaml;

use std::path::Path;

use serde_json::{Value, json};

use super::{Subject, line_of};
use crate::output::shown;

/// One server as a client starts it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Server {
    name: String,
    command: String,
    args: Vec<String>,
    url: Option<String>,
}

/// Every server in a settings file; the words for what is wrong with it otherwise.
pub(super) fn read(path: &Path, text: &str) -> Result<Vec<Subject>, String> {
    let ending = path
        .extension()
        .and_then(std::ffi::OsStr::to_str)
        .unwrap_or_default();
    let servers = match ending {
        "toml" => codex(text)?,
        "yaml" | "yml" => yaml::servers(text)?,
        _ => json::servers(text)?,
    };
    Ok(servers.iter().map(|server| subject(server, text)).collect())
}

fn codex(text: &str) -> Result<Vec<Server>, String> {
    let value: Value = toml_edit::de::from_str(text).map_err(|error| error.message().to_owned())?;
    let table = value.get("mcp_servers").and_then(Value::as_object);
    let table = table.ok_or("there is no table `mcp_servers`")?;
    Ok(table.iter().map(|(name, entry)| of_entry(name, entry)).collect())
}

/// A server from an entry with `command` and `args`, or with `url`.
fn of_entry(name: &str, entry: &Value) -> Server {
    let text = |keys: &[&str]| {
        let mut found = keys.iter().filter_map(|key| entry[*key].as_str());
        found.next().map(str::to_owned)
    };
    let args = entry["args"].as_array().into_iter().flatten();
    Server {
        name: name.to_owned(),
        command: text(&["command", "cmd"]).unwrap_or_default(),
        args: args.filter_map(Value::as_str).map(str::to_owned).collect(),
        url: text(&["url", "serverUrl", "uri", "httpUrl"]),
    }
}

fn subject(server: &Server, text: &str) -> Subject {
    let line = line_of(text, &server.name);
    let label = shown(&server.name);
    let launch = launch::of(server);
    let Some(launch) = launch else {
        let what = if server.command.is_empty() {
            "it has neither a command nor an address".to_owned()
        } else {
            format!(
                "`{}` starts something that no registry knows",
                shown(&server.command)
            )
        };
        return Subject {
            label,
            asked: None,
            remark: Some(format!("unknown: {what}")),
            line,
        };
    };
    let mut asked = json!({"kind": launch.kind, "identifier": launch.identifier});
    if let Some(version) = &launch.version {
        asked["version"] = Value::from(version.as_str());
    }
    let named = match &launch.version {
        Some(version) => format!(
            "{label}: {}:{}@{}",
            launch.kind,
            shown(&launch.identifier),
            shown(version)
        ),
        None => format!("{label}: {}:{}", launch.kind, shown(&launch.identifier)),
    };
    let unpinned = launch.version.is_none() && launch.kind != "remote" && launch.kind != "oci";
    Subject {
        label: named,
        asked: Some(asked),
        remark: unpinned.then(|| "not pinned: whatever is newest is started".to_owned()),
        line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(file: &str, text: &str) -> Vec<(String, Option<Value>)> {
        let found = read(Path::new(file), text).unwrap();
        found
            .into_iter()
            .map(|subject| (subject.label, subject.asked))
            .collect()
    }

    #[test]
    fn five_clients_settings_name_the_same_servers() {
        let expected = |label: &str| {
            vec![
                (
                    format!("{label}: npm:@example/weather@1.2.0"),
                    Some(json!({"kind": "npm", "identifier": "@example/weather", "version": "1.2.0"})),
                ),
                (
                    "tides: remote:https://tides.example/mcp".to_owned(),
                    Some(json!({"kind": "remote", "identifier": "https://tides.example/mcp"})),
                ),
            ]
        };
        let claude = r#"{"mcpServers": {"weather": {"command": "npx", "args": ["-y", "@example/weather@1.2.0"], "env": {"KEY": "secret"}},
            "tides": {"type": "http", "url": "https://tides.example/mcp"}}}"#;
        let vscode = r#"{
            // comment
            "servers": {"weather": {"command": "npx", "args": ["-y", "@example/weather@1.2.0",],},
            /* more */ "tides": {"type": "http", "url": "https://tides.example/mcp"}}}"#;
        let nested = r#"{"mcp": {"servers": {"weather": {"command": "npx", "args": ["-y", "@example/weather@1.2.0"]}, "tides": {"url": "https://tides.example/mcp"}}}}"#;
        let codex = "model = \"x\"\n[mcp_servers.weather]\ncommand = \"npx\"\nargs = [\"-y\", \"@example/weather@1.2.0\"]\n[mcp_servers.weather.env]\nKEY = \"secret\"\n[mcp_servers.tides]\nurl = \"https://tides.example/mcp\"\n";
        let goose = "GOOSE_PROVIDER: x\nextensions:\n  weather:\n    enabled: true\n    type: stdio\n    cmd: npx\n    args:\n      - -y\n      - '@example/weather@1.2.0'\n    envs:\n      KEY: secret\n  tides:\n    type: streamable_http\n    uri: https://tides.example/mcp\n";
        for (file, text) in [
            ("claude_desktop_config.json", claude),
            ("mcp.json", vscode),
            ("settings.json", nested),
            ("config.toml", codex),
            ("config.yaml", goose),
        ] {
            let mut found = asked(file, text);
            found.sort_by(|a, b| b.0.cmp(&a.0));
            assert_eq!(found, expected("weather"), "{file}");
        }
    }

    #[test]
    fn what_cannot_be_told_is_said() {
        let text = r#"{"mcpServers": {"a": {"command": "/opt/own/server"}, "b": {}, "c": {"command": "npx", "args": ["-y", "weather"]}}}"#;
        let found = read(Path::new("x.json"), text).unwrap();
        let remarks: Vec<_> = found
            .iter()
            .map(|subject| subject.remark.clone().unwrap())
            .collect();
        assert_eq!(
            remarks,
            [
                "unknown: `/opt/own/server` starts something that no registry knows",
                "unknown: it has neither a command nor an address",
                "not pinned: whatever is newest is started"
            ]
        );
        for (file, bad) in [
            ("a.json", "{"),
            ("a.json", "{}"),
            ("a.toml", "x ="),
            ("a.toml", "a = 1"),
            ("a.yaml", "a: 1\n"),
        ] {
            assert!(read(Path::new(file), bad).is_err(), "{bad}");
        }
    }
}

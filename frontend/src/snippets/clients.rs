//! The settings of each client, exactly as it reads them.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::launch::{Input, Launch, Start, Word};
use super::{Escapes, escape_hidden, quoted, shell_word};

/// A block of settings, or a command, for one client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Snippet {
    pub client: &'static str,
    /// Where it goes.
    pub place: &'static str,
    pub code: String,
    /// What the user must replace or have in the environment, in words; empty when nothing.
    pub asks: String,
}

/// The snippets of every client that can take this server. `name`: the local part of the server's name.
pub fn snippets(name: &str, launch: &Launch) -> Vec<Snippet> {
    let key: String = name.chars().map(|c| if c == '.' { '-' } else { c }).collect();
    let all = [
        claude_desktop(&key, launch),
        Some(claude_code(&key, launch)),
        Some(cursor(&key, launch)),
        Some(vs_code(&key, launch)),
        codex(&key, launch),
        Some(goose(&key, launch)),
        Some(windsurf(&key, launch)),
        Some(gemini(&key, launch)),
        Some(zed(&key, launch)),
        Some(opencode(&key, launch)),
    ];
    all.into_iter().flatten().collect()
}

fn placeholder(input: &Input) -> String {
    format!("<{}>", input.id)
}

fn replace_note(launch: &Launch) -> String {
    note("Replace", &launch.inputs, placeholder)
}

fn note(verb: &str, inputs: &[Input], shown: impl Fn(&Input) -> String) -> String {
    if inputs.is_empty() {
        return String::new();
    }
    let names: Vec<String> = inputs.iter().map(shown).collect();
    format!("{verb} {}.", names.join(", "))
}

fn pretty(value: &Value) -> String {
    escape_hidden(&format!("{value:#}"), Escapes::Surrogates)
}

fn nested(outer: &str, key: &str, inner: &Value) -> Value {
    json!({ outer: { key: inner } })
}

/// The three parts of a command, with `ask` for what the user supplies.
fn command(
    args: &[Word],
    env: &[(String, Word)],
    inputs: &[Input],
    ask: fn(&Input) -> String,
) -> (Value, Value) {
    let args = args
        .iter()
        .map(|word| Value::from(word.write(inputs, ask)))
        .collect();
    (args, map(env, inputs, ask))
}

fn map(entries: &[(String, Word)], inputs: &[Input], ask: fn(&Input) -> String) -> Value {
    let entries = entries
        .iter()
        .map(|(name, word)| (name.clone(), Value::from(word.write(inputs, ask))));
    Value::Object(entries.collect::<Map<_, _>>())
}

fn add_unless_empty(object: &mut Value, key: &str, entries: Value) {
    if entries.as_object().is_some_and(|entries| !entries.is_empty()) {
        object[key] = entries;
    }
}

/// `{command,args,env}` or `{url,headers}` with the address under `url_key`.
fn plain(launch: &Launch, url_key: &str, ask: fn(&Input) -> String) -> Value {
    match &launch.start {
        Start::Command { program, args, env } => {
            let (args, env) = command(args, env, &launch.inputs, ask);
            let mut object = json!({ "command": program, "args": args });
            add_unless_empty(&mut object, "env", env);
            object
        }
        Start::Url { url, headers, .. } => {
            let mut object = json!({ url_key: url.write(&launch.inputs, ask) });
            add_unless_empty(&mut object, "headers", map(headers, &launch.inputs, ask));
            object
        }
    }
}

fn json_snippet(client: &'static str, place: &'static str, launch: &Launch, value: &Value) -> Snippet {
    Snippet {
        client,
        place,
        code: pretty(value),
        asks: replace_note(launch),
    }
}

fn claude_desktop(key: &str, launch: &Launch) -> Option<Snippet> {
    // Its file takes commands only; remote servers are added in its own settings.
    if matches!(launch.start, Start::Url { .. }) {
        return None;
    }
    let value = nested("mcpServers", key, &plain(launch, "url", placeholder));
    Some(json_snippet(
        "Claude Desktop",
        "claude_desktop_config.json",
        launch,
        &value,
    ))
}

fn claude_code(key: &str, launch: &Launch) -> Snippet {
    let client = "Claude Code";
    if launch.inputs.is_empty()
        && let Some(code) = claude_code_line(key, launch)
    {
        return Snippet {
            client,
            place: "shell",
            code,
            asks: String::new(),
        };
    }
    // Secrets do not belong in a shell's history: a file that reads them from the environment.
    let mut inner = plain(launch, "url", |input| format!("${{{}}}", input.id));
    if let Start::Url { sse, .. } = &launch.start {
        let mut typed = json!({ "type": if *sse { "sse" } else { "http" } });
        merge(&mut typed, &inner);
        inner = typed;
    }
    Snippet {
        client,
        place: ".mcp.json in the project",
        code: pretty(&nested("mcpServers", key, &inner)),
        asks: note("Set in the environment:", &launch.inputs, |input| {
            input.id.clone()
        }),
    }
}

fn claude_code_line(key: &str, launch: &Launch) -> Option<String> {
    let mut words: Vec<String> = ["claude", "mcp", "add"].map(str::to_owned).to_vec();
    match &launch.start {
        Start::Command { program, args, env } => {
            for (name, word) in env {
                words.push("--env".to_owned());
                words.push(shell_word(&format!(
                    "{name}={}",
                    word.write(&launch.inputs, placeholder)
                ))?);
            }
            words.extend(["--transport", "stdio", key, "--", program].map(str::to_owned));
            for word in args {
                words.push(shell_word(&word.write(&launch.inputs, placeholder))?);
            }
        }
        Start::Url { sse, url, headers } => {
            words.extend(["--transport", if *sse { "sse" } else { "http" }, key].map(str::to_owned));
            words.push(shell_word(&url.write(&launch.inputs, placeholder))?);
            for (name, word) in headers {
                words.push("--header".to_owned());
                words.push(shell_word(&format!(
                    "{name}: {}",
                    word.write(&launch.inputs, placeholder)
                ))?);
            }
        }
    }
    Some(words.join(" "))
}

fn merge(into: &mut Value, from: &Value) {
    for (key, value) in from.as_object().into_iter().flatten() {
        into[key] = value.clone();
    }
}

fn cursor(key: &str, launch: &Launch) -> Snippet {
    let value = nested("mcpServers", key, &plain(launch, "url", placeholder));
    json_snippet("Cursor", "~/.cursor/mcp.json", launch, &value)
}

fn vs_code(key: &str, launch: &Launch) -> Snippet {
    let kind = match &launch.start {
        Start::Command { .. } => "stdio",
        Start::Url { sse: true, .. } => "sse",
        Start::Url { sse: false, .. } => "http",
    };
    let mut inner = json!({ "type": kind });
    merge(
        &mut inner,
        &plain(launch, "url", |input| format!("${{input:{}}}", input.id)),
    );
    let mut value = json!({});
    if !launch.inputs.is_empty() {
        let ask = |input: &Input| json!({ "type": "promptString", "id": input.id, "description": input.description, "password": input.secret });
        value["inputs"] = launch.inputs.iter().map(ask).collect();
    }
    merge(&mut value, &nested("servers", key, &inner));
    let asks = note("VS Code asks for", &launch.inputs, |input| input.id.clone());
    Snippet {
        client: "VS Code",
        place: ".vscode/mcp.json",
        code: pretty(&value),
        asks,
    }
}

fn codex(key: &str, launch: &Launch) -> Option<Snippet> {
    let ask = placeholder;
    let inputs = &launch.inputs;
    let table = |entries: &[(String, Word)]| {
        let lines: Vec<String> = entries
            .iter()
            .map(|(name, word)| format!("{} = {}", quoted(name), quoted(&word.write(inputs, ask))))
            .collect();
        format!("{{ {} }}", lines.join(", "))
    };
    let mut code = format!("[mcp_servers.{}]\n", quoted(key));
    match &launch.start {
        Start::Command { program, args, env } => {
            let args: Vec<String> = args.iter().map(|word| quoted(&word.write(inputs, ask))).collect();
            let _ = writeln!(
                code,
                "command = {}\nargs = [{}]",
                quoted(program),
                args.join(", ")
            );
            if !env.is_empty() {
                let _ = writeln!(code, "env = {}", table(env));
            }
        }
        // It speaks streamable HTTP only.
        Start::Url { sse: true, .. } => return None,
        Start::Url { url, headers, .. } => {
            let _ = writeln!(code, "url = {}", quoted(&url.write(inputs, ask)));
            if !headers.is_empty() {
                let _ = writeln!(code, "http_headers = {}", table(headers));
            }
        }
    }
    Some(Snippet {
        client: "Codex",
        place: "~/.codex/config.toml",
        code,
        asks: replace_note(launch),
    })
}

fn goose(key: &str, launch: &Launch) -> Snippet {
    let ask = placeholder;
    let inputs = &launch.inputs;
    let mut code = format!(
        "extensions:\n  {}:\n    name: {}\n    enabled: true\n    timeout: 300\n",
        quoted(key),
        quoted(key)
    );
    let table = |title: &str, entries: &[(String, Word)]| {
        let mut out = String::new();
        for (at, (name, word)) in entries.iter().enumerate() {
            if at == 0 {
                let _ = writeln!(out, "    {title}:");
            }
            let _ = writeln!(
                out,
                "      {}: {}",
                quoted(name),
                quoted(&word.write(inputs, ask))
            );
        }
        out
    };
    match &launch.start {
        Start::Command { program, args, env } => {
            let _ = writeln!(code, "    type: stdio\n    cmd: {}\n    args:", quoted(program));
            for word in args {
                let _ = writeln!(code, "      - {}", quoted(&word.write(inputs, ask)));
            }
            code += &table("envs", env);
        }
        Start::Url { sse, url, headers } => {
            let kind = if *sse { "sse" } else { "streamable_http" };
            let _ = writeln!(
                code,
                "    type: {kind}\n    uri: {}",
                quoted(&url.write(inputs, ask))
            );
            code += &table("headers", headers);
        }
    }
    Snippet {
        client: "Goose",
        place: "~/.config/goose/config.yaml",
        code,
        asks: replace_note(launch),
    }
}

fn windsurf(key: &str, launch: &Launch) -> Snippet {
    let value = nested("mcpServers", key, &plain(launch, "serverUrl", placeholder));
    json_snippet("Windsurf", "~/.codeium/windsurf/mcp_config.json", launch, &value)
}

fn gemini(key: &str, launch: &Launch) -> Snippet {
    let url_key = if matches!(launch.start, Start::Url { sse: false, .. }) {
        "httpUrl"
    } else {
        "url"
    };
    let value = nested("mcpServers", key, &plain(launch, url_key, placeholder));
    json_snippet("Gemini CLI", "~/.gemini/settings.json", launch, &value)
}

fn zed(key: &str, launch: &Launch) -> Snippet {
    let mut inner = json!({});
    if matches!(launch.start, Start::Command { .. }) {
        inner["source"] = "custom".into();
    }
    merge(&mut inner, &plain(launch, "url", placeholder));
    json_snippet(
        "Zed",
        "settings.json",
        launch,
        &nested("context_servers", key, &inner),
    )
}

fn opencode(key: &str, launch: &Launch) -> Snippet {
    let inner = match &launch.start {
        Start::Command { program, args, env } => {
            let (args, env) = command(args, env, &launch.inputs, placeholder);
            let mut line = vec![Value::from(*program)];
            line.extend(args.as_array().cloned().unwrap_or_default());
            let mut object = json!({ "type": "local", "command": line, "enabled": true });
            add_unless_empty(&mut object, "environment", env);
            object
        }
        Start::Url { .. } => {
            let mut object = json!({ "type": "remote", "enabled": true });
            merge(&mut object, &plain(launch, "url", placeholder));
            object
        }
    };
    json_snippet("OpenCode", "opencode.json", launch, &nested("mcp", key, &inner))
}

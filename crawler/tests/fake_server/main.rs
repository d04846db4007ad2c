//! A server over stdio that does what its argument says: an object of methods, each with the steps it answers with.
//! `start` is done first; a list of lists holds the steps of each further call, the last one for all that follow.
//!
//! A step is `{"say": TEXT}` (a line, `$ID` stands for the id of the request), `{"bytes": [N…]}`, `{"err": TEXT}`,
//! `{"sleep": MILLIS}`, `{"exit": CODE}`, `{"abort": true}`, `{"hang": true}`, `{"close": true}` (its output),
//! `{"flood": "out"|"err"}`, `{"line": BYTES}` (one endless line), `{"hold": true}` (leaves a child behind that holds
//! its output), `{"env": NAME}` (says the variable), `{"cwd": true}`, `{"repeat": N, "say": TEXT}`.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

fn main() {
    let config = std::env::args().nth(1).unwrap_or_default();
    if config == "hold" {
        std::thread::sleep(Duration::from_mins(1));
        return;
    }
    let config: Value = serde_json::from_str(&config).expect("the argument is JSON");
    let mut calls = HashMap::new();
    play(&config["start"], "null");
    let mut line = String::new();
    let mut input = io::stdin().lock();
    loop {
        line.clear();
        match input.read_line(&mut line) {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        let message: Value = serde_json::from_str(&line).expect("the client writes JSON");
        answer(&config, &message, &mut calls);
    }
    // `at_end`: what it does once its input is closed.
    play(&config["at_end"], "null");
}

fn answer(config: &Value, message: &Value, calls: &mut HashMap<String, usize>) {
    let method = message["method"].as_str().unwrap_or("response").to_owned();
    let id = message.get("id").map(Value::to_string);
    match config.get(&method) {
        Some(steps) => {
            let number = calls.entry(method).or_default();
            let of_call = steps
                .as_array()
                .filter(|all| !all.is_empty() && all.iter().all(Value::is_array));
            let chosen = of_call.map_or(steps, |all| &all[(*number).min(all.len() - 1)]);
            *number += 1;
            play(chosen, id.as_deref().unwrap_or("null"));
        }
        None if method == "response" => {}
        None => {
            if let Some(id) = id {
                let error = r#"{"code":-32601,"message":"Method not found"}"#;
                say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#));
            }
        }
    }
}

fn say(line: &str) {
    let mut out = io::stdout().lock();
    // A reader that went away is no error of ours.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

fn play(steps: &Value, id: &str) {
    for step in steps.as_array().into_iter().flatten() {
        let repeat = step["repeat"].as_u64().unwrap_or(1);
        for _ in 0..repeat {
            if let Some(text) = step["say"].as_str() {
                say(&text.replace("$ID", id));
            }
        }
        if let Some(bytes) = step["bytes"].as_array() {
            let bytes: Vec<u8> = bytes
                .iter()
                .filter_map(Value::as_u64)
                .map(|b| b.to_le_bytes()[0])
                .collect();
            let mut out = io::stdout().lock();
            let _ = out.write_all(&bytes).and_then(|()| out.flush());
        }
        if let Some(text) = step["err"].as_str() {
            eprintln!("{text}");
        }
        if let Some(name) = step["env"].as_str() {
            eprintln!("{name}={}", std::env::var(name).unwrap_or_default());
        }
        if step.get("cwd").is_some() {
            eprintln!("{}", std::env::current_dir().unwrap_or_default().display());
        }
        if let Some(millis) = step["sleep"].as_u64() {
            std::thread::sleep(Duration::from_millis(millis));
        }
        if let Some(bytes) = step["line"].as_u64() {
            let mut out = io::stdout().lock();
            let piece = [b'x'; 4096];
            for _ in 0..bytes.div_ceil(4096) {
                if out.write_all(&piece).is_err() {
                    return;
                }
            }
        }
        end(step);
    }
}

/// Steps after which nothing follows.
fn end(step: &Value) {
    if step.get("hold").is_some() {
        let own = std::env::current_exe().expect("a running program has a path");
        let child = Command::new(own).arg("hold").stdin(Stdio::null()).spawn();
        drop(child);
        std::process::exit(0);
    }
    if let Some(code) = step["exit"].as_i64() {
        std::process::exit(i32::try_from(code).unwrap_or(1));
    }
    if step.get("abort").is_some() {
        std::process::abort();
    }
    if step.get("hang").is_some() {
        loop {
            std::thread::sleep(Duration::from_mins(1));
        }
    }
    match step["flood"].as_str() {
        Some("out") => while writeln!(io::stdout(), "noise, noise, noise").is_ok() {},
        Some("err") => while writeln!(io::stderr(), "{}", "noise ".repeat(200)).is_ok() {},
        _ => {}
    }
}

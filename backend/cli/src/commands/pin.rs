//! `toolmark pin`: writes down how servers are today, so that `check` can say what became of them.

use std::fmt::Write as _;

use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use clap::Args;
use serde_json::{Value, json};
use toolmark_domain::limits::CHECKED_PINS;
use toolmark_domain::lock::{LOCK_SCHEMA, Lock, Pin};
use toolmark_registry::{Clock as _, SystemClock};
use url::Url;

use super::check::{ask, read_lock};
use crate::outcome::{Failure, Outcome};
use crate::output::{print, shown};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolmark pin com.example/weather --registry https://registry.example
  toolmark pin com.example/weather@1.2.0 com.example/tides --file ci/toolmark.lock

Exit status: 0 all are pinned; 1 one is not known or not observed; 3 the registry does not answer")]
pub(crate) struct PinArgs {
    /// Servers, as `namespace/name` or `namespace/name@version`
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    /// The registry that is asked, now and by `check` [default: the one in the file, else this machine's, port 8080]
    #[arg(long, value_name = "URL")]
    registry: Option<Url>,
    /// The lock file; entries of other servers in it are kept
    #[arg(long, value_name = "FILE", default_value = "toolmark.lock")]
    file: PathBuf,
}

pub(crate) fn run(args: &PinArgs) -> Result<Outcome, Failure> {
    let mut lock = if args.file.exists() {
        read_lock(&args.file)?
    } else {
        Lock {
            schema: LOCK_SCHEMA.to_owned(),
            registry: "http://127.0.0.1:8080".to_owned(),
            servers: Vec::new(),
        }
    };
    if let Some(registry) = &args.registry {
        registry
            .as_str()
            .trim_end_matches('/')
            .clone_into(&mut lock.registry);
    }
    let registry: Url = lock
        .registry
        .parse()
        .with_context(|| format!("`{}` is no address of a registry", shown(&lock.registry)))
        .map_err(Failure::unreadable)?;
    let asked: Vec<Value> = args.names.iter().map(|name| asked(name)).collect();
    if asked.len() > CHECKED_PINS {
        return Err(Failure::unreadable(anyhow!(
            "at most {CHECKED_PINS} servers at a time"
        )));
    }
    let answers = super::block_on(ask(&registry, &asked))??;
    let mut outcome = Outcome::Yes;
    let mut text = String::new();
    for (name, answer) in args.names.iter().zip(&answers) {
        match pin(answer) {
            Ok(pin) => {
                let _ = writeln!(
                    text,
                    "pinned {}@{}: {} tools",
                    pin.name,
                    pin.version,
                    pin.tools.len()
                );
                lock.servers.retain(|other| other.name != pin.name);
                lock.servers.push(pin);
            }
            Err(why) => {
                let _ = writeln!(text, "not pinned {}: {why}", shown(name));
                outcome = Outcome::No;
            }
        }
    }
    lock.servers.sort_by(|a, b| a.name.cmp(&b.name));
    let body = serde_json::to_string_pretty(&lock).context("cannot write the lock file as JSON")?;
    std::fs::write(&args.file, body + "\n")
        .with_context(|| format!("cannot write `{}`", args.file.display()))?;
    print(&text)?;
    Ok(outcome)
}

fn asked(name: &str) -> Value {
    match name.split_once('@') {
        Some((name, version)) => json!({"name": name, "version": version}),
        None => json!({"name": name}),
    }
}

/// The entry for an answer, or why there is none.
fn pin(answer: &Value) -> Result<Pin, String> {
    let reasons = || {
        let reasons = answer["reasons"].as_array();
        let words = reasons.into_iter().flatten().filter_map(Value::as_str);
        words.map(shown).collect::<Vec<_>>().join("; ")
    };
    let current = &answer["current"];
    if answer["standing"] != "same" {
        let standing = answer["standing"].as_str().unwrap_or("unknown");
        return Err(format!("{}: {}", shown(standing), reasons()));
    }
    if current["manifest/1"].is_null() {
        return Err("its current version was not observed yet".to_owned());
    }
    let read = |value: &Value| serde_json::from_value(value.clone()).ok();
    let pin = || {
        Some(Pin {
            name: answer["name"].as_str()?.to_owned(),
            version: current["version"].as_str()?.to_owned(),
            target: current["target"].as_str().map(str::to_owned),
            artifact: current["artifact"].as_str().and_then(|text| text.parse().ok()),
            builder: None,
            manifest: Some(current["manifest/1"].as_str()?.parse().ok()?),
            tools: read(&current["tools"])?,
            pinned_at: SystemClock.now(),
        })
    };
    pin().ok_or_else(|| "the registry answered with something else".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_current_and_observed_is_pinned() {
        let digest = "0".repeat(64);
        let answer = |standing: &str, manifest: Value| {
            json!({"name": "a/b", "standing": standing, "reasons": ["2 is current"], "current": {
                "version": "1", "target": "npm:b@1", "artifact": null, "manifest/1": manifest,
                "tools": [{"name": "t", "tool/1": digest}]}})
        };
        let made = pin(&answer("same", json!(digest))).unwrap();
        assert_eq!((made.version.as_str(), made.tools.len()), ("1", 1));
        assert_eq!(
            pin(&answer("known_older", json!(digest))).unwrap_err(),
            "known_older: 2 is current"
        );
        assert!(
            pin(&answer("same", Value::Null))
                .unwrap_err()
                .contains("not observed")
        );
    }
}

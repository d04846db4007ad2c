//! npm: `npm install`, or `npm ci` where there is a lock.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toolmark_domain::reason::Reason;

use super::run::{SCRATCH, run};
use super::{APP, Done, Lock, NotInstalled, Work, files, launch, merge, proxy};
use crate::launch::Launch;
use crate::placeholder::Settings;
use crate::sandbox::{Cage, Found, Mount};

/// Largest document of npm that is read.
const DOCUMENT_BYTES: u64 = 16 * 1024 * 1024;
/// Longest script that is recorded, in characters, and most packages with scripts.
const SCRIPT_CHARS: usize = 300;
const SCRIPTS: usize = 100;
/// Scripts npm runs when it installs a package.
const AT_INSTALL: [&str; 3] = ["preinstall", "install", "postinstall"];

pub(super) async fn install(
    work: &Work,
    name: &str,
    version: &str,
    settings: &Settings,
    lock: Option<&Lock>,
) -> Result<Done, NotInstalled> {
    let npm = program("npm")?;
    let app = work.app();
    let here = |error: std::io::Error| NotInstalled::here(&error);
    let project =
        json!({"name": "probe", "version": "0.0.0", "private": true, "dependencies": {name: version}});
    fs::write(app.join("package.json"), project.to_string()).map_err(here)?;
    if let Some(lock) = lock {
        fs::write(app.join("package-lock.json"), lock.npm_text()).map_err(here)?;
    }
    let command = Launch {
        program: npm.program.clone().into(),
        args: vec![if lock.is_some() { "ci" } else { "install" }.into()],
        env: environment(&npm.path),
        cwd: Some(APP.into()),
    };
    let ran = run(work, npm.mounts.clone(), &command).await.map_err(explain)?;
    let text = files::read(&app, "package-lock.json", DOCUMENT_BYTES);
    let lock = text.as_deref().and_then(Lock::npm);
    let mut record = ran.record;
    merge(
        &mut record,
        json!({
            "dependencies": lock.as_ref().map(|lock| json!({"digest": lock.digest(), "list": lock.packages})),
            "scripts": text.as_deref().map(|text| scripts(&app, text)),
        }),
    );
    let bin = bin(&app, name).ok_or_else(|| {
        NotInstalled::new(
            toolmark_domain::snapshot::Outcome::NotObserved,
            Reason::NoRunner,
            "the package has no program",
        )
    });
    let bin = bin.map_err(|failure| NotInstalled {
        record: record.clone(),
        ..failure
    })?;
    let node = program("node")?;
    let mounts = node.mounts.into_iter().chain([Mount {
        source: app,
        target: APP.into(),
        writable: false,
    }]);
    let program = Path::new(APP).join("node_modules/.bin").join(bin);
    Ok(Done {
        cage: Cage::new(work.sandbox.clone()).with(mounts),
        launch: launch(program, Vec::new(), settings, &node.path),
        lock,
        record,
    })
}

/// A program of this machine with all it needs.
fn program(name: &'static str) -> Result<Found, NotInstalled> {
    let home = std::env::home_dir();
    Found::read(name.as_ref(), &[], Path::new("/"), home.as_deref())
        .map_err(|missing| NotInstalled::not_observed(Reason::NoRunner, missing.to_string()))
}

/// npm's settings, none of them from this machine.
fn environment(path: &[PathBuf]) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
    let registry = format!("{}npm/", proxy::base());
    let cache = format!("{SCRATCH}/npm");
    let mut env = vec![("PATH".into(), super::search_path(path))];
    let settings = [
        ("registry", registry.as_str()),
        ("cache", &cache),
        ("audit", "false"),
        ("fund", "false"),
        ("update_notifier", "false"),
        ("omit_lockfile_registry_resolved", "true"),
        ("fetch_retries", "1"),
        ("loglevel", "error"),
        ("progress", "false"),
        ("yes", "false"),
    ];
    for (name, value) in settings {
        env.push((format!("npm_config_{name}").into(), value.into()));
    }
    env.push(("TMPDIR".into(), SCRATCH.into()));
    env
}

/// npm says what was missing.
fn explain(failure: NotInstalled) -> NotInstalled {
    let missing = ["ETARGET", "E404", "notarget"]
        .iter()
        .any(|word| failure.words.contains(word));
    if failure.reason == Reason::InstallFailed && missing {
        return NotInstalled {
            reason: Reason::DependencyUnavailable,
            ..failure
        };
    }
    failure
}

/// The name of the program that the package is run by.
fn bin(app: &Path, name: &str) -> Option<String> {
    let path = Path::new("node_modules").join(name).join("package.json");
    let document: Value = serde_json::from_slice(&files::read(app, path, DOCUMENT_BYTES)?).ok()?;
    let own = name.rsplit('/').next().unwrap_or(name);
    let bin = match document.get("bin")? {
        Value::String(_) => own.to_owned(),
        // As `npx` chooses: its own name, else the only one; else the first, which is as good as any.
        Value::Object(all) if all.contains_key(own) => own.to_owned(),
        Value::Object(all) => all.keys().next()?.clone(),
        _ => return None,
    };
    let plain = !bin.is_empty() && !bin.contains('/') && !bin.starts_with('.');
    plain.then_some(bin)
}

/// Which packages have scripts that npm ran, and what they say.
fn scripts(app: &Path, lock: &[u8]) -> Value {
    let document: Value = serde_json::from_slice(lock).unwrap_or_default();
    let packages = document.get("packages").and_then(Value::as_object);
    let with = packages
        .into_iter()
        .flatten()
        .filter(|(_, entry)| entry["hasInstallScript"] == true);
    let each = with.take(SCRIPTS).map(|(path, entry)| {
        let package = files::read(app, Path::new(path).join("package.json"), DOCUMENT_BYTES);
        let package: Value = package
            .and_then(|text| serde_json::from_slice(&text).ok())
            .unwrap_or_default();
        let of = |name: &&str| {
            let script = package.get("scripts")?.get(*name)?.as_str()?;
            Some((
                (*name).to_owned(),
                Value::from(script.chars().take(SCRIPT_CHARS).collect::<String>()),
            ))
        };
        let scripts: serde_json::Map<String, Value> = AT_INSTALL.iter().filter_map(of).collect();
        json!({"path": path, "version": entry["version"], "scripts": scripts})
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bin_of(package: &Value) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("node_modules/@a/server");
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("package.json"), package.to_string()).unwrap();
        bin(folder.path(), "@a/server")
    }

    #[test]
    fn a_program_is_chosen_as_npx_does() {
        let of = |bin: Value| bin_of(&json!({"bin": bin}));
        assert_eq!(of(json!("./x.js")).as_deref(), Some("server"));
        assert_eq!(
            of(json!({"other": "a", "server": "b"})).as_deref(),
            Some("server")
        );
        assert_eq!(of(json!({"mcp-a": "a"})).as_deref(), Some("mcp-a"));
        for none in [json!({}), json!({"../x": "a"}), json!(3), Value::Null] {
            assert_eq!(of(none), None);
        }
    }
}

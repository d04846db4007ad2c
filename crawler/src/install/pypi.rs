//! `PyPI`: a virtual environment, and pip of this machine.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use tokio::process::Command;
use tokio::time::timeout;
use toolmark_domain::reason::Reason;
use toolmark_domain::snapshot::Outcome;

use super::run::{SCRATCH, run};
use super::{APP, Done, Lock, NotInstalled, Work, files, launch, merge, proxy};
use crate::launch::Launch;
use crate::placeholder::Settings;
use crate::sandbox::{Cage, Found, Mount};

const DOCUMENT_BYTES: u64 = 16 * 1024 * 1024;
/// Asks a Python where it lives, and whether it has pip.
const WHERE: &str =
    "import sys, pip; print(sys.executable); print(sys.base_prefix); print(sys.version.split()[0])";
/// Makes the environment and fills it; the arguments are those of pip.
const FILL: &str = r#"set -e
python=$1; shift
"$python" -m venv --without-pip /app/venv
exec "$python" -m pip --python /app/venv/bin/python install --report /app/report.json "$@""#;

pub(super) async fn install(
    work: &Work,
    name: &str,
    version: &str,
    settings: &Settings,
    lock: Option<&Lock>,
) -> Result<Done, NotInstalled> {
    let python = Python::find().await.ok_or_else(|| {
        NotInstalled::not_observed(Reason::NoRunner, "there is no Python with pip on this machine")
    })?;
    let app = work.app();
    let mut args: Vec<OsString> = ["-c", FILL, "sh"].map(Into::into).to_vec();
    args.push(python.program.clone().into());
    if let Some(lock) = lock {
        fs::write(app.join("requirements.txt"), &lock.text).map_err(|error| NotInstalled::here(&error))?;
        args.extend(["--require-hashes", "--no-deps", "-r", "/app/requirements.txt"].map(Into::into));
    } else {
        args.push(format!("{name}=={version}").into());
    }
    let command = Launch {
        program: "/bin/sh".into(),
        args,
        env: environment(),
        cwd: Some(APP.into()),
    };
    let ran = run(work, python.mounts.clone(), &command)
        .await
        .map_err(explain)?;
    let report = files::read(&app, "report.json", DOCUMENT_BYTES);
    let lock = report.as_deref().and_then(Lock::pypi);
    let mut record = ran.record;
    merge(
        &mut record,
        json!({
            "python": python.version,
            "dependencies": lock.as_ref().map(|lock| json!({"digest": lock.digest(), "list": lock.packages})),
        }),
    );
    let (program, first) = entry(&app, name).ok_or_else(|| NotInstalled {
        record: record.clone(),
        ..NotInstalled::new(
            Outcome::NotObserved,
            Reason::NoRunner,
            "the package has no program",
        )
    })?;
    let mounts = python.mounts.into_iter().chain([Mount {
        source: app,
        target: APP.into(),
        writable: false,
    }]);
    Ok(Done {
        cage: Cage::new(work.sandbox.clone()).with(mounts),
        launch: launch(program, first, settings, &[PathBuf::from("/app/venv/bin")]),
        lock,
        record,
    })
}

/// A Python of this machine that has pip.
struct Python {
    program: PathBuf,
    version: String,
    mounts: Vec<Mount>,
}

impl Python {
    async fn find() -> Option<Self> {
        for name in ["python3", "/usr/bin/python3"] {
            if let Some(python) = Self::ask(name).await {
                return Some(python);
            }
        }
        None
    }

    async fn ask(name: &str) -> Option<Self> {
        let asked = Command::new(name)
            .args(["-I", "-c", WHERE])
            .current_dir("/")
            .kill_on_drop(true)
            .output();
        let output = timeout(Duration::from_secs(20), asked).await.ok()?.ok()?;
        let text = String::from_utf8(output.stdout)
            .ok()
            .filter(|_| output.status.success())?;
        let mut lines = text.lines();
        let (program, prefix, version) = (lines.next()?, lines.next()?, lines.next()?);
        let found = Found::read(
            program.as_ref(),
            &[],
            Path::new("/"),
            std::env::home_dir().as_deref(),
        )
        .ok()?;
        let mut mounts = found.mounts;
        if !prefix.starts_with("/usr") {
            mounts.push(Mount::same(prefix));
        }
        Some(Self {
            program: program.into(),
            version: version.to_owned(),
            mounts,
        })
    }
}

/// pip's settings, none of them from this machine.
fn environment() -> Vec<(OsString, OsString)> {
    let index = format!("{}pypi/", proxy::base());
    let settings = [
        ("PIP_INDEX_URL", index.as_str()),
        ("PIP_CONFIG_FILE", "/dev/null"),
        ("PIP_NO_INPUT", "1"),
        ("PIP_NO_CACHE_DIR", "1"),
        ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
        ("PIP_PROGRESS_BAR", "off"),
        ("PIP_RETRIES", "1"),
        ("PIP_QUIET", "1"),
        ("TMPDIR", SCRATCH),
    ];
    settings.map(|(name, value)| (name.into(), value.into())).to_vec()
}

/// pip says what was missing.
fn explain(failure: NotInstalled) -> NotInstalled {
    let missing = [
        "No matching distribution",
        "ResolutionImpossible",
        "Could not find a version",
    ];
    if failure.reason == Reason::InstallFailed && missing.iter().any(|word| failure.words.contains(word)) {
        return NotInstalled {
            reason: Reason::DependencyUnavailable,
            ..failure
        };
    }
    failure
}

/// A project's name as indexes compare it.
fn normal(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if !matches!(c, '-' | '_' | '.') {
            out.push(c.to_ascii_lowercase());
        } else if !out.ends_with('-') {
            out.push('-');
        }
    }
    out
}

/// How the package is run: a program of its own, else the module of its name.
fn entry(app: &Path, name: &str) -> Option<(OsString, Vec<OsString>)> {
    let library = Path::new("venv/lib");
    let python = names(&app.join(library))
        .into_iter()
        .find(|name| name.starts_with("python3"))?;
    let site = library.join(python).join("site-packages");
    let own = names(&app.join(&site)).into_iter().find(|folder| {
        let project = folder
            .strip_suffix(".dist-info")
            .and_then(|rest| rest.rsplit_once('-'));
        project.is_some_and(|(project, _)| normal(project) == normal(name))
    })?;
    let text = files::read(app, site.join(&own).join("entry_points.txt"), DOCUMENT_BYTES).unwrap_or_default();
    if let Some(script) = choose(&scripts(&String::from_utf8_lossy(&text)), name) {
        return Some((Path::new("/app/venv/bin").join(script).into(), Vec::new()));
    }
    let module = normal(name).replace('-', "_");
    let has = files::read(app, site.join(&module).join("__main__.py"), DOCUMENT_BYTES).is_some();
    has.then(|| ("/app/venv/bin/python".into(), vec!["-m".into(), module.into()]))
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}

/// The programs of `entry_points.txt`, in its order.
fn scripts(text: &str) -> Vec<String> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            inside = line == "[console_scripts]";
        } else if let Some((name, _)) = line.split_once('=').filter(|_| inside) {
            let name = name.trim();
            if !name.is_empty() && !name.contains('/') && !name.starts_with('.') {
                found.push(name.to_owned());
            }
        }
    }
    found
}

/// As `uvx` chooses: the one with the package's name; else the only one, or one that says it is a server.
fn choose(scripts: &[String], name: &str) -> Option<String> {
    let own = scripts.iter().find(|script| normal(script) == normal(name));
    let telling = || scripts.iter().find(|script| script.contains("mcp"));
    own.or_else(telling).or_else(|| scripts.first()).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_chosen_by_its_name() {
        let text = "[console_scripts]\nother = a:b\nweather-mcp = c:d [extra]\n../x = e:f\n[gui_scripts]\nwindow = g:h\n";
        let all = scripts(text);
        assert_eq!(all, ["other", "weather-mcp"]);
        assert_eq!(choose(&all, "Weather_MCP").as_deref(), Some("weather-mcp"));
        assert_eq!(choose(&all, "other").as_deref(), Some("other"));
        assert_eq!(choose(&all, "third").as_deref(), Some("weather-mcp"));
        assert_eq!(choose(&["x".to_owned()], "third").as_deref(), Some("x"));
        assert_eq!(choose(&[], "third"), None);
        assert_eq!(normal("A__b.-C"), "a-b-c");
    }
}

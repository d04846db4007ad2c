//! Laying the sources over each other.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use toolmark_domain::settings::{Field, Given, SetError};
use tracing_subscriber::EnvFilter;

use super::file;
use super::sections::Settings;
use crate::opening;

/// The file that is read when `--config` is not given and it exists.
const DEFAULT_FILE: &str = "toolmark.toml";
/// What every variable of ours begins with.
const PREFIX: &str = "TOOLMARK_";
/// The variable that names the settings file, as `--config` does.
const FILE_VARIABLE: &str = "TOOLMARK_CONFIG";

/// Where values are looked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    /// `--config`.
    pub(crate) file: Option<PathBuf>,
    /// The variables of the process.
    pub(crate) environment: Vec<(String, String)>,
    /// Flags that are settings: the flag as typed, the setting, the value.
    pub(crate) flags: Vec<(&'static str, &'static str, String)>,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Default,
    File { path: PathBuf, line: usize },
    Environment(String),
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Environment(name) => f.write_str(name),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

/// One thing that is wrong with the settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Problem {
    pub(super) fn new(message: String) -> Self {
        Self { message, hint: None }
    }
}

/// The settings, and where each came from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) settings: Settings,
    /// The settings file that was read.
    pub(crate) file: Option<PathBuf>,
    origins: BTreeMap<String, Origin>,
}

impl Loaded {
    /// Where the value of `section.key` comes from.
    pub(crate) fn origin(&self, name: &str) -> Origin {
        self.origins.get(name).cloned().unwrap_or(Origin::Default)
    }

    fn set(&mut self, name: &str, given: Given<'_>, origin: Origin) -> Option<Problem> {
        let (section, key) = name.split_once('.').unwrap_or((name, ""));
        let found = self
            .settings
            .sections_mut()
            .into_iter()
            .find(|s| s.name() == section);
        let result = match found {
            Some(_) if key.is_empty() => {
                let message = format!("{origin}: `{section}` is a section, found {}", found_words(given));
                let hint = Some(format!("write its settings under one line `[{section}]`"));
                return Some(Problem { message, hint });
            }
            Some(section) => section.set(key, given),
            None => Err(SetError::Unknown),
        };
        match result {
            Ok(()) => {
                self.origins.insert(name.to_owned(), origin);
                None
            }
            Err(SetError::Unknown) => Some(unknown(name, &origin)),
            Err(SetError::IllTyped(expected)) => Some(Problem::new(format!(
                "{origin}: `{name}` expects {expected}, found {}",
                found_words(given)
            ))),
        }
    }
}

/// Reads every source. All problems are given, not only the first.
pub(crate) fn load(sources: &Sources) -> Result<Loaded, Vec<Problem>> {
    let mut loaded = Loaded::default();
    let mut problems = Vec::new();
    match settings_file(sources).map(|path| read_file(&path, &mut loaded)) {
        Some(Err(problem)) => problems.push(problem),
        Some(Ok(found)) => problems.extend(found),
        None => {}
    }
    problems.extend(read_environment(&sources.environment, &mut loaded));
    for (flag, name, value) in &sources.flags {
        problems.extend(loaded.set(name, Given::Text(value), Origin::Flag(flag)));
    }
    if problems.is_empty() {
        problems = check(&loaded);
    }
    if problems.is_empty() {
        Ok(loaded)
    } else {
        Err(problems)
    }
}

/// `--config`, else the variable, else the default file if there is one.
fn settings_file(sources: &Sources) -> Option<PathBuf> {
    let named = || {
        let variable = sources.environment.iter().find(|(name, _)| name == FILE_VARIABLE);
        variable.map(|(_, path)| PathBuf::from(path))
    };
    let usual = || Some(PathBuf::from(DEFAULT_FILE)).filter(|path| path.exists());
    sources.file.clone().or_else(named).or_else(usual)
}

fn read_file(path: &Path, loaded: &mut Loaded) -> Result<Vec<Problem>, Problem> {
    let text = file::read(path)?;
    loaded.file = Some(path.to_owned());
    let mut problems = Vec::new();
    for entry in file::entries(path, &text)? {
        let origin = Origin::File {
            path: path.to_owned(),
            line: entry.line,
        };
        problems.extend(loaded.set(&entry.name, Given::Typed(&entry.value), origin));
    }
    Ok(problems)
}

/// Variables with our prefix are settings, each with `__` after its section; any other is a mistake, except those of
/// [`is_foreign`].
fn read_environment(variables: &[(String, String)], loaded: &mut Loaded) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (variable, value) in variables {
        let Some(rest) = variable.strip_prefix(PREFIX) else {
            continue;
        };
        if let Some((section, key)) = rest.split_once("__") {
            let name = format!("{}.{}", section.to_lowercase(), key.to_lowercase());
            let origin = Origin::Environment(variable.clone());
            problems.extend(loaded.set(&name, Given::Text(value), origin));
        } else if let Some(meant) = names()
            .into_iter()
            .map(|name| variable_name(&name))
            .find(|name| name.replace("__", "_") == *variable)
        {
            problems.push(Problem {
                message: format!("{variable}: a setting has two underscores after its section"),
                hint: Some(format!("did you mean `{meant}`?")),
            });
        } else if !is_foreign(rest) {
            problems.push(unknown(
                &rest.to_lowercase(),
                &Origin::Environment(variable.clone()),
            ));
        }
    }
    problems
}

/// Variables with our prefix that are no settings: the file's name, a token, what the build and the tests take, and what
/// container platforms set for a service called `toolmark`.
fn is_foreign(rest: &str) -> bool {
    matches!(
        rest,
        "CONFIG"
            | "TOKEN"
            | "COMMIT"
            | "BUILT_AT"
            | "BUILD_COMMIT"
            | "PORT"
            | "SERVICE_HOST"
            | "SERVICE_PORT"
    ) || ["TEST_", "PORT_", "SERVICE_PORT_"]
        .iter()
        .any(|start| rest.starts_with(start))
}

/// What the types cannot say.
fn check(loaded: &Loaded) -> Vec<Problem> {
    let mut problems: Vec<Problem> = check_level(loaded).into_iter().collect();
    let named = |name: &str, (message, hint): (String, &str)| Problem {
        message: format!("{}: `{name}`: {message}", loaded.origin(name)),
        hint: Some(hint.to_owned()),
    };
    for text in &loaded.settings.policy.blocked_namespaces {
        if let Err(bad) = opening::namespace_pattern(text) {
            problems.push(named("policy.blocked_namespaces", bad));
        }
    }
    if let Err(bad) = opening::database(&loaded.settings.store) {
        problems.push(named("store.database_url", bad));
    }
    if let Err(bad) = opening::blobs(&loaded.settings.store) {
        problems.push(named("store.blobs_url", bad));
    }
    problems
}

fn check_level(loaded: &Loaded) -> Option<Problem> {
    let bad = loaded
        .settings
        .log
        .level
        .split(',')
        .find(|part| !is_level(part))?;
    Some(Problem {
        message: format!(
            "{}: `log.level` has `{bad}`, which sets no level",
            loaded.origin("log.level")
        ),
        hint: Some(format!(
            "write one of {}, or `module=level`",
            LEVELS.map(|level| format!("`{level}`")).join(", ")
        )),
    })
}

/// The words for a level.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Whether a part of `log.level` sets a level. A lone word that is no level would pass for a module and silence all
/// else, so it is refused.
fn is_level(part: &str) -> bool {
    let level = part.rsplit_once('=').map_or(part, |(_, level)| level).trim();
    LEVELS.contains(&level) && EnvFilter::builder().parse(part).is_ok()
}

/// The name of every setting.
pub(crate) fn names() -> Vec<String> {
    let settings = Settings::default();
    let sections = settings.sections().into_iter();
    sections
        .flat_map(|section| {
            let fields = section.fields().into_iter();
            fields.map(move |Field { key, .. }| format!("{}.{key}", section.name()))
        })
        .collect()
}

/// The variable that sets `section.key`.
fn variable_name(name: &str) -> String {
    format!("{PREFIX}{}", name.replacen('.', "__", 1).to_uppercase())
}

fn unknown(name: &str, origin: &Origin) -> Problem {
    let written = |name: &str| match origin {
        Origin::Environment(_) => variable_name(name),
        _ => name.to_owned(),
    };
    let message = match origin {
        Origin::Environment(variable) => format!("unknown setting `{variable}` in the environment"),
        _ => format!("{origin}: unknown setting `{name}`"),
    };
    Problem {
        message,
        hint: Some(nearest(name).map_or_else(
            || "`toolmark config show` lists every setting".to_owned(),
            |near| format!("did you mean `{}`?", written(&near)),
        )),
    }
}

/// The setting whose name is most like `name`, if any is like it at all. A key in the wrong section counts as like.
fn nearest(name: &str) -> Option<String> {
    let key = name.rsplit('.').next().unwrap_or(name);
    let likeness = |other: &str| {
        let other_key = other.rsplit('.').next().unwrap_or(other);
        strsim::jaro_winkler(name, other).max(0.95 * strsim::jaro_winkler(key, other_key))
    };
    let all = names().into_iter().map(|other| (likeness(&other), other));
    let (best, other) = all.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best > 0.8).then_some(other)
}

/// What was given, in words. Texts are not repeated: one may be a password in the wrong place.
fn found_words(given: Given<'_>) -> String {
    match given {
        Given::Text("") => "nothing".to_owned(),
        Given::Text(_) | Given::Typed(Value::String(_)) => "other text".to_owned(),
        Given::Typed(Value::Bool(truth)) => truth.to_string(),
        Given::Typed(Value::Number(number)) => number.to_string(),
        Given::Typed(Value::Array(_)) => "a list".to_owned(),
        Given::Typed(Value::Object(_)) => "a table".to_owned(),
        Given::Typed(Value::Null) => "something else".to_owned(),
    }
}

//! What the package clients on this machine are configured with. They are asked by their own commands, so that every
//! file, variable and default they know of counts; secrets, which they do not print, are read from the files they name.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use tokio::process::Command;
use tokio::time::timeout;
use toolmark_domain::limits::{CLIENT_ANSWER_BYTES, CLIENT_SECS};
use url::Url;

use crate::credentials::Credential;
use crate::error::PackageError;
use crate::sources::Config;

/// What a client says.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) base: Url,
    pub(crate) scopes: Vec<(String, Url)>,
    pub(crate) credentials: Vec<(Url, Credential)>,
}

/// Runs a client and takes what it prints; nothing where it is not installed.
async fn ask(client: &'static str, arguments: &[&str]) -> Result<Option<String>, PackageError> {
    let failed = |source| PackageError::Client { client, source };
    let mut command = Command::new(client);
    // A folder without a project: a repository's own settings are not ours.
    command
        .args(arguments)
        .current_dir(std::env::temp_dir())
        .kill_on_drop(true);
    let output = match timeout(Duration::from_secs(CLIENT_SECS), command.output()).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Ok(Err(error)) => return Err(failed(error)),
        Err(_) => return Err(failed(io::Error::from(io::ErrorKind::TimedOut))),
    };
    if !output.status.success() || output.stdout.len() > CLIENT_ANSWER_BYTES {
        return Err(failed(io::Error::other("it failed")));
    }
    Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned()))
}

fn address(client: &'static str, text: &str) -> Result<Url, PackageError> {
    match Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.host().is_some() => Ok(url),
        _ => Err(PackageError::Client {
            client,
            source: io::Error::other("not an address"),
        }),
    }
}

/// npm: `registry`, `@scope:registry`, and the secrets of the files it names.
pub(crate) async fn npm(config: &Config) -> Result<Option<Found>, PackageError> {
    let Some(text) = ask("npm", &["config", "list", "--long", "--json"]).await? else {
        return Ok(None);
    };
    let bad = |source: serde_json::Error| PackageError::Client {
        client: "npm",
        source: source.into(),
    };
    let all: Map<String, Value> = serde_json::from_str(&text).map_err(bad)?;
    let text = |key: &str| all.get(key).and_then(Value::as_str);
    let base = address("npm", text("registry").unwrap_or_default())?;
    let mut scopes = Vec::new();
    for (key, value) in &all {
        if let (Some(scope), Some(url)) = (key.strip_suffix(":registry"), value.as_str()) {
            scopes.push((scope.to_owned(), address("npm", url)?));
        }
    }
    let mut credentials = Vec::new();
    for file in ["globalconfig", "userconfig"].into_iter().filter_map(text) {
        if let Some(text) = bounded(Path::new(file)) {
            npmrc(&text, &base, config, &mut credentials);
        }
    }
    Ok(Some(Found {
        base,
        scopes,
        credentials,
    }))
}

/// A small file, or nothing: a missing file is no fault.
fn bounded(path: &Path) -> Option<String> {
    use std::io::Read as _;
    let mut text = String::new();
    let file = std::fs::File::open(path).ok()?;
    let most = CLIENT_ANSWER_BYTES as u64;
    file.take(most).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Reads the secrets of an `.npmrc`: lines such as `//host/path/:_authToken=${TOKEN}`.
fn npmrc(text: &str, base: &Url, config: &Config, into: &mut Vec<(Url, Credential)>) {
    let mut halves: Vec<(Url, Option<String>, Option<String>)> = Vec::new();
    for line in text.lines().map(str::trim) {
        let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with(['#', ';'])) else {
            continue;
        };
        let value = expanded(value.trim().trim_matches('"'), config);
        let Some((place, name)) = key
            .trim()
            .rsplit_once(':')
            .filter(|(place, _)| place.starts_with("//"))
        else {
            continue;
        };
        // The file leaves the scheme out: it is the registry's.
        let Ok(url) = Url::parse(&format!("{}:{place}", base.scheme())) else {
            continue;
        };
        match name {
            "_authToken" => into.push((url, Credential::Bearer(value))),
            "_auth" => {
                if let Some((user, password)) = basic(&value) {
                    into.push((url, Credential::Basic { user, password }));
                }
            }
            "username" | "_password" => {
                let at = halves.iter().position(|half| half.0 == url).unwrap_or_else(|| {
                    halves.push((url, None, None));
                    halves.len() - 1
                });
                if name == "username" {
                    halves[at].1 = Some(value);
                } else {
                    halves[at].2 = decoded(&value);
                }
            }
            _ => {}
        }
    }
    for half in halves {
        if let (url, Some(user), Some(password)) = half {
            into.push((url, Credential::Basic { user, password }));
        }
    }
}

fn decoded(text: &str) -> Option<String> {
    String::from_utf8(STANDARD.decode(text).ok()?).ok()
}

fn basic(text: &str) -> Option<(String, String)> {
    let text = decoded(text)?;
    let (user, password) = text.split_once(':')?;
    Some((user.to_owned(), password.to_owned()))
}

/// Replaces `${NAME}`.
fn expanded(text: &str, config: &Config) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, after)) = after.split_once('}') else {
            break;
        };
        out.push_str(before);
        out.push_str(&(config.environment)(name).unwrap_or_default());
        rest = after;
    }
    out + rest
}

/// pip: what is configured for any command or for installing, else the default its help names.
pub(crate) async fn pip() -> Result<Option<Found>, PackageError> {
    let Some(list) = ask("pip", &["config", "list"]).await? else {
        return Ok(None);
    };
    let set = |key: &str| {
        let line = list.lines().filter_map(|line| line.split_once('='));
        let found = line.filter(|(name, _)| *name == key);
        found
            .map(|(_, value)| value.trim_matches(['\'', '"']).to_owned())
            .next_back()
    };
    let keys = [":env:.index-url", "install.index-url", "global.index-url"];
    let mut base = keys.into_iter().find_map(set);
    if base.is_none() {
        let help = ask("pip", &["install", "--help"]).await?.unwrap_or_default();
        base = default_of(&help, "--index-url");
    }
    let base = address("pip", base.as_deref().unwrap_or_default())?;
    Ok(Some(Found {
        base,
        scopes: Vec::new(),
        credentials: Vec::new(),
    }))
}

/// The default that a client's help gives for an option, line breaks apart.
fn default_of(help: &str, option: &str) -> Option<String> {
    let words: Vec<&str> = help
        .split_whitespace()
        .skip_while(|word| *word != option)
        .skip(1)
        .take_while(|word| !word.starts_with("--"))
        .collect();
    let at = words.iter().position(|word| *word == "(default")?;
    let text = words.get(at + 1)?.trim_end_matches(['.', ')']);
    Some(text.to_owned())
}

/// cargo: a source that replaces its own, else the index it keeps a copy of.
pub(crate) fn cargo(config: &Config) -> Result<Option<Found>, PackageError> {
    let home = (config.environment)("CARGO_HOME").map(PathBuf::from);
    let Some(home) = home.or_else(|| Some(config.home.as_ref()?.join(".cargo"))) else {
        return Ok(None);
    };
    let text = bounded(&home.join("config.toml")).or_else(|| bounded(&home.join("config")));
    let base = match text.as_deref().and_then(replaced) {
        Some(url) => url,
        None => match cached_index(&home) {
            Some(host) => format!("https://{host}/"),
            None => return Ok(None),
        },
    };
    let base = address("cargo", base.trim_start_matches("sparse+"))?;
    Ok(Some(Found {
        base,
        scopes: Vec::new(),
        credentials: Vec::new(),
    }))
}

/// The address of the source that stands in for cargo's own, following names at most a few times.
fn replaced(text: &str) -> Option<String> {
    let document: toml_edit::DocumentMut = text.parse().ok()?;
    let sources = document.get("source")?;
    let mut name = "crates-io".to_owned();
    for _ in 0..8 {
        let source = sources.get(&name)?;
        if let Some(next) = source.get("replace-with").and_then(|next| next.as_str()) {
            next.clone_into(&mut name);
            continue;
        }
        let url = source.get("registry").and_then(|url| url.as_str())?;
        return url.starts_with("sparse+").then(|| url.to_owned());
    }
    None
}

/// The host whose index cargo keeps: its folder is named `HOST-HASH`. One only, else nobody knows which is meant.
fn cached_index(home: &Path) -> Option<String> {
    let folders = std::fs::read_dir(home.join("registry/index")).ok()?;
    // A folder without this file is of the older form, which cannot be asked for one name.
    let names = folders.filter_map(|entry| {
        let entry = entry.ok()?;
        let sparse = entry.path().join("config.json").is_file();
        entry.file_name().into_string().ok().filter(|_| sparse)
    });
    let mut hosts: Vec<String> = names
        .filter_map(|name| {
            let (host, hash) = name.rsplit_once('-')?;
            let fits = hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit());
            fits.then(|| host.to_owned())
        })
        .collect();
    hosts.sort();
    hosts.dedup();
    match hosts.as_slice() {
        [host] => Some(host.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn secrets_are_read_from_an_npmrc() {
        let config = Config {
            environment: Arc::new(|name| (name == "TOKEN").then(|| "t0".to_owned())),
            ..Config::default()
        };
        let text = "# //a.example/:_authToken=no\n//a.example/npm/:_authToken=${TOKEN}\n\
                    //b.example/:username=me\n//b.example/:_password=cGFzcw==\n\
                    //c.example/:_auth=bWU6cHc=\n@acme:registry=https://d.example/\n//e.example/:x=1";
        let mut found = Vec::new();
        npmrc(
            text,
            &Url::parse("https://a.example/").unwrap(),
            &config,
            &mut found,
        );
        let expected = [
            ("https://a.example/npm/", Credential::Bearer("t0".into())),
            (
                "https://c.example/",
                Credential::Basic {
                    user: "me".into(),
                    password: "pw".into(),
                },
            ),
            (
                "https://b.example/",
                Credential::Basic {
                    user: "me".into(),
                    password: "pass".into(),
                },
            ),
        ];
        let expected: Vec<_> = expected
            .into_iter()
            .map(|(url, credential)| (Url::parse(url).unwrap(), credential))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_default_is_read_from_the_help() {
        let help = "  -i, --index-url <url>   Base URL of the index (default\n      https://index.example/simple). This\n\
                    --extra-index-url <url>  (default https://other.example/)";
        assert_eq!(
            default_of(help, "--index-url").as_deref(),
            Some("https://index.example/simple")
        );
        assert_eq!(default_of("  -q  quiet", "--index-url"), None);
    }

    #[test]
    fn a_replaced_source_is_followed() {
        let text = "[source.crates-io]\nreplace-with = 'mirror'\n[source.mirror]\n\
                    registry = 'sparse+https://m.example/index/'";
        assert_eq!(replaced(text).as_deref(), Some("sparse+https://m.example/index/"));
        let round = "[source.crates-io]\nreplace-with = 'crates-io'";
        assert_eq!(replaced(round), None);
        assert_eq!(replaced("[net]\nretry = 3"), None);
    }
}

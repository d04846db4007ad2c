//! The package clients: whether they start, and which registry their own settings name. Credentials never show.

use std::path::PathBuf;

use super::run::{Ran, run};
use super::{Check, State};
use crate::settings::masked_text;

/// Nothing fetches packages yet, so an absent client is a note.
pub(super) async fn checks() -> Vec<Check> {
    let (npm, pip, cargo) = tokio::join!(npm(), pip(), cargo());
    vec![npm, pip, cargo]
}

async fn npm() -> Check {
    let Some(version) = version("npm", &["--version"]).await else {
        return absent("npm").hint("`apt-get install npm`; it says where npm packages come from");
    };
    let registry = match run("npm", &["config", "get", "registry"]).await {
        Ran::Well(text) => known(text.lines().last()),
        _ => "its registry could not be read".to_owned(),
    };
    Check::new("clients", "npm", State::Ok, format!("{version}, {registry}"))
}

async fn pip() -> Check {
    let Some(version) = version("pip", &["--version"]).await else {
        return absent("pip").hint("`apt-get install python3-pip`; it says where Python packages come from");
    };
    let number = version.split(' ').nth(1).unwrap_or(&version).to_owned();
    let registry = match run("pip", &["config", "list"]).await {
        Ran::Well(text) => known(pip_index(&text)),
        _ => "its index could not be read".to_owned(),
    };
    Check::new("clients", "pip", State::Ok, format!("{number}, {registry}"))
}

/// The index of `pip config list`; the environment, printed as `:env:`, wins over files.
fn pip_index(listing: &str) -> Option<&str> {
    let mut best = None;
    for line in listing.lines() {
        let Some((key, value)) = line.split_once('=') else {
            continue;
        };
        if key.ends_with(".index-url") && (best.is_none() || key.starts_with(":env:")) {
            best = Some(value.trim_matches(['\'', '"']));
        }
    }
    best
}

async fn cargo() -> Check {
    let Some(version) = version("cargo", &["--version"]).await else {
        return absent("cargo").hint("`apt-get install cargo`; it says where Rust packages come from");
    };
    let number = version.split(' ').nth(1).unwrap_or(&version).to_owned();
    let settings = cargo_settings().and_then(|path| std::fs::read_to_string(path).ok());
    let replaced = settings.as_deref().and_then(cargo_registry);
    Check::new(
        "clients",
        "cargo",
        State::Ok,
        format!("{number}, {}", known(replaced.as_deref())),
    )
}

fn cargo_settings() -> Option<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")))?;
    Some(home.join("config.toml"))
}

/// The registry that cargo's settings put in place of its default one, if any.
fn cargo_registry(settings: &str) -> Option<String> {
    let document = toml_edit::Document::parse(settings).ok()?;
    let sources = document.get("source")?;
    let mut name = "crates-io";
    // A chain of replacements longer than this is a loop, which cargo refuses too.
    for _ in 0..8 {
        let source = sources.get(name)?;
        match source.get("replace-with").and_then(toml_edit::Item::as_str) {
            Some(next) => name = next,
            None => return source.get("registry")?.as_str().map(str::to_owned),
        }
    }
    None
}

/// The first line of the answer, if the program starts.
async fn version(program: &str, arguments: &[&str]) -> Option<String> {
    match run(program, arguments).await {
        Ran::Well(text) => Some(text.lines().next().unwrap_or("no version").to_owned()),
        _ => None,
    }
}

fn absent(name: &'static str) -> Check {
    Check::new("clients", name, State::Note, "not found, or does not start")
}

/// What is known of the registry. A client's own default is not repeated by us.
fn known(registry: Option<&str>) -> String {
    registry
        .map(str::trim)
        .filter(|text| !text.is_empty() && *text != "undefined")
        .map_or_else(
            || "the registry is the client's own default".to_owned(),
            |text| format!("registry {}", masked_text(text.trim_start_matches("sparse+"))),
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_wins_in_pips_listing() {
        let listing = "global.index-url='https://a.example/simple'\n:env:.index-url='https://b.example/simple'\n\
                       global.extra-index-url='https://c.example'\n";
        assert_eq!(pip_index(listing), Some("https://b.example/simple"));
        assert_eq!(pip_index("global.timeout='3'\n"), None);
    }

    #[test]
    fn cargos_replacements_are_followed() {
        let settings =
            "[source.crates-io]\nreplace-with='m'\n[source.m]\nregistry='sparse+https://u:p@m.example/'\n";
        assert_eq!(
            known(cargo_registry(settings).as_deref()),
            "registry https://u:********@m.example/"
        );
        assert_eq!(
            cargo_registry("[source.crates-io]\nreplace-with='crates-io'\n"),
            None
        );
        assert_eq!(
            known(cargo_registry("[net]\n").as_deref()),
            "the registry is the client's own default"
        );
    }
}

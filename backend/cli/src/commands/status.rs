//! `toolmark status`: what a registry holds, or how a server or one of its versions stands there.

use anyhow::{Context as _, anyhow};
use clap::Args;
use serde_json::{Value, json};
use toolmark_domain::record::{OFFICIAL_META, OWN_META, Version};
use toolmark_registry::{Database, Registry};
use url::Url;

use crate::Global;
use crate::opening;
use crate::outcome::{Failure, Outcome};
use crate::output::{Format, print, print_json, shown, table};

mod remote;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolmark status
  toolmark status com.example/weather@1.2.0 --registry https://registry.example.com

Exit status: 0 there is such a version, 1 there is none, 3 it could not be found out")]
pub(crate) struct StatusArgs {
    /// A server, or one version of it; without it, the registry as a whole
    #[arg(value_name = "NAME[@VERSION]")]
    name: Option<String>,
    /// Ask this registry instead of the one in the data folder
    #[arg(long, value_name = "URL")]
    registry: Option<Url>,
    /// Form of the answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// How one version stands.
struct Standing {
    name: String,
    version: String,
    /// The `_meta` object of the official contract's answer.
    meta: Value,
}

pub(crate) fn run(global: &Global, args: &StatusArgs) -> Result<Outcome, Failure> {
    let loaded = global.start(Vec::new())?;
    let wanted = args.name.as_deref().map(split).transpose()?;
    let found = super::block_on(async {
        match (&args.registry, wanted) {
            (Some(url), Some((name, version))) => {
                remote::version(url, name, version).await.map(Found::version)
            }
            (Some(url), None) => remote::whole(url).await.map(Found::Whole),
            (None, wanted) => local(&loaded.settings, wanted).await,
        }
    })??;
    match found {
        Found::Whole(facts) => whole(args.format, &facts)?,
        Found::Version(standing) => one(args.format, &standing)?,
        Found::Nothing => {
            let name = args.name.as_deref().unwrap_or_default();
            return Err(Failure::from(anyhow!(
                "there is no `{}` at this registry",
                shown(name)
            )));
        }
    }
    Ok(Outcome::Yes)
}

/// What was found out.
enum Found {
    Whole(Value),
    Version(Standing),
    Nothing,
}

impl Found {
    fn version(standing: Option<Standing>) -> Self {
        standing.map_or(Self::Nothing, Self::Version)
    }
}

/// `NAME[@VERSION]`; without a version, the latest.
fn split(text: &str) -> Result<(&str, &str), Failure> {
    let (name, version) = text.split_once('@').unwrap_or((text, "latest"));
    if !name.contains('/') || version.is_empty() {
        let error = anyhow!(
            "`{}` is not `NAMESPACE/NAME` or `NAMESPACE/NAME@VERSION`",
            shown(text)
        );
        return Err(Failure::unreadable(error));
    }
    Ok((name, version))
}

/// The registry in the data folder, which is not made by asking.
async fn local(settings: &crate::settings::Settings, wanted: Option<(&str, &str)>) -> Result<Found, Failure> {
    let store = opening::registry_settings(settings)?.store;
    let state = Registry::migration_state(&store)
        .await
        .map_err(Failure::unknown)?;
    if super::migrate::number(&state) == 0 {
        let place = super::migrate::place(&store.database);
        return Err(Failure::unknown(anyhow!("there is no registry at `{place}`"))
            .hint("`toolmark serve` makes one; `--registry URL` asks another"));
    }
    if !state.up_to_date() {
        let error = anyhow!("the database is not at the schema of this release");
        return Err(Failure::unknown(error).hint("`toolmark migrate` brings it there"));
    }
    let registry = opening::registry(settings).await?;
    let found = match wanted {
        Some((name, version)) => one_of(&registry, name, version).await,
        None => counts(&registry, &store.database).await,
    };
    registry.close().await;
    found
}

async fn one_of(registry: &Registry, name: &str, version: &str) -> Result<Found, Failure> {
    let version = registry
        .version(name, version, true)
        .await
        .map_err(Failure::unknown)?;
    Ok(Found::version(version.as_ref().map(standing).transpose()?))
}

async fn counts(registry: &Registry, database: &Database) -> Result<Found, Failure> {
    let stats = registry.stats().await.map_err(Failure::unknown)?;
    Ok(Found::Whole(json!({
        "registry": super::migrate::place(database),
        "version": crate::version_line(),
        "servers": stats.servers,
        "versions": stats.versions,
        "head_event": stats.events,
    })))
}

fn standing(version: &Version) -> Result<Standing, Failure> {
    let mut text = String::new();
    version.write_response(&mut text);
    let answer: Value = serde_json::from_str(&text).context("a stored document is no JSON")?;
    Ok(Standing {
        name: version.server.as_str().to_owned(),
        version: version.version.as_str().to_owned(),
        meta: answer.get("_meta").cloned().unwrap_or_default(),
    })
}

fn whole(format: Format, facts: &Value) -> Result<(), Failure> {
    match format {
        Format::Text => {
            let rows = facts.as_object().into_iter().flatten();
            print(&table(
                &rows
                    .map(|(key, value)| vec![key.replace('_', " "), plain(value)])
                    .collect::<Vec<_>>(),
            ))?;
        }
        Format::Json => {
            let mut answer = json!({"schema": "toolmark.registry-status/1"});
            if let (Some(answer), Some(facts)) = (answer.as_object_mut(), facts.as_object()) {
                answer.extend(facts.clone());
            }
            print_json(&answer)?;
        }
    }
    Ok(())
}

fn one(format: Format, standing: &Standing) -> Result<(), Failure> {
    if format == Format::Json {
        print_json(&json!({
            "schema": "toolmark.status/1",
            "name": standing.name,
            "version": standing.version,
            "_meta": standing.meta,
        }))?;
        return Ok(());
    }
    let official = &standing.meta[OFFICIAL_META];
    let own = &standing.meta[OWN_META];
    let mut rows = vec![
        vec!["name".to_owned(), shown(&standing.name)],
        vec!["version".to_owned(), shown(&standing.version)],
    ];
    for (label, value) in [
        ("status", &official["status"]),
        ("message", &official["statusMessage"]),
        ("changed", &official["statusChangedAt"]),
        ("published", &official["publishedAt"]),
        ("latest", &official["isLatest"]),
        ("current", &own["current"]),
        ("origin", &own["origin"]),
        ("valid", &own["valid"]),
        ("sha256", &own["sha256"]),
    ] {
        if !value.is_null() {
            rows.push(vec![label.to_owned(), plain(value)]);
        }
    }
    print(&table(&rows))?;
    Ok(())
}

/// A value without quotes, for people.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => shown(text),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        other => shown(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_carry_a_version() {
        assert_eq!(split("a/b").unwrap(), ("a/b", "latest"));
        assert_eq!(split("a/b@1.0.0").unwrap(), ("a/b", "1.0.0"));
        for bad in ["ab", "a/b@", "@1"] {
            assert!(split(bad).is_err(), "{bad}");
        }
    }
}

//! `toolmark status`: what a registry holds, or how a server or one of its versions stands there.

use anyhow::{Context as _, anyhow};
use clap::Args;
use serde_json::{Value, json};
use toolmark_domain::name::ServerName;
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
        Found::Nothing(spelled) => {
            let name = args.name.as_deref().unwrap_or_default();
            let failure = Failure::from(anyhow!("there is no `{}` at this registry", shown(name)));
            return Err(match spelled {
                Some(spelled) => failure.hint(format!("did you mean `{spelled}`?")),
                None => failure,
            });
        }
    }
    Ok(Outcome::Yes)
}

/// What was found out.
enum Found {
    Whole(Value),
    Version(Standing),
    /// With the name that is there in another letter case.
    Nothing(Option<ServerName>),
}

impl Found {
    fn version(standing: Option<Standing>) -> Self {
        standing.map_or(Self::Nothing(None), Self::Version)
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
    let database = opening::registry_settings(settings)?.store.database;
    let registry = opening::existing(settings).await?;
    let found = match wanted {
        Some((name, version)) => one_of(&registry, name, version).await,
        None => counts(&registry, &database).await,
    };
    registry.close().await;
    found
}

async fn one_of(registry: &Registry, name: &str, version: &str) -> Result<Found, Failure> {
    let found = registry.version(name, version, true).await;
    if let Some(found) = found.map_err(Failure::unknown)? {
        return Ok(Found::Version(standing(&found)?));
    }
    let spelled = registry.canonical_name(name).await.map_err(Failure::unknown)?;
    Ok(Found::Nothing(spelled.filter(|spelled| spelled.as_str() != name)))
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

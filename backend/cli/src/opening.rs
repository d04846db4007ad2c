//! From the settings to an open registry, and to the client for everything it fetches.

mod provenance;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use toolmark_domain::limits::{OUTBOUND_CONNECT_SECS, WEBHOOK_TOTAL_SECS};
use toolmark_outbound::{Client, MailSettings, MailTls, Mailer};
use toolmark_registry::search::Mode;
use toolmark_registry::{
    AlertSettings, BlobPlace, Crawl, Database, NamespacePattern, Registry, RegistrySettings, StoreSettings,
    SystemClock, WorkerSettings,
};
use url::Url;

pub(crate) use self::provenance::{checker, packages};
use crate::commands::migrate::{number, place};
use crate::eyes::Eyes;
use crate::outcome::Failure;
use crate::output::shown;
use crate::settings::{RankingMode, Settings, SmtpTls, StoreSection, masked_text};

/// Opens the registry the settings name; makes its folder and applies missing migrations.
pub(crate) async fn registry(settings: &Settings) -> Result<Registry, Failure> {
    Registry::open(registry_settings(settings)?, Arc::new(SystemClock))
        .await
        .map_err(Failure::unreadable)
}

/// Opens the registry the settings name, which must be there and at this release's schema: asking makes nothing.
pub(crate) async fn existing(settings: &Settings) -> Result<Registry, Failure> {
    let store = registry_settings(settings)?.store;
    let state = Registry::migration_state(&store)
        .await
        .map_err(Failure::unknown)?;
    if number(&state) == 0 {
        let error = anyhow!("there is no registry at `{}`", place(&store.database));
        return Err(Failure::unknown(error).hint(
            "name the right one with `--data-dir` or `--database-url`; `toolmark serve` makes a new one",
        ));
    }
    if !state.up_to_date() {
        let error = anyhow!("the database is not at the schema of this release");
        return Err(Failure::unknown(error).hint("`toolmark migrate` brings it there"));
    }
    registry(settings).await
}

/// What the registry is opened with.
pub(crate) fn registry_settings(settings: &Settings) -> Result<RegistrySettings, Failure> {
    // Settings that were loaded were checked; this is for those made otherwise.
    let bad = |(message, hint): (String, &str)| Failure::unreadable(anyhow!(message)).hint(hint);
    let patterns = settings.policy.blocked_namespaces.iter();
    let blocked = patterns.map(|text| namespace_pattern(text));
    Ok(RegistrySettings {
        store: StoreSettings {
            database: database(&settings.store).map_err(bad)?,
            connections: settings.store.connections.get(),
        },
        blobs: blobs(&settings.store).map_err(bad)?,
        index_folder: Some(Path::new(&settings.store.data_dir).join("search")),
        search_mode: match settings.search.mode {
            RankingMode::Default => Mode::Default,
            RankingMode::Lexical => Mode::Lexical,
        },
        dev_auth: settings.auth.dev,
        blocked_namespaces: blocked.collect::<Result<_, _>>().map_err(bad)?,
        allow_local_remotes: settings.policy.allow_local_remotes,
    })
}

/// The background jobs that can be done here.
pub(crate) fn worker(settings: &Settings) -> Result<WorkerSettings, Failure> {
    let verifier = if settings.provenance.check {
        Some(Arc::new(provenance::verifier(settings)?))
    } else {
        None
    };
    Ok(WorkerSettings {
        concurrency: usize::try_from(settings.jobs.concurrency.get()).unwrap_or(usize::MAX),
        crawler: settings.jobs.crawl.then(|| crawler(settings)),
        verifier,
    })
}

fn crawler(settings: &Settings) -> Arc<dyn Crawl> {
    Arc::new(Eyes::new(settings))
}

/// Says how alerts are sent.
pub(crate) fn set_up_alerts(registry: &Registry, settings: &Settings) -> Result<(), Failure> {
    let alerts = &settings.alerts;
    let mut outbound = toolmark_outbound::Settings::new(Duration::from_secs(OUTBOUND_CONNECT_SECS));
    outbound.trusted.clone_from(&alerts.trusted_addresses);
    let mailer = match &alerts.smtp_host {
        None => None,
        Some(host) => {
            let login = match (&alerts.smtp_user, &alerts.smtp_password) {
                (Some(user), Some(password)) => Some((user.clone(), password.clone())),
                (None, None) => None,
                _ => {
                    let error = anyhow!("`alerts.smtp_user` and `alerts.smtp_password` belong together");
                    return Err(Failure::unreadable(error));
                }
            };
            let mail = MailSettings {
                host: host.clone(),
                port: alerts.smtp_port,
                tls: match alerts.smtp_tls {
                    SmtpTls::StartTls => MailTls::StartTls,
                    SmtpTls::Implicit => MailTls::Implicit,
                    SmtpTls::None => MailTls::None,
                },
                login,
                from: alerts.mail_from.clone(),
                within: Duration::from_secs(WEBHOOK_TOTAL_SECS),
            };
            Some(Mailer::new(&mail).map_err(Failure::unreadable)?)
        }
    };
    let base = match &settings.server.public_url {
        Some(url) => url.as_str().trim_end_matches('/').to_owned(),
        None => format!("http://{}", settings.server.listen),
    };
    registry.set_up_alerts(AlertSettings {
        client: Client::new(outbound).map_err(Failure::unknown)?,
        mailer,
        base,
        pause_after_secs: i64::from(alerts.pause_after_days.get()) * 24 * 3600,
    });
    Ok(())
}

/// The client for whatever is fetched.
pub(crate) fn client() -> Result<Client, Failure> {
    let settings = toolmark_outbound::Settings::new(Duration::from_secs(OUTBOUND_CONNECT_SECS));
    Client::new(settings).map_err(Failure::unknown)
}

/// What is wrong with a setting, and what to write instead.
type Bad = (String, &'static str);

pub(crate) fn namespace_pattern(text: &str) -> Result<NamespacePattern, Bad> {
    NamespacePattern::parse(text).ok_or_else(|| {
        (
            format!("`{}` is no namespace", shown(text)),
            "write a namespace such as `com.example`, or the beginning of some and a star, such as `com.example.*`",
        )
    })
}

pub(crate) fn database(store: &StoreSection) -> Result<Database, Bad> {
    let Some(url) = &store.database_url else {
        return Ok(Database::Sqlite(Path::new(&store.data_dir).join("registry.db")));
    };
    let hint = "write `postgres://USER@HOST/NAME` or `sqlite:FILE`";
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        return match Url::parse(url) {
            Ok(_) => Ok(Database::Postgres(url.clone())),
            Err(error) => Err((format!("`{}` is no URL: {error}", masked_text(url)), hint)),
        };
    }
    let file = url.strip_prefix("sqlite:");
    match file.map(|file| file.strip_prefix("//").unwrap_or(file)) {
        Some(file) if !file.is_empty() => Ok(Database::Sqlite(PathBuf::from(file))),
        _ => {
            let shown = masked_text(url);
            let message = format!("`{shown}` is neither a PostgreSQL URL nor `sqlite:` and a file");
            Err((message, hint))
        }
    }
}

/// Where documents and artifacts are kept. The client of an S3-compatible store is told the rest (`AWS_ENDPOINT`,
/// `AWS_REGION`, `AWS_ACCESS_KEY_ID`, …) by the variables its users know, so that no secret stands in a file of ours.
pub(crate) fn blobs(store: &StoreSection) -> Result<BlobPlace, Bad> {
    let hint = "write a folder, or `s3://BUCKET/PREFIX`";
    match store.blobs_url.as_deref() {
        None => Ok(BlobPlace::Directory(Path::new(&store.data_dir).join("blobs"))),
        Some("") => Err(("nothing is given".to_owned(), hint)),
        Some(url) if url.starts_with("s3://") => match Url::parse(url) {
            Ok(parsed) if parsed.has_host() => Ok(BlobPlace::Url {
                url: url.to_owned(),
                options: client_options(std::env::vars_os()),
            }),
            _ => Err((format!("`{}` names no bucket", masked_text(url)), hint)),
        },
        Some(url) if url.contains("://") && !url.starts_with("file://") => {
            let message = format!("`{}` is neither a folder nor an S3 address", masked_text(url));
            Err((message, hint))
        }
        Some(folder) => {
            let path = folder.strip_prefix("file://").unwrap_or(folder);
            Ok(BlobPlace::Directory(PathBuf::from(path)))
        }
    }
}

/// The variables that begin with `AWS_`, as the client of the store names them.
fn client_options(variables: impl Iterator<Item = (OsString, OsString)>) -> Vec<(String, String)> {
    let ours = variables.filter_map(|(name, value)| {
        let name = name.into_string().ok()?;
        name.starts_with("AWS_")
            .then(|| Some((name.to_ascii_lowercase(), value.into_string().ok()?)))?
    });
    ours.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_database_is_a_file_or_a_url() {
        let read = |url: Option<&str>| {
            let mut settings = Settings::default();
            settings.store.data_dir = "/data".into();
            settings.store.database_url = url.map(str::to_owned);
            database(&settings.store)
        };
        let file = |url| match read(url) {
            Ok(Database::Sqlite(path)) => path,
            other => panic!("{other:?}"),
        };
        assert_eq!(file(None), Path::new("/data/registry.db"));
        assert_eq!(file(Some("sqlite:a.db")), Path::new("a.db"));
        assert_eq!(file(Some("sqlite:///srv/a.db")), Path::new("/srv/a.db"));
        assert!(matches!(
            read(Some("postgres://a@b/c")),
            Ok(Database::Postgres(_))
        ));
        for bad in ["sqlite:", "mysql://a/b", "a.db"] {
            assert!(read(Some(bad)).unwrap_err().1.starts_with("write "), "{bad}");
        }
    }

    #[test]
    fn blobs_are_in_a_folder_or_a_bucket() {
        let read = |url: Option<&str>| {
            let store = StoreSection {
                data_dir: "/data".into(),
                blobs_url: url.map(str::to_owned),
                ..StoreSection::default()
            };
            blobs(&store).map_err(|bad| bad.0)
        };
        for (given, folder) in [
            (None, "/data/blobs"),
            (Some("/srv/blobs"), "/srv/blobs"),
            (Some("file:///srv/blobs"), "/srv/blobs"),
        ] {
            assert!(
                matches!(read(given), Ok(BlobPlace::Directory(path)) if path == Path::new(folder)),
                "{given:?}"
            );
        }
        assert!(
            matches!(read(Some("s3://bucket/a")), Ok(BlobPlace::Url { url, .. }) if url == "s3://bucket/a")
        );
        for bad in ["", "s3://", "ftp://x/y"] {
            assert!(read(Some(bad)).is_err(), "{bad}");
        }
        let variables = [("AWS_REGION", "eu"), ("HOME", "/")].map(|(a, b)| (a.into(), b.into()));
        assert_eq!(
            client_options(variables.into_iter()),
            [("aws_region".to_owned(), "eu".to_owned())]
        );
    }
}

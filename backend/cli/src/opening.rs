//! From the settings to an open registry, and to the client for everything it fetches.

mod provenance;

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

pub(crate) use self::provenance::{checker, packages};
use crate::eyes::Eyes;
use crate::outcome::Failure;
use crate::settings::{RankingMode, Settings, SmtpTls, masked_text};

/// Opens the registry the settings name; makes its folder and applies missing migrations.
pub(crate) async fn registry(settings: &Settings) -> Result<Registry, Failure> {
    let settings = registry_settings(settings)?;
    Registry::open(settings, Arc::new(SystemClock))
        .await
        .map_err(Failure::unreadable)
}

/// What the registry is opened with.
pub(crate) fn registry_settings(settings: &Settings) -> Result<RegistrySettings, Failure> {
    let pattern = |text: &String| {
        NamespacePattern::parse(text).ok_or_else(|| {
            Failure::unreadable(anyhow!("`policy.blocked_namespaces`: `{text}` is no namespace"))
        })
    };
    let blocked = settings.policy.blocked_namespaces.iter().map(pattern);
    Ok(RegistrySettings {
        store: StoreSettings {
            database: database(settings)?,
            connections: settings.store.connections.get(),
        },
        blobs: BlobPlace::Directory(Path::new(&settings.store.data_dir).join("blobs")),
        index_folder: Some(Path::new(&settings.store.data_dir).join("search")),
        search_mode: match settings.search.mode {
            RankingMode::Default => Mode::Default,
            RankingMode::Lexical => Mode::Lexical,
        },
        dev_auth: settings.auth.dev,
        blocked_namespaces: blocked.collect::<Result<_, _>>()?,
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

fn database(settings: &Settings) -> Result<Database, Failure> {
    let Some(url) = &settings.store.database_url else {
        return Ok(Database::Sqlite(
            Path::new(&settings.store.data_dir).join("registry.db"),
        ));
    };
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        return Ok(Database::Postgres(url.clone()));
    }
    match url
        .strip_prefix("sqlite:")
        .map(|file| file.strip_prefix("//").unwrap_or(file))
    {
        Some(file) if !file.is_empty() => Ok(Database::Sqlite(PathBuf::from(file))),
        _ => {
            let shown = masked_text(url);
            let error = anyhow!(
                "`store.database_url`: `{shown}` is neither a PostgreSQL URL nor `sqlite:` and a file"
            );
            Err(Failure::unreadable(error).hint("write `postgres://USER@HOST/NAME` or `sqlite:FILE`"))
        }
    }
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
            database(&settings).map_err(|failure| failure.text())
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
            assert!(read(Some(bad)).unwrap_err().contains("hint:"), "{bad}");
        }
    }
}

//! `toolmark serve`: the site, the API and the jobs, until it is told to stop.

use std::io::{IsTerminal as _, stderr};
use std::net::SocketAddr;

use anyhow::{Context as _, anyhow};
use clap::Args;
use tokio::net::TcpListener;
use toolmark_domain::timestamp::Timestamp;
use toolmark_registry::{Registry, StarterOutcome};
use toolmark_server::{Build, RateLimit, ServerSettings};
use tracing::info;

use crate::Global;
use crate::opening;
use crate::outcome::{Failure, Outcome};
use crate::settings::{Loaded, Settings};

/// Reads a minute for one address where the listener can be reached by others and nothing else is set.
const PUBLIC_READS_PER_MINUTE: u32 = 600;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolmark serve --starter
  toolmark serve --listen 0.0.0.0:8080 --database-url postgres://toolmark@db.example.com/toolmark

Ends in order on SIGTERM and SIGINT: running requests are finished, new ones refused.")]
pub(crate) struct ServeArgs {
    /// Address and port to listen on [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// Fill an empty registry with a list of well-known public servers
    #[arg(long)]
    starter: bool,
    /// Leave the background jobs to `toolmark worker`
    #[arg(long)]
    no_worker: bool,
    /// Let anyone publish under `io.modelcontextprotocol.anonymous/`; on a loopback address only
    #[arg(long)]
    dev_auth: bool,
}

pub(crate) fn run(global: &Global, args: &ServeArgs) -> Result<Outcome, Failure> {
    let loaded = global.start(vec![
        ("--listen", "server.listen", args.listen.clone()),
        ("--dev-auth", "auth.dev", args.dev_auth.then(|| "true".to_owned())),
    ])?;
    refuse_open_development(&loaded)?;
    super::block_on(serve(&loaded.settings, args))??;
    Ok(Outcome::Yes)
}

/// The development login must not be reachable from other machines.
fn refuse_open_development(loaded: &Loaded) -> Result<(), Failure> {
    let settings = &loaded.settings;
    if !settings.auth.dev || settings.server.listen.ip().is_loopback() {
        return Ok(());
    }
    let error = anyhow!(
        "`auth.dev` ({}) lets anyone publish and `{}` can be reached by others",
        loaded.origin("auth.dev"),
        settings.server.listen
    );
    Err(Failure::unreadable(error).hint("listen on a loopback address, or leave the development login off"))
}

async fn serve(settings: &Settings, args: &ServeArgs) -> Result<(), Failure> {
    // The ports first: what cannot be served must not be filled.
    let listener = bind(settings.server.listen, "server.listen").await?;
    let metrics = match settings.server.metrics_listen {
        Some(address) => Some(bind(address, "server.metrics_listen").await?),
        None => None,
    };
    let stop = super::stop_signal()?;
    let address = listener
        .local_addr()
        .context("cannot tell the address listened on")?;
    let registry = opening::registry(settings).await?;
    opening::set_up_alerts(&registry, settings)?;
    if args.starter {
        fill(&registry).await?;
    }
    announce(address);
    let (served, ended) = tokio::sync::oneshot::channel::<()>();
    let worker = opening::worker(settings)?;
    let jobs = (!args.no_worker).then(|| {
        let registry = registry.clone();
        tokio::spawn(async move {
            let until = async {
                let _ = ended.await;
            };
            registry.work(&worker, until).await;
        })
    });
    let outcome = toolmark_server::serve(
        listener,
        metrics,
        registry.clone(),
        server_settings(settings),
        stop,
    )
    .await;
    drop(served);
    if let Some(jobs) = jobs {
        jobs.await.context("the jobs failed")?;
    }
    registry.close().await;
    outcome.context("the server failed")?;
    Ok(())
}

async fn bind(address: SocketAddr, setting: &str) -> Result<TcpListener, Failure> {
    let bound = TcpListener::bind(address).await;
    bound.map_err(|error| {
        let used = error.kind() == std::io::ErrorKind::AddrInUse;
        let failure =
            Failure::from(anyhow::Error::new(error).context(format!("cannot listen on `{address}`")));
        if used {
            return failure.hint(format!(
                "another program listens there; choose another port with `{setting}` in the settings file or a flag"
            ));
        }
        failure
    })
}

/// Says what the list is, and what it is not.
async fn fill(registry: &Registry) -> Result<(), Failure> {
    match registry
        .fill_with_starter()
        .await
        .context("cannot list the starter servers")?
    {
        StarterOutcome::Listed(count) => info!(
            servers.count = count,
            "listed {count} well-known servers; listed by Toolmark, not by their publishers; nothing was fetched: none \
             is observed or verified yet"
        ),
        StarterOutcome::NotEmpty => info!("the registry is not empty; the starter list was left out"),
    }
    Ok(())
}

/// On a terminal the address to open is worth a line of its own; elsewhere the log has it.
fn announce(address: SocketAddr) {
    if stderr().is_terminal() {
        eprintln!("open http://{address}/ (stop with Ctrl-C)");
    } else {
        info!(server.address = %address, "listening on http://{address}/");
    }
}

fn server_settings(settings: &Settings) -> ServerSettings {
    let server = &settings.server;
    let usual = if server.listen.ip().is_loopback() {
        0
    } else {
        PUBLIC_READS_PER_MINUTE
    };
    let rate = server.read_rate_per_minute.unwrap_or(usual);
    ServerSettings {
        public_url: server
            .public_url
            .as_ref()
            .map(|url| url.as_str().trim_end_matches('/').to_owned()),
        rate_limit: (rate > 0).then(|| RateLimit::per_minute(rate)),
        trusted_proxies: server.trusted_proxies.clone(),
        github_client_id: server.github_client_id.clone(),
        security_contact: server.security_contact.as_ref().map(ToString::to_string),
        mcp_hosts: settings.mcp.hosts.clone(),
        mcp_origins: settings.mcp.origins.clone(),
        list_cache_bytes: server.list_cache_bytes,
        connections: usize::try_from(server.connections.get()).unwrap_or(usize::MAX),
        body_read: std::time::Duration::from_secs(server.body_timeout_secs.get()),
        access_log: settings.log.requests,
        build: build(),
        ..ServerSettings::default()
    }
}

/// What is known of this program's making.
fn build() -> Build {
    let built_at = option_env!("TOOLMARK_BUILT_AT").and_then(|secs| secs.parse::<i64>().ok());
    let unknown = Build::default();
    Build {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        git_commit: option_env!("TOOLMARK_COMMIT").map_or(unknown.git_commit, str::to_owned),
        build_time: built_at.map_or(unknown.build_time, |secs| {
            Timestamp::from_micros(secs.saturating_mul(1_000_000)).to_string()
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Sources, load};

    fn loaded(flags: &[(&'static str, &str)]) -> Loaded {
        let flags = flags
            .iter()
            .map(|(name, value)| ("--x", *name, (*value).to_owned()));
        let flags = flags.collect();
        load(&Sources {
            flags,
            ..Sources::default()
        })
        .unwrap()
    }

    #[test]
    fn the_development_login_stays_on_this_machine() {
        for (listen, dev, allowed) in [
            ("127.0.0.1:1", "true", true),
            ("[::1]:1", "true", true),
            ("0.0.0.0:1", "true", false),
            ("192.0.2.1:1", "true", false),
            ("0.0.0.0:1", "false", true),
        ] {
            let loaded = loaded(&[("server.listen", listen), ("auth.dev", dev)]);
            assert_eq!(
                refuse_open_development(&loaded).is_ok(),
                allowed,
                "{listen} {dev}"
            );
        }
    }

    #[test]
    fn reads_are_limited_where_others_can_ask() {
        for (listen, rate, limit) in [
            ("127.0.0.1:1", None, None),
            ("0.0.0.0:1", None, Some(600)),
            ("127.0.0.1:1", Some("5"), Some(5)),
            ("0.0.0.0:1", Some("0"), None),
        ] {
            let mut flags = vec![("server.listen", listen)];
            flags.extend(rate.map(|rate| ("server.read_rate_per_minute", rate)));
            let settings = server_settings(&loaded(&flags).settings);
            assert_eq!(
                settings.rate_limit.map(|limit| limit.per_minute),
                limit,
                "{listen} {rate:?}"
            );
        }
    }
}

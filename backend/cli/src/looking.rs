//! Looking at a target from here: which part of the crawler it goes to, and with what.

use std::ffi::{OsStr, OsString};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use toolmark_crawler::bare::Bare;
use toolmark_crawler::install::{Coordinate, Installed, Installer, NotInstalled};
use toolmark_crawler::placeholder::Settings as Given;
use toolmark_crawler::sandbox::{self, Cage, Found, NoSandbox, Sandbox};
use toolmark_crawler::{Bounds, Launch, Look, Progress, Remote, observe_process, observe_remote};
use toolmark_domain::limits::OUTBOUND_CONNECT_SECS;
use toolmark_domain::reason::Reason;
use toolmark_domain::snapshot::{Outcome, Snapshot};
use toolmark_outbound::{Client, HeaderMap};
use toolmark_registry::packages::Packages;
use url::{Host, Url};

use crate::opening;
use crate::outcome::Failure;
use crate::output::shown;
use crate::settings::Settings;

/// Kinds of packages that a target may be written as.
const PACKAGES: [&str; 4] = ["npm:", "pypi:", "oci:", "mcpb:"];

/// What is to be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// As written: `npm:NAME@V`, …, with what the server is given.
    Package { text: String, given: Given },
    /// With the headers it is sent.
    Remote(Remote),
    Command {
        program: OsString,
        args: Vec<OsString>,
        env: Vec<(OsString, OsString)>,
    },
}

impl Target {
    /// Reads a package or an address.
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        if PACKAGES
            .iter()
            .any(|head| text.len() > head.len() && text.starts_with(head))
        {
            return Ok(Self::Package {
                text: text.to_owned(),
                given: Given::default(),
            });
        }
        let unknown = || {
            let error = anyhow!("`{}` is no target", shown(text));
            Failure::unreadable(error)
                .hint("write `npm:NAME@VERSION`, `pypi:NAME@VERSION`, an https URL, or `-- COMMAND`")
        };
        let url = Url::parse(text).map_err(|_| unknown())?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(unknown());
        }
        if !url.username().is_empty() || url.password().is_some() {
            let error = anyhow!("the address holds a user name or password");
            return Err(Failure::unreadable(error).hint("Toolmark looks at what a server shows to everybody"));
        }
        Ok(Self::Remote(Remote {
            url,
            headers: HeaderMap::new(),
        }))
    }

    /// As it stands in the snapshot.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Package { text, .. } => text.clone(),
            Self::Remote(remote) => remote.url.to_string(),
            Self::Command { program, args, .. } => {
                let words = std::iter::once(program).chain(args);
                let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
                format!("-- {}", words.join(" "))
            }
        }
    }
}

/// How to look.
pub(crate) struct Looking<'a> {
    pub(crate) settings: &'a Settings,
    /// This machine and its network may be reached.
    pub(crate) local: bool,
    /// Commands run as they are. For tests of ours; nothing offers it.
    pub(crate) bare: bool,
    /// Values that moved by themselves in earlier looks at the same artifact.
    pub(crate) volatile: &'a [String],
    /// Where packages come from: opened when a package is looked at, and kept, since it asks the package clients.
    pub(crate) packages: &'a OnceCell<Packages>,
    pub(crate) progress: Progress<'a>,
}

impl Looking<'_> {
    /// One look; whatever goes wrong is an outcome.
    pub(crate) async fn at(&self, target: &Target) -> Result<Snapshot, Failure> {
        let text = target.text();
        let bounds = Bounds::default();
        let look = Look {
            target: &text,
            bounds: &bounds,
            volatile: self.volatile,
            progress: self.progress,
        };
        Ok(match target {
            Target::Remote(remote) => {
                let mut remote = remote.clone();
                if self.local {
                    remote.url = by_number(&remote.url);
                }
                let client = client(self.local.then_some(&remote.url))?;
                observe_remote(&look, &client, &remote).await.snapshot
            }
            Target::Command { program, args, env } => {
                let cwd = std::env::current_dir().context("there is no working directory")?;
                let home = std::env::var_os("HOME").map(PathBuf::from);
                let found = Found::read(program, args, &cwd, home.as_deref()).map_err(Failure::unreadable)?;
                self.command(&look, found, args, env).await
            }
            Target::Package { text, given } => self.package(&look, text, given).await?,
        })
    }
}

impl Looking<'_> {
    /// A command in a cage that shows it what it needs; never without one, tests of ours apart.
    async fn command(
        &self,
        look: &Look<'_>,
        found: Found,
        args: &[OsString],
        env: &[(OsString, OsString)],
    ) -> Snapshot {
        let mut launch = Launch {
            program: found.program.into(),
            args: args.to_vec(),
            env: Vec::new(),
            cwd: found.cwd,
        };
        if self.bare {
            launch.env = env.to_vec();
            return observe_process(look, &Bare, &launch).await.snapshot;
        }
        let sandbox = match Sandbox::find().await {
            Ok(sandbox) => sandbox,
            Err(none) => return unseen(look, &none),
        };
        let system = Path::new(sandbox::PATH);
        let places = found
            .path
            .iter()
            .map(PathBuf::as_path)
            .chain(std::iter::once(system));
        // Joined by hand: the last one is several already.
        let places: Vec<&OsStr> = places.map(Path::as_os_str).collect();
        launch.env.push(("PATH".into(), places.join(OsStr::new(":"))));
        launch.env.extend(env.iter().cloned());
        let cage = Cage::new(sandbox).with(found.mounts);
        observe_process(look, &cage, &launch).await.snapshot
    }
}

impl Looking<'_> {
    /// A package: installed in a cage, then looked at in others.
    async fn package(&self, look: &Look<'_>, text: &str, given: &Given) -> Result<Snapshot, Failure> {
        let bundle = text
            .strip_prefix("mcpb:")
            .map(Path::new)
            .filter(|path| path.is_file());
        let coordinate = match bundle {
            Some(_) => None,
            None => Some(text.parse::<Coordinate>().map_err(Failure::unreadable)?),
        };
        let sandbox = match Sandbox::find().await {
            Ok(sandbox) => sandbox,
            Err(none) => return Ok(unseen(look, &none)),
        };
        let packages = self
            .packages
            .get_or_try_init(async || opening::packages(self.settings));
        let packages = packages.await?.clone();
        let cache = Path::new(&self.settings.store.data_dir).join("packages");
        let installer = Installer::new(sandbox, packages, cache);
        let outcome = match (bundle, &coordinate) {
            (Some(path), _) => installer.bundle(path, given),
            (None, Some(coordinate)) => installer.install(coordinate, given, None, self.progress).await,
            (None, None) => unreachable!("what is no bundle has a coordinate"),
        };
        Ok(match outcome {
            Ok(ready) => self.installed(look, &ready).await,
            Err(failure) => not_installed(look, failure),
        })
    }

    async fn installed(&self, look: &Look<'_>, installed: &Installed) -> Snapshot {
        let mut snapshot = observe_process(look, &installed.cage, &installed.launch)
            .await
            .snapshot;
        if let (Some(look), Some(record)) = (snapshot.look.as_object_mut(), installed.record.as_object()) {
            look.extend(record.clone());
        }
        snapshot
    }
}

fn not_installed(look: &Look<'_>, failure: NotInstalled) -> Snapshot {
    let mut snapshot = Snapshot::failed(look.target, failure.outcome, Some(failure.reason.as_str()));
    snapshot.look = json!({"words": failure.words});
    if let (Some(look), Value::Object(record)) = (snapshot.look.as_object_mut(), failure.record) {
        look.extend(record);
    }
    snapshot
}

/// Nothing is run without a sandbox.
fn unseen(look: &Look<'_>, none: &NoSandbox) -> Snapshot {
    let reason = Some(Reason::NoSandbox.as_str());
    let mut snapshot = Snapshot::failed(look.target, Outcome::NotObserved, reason);
    snapshot.look = json!({"words": format!("{none}; {}", none.hint)});
    snapshot
}

/// `localhost` by its number: only an address that is named by number may be trusted.
fn by_number(url: &Url) -> Url {
    let mut url = url.clone();
    if url.host_str() == Some("localhost") {
        // It cannot fail: a host that is replaced by a host.
        let _ = url.set_host(Some("127.0.0.1"));
    }
    url
}

/// A client for a server of others. `local` is an address that may be on this machine or in its network.
fn client(local: Option<&Url>) -> Result<Client, Failure> {
    let mut settings = toolmark_outbound::Settings::new(Duration::from_secs(OUTBOUND_CONNECT_SECS));
    if let Some(url) = local {
        settings.trusted = vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        settings.trusted.extend(match url.host() {
            Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
            Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
            _ => None,
        });
    }
    Client::new(settings).map_err(Failure::unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_as_they_are_written() {
        let read = |text: &str| Target::parse(text).map_err(|failure| failure.text());
        for text in [
            "npm:@a/b@1.0.0",
            "pypi:x@2",
            "oci:host.example/x:1",
            "mcpb:./a.mcpb",
        ] {
            let package = Target::Package {
                text: text.to_owned(),
                given: Given::default(),
            };
            assert_eq!(read(text), Ok(package));
        }
        let remote = read("https://a.example/mcp").unwrap();
        assert_eq!(remote.text(), "https://a.example/mcp");
        for text in [
            "npm:",
            "server",
            "ftp://a.example/",
            "https:",
            "https://me:pw@a.example/",
        ] {
            let words = read(text).unwrap_err();
            assert!(words.contains("hint:") && !words.contains("pw@"), "{words}");
        }
    }

    #[test]
    fn this_machine_is_named_by_number() {
        let url = Url::parse("http://localhost:3000/mcp").unwrap();
        assert_eq!(by_number(&url).as_str(), "http://127.0.0.1:3000/mcp");
    }
}

//! Runs one client of a package registry in a cage, within the bounds of an install.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::time::{Instant, timeout};
use toolmark_domain::limits::{
    INSTALL_BYTES, INSTALL_FILES, INSTALL_MEMORY_BYTES, INSTALL_SECS, INSTALL_TASKS,
};
use toolmark_domain::reason::Reason;
use toolmark_domain::snapshot::Outcome;

use super::{APP, NotInstalled, Work, files};
use crate::condition::Condition;
use crate::launch::{Ending, Launch, Start as _};
use crate::sandbox::{Cage, CageBounds, Mount};

/// How often the room it takes is looked at.
const LOOK: Duration = Duration::from_millis(500);
/// Last bytes kept of what a client says.
const WORDS: usize = 16 * 1024;
/// Where a client keeps what it needs no longer than the install.
pub(super) const SCRATCH: &str = "/scratch";

/// What a client did.
pub(super) struct Ran {
    pub(super) record: Value,
}

/// Runs it to its end. Fails when it failed, or met a bound.
pub(super) async fn run(work: &Work, mounts: Vec<Mount>, launch: &Launch) -> Result<Ran, NotInstalled> {
    let folder = work.folder.path();
    let writable = |name: &str, target: &str| Mount {
        source: folder.join(name),
        target: target.into(),
        writable: true,
    };
    let own = [writable("app", APP), writable("scratch", SCRATCH)];
    let mut cage = Cage::new(work.sandbox.clone())
        .with(mounts)
        .with(own)
        .bounded(bounds());
    if let Some(proxy) = &work.proxy {
        cage = cage.relayed(proxy.socket().to_owned());
    }
    let began = Instant::now();
    let started = cage.start(launch, &Condition::TAKES[0]).await;
    let mut started =
        started.map_err(|failure| NotInstalled::new(failure.outcome, failure.reason, failure.words))?;
    drop(started.stdin);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let whole = async {
        tokio::join!(
            tail(started.stdout, &mut out),
            tail(started.stderr, &mut err),
            started.process.wait()
        )
        .2
    };
    let limit = Duration::from_secs(INSTALL_SECS);
    let ended = tokio::select! {
        ended = timeout(limit, whole) => ended.map_err(|_| Reason::InstallTimedOut),
        () = outgrown(folder) => Err(Reason::DiskLimit),
    };
    let ending = started.process.finish().await;
    let words = format!(
        "{}\n{}",
        String::from_utf8_lossy(&err),
        String::from_utf8_lossy(&out)
    );
    let record = json!({"install": {
        "took_ms": u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        "reached_for": ending.egress,
    }});
    let failed = |outcome, reason| NotInstalled {
        record: record.clone(),
        ..NotInstalled::new(outcome, reason, words.trim())
    };
    let full = work.proxy.as_ref().is_some_and(super::proxy::Proxy::is_full);
    match ended {
        Err(Reason::InstallTimedOut) => Err(failed(Outcome::NotObserved, Reason::InstallTimedOut)),
        Err(reason) => Err(failed(Outcome::RefusedByPolicy, reason)),
        Ok(Err(error)) => Err(NotInstalled::here(&error)),
        Ok(Ok(status)) if status.success() => Ok(Ran { record }),
        Ok(Ok(_)) if full => Err(failed(Outcome::RefusedByPolicy, Reason::DiskLimit)),
        Ok(Ok(_)) => Err(failed_by_itself(work, &ending, &failed)),
    }
}

fn failed_by_itself(
    work: &Work,
    ending: &Ending,
    failed: &dyn Fn(Outcome, Reason) -> NotInstalled,
) -> NotInstalled {
    if let Some(limit) = ending.limit {
        return failed(Outcome::RefusedByPolicy, limit);
    }
    let proxy = work.proxy.as_ref();
    if proxy.is_some_and(super::proxy::Proxy::has_mismatch) {
        failed(Outcome::NotObserved, Reason::ArtifactMismatch)
    } else if proxy.is_some_and(super::proxy::Proxy::is_unreachable) {
        failed(Outcome::NotObserved, Reason::RegistryUnreachable)
    } else {
        failed(Outcome::NotObserved, Reason::InstallFailed)
    }
}

fn bounds() -> CageBounds {
    CageBounds {
        memory_bytes: INSTALL_MEMORY_BYTES,
        tasks: INSTALL_TASKS,
        file_bytes: INSTALL_BYTES,
        cpu_secs: 2 * INSTALL_SECS,
        ..CageBounds::default()
    }
}

/// Ends once the folder has more in it than an install may have.
async fn outgrown(folder: &Path) {
    loop {
        tokio::time::sleep(LOOK).await;
        let folder = folder.to_owned();
        let counted = tokio::task::spawn_blocking(move || files::size(&folder, INSTALL_BYTES)).await;
        if counted.is_ok_and(|(bytes, count)| bytes > INSTALL_BYTES || count > INSTALL_FILES as u64) {
            return;
        }
    }
}

/// Reads to the end and keeps the last of it.
async fn tail(mut stream: impl AsyncRead + Unpin, kept: &mut Vec<u8>) {
    let mut piece = vec![0; 8192];
    while let Ok(read) = stream.read(&mut piece).await {
        if read == 0 {
            return;
        }
        kept.extend(&piece[..read]);
        if kept.len() > 2 * WORDS {
            kept.drain(..kept.len() - WORDS);
        }
    }
}

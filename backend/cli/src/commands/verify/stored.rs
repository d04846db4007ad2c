//! `toolmark verify NAME[@VERSION]`: makes the stored checks of a version again, from the stored evidence, offline.

use std::fmt::Write as _;

use anyhow::{Context as _, anyhow};
use toolmark_domain::name::ServerName;
use toolmark_domain::provenance::Verdict;
use toolmark_registry::{Registry, Replayed};

use super::{VerifyArgs, text};
use crate::commands::block_on;
use crate::opening;
use crate::outcome::{Failure, Outcome};
use crate::output::{Format, plain, print, print_json};
use crate::settings::Settings;

/// Name and version in `ns/name@version`; nothing where it is no name of a server.
pub(super) fn named(target: &str) -> Option<(&str, &str)> {
    let (name, version) = target.split_once('@').unwrap_or((target, ""));
    ServerName::parse(name).ok()?;
    Some((name, version))
}

/// Makes every shown check of the version again.
pub(super) fn run(
    settings: &Settings,
    args: &VerifyArgs,
    (name, version): (&str, &str),
) -> Result<Outcome, Failure> {
    let replayed = block_on(async {
        let registry = opening::registry(settings).await?;
        let replayed = replay(&registry, name, version).await;
        registry.close().await;
        replayed
    })??;
    match args.format {
        Format::Text => {
            let mut out = String::new();
            for one in &replayed {
                let same = if one.same {
                    "reached again, byte for byte"
                } else {
                    "NOT reached again"
                };
                let _ = writeln!(
                    out,
                    "{} of {}: {same}",
                    plain(&one.row.target),
                    one.row.checked_at
                );
                out.push_str(&text::text(&one.report));
                out.push('\n');
            }
            print(&out)?;
        }
        Format::Json => {
            let reports: Vec<_> = replayed.iter().map(|one| &one.report).collect();
            match reports.as_slice() {
                [one] => print_json(one)?,
                several => print_json(&several)?,
            }
        }
    }
    if let Some(other) = replayed.iter().find(|one| !one.same) {
        let error = anyhow!(
            "the stored verdict on `{}` was not reached again",
            plain(&other.row.target)
        );
        return Err(Failure::unknown(error).hint("another release of this program may have made it"));
    }
    let gravest = replayed
        .iter()
        .map(|one| one.report.verdict)
        .min_by_key(|verdict| verdict.rank());
    Ok(match gravest {
        Some(Verdict::Verified) => Outcome::Yes,
        Some(Verdict::Unverifiable) | None => Outcome::Unknown,
        Some(_) => Outcome::No,
    })
}

async fn replay(registry: &Registry, name: &str, version: &str) -> Result<Vec<Replayed>, Failure> {
    let found = match version {
        "" => registry.current(name).await,
        version => registry.version(name, version, true).await,
    };
    let found = found
        .context("cannot read the version")
        .map_err(Failure::unknown)?;
    let found =
        found.ok_or_else(|| Failure::unreadable(anyhow!("no `{name}` with this version is stored here")))?;
    let rows = registry.last_verdicts(name, found.version.as_str()).await;
    let rows = rows
        .context("cannot read the verdicts")
        .map_err(Failure::unknown)?;
    if rows.is_empty() {
        let error = anyhow!("`{name}@{}` was not checked yet", found.version.as_str());
        return Err(Failure::unknown(error).hint("`toolmark worker` checks what is new"));
    }
    let mut all = Vec::new();
    for row in rows.into_iter().filter(|row| row.is_shown) {
        let again = registry.replay(row).await;
        all.push(
            again
                .context("cannot make the check again")
                .map_err(Failure::unknown)?,
        );
    }
    Ok(all)
}

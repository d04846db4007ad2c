//! `toolmark verify --summary FILE --keys FILE`: checks a summary that a registry signed.

use std::path::Path;

use anyhow::{Context as _, anyhow};
use toolmark_domain::limits::SUMMARY_BYTES;
use toolmark_registry::{KeyDocument, SummaryError, check_summary};

use super::VerifyArgs;
use crate::commands::read_bounded;
use crate::outcome::{Failure, Outcome};
use crate::output::{Format, plain, print, print_json};

/// Yes when it is genuine and says that the artifact passed.
pub(super) fn run(args: &VerifyArgs, path: &Path, keys: &Path) -> Result<Outcome, Failure> {
    let bytes = read_bounded(path, SUMMARY_BYTES)?;
    if bytes.len() > SUMMARY_BYTES {
        let error = anyhow!("`{}` is larger than {SUMMARY_BYTES} bytes", path.display());
        return Err(Failure::unreadable(error));
    }
    let keys: KeyDocument = serde_json::from_slice(&read_bounded(keys, SUMMARY_BYTES)?)
        .with_context(|| format!("`{}` is no list of keys", keys.display()))
        .map_err(|error| {
            Failure::unreadable(error).hint("a registry has its keys at `/.well-known/toolmark/keys.json`")
        })?;
    let summary = match check_summary(&bytes, &keys) {
        Ok(summary) => summary,
        Err(error @ SummaryError::Malformed(_)) => return Err(Failure::unreadable(error)),
        Err(error @ SummaryError::UnknownKey(_)) => return Err(Failure::unknown(error)),
        Err(error) => {
            return Err(Failure::from(
                anyhow!(error).context("the summary is not genuine"),
            ));
        }
    };
    match args.format {
        Format::Json => print_json(&summary)?,
        Format::Text => print(&format!(
            "{}: {} of {}\n  checked at {} by {}\n  sha256 {}\n",
            plain(&summary.result),
            plain(&summary.levels.join(", ")),
            plain(&summary.resource),
            summary.verified_at,
            plain(&summary.verifier),
            plain(summary.sha256.as_deref().unwrap_or("none")),
        ))?,
    }
    Ok(if summary.result == "PASSED" {
        Outcome::Yes
    } else {
        Outcome::No
    })
}

//! `toolmark verify --record FILE`: makes a check again, from the record and the bytes beside it, offline.

use std::path::Path;

use anyhow::Context as _;
use toolmark_domain::digest::Digest;
use toolmark_domain::limits::{EVIDENCE_BYTES, RECORD_BYTES};
use toolmark_registry::provenance::{Record, Report};

use crate::commands::read_bounded;
use crate::outcome::Failure;

/// The report that the record leads to.
pub(super) fn run(path: &Path) -> Result<Report, Failure> {
    let bytes = read_bounded(path, RECORD_BYTES)?;
    if bytes.len() > RECORD_BYTES {
        let error = anyhow::anyhow!("`{}` is larger than {RECORD_BYTES} bytes", path.display());
        return Err(Failure::unreadable(error));
    }
    let record: Record = serde_json::from_slice(&bytes)
        .with_context(|| format!("`{}` is no record of a check", path.display()))
        .map_err(Failure::unreadable)?;
    if !record.has_our_rules() {
        eprintln!(
            "note: made by the rules `{}`; this program may decide otherwise",
            crate::output::plain(&record.rules)
        );
    }
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    let beside = |digest: Digest| read_bounded(&folder.join(digest.to_string()), EVIDENCE_BYTES).ok();
    record
        .replay(beside)
        .with_context(|| format!("cannot make the check of `{}` again", path.display()))
        .map_err(|error| {
            Failure::unreadable(error).hint("each answer lies beside the record, named by its sha256 digest")
        })
}

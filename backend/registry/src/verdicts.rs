//! Reading verdicts: rows, the documents behind them, and evidence by its digest.

use bytes::Bytes;
use toolmark_domain::digest::Digest;
use toolmark_domain::limits::SHOWN_VERDICTS;
use toolmark_provenance::{Record, Report};
use toolmark_store::{StoreError, StoredVerdict};

use crate::Registry;
use crate::verify::VerifyError;

/// A verdict with its documents, as they were kept.
#[derive(Clone, Debug)]
pub struct VerdictDocuments {
    pub row: StoredVerdict,
    /// JSON of the report.
    pub report: serde_json::Value,
    pub record: Record,
    /// JSON of the signed summary; none before a verdict is final.
    pub summary: Option<serde_json::Value>,
}

/// A stored verdict, and the same check made again now.
#[derive(Clone, Debug)]
pub struct Replayed {
    pub row: StoredVerdict,
    pub report: Report,
    /// Whether both are the same, byte for byte.
    pub same: bool,
}

impl Registry {
    /// The checks of one version, by target, newest first.
    pub async fn verdicts_of(&self, name: &str, version: &str) -> Result<Vec<StoredVerdict>, StoreError> {
        self.store().verdicts_of(name, version, SHOWN_VERDICTS).await
    }

    /// Of each target of one version the last check and, where that is another, the one shown.
    pub async fn last_verdicts(&self, name: &str, version: &str) -> Result<Vec<StoredVerdict>, StoreError> {
        self.store().last_verdicts(name, version).await
    }

    /// The documents behind a verdict.
    pub async fn verdict_documents(&self, row: StoredVerdict) -> Result<VerdictDocuments, VerifyError> {
        let report = serde_json::from_slice(&self.verdict_bytes(&row.report).await?)?;
        let record = self.verdict_record(&row).await?;
        let summary = match &row.summary {
            Some(digest) => Some(serde_json::from_slice(&self.verdict_bytes(digest).await?)?),
            None => None,
        };
        Ok(VerdictDocuments {
            row,
            report,
            record,
            summary,
        })
    }

    /// Makes the check of a stored verdict again, from the stored bytes, and compares.
    pub async fn replay(&self, row: StoredVerdict) -> Result<Replayed, VerifyError> {
        let record = self.verdict_record(&row).await?;
        let blobs = self.evidence_of(&record).await?;
        let report = record.replay(|digest| blobs.get(&digest).cloned())?;
        let same = serde_json::to_vec(&report)? == self.verdict_bytes(&row.report).await?;
        Ok(Replayed { row, report, same })
    }

    /// Bytes of evidence; only what a check rests on is given out.
    pub async fn evidence(&self, digest: &Digest) -> Result<Option<Bytes>, VerifyError> {
        if !self.store().is_evidence(digest).await? {
            return Ok(None);
        }
        Ok(self.blobs().get(digest).await?)
    }

    pub(crate) async fn verdict_record(&self, row: &StoredVerdict) -> Result<Record, VerifyError> {
        Ok(serde_json::from_slice(&self.verdict_bytes(&row.record).await?)?)
    }

    async fn verdict_bytes(&self, digest: &Digest) -> Result<Bytes, VerifyError> {
        let found = self.blobs().get(digest).await?;
        found.ok_or(VerifyError::Lost { digest: *digest })
    }
}

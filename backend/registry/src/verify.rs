//! Checking who built a package, and keeping what was found: verdict, evidence, change of the builder, signed summary.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value, json};
use toolmark_domain::builder::{self, BuilderChange, Known, Release};
use toolmark_domain::digest::Digest;
use toolmark_domain::document::{Document, Package};
use toolmark_domain::event::Severity;
use toolmark_domain::limits::RECHECK_PAGE;
use toolmark_domain::provenance::Verdict;
use toolmark_domain::record::Version;
use toolmark_domain::target::Target;
use toolmark_domain::version;
use toolmark_packages::{Coordinate, Packages};
use toolmark_provenance::{
    Checker, Declared, Examined, Question, Record, ReplayError, Report, basis_of, examine,
};
use toolmark_store::{BlobError, NewVerdict, StoreError, StoredVerdict, VerdictCause};
use uuid::Uuid;

use crate::Registry;
use crate::jobs::verify as job;
use crate::observe::blocking;

/// What checks provenance: where to ask, and what to check with.
pub struct Verifier {
    pub packages: Packages,
    pub checker: Arc<Checker>,
    /// The address this registry is known by; signed statements name it.
    pub name: String,
}

/// Why a check cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    #[error("`{server}@{version}` is not there")]
    NoVersion { server: String, version: String },
    #[error("a document cannot be written")]
    Write(#[from] serde_json::Error),
    #[error("a stored check cannot be made again")]
    Replay(#[from] ReplayError),
    #[error("the document {digest} is not in the blob store")]
    Lost { digest: Digest },
    #[error("a statement cannot be signed")]
    Sign,
    #[error("the blob store failed")]
    Blobs(#[from] BlobError),
    #[error("the store failed")]
    Store(#[from] StoreError),
}

/// How many verdicts were checked again, and how many came out otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rechecked {
    pub checked: usize,
    pub changed: usize,
}

/// Whether a target is a package whose provenance can be asked for.
pub(crate) fn checkable(target: &Target) -> bool {
    Coordinate::of_target(target).is_some()
}

/// What is new about a release against those before, in words, with the gravest severity.
struct News {
    words: Vec<String>,
    severity: Option<Severity>,
}

impl News {
    fn add(&mut self, word: &str, severity: Severity) {
        self.words.push(word.to_owned());
        self.severity = self.severity.max(Some(severity));
    }
}

fn grade(change: BuilderChange) -> Severity {
    match change.severity() {
        builder::Severity::Info => Severity::Info,
        builder::Severity::Low => Severity::Low,
        builder::Severity::Medium => Severity::Medium,
        builder::Severity::High => Severity::High,
    }
}

/// What changed about the builder: against the releases below this one in version order, prereleases apart. A later
/// fix of an old line is so never compared with a newer line.
fn builder_changes(
    before: &[StoredVerdict],
    found: &Version,
    report: (Verdict, Option<&builder::Builder>),
) -> Vec<BuilderChange> {
    if version::is_prerelease(found.version.as_str()) {
        return Vec::new();
    }
    let order = |a: &StoredVerdict, b: &StoredVerdict| {
        version::compare(
            (a.version.as_str(), a.checked_at),
            (b.version.as_str(), b.checked_at),
        )
    };
    let mut lower: Vec<&StoredVerdict> = before
        .iter()
        .filter(|row| !version::is_prerelease(row.version.as_str()) && row.version != found.version)
        .filter(|row| {
            let this = (found.version.as_str(), found.published_at);
            version::compare((row.version.as_str(), row.checked_at), this).is_lt()
        })
        .collect();
    lower.sort_by(|a, b| order(a, b));
    let mut known = Known::default();
    for row in lower {
        known.next(&Release {
            verdict: row.verdict,
            builder: row.builder.clone(),
        });
    }
    known.next(&Release {
        verdict: report.0,
        builder: report.1.cloned(),
    })
}

/// What changed about the release itself since it was looked at last: other bytes under the same name, withdrawn, gone.
fn release_changes(news: &mut News, before: Option<&Record>, record: &Record, target: &Target) {
    let Some(before) = before else { return };
    if let (Some(old), Some(new)) = (&before.artifact, &record.artifact)
        && old.name == new.name
        && old.sha256 != new.sha256
    {
        news.add("artifact_changed", Severity::High);
    } else if let (Some(old), Some(new)) = (&before.artifact, &record.artifact)
        && target.kind == "oci"
        && old.sha256 != new.sha256
    {
        news.add("tag_moved", Severity::Medium);
    }
    if record.gone && !before.gone && before.artifact.is_some() {
        news.add("unpublished", Severity::High);
    }
    if let (Some(old), Some(new)) = (&before.marks, &record.marks) {
        if old.yanked.is_none() && new.yanked.is_some() {
            news.add("yanked", Severity::Medium);
        }
        if old.deprecated.is_none() && new.deprecated.is_some() {
            news.add("deprecated", Severity::Low);
        }
    }
}

/// What a `server.json` declares of one package.
fn question(coordinate: Coordinate, document: &Value, target: &Target, registry: &Registry) -> Question {
    let facts = Document::read(document);
    let package = Package::read(&target.declared);
    let digest = package.file_sha256.and_then(|text| text.parse::<Digest>().ok());
    Question {
        coordinate,
        file: None,
        declared: Declared {
            repository: facts.repository_url,
            repository_id: facts.repository_id,
            ..Declared::default()
        },
        file_sha256: digest.map(|digest| *digest.as_bytes()),
        at: registry.now(),
    }
}

impl Registry {
    /// Checks every package of a version now, and keeps what was found; by place in the document.
    pub async fn verify(
        &self,
        verifier: &Verifier,
        server: &str,
        version: &str,
    ) -> Result<Vec<Report>, VerifyError> {
        let found = self.version(server, version, false).await?;
        let found = found.ok_or_else(|| VerifyError::NoVersion {
            server: server.to_owned(),
            version: version.to_owned(),
        })?;
        let document: Value = serde_json::from_str(&found.document)?;
        let mut reports = Vec::new();
        for target in Target::all(&document).into_iter().filter(checkable) {
            let cause = (VerdictCause::Look, 0);
            let report = self
                .verify_target(verifier, &found, &document, &target, cause)
                .await?;
            reports.extend(report);
        }
        Ok(reports)
    }

    pub(crate) async fn verify_target(
        &self,
        verifier: &Verifier,
        found: &Version,
        document: &Value,
        target: &Target,
        (cause, failures): (VerdictCause, u32),
    ) -> Result<Option<Report>, VerifyError> {
        let Some(coordinate) = Coordinate::of_target(target) else {
            return Ok(None);
        };
        let question = question(coordinate, document, target, self);
        let examined = examine(&verifier.packages, &verifier.checker, &question).await;
        let evidence = self.keep_evidence(&examined).await?;
        let failures = if examined.retry { failures + 1 } else { 0 };
        let next = job::next(&found.server, &found.version, target, failures, self.now());
        let Examined { report, record, .. } = examined;
        let new = self
            .new_verdict(verifier, found, target, (&report, &record), cause)
            .await?;
        let mut all = evidence;
        all.extend(new.evidence);
        let new = NewVerdict { evidence: all, ..new };
        let kept = self.store().record_verdict(&new, &[next]).await?;
        Ok(kept.map(|_| report))
    }

    /// Puts every answer a record names into the blob store; gives digests and sizes.
    async fn keep_evidence(&self, examined: &Examined) -> Result<Vec<(Digest, u64)>, VerifyError> {
        let mut kept = Vec::new();
        for digest in examined.record.needs() {
            let bytes = examined.blobs.get(&digest).ok_or(VerifyError::Lost { digest })?;
            self.blobs().put(Bytes::from(bytes.clone())).await?;
            kept.push((digest, bytes.len() as u64));
        }
        Ok(kept)
    }

    async fn new_verdict(
        &self,
        verifier: &Verifier,
        found: &Version,
        target: &Target,
        (report, record): (&Report, &Record),
        cause: VerdictCause,
    ) -> Result<NewVerdict, VerifyError> {
        let line = target.line();
        let server = found.server.as_str();
        let before = self.store().verdicts_on_line(server, &line).await?;
        let position = i64::try_from(target.position).unwrap_or(i64::MAX);
        let same = before
            .iter()
            .find(|row| row.version == found.version && row.position == position);
        let mut news = News {
            words: Vec::new(),
            severity: None,
        };
        for change in builder_changes(&before, found, (report.verdict, report.identity.as_ref())) {
            news.add(change.as_str(), grade(change));
        }
        let earlier = match same {
            Some(row) => Some(self.verdict_record(row).await?),
            None => None,
        };
        release_changes(&mut news, earlier.as_ref(), record, target);
        // What was said of this release before is not said again.
        if same.is_some_and(|row| row.changes == news.words) {
            news.severity = None;
        }
        let same_again = same.is_some_and(|row| {
            row.is_last
                && (row.verdict, row.level, row.artifact) == (report.verdict, report.level, artifact(record))
                && row.reasons == words(&report.reasons)
                && row.warnings == words(&report.warnings)
        });
        let summary = self.summary_of(verifier, target, report, record).await?;
        let kept = self.keep_documents(record, report).await?;
        Ok(NewVerdict {
            server: found.server.clone(),
            version: found.version.clone(),
            position,
            line,
            target: target.text(),
            checked_at: report.checked_at,
            cause,
            verdict: report.verdict,
            level: report.level,
            reasons: report.reasons.clone(),
            warnings: report.warnings.clone(),
            told: told(report, same),
            quiet: same_again && news.severity.is_none(),
            changes: news.words,
            severity: news.severity,
            artifact: artifact(record),
            repository: record.declared.repository.clone(),
            repository_id: record.declared.repository_id.clone(),
            builder: report.identity.clone(),
            basis: record.basis(),
            record: kept[0].0,
            report: kept[1].0,
            summary,
            evidence: kept,
        })
    }

    /// Checks every verdict again that was reached with other roots, keys, rules or another program, from the stored
    /// evidence alone. Each one has a new row; an event only where something came out otherwise.
    pub async fn recheck(&self, verifier: &Verifier) -> Result<Rechecked, VerifyError> {
        let basis = basis_of(&verifier.checker);
        let (mut after, mut done) = (Uuid::nil(), Rechecked::default());
        loop {
            let page = self
                .store()
                .verdicts_of_other_basis(&basis, after, RECHECK_PAGE)
                .await?;
            let Some(last) = page.last() else {
                return Ok(done);
            };
            after = last.id;
            if done.checked == 0 {
                self.keep_roots(&verifier.checker).await?;
            }
            for row in &page {
                done.checked += 1;
                done.changed += usize::from(self.recheck_one(verifier, row).await?);
            }
        }
    }

    /// Whether it came out otherwise. The roots and keys are kept already.
    async fn recheck_one(&self, verifier: &Verifier, row: &StoredVerdict) -> Result<bool, VerifyError> {
        let record = self.verdict_record(row).await?;
        let blobs = self.evidence_of(&record).await?;
        let (checker, at) = (Arc::clone(&verifier.checker), self.now());
        let again = record.again(&checker, at);
        let work = move || record.check_with(&checker, at, |digest| blobs.get(&digest).cloned());
        let report = blocking(work).await?;
        let changed = (row.verdict, row.level) != (report.verdict, report.level)
            || row.reasons != words(&report.reasons)
            || row.warnings != words(&report.warnings);
        let kept = self.keep_documents(&again, &report).await?;
        let target = Target {
            position: usize::try_from(row.position).unwrap_or_default(),
            kind: row.line.split(':').next().unwrap_or_default().to_owned(),
            transport: String::new(),
            identifier: String::new(),
            version: None,
            declared: Value::Null,
        };
        let new = NewVerdict {
            server: row.server.clone(),
            version: row.version.clone(),
            position: row.position,
            line: row.line.clone(),
            target: row.target.clone(),
            checked_at: at,
            cause: VerdictCause::Recheck,
            verdict: report.verdict,
            level: report.level,
            reasons: report.reasons.clone(),
            warnings: report.warnings.clone(),
            changes: row.changes.clone(),
            severity: None,
            artifact: row.artifact,
            repository: row.repository.clone(),
            repository_id: row.repository_id.clone(),
            builder: report.identity.clone(),
            basis: again.basis(),
            record: kept[0].0,
            report: kept[1].0,
            summary: self.summary_of(verifier, &target, &report, &again).await?,
            evidence: [kept, roots_and_keys(&verifier.checker)].concat(),
            told: told(&report, Some(row)),
            quiet: !changed,
        };
        self.store().record_verdict(&new, &[]).await?;
        Ok(changed)
    }

    /// Keeps record and report; gives digests and sizes, in this order.
    async fn keep_documents(
        &self,
        record: &Record,
        report: &Report,
    ) -> Result<Vec<(Digest, u64)>, VerifyError> {
        let mut kept = Vec::new();
        for bytes in [serde_json::to_vec(record)?, serde_json::to_vec(report)?] {
            let size = bytes.len() as u64;
            kept.push((self.keep(bytes).await?, size));
        }
        Ok(kept)
    }

    async fn keep_roots(&self, checker: &Checker) -> Result<(), VerifyError> {
        for (_, _, bytes) in checker.roots() {
            self.blobs().put(Bytes::copy_from_slice(bytes)).await?;
        }
        let keys = Bytes::copy_from_slice(checker.keys().document());
        self.blobs().put(keys).await?;
        Ok(())
    }

    /// The bytes of every answer a record names.
    pub(crate) async fn evidence_of(
        &self,
        record: &Record,
    ) -> Result<BTreeMap<Digest, Vec<u8>>, VerifyError> {
        let mut all = BTreeMap::new();
        for digest in record.needs() {
            let bytes = self.blobs().get(&digest).await?;
            let bytes = bytes.ok_or(VerifyError::Lost { digest })?;
            all.insert(digest, bytes.to_vec());
        }
        Ok(all)
    }
}

fn roots_and_keys(checker: &Checker) -> Vec<(Digest, u64)> {
    let keys = checker.keys().document();
    let roots = checker
        .roots()
        .map(|(_, digest, bytes)| (digest, bytes.len() as u64));
    roots.chain([(Digest::of(keys), keys.len() as u64)]).collect()
}

fn artifact(record: &Record) -> Option<Digest> {
    record.artifact.as_ref().map(|artifact| artifact.sha256)
}

fn words<T: Copy + ToString>(list: &[T]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

/// Facts for the event: what it was before, and who built it.
fn told(report: &Report, before: Option<&StoredVerdict>) -> Map<String, Value> {
    let mut told = Map::new();
    let claims = report.claims.as_ref();
    told.insert("before".into(), json!(before.map(|row| row.verdict)));
    told.insert("summary".into(), json!(report.verdict.meaning()));
    told.insert(
        "source".into(),
        json!(claims.and_then(|claims| claims.source_repository.as_deref())),
    );
    told.insert(
        "commit".into(),
        json!(claims.and_then(|claims| claims.source_commit.as_deref())),
    );
    told
}

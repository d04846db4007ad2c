//! Verdicts on provenance: appended in the transaction of their event, never changed but for which row is the last.

use serde_json::{Map, Value, json};
use sqlx::{FromRow, QueryBuilder};
use toolmark_domain::builder::Builder;
use toolmark_domain::digest::Digest;
use toolmark_domain::event::{EventKind, Severity};
use toolmark_domain::name::ServerName;
use toolmark_domain::provenance::{Level, Reason, Verdict, Warning};
use toolmark_domain::timestamp::Timestamp;
use toolmark_domain::version::VersionId;
use uuid::Uuid;

use crate::jobs::NewJob;
use crate::pools::Tx;
use crate::publish::lock_key;
use crate::snapshots::{digest, severity};
use crate::{Store, StoreError, events, ids, rows};

/// Why a target was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerdictCause {
    /// A new release.
    New,
    /// A place had failed to answer.
    Retry,
    /// Another look at an old release.
    Look,
    /// Other roots, keys or rules; nothing was fetched.
    Recheck,
}

impl VerdictCause {
    /// The word in JSON and SQL.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Retry => "retry",
            Self::Look => "look",
            Self::Recheck => "recheck",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let all = [Self::New, Self::Retry, Self::Look, Self::Recheck];
        all.into_iter().find(|cause| cause.as_str() == text)
    }
}

/// A verdict to be kept. Its documents are in the blob store already.
#[derive(Clone, Debug)]
pub struct NewVerdict {
    pub server: ServerName,
    pub version: VersionId,
    pub position: i64,
    pub line: String,
    pub target: String,
    pub checked_at: Timestamp,
    pub cause: VerdictCause,
    pub verdict: Verdict,
    pub level: Option<Level>,
    pub reasons: Vec<Reason>,
    pub warnings: Vec<Warning>,
    /// Words for what changed about the builder.
    pub changes: Vec<String>,
    pub severity: Option<Severity>,
    pub artifact: Option<Digest>,
    pub repository: Option<String>,
    pub repository_id: Option<String>,
    pub builder: Option<Builder>,
    pub basis: Digest,
    pub record: Digest,
    pub report: Digest,
    pub summary: Option<Digest>,
    /// Digests and sizes of the evidence that may be given out.
    pub evidence: Vec<(Digest, u64)>,
    /// Facts for the event.
    pub told: Map<String, Value>,
    /// Whether nothing is new about it, so that there is no event.
    pub quiet: bool,
}

/// A verdict as it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredVerdict {
    pub id: Uuid,
    pub server: ServerName,
    pub version: VersionId,
    pub position: i64,
    pub line: String,
    pub target: String,
    pub checked_at: Timestamp,
    pub cause: VerdictCause,
    pub verdict: Verdict,
    pub level: Option<Level>,
    pub reasons: Vec<String>,
    pub warnings: Vec<String>,
    pub changes: Vec<String>,
    pub severity: Option<Severity>,
    pub artifact: Option<Digest>,
    pub repository: Option<String>,
    pub repository_id: Option<String>,
    pub builder: Option<Builder>,
    pub basis: Digest,
    pub record: Digest,
    pub report: Digest,
    pub summary: Option<Digest>,
    pub is_last: bool,
    pub is_shown: bool,
    /// 0 where it was confirmed without anything new.
    pub seq: i64,
}

#[derive(FromRow)]
struct VerdictRow {
    id: Uuid,
    server: String,
    version: String,
    position: i64,
    line: String,
    target: String,
    checked_at: i64,
    cause: String,
    verdict: String,
    level: Option<String>,
    reasons: String,
    warnings: String,
    changes: String,
    severity: Option<String>,
    artifact: Option<Vec<u8>>,
    repository: Option<String>,
    repository_id: Option<String>,
    builder: Option<String>,
    basis: Vec<u8>,
    record: Vec<u8>,
    report: Vec<u8>,
    summary: Option<Vec<u8>>,
    is_last: bool,
    is_shown: bool,
    seq: i64,
}

/// The columns of [`VerdictRow`], of a table aliased `d`.
macro_rules! verdict_columns {
    () => {
        "d.id, d.server, d.version, d.position, d.line, d.target, d.checked_at, d.cause, d.verdict, d.level, \
         d.reasons, d.warnings, d.changes, d.severity, d.artifact, d.repository, d.repository_id, d.builder, d.basis, \
         d.record, d.report, d.summary, d.is_last, d.is_shown, d.seq"
    };
}

const OF_VERSION: &str = concat!(
    "select ",
    verdict_columns!(),
    " from verdicts d join versions v on v.id = d.version_id where v.name = $1 and v.version = $2 \
     and not v.hidden order by d.position, d.checked_at desc, d.id desc limit $3"
);
const LAST_OF_VERSION: &str = concat!(
    "select ",
    verdict_columns!(),
    " from verdicts d join versions v on v.id = d.version_id where v.name = $1 and v.version = $2 \
     and not v.hidden and (d.is_last or d.is_shown) order by d.position, d.checked_at desc, d.id desc"
);
const SHOWN_OF_LINE: &str = concat!(
    "select ",
    verdict_columns!(),
    " from verdicts d join versions v on v.id = d.version_id where d.server_id = \
     (select id from servers where name = $1) and d.line = $2 and d.is_shown and not v.hidden"
);
const OF_OTHER_BASIS: &str = concat!(
    "select ",
    verdict_columns!(),
    " from verdicts d where d.is_last and d.basis <> $1 and d.id > $2 order by d.id limit $3"
);

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// Words with a space before and after each, so that one of them is found by a plain comparison.
fn spaced<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let mut out = String::from(" ");
    for word in words {
        out.push_str(word);
        out.push(' ');
    }
    out
}

impl TryFrom<VerdictRow> for StoredVerdict {
    type Error = StoreError;

    fn try_from(row: VerdictRow) -> Result<Self, StoreError> {
        let bad = |what: &str| StoreError::inconsistent("verdicts", what);
        let of = |bytes: &[u8]| digest("verdicts", bytes);
        let builder = row.builder.as_deref().map(serde_json::from_str).transpose();
        Ok(Self {
            id: row.id,
            server: rows::server_name("verdicts", &row.server)?,
            version: rows::version_id("verdicts", &row.version)?,
            position: row.position,
            line: row.line,
            target: row.target,
            checked_at: Timestamp::from_micros(row.checked_at),
            cause: VerdictCause::parse(&row.cause).ok_or_else(|| bad("unknown cause"))?,
            verdict: row.verdict.parse().map_err(|_| bad("unknown verdict"))?,
            level: row
                .level
                .map(|level| level.parse().map_err(|_| bad("unknown level")))
                .transpose()?,
            reasons: words(&row.reasons),
            warnings: words(&row.warnings),
            changes: words(&row.changes),
            severity: severity("verdicts", row.severity.as_deref())?,
            artifact: row.artifact.as_deref().map(of).transpose()?,
            repository: row.repository,
            repository_id: row.repository_id,
            builder: builder.map_err(|_| bad("unreadable builder"))?,
            basis: of(&row.basis)?,
            record: of(&row.record)?,
            report: of(&row.report)?,
            summary: row.summary.as_deref().map(of).transpose()?,
            is_last: row.is_last,
            is_shown: row.is_shown,
            seq: row.seq,
        })
    }
}

fn bytes(digest: &Digest) -> Vec<u8> {
    digest.as_bytes().to_vec()
}

/// Foreign text without NUL, which PostgreSQL cannot keep.
fn clean(text: Option<&String>) -> Option<String> {
    text.map(|text| text.replace('\0', "\u{fffd}"))
}

impl Tx {
    async fn insert_verdict(
        &mut self,
        new: &NewVerdict,
        (server_id, version_id): (Uuid, Uuid),
        seq: i64,
    ) -> Result<Uuid, StoreError> {
        const KNOWN: &str = "select count(*) from verdicts where version_id = $1 and position = $2 and is_shown \
             and verdict <> 'unverifiable'";
        const NOT_LAST: &str =
            "update verdicts set is_last = false where version_id = $1 and position = $2 and is_last";
        const NOT_SHOWN: &str =
            "update verdicts set is_shown = false where version_id = $1 and position = $2 and is_shown";
        const INSERT: &str = "insert into verdicts (id, server_id, version_id, server, version, position, line, target, \
             checked_at, cause, verdict, level, reasons, warnings, changes, severity, artifact, repository, \
             repository_id, builder, basis, record, report, summary, is_last, is_shown, seq) \
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, \
             $22, $23, $24, true, $25, $26)";
        let id = ids::new_id();
        let known: i64 = on!(tx self, db => sqlx::query_scalar(KNOWN)
            .bind(version_id).bind(new.position).fetch_one(db).await)?;
        // What could not be told does not take away what was known.
        let shown = new.verdict != Verdict::Unverifiable || known == 0;
        on!(tx self, db => sqlx::query(NOT_LAST)
            .bind(version_id).bind(new.position).execute(db).await.map(|_| ()))?;
        if shown {
            on!(tx self, db => sqlx::query(NOT_SHOWN)
                .bind(version_id).bind(new.position).execute(db).await.map(|_| ()))?;
        }
        let builder = new.builder.as_ref().and_then(|b| serde_json::to_string(b).ok());
        on!(tx self, db => sqlx::query(INSERT)
            .bind(id).bind(server_id).bind(version_id)
            .bind(new.server.as_str()).bind(new.version.as_str())
            .bind(new.position).bind(new.line.as_str()).bind(new.target.as_str())
            .bind(new.checked_at.as_micros()).bind(new.cause.as_str())
            .bind(new.verdict.as_str()).bind(new.level.map(Level::as_str))
            .bind(spaced(new.reasons.iter().map(|word| word.as_str())))
            .bind(spaced(new.warnings.iter().map(|word| word.as_str())))
            .bind(spaced(new.changes.iter().map(String::as_str)))
            .bind(new.severity.map(Severity::as_str))
            .bind(new.artifact.as_ref().map(bytes))
            .bind(clean(new.repository.as_ref())).bind(clean(new.repository_id.as_ref()))
            .bind(clean(builder.as_ref()))
            .bind(bytes(&new.basis)).bind(bytes(&new.record)).bind(bytes(&new.report))
            .bind(new.summary.as_ref().map(bytes)).bind(shown).bind(seq)
            .execute(db).await.map(|_| ()))?;
        Ok(id)
    }

    async fn insert_evidence(&mut self, evidence: &[(Digest, u64)], at: Timestamp) -> Result<(), StoreError> {
        for chunk in evidence.chunks(100) {
            on!(tx self, db => {
                let mut insert = QueryBuilder::new("insert into evidence (digest, bytes, first_seen_at) ");
                insert.push_values(chunk, |mut row, (digest, size)| {
                    row.push_bind(bytes(digest))
                        .push_bind(i64::try_from(*size).unwrap_or(i64::MAX))
                        .push_bind(at.as_micros());
                });
                insert.push(" on conflict (digest) do nothing");
                insert.build().execute(db).await.map(|_| ())
            })?;
        }
        Ok(())
    }
}

/// The event of a verdict.
fn told(new: &NewVerdict) -> toolmark_domain::event::NewEvent {
    let mut event = events::event(
        EventKind::VerdictRecorded,
        new.checked_at,
        &new.server,
        Some(&new.version),
    );
    event.target = Some(new.target.clone());
    event.severity = new.severity.unwrap_or(Severity::Info);
    event.data.clone_from(&new.told);
    event.data.insert("verdict".into(), json!(new.verdict));
    event.data.insert("level".into(), json!(new.level));
    event.data.insert("reasons".into(), json!(new.reasons));
    event.data.insert("warnings".into(), json!(new.warnings));
    event.data.insert("cause".into(), json!(new.cause.as_str()));
    event.data.insert("artifact".into(), json!(new.artifact));
    event.data.insert("record".into(), json!(new.record));
    event.data.insert("changes".into(), json!(new.changes));
    event
}

impl Store {
    /// Appends a verdict with its event, its evidence and the jobs that follow. Nothing is written, and none is
    /// returned, when the version is gone or hidden.
    pub async fn record_verdict(
        &self,
        new: &NewVerdict,
        jobs: &[NewJob],
    ) -> Result<Option<Uuid>, StoreError> {
        const IDS: &str =
            "select server_id, id from versions where name = $1 and version = $2 and not hidden";
        let mut tx = self.begin().await?;
        tx.lock(&[lock_key(&new.server)]).await?;
        let place: Option<(Uuid, Uuid)> = on!(tx &mut tx, db => sqlx::query_as(IDS)
            .bind(new.server.as_str()).bind(new.version.as_str()).fetch_optional(db).await)?;
        let Some(place) = place else {
            return Ok(None);
        };
        for job in jobs {
            tx.enqueue(job, new.checked_at).await?;
        }
        tx.insert_evidence(&new.evidence, new.checked_at).await?;
        if new.quiet {
            let id = tx.insert_verdict(new, place, 0).await?;
            tx.commit().await?;
            return Ok(Some(id));
        }
        let seq = tx.append_events(&[told(new)]).await?;
        let id = tx.insert_verdict(new, place, seq).await?;
        self.commit_with(tx, seq).await?;
        Ok(Some(id))
    }

    /// The checks of all targets of one version, by position, newest first.
    pub async fn verdicts_of(
        &self,
        name: &str,
        version: &str,
        limit: u32,
    ) -> Result<Vec<StoredVerdict>, StoreError> {
        let rows: Vec<VerdictRow> = on!(read self, db => sqlx::query_as(OF_VERSION)
            .bind(name).bind(version).bind(i64::from(limit)).fetch_all(db).await)?;
        rows.into_iter().map(StoredVerdict::try_from).collect()
    }

    /// Of each target of one version the last check and, where that is another, the one shown; by position.
    pub async fn last_verdicts(&self, name: &str, version: &str) -> Result<Vec<StoredVerdict>, StoreError> {
        let rows: Vec<VerdictRow> = on!(read self, db => sqlx::query_as(LAST_OF_VERSION)
            .bind(name).bind(version).fetch_all(db).await)?;
        rows.into_iter().map(StoredVerdict::try_from).collect()
    }

    /// What is shown of every version of a server on a line, in no order.
    pub async fn verdicts_on_line(&self, name: &str, line: &str) -> Result<Vec<StoredVerdict>, StoreError> {
        let rows: Vec<VerdictRow> = on!(read self, db => sqlx::query_as(SHOWN_OF_LINE)
            .bind(name).bind(line).fetch_all(db).await)?;
        rows.into_iter().map(StoredVerdict::try_from).collect()
    }

    /// A page of last verdicts that were reached with other roots, keys or rules, by id, strictly after `after`.
    pub async fn verdicts_of_other_basis(
        &self,
        basis: &Digest,
        after: Uuid,
        limit: u32,
    ) -> Result<Vec<StoredVerdict>, StoreError> {
        let rows: Vec<VerdictRow> = on!(read self, db => sqlx::query_as(OF_OTHER_BASIS)
            .bind(bytes(basis)).bind(after).bind(i64::from(limit)).fetch_all(db).await)?;
        rows.into_iter().map(StoredVerdict::try_from).collect()
    }

    /// Whether a blob is evidence, and may be given to anybody.
    pub async fn is_evidence(&self, digest: &Digest) -> Result<bool, StoreError> {
        const COUNT: &str = "select count(*) from evidence where digest = $1";
        let count: i64 = on!(read self, db => sqlx::query_scalar(COUNT)
            .bind(bytes(digest)).fetch_one(db).await)?;
        Ok(count > 0)
    }
}

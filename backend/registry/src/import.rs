//! Taking over rows of another registry or of a file. Every batch is one transaction that also holds the place reached,
//! so that a killed run goes on where it was; a row that is here already changes nothing.
//!
//! Not for publishing: nobody is asked who they are, and a document with errors is kept and marked.

mod elements;
mod file;
mod old;
mod place;
mod report;
mod row;
mod served;
#[cfg(test)]
mod tests;
mod upstream;

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};
use std::path::Path;

use toolmark_domain::limits::{IMPORT_BATCH_ROWS, IMPORT_CURSOR_BYTES, IMPORT_OVERLAP_SECS, IMPORT_PAGES};
use toolmark_domain::name::ServerName;
use toolmark_domain::record::Origin;
use toolmark_domain::status::Status;
use toolmark_domain::timestamp::Timestamp;
use toolmark_domain::version::VersionId;
use toolmark_outbound::Client;
use toolmark_store::{ImportCursor, ImportRow, NewJob, RowOutcome, StoreError};
use url::Url;

pub use place::Place;
pub use report::{Example, ImportReport, Reason, Skipped, Stop};

use crate::{Registry, jobs};
use row::{Refusal, Row};
use upstream::Upstream;

/// Why an import could not begin or not be written. What the source does wrong is in the report.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("cannot open `{path}`")]
    Open {
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[error("the store could not take the rows")]
    Store(#[from] StoreError),
}

/// How to import.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// Read everything again: neither go on with an interrupted run nor ask for changes only.
    pub full: bool,
    /// Queue a look at each version that is added or updated and is its server's current one.
    pub crawl: bool,
}

/// How far an import is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportProgress {
    /// Elements dealt with.
    pub rows: u64,
    /// Of them taken over now.
    pub written: u64,
    pub skipped: u64,
    /// Pages read, for a registry.
    pub pages: u64,
    /// Bytes read, and how many there are, for a file.
    pub bytes: u64,
    pub bytes_total: Option<u64>,
}

/// Hears how far an import is, after each batch.
pub type ProgressFn<'a> = &'a (dyn Fn(&ImportProgress) + Send + Sync);

impl Registry {
    /// Takes over the registry at `base_url`: a URL of its server, of its contract, or of its list. Goes on with an
    /// interrupted run; asks only for what changed since the last complete one.
    pub async fn import_official(
        &self,
        client: &Client,
        base_url: &Url,
        options: &ImportOptions,
        progress: ProgressFn<'_>,
    ) -> Result<ImportReport, ImportError> {
        self.importer(options, progress).official(client, base_url).await
    }

    /// Takes over a file: a `server.json`, JSON lines of `{server, _meta}`, a list answer, or an array of either.
    pub async fn import_file(
        &self,
        path: &Path,
        options: &ImportOptions,
        progress: ProgressFn<'_>,
    ) -> Result<ImportReport, ImportError> {
        self.importer(options, progress).file(path).await
    }

    fn importer<'a>(&'a self, options: &'a ImportOptions, progress: ProgressFn<'a>) -> Importer<'a> {
        Importer {
            registry: self,
            options,
            progress,
        }
    }
}

/// What is needed to take rows over.
struct Importer<'a> {
    registry: &'a Registry,
    options: &'a ImportOptions,
    progress: ProgressFn<'a>,
}

/// An element that was read, with its place.
type Found = (Place, Result<Row, Refusal>);

#[derive(Debug, thiserror::Error)]
enum SourceFault {
    #[error("the cursor of the next page was given before")]
    CursorLoop,
    #[error("the cursor of the next page is longer than {IMPORT_CURSOR_BYTES} bytes")]
    LongCursor,
    #[error("more than {IMPORT_PAGES} pages")]
    TooManyPages,
    #[error("nothing in it is JSON")]
    Noise,
    #[error("it is empty")]
    Empty,
}

/// Where a run over another registry begins.
struct Start {
    cursor: Option<String>,
    since: Option<Timestamp>,
    started_at: Timestamp,
}

/// The cursors of a run, by their hashes: one that comes again would be followed for ever.
#[derive(Default)]
struct Cursors {
    hasher: RandomState,
    seen: HashSet<u64>,
}

impl Cursors {
    fn follow(&mut self, next: Option<&str>) -> Result<(), SourceFault> {
        let Some(next) = next else {
            return Ok(());
        };
        if next.len() > IMPORT_CURSOR_BYTES {
            return Err(SourceFault::LongCursor);
        }
        if !self.seen.insert(self.hasher.hash_one(next)) {
            return Err(SourceFault::CursorLoop);
        }
        if self.seen.len() >= IMPORT_PAGES {
            return Err(SourceFault::TooManyPages);
        }
        Ok(())
    }
}

impl Importer<'_> {
    /// Takes over a registry, from where the last run ended.
    async fn official(&self, client: &Client, base: &Url) -> Result<ImportReport, ImportError> {
        let upstream = Upstream::new(client, base);
        let mut start = self.start(upstream.source()).await?;
        let mut report = ImportReport::new(upstream.source());
        report.since = start.since;
        report.resumed = start.cursor.is_some();
        let mut cursors = Cursors::default();
        loop {
            let page_number = report.pages + 1;
            let page = match upstream
                .page(start.cursor.as_deref(), start.since, report.pages == 0)
                .await
            {
                Ok(page) => page,
                // The place we kept is not known there any more: read from the start what the run was about.
                Err(fault) if report.resumed && report.pages == 0 && fault.is_refused_cursor() => {
                    report.resumed = false;
                    start.cursor = None;
                    start.started_at = self.registry.now();
                    continue;
                }
                Err(fault) => {
                    report.stop(format!("page {page_number}"), &fault);
                    if let Some(stop) = &mut report.stopped {
                        stop.unanswered = fault.is_unanswered();
                    }
                    return Ok(report);
                }
            };
            report.pages = page_number;
            let fault = cursors.follow(page.next.as_deref()).err();
            // A place that cannot be gone on from is not kept: the next run begins with this page again.
            let reached = ImportCursor {
                source: report.source.clone(),
                cursor: page.next.clone(),
                since: start.since,
                started_at: start.started_at,
            };
            let found = (1..).zip(&page.rows).map(|(row, raw)| {
                let place = Place::Row {
                    page: page_number,
                    row,
                };
                (place, row::read_one(raw.get().as_bytes()))
            });
            let found: Vec<Found> = found.collect();
            self.page(found, fault.is_none().then_some(&reached), &mut report)
                .await?;
            if let Some(fault) = fault {
                report.stop(format!("page {page_number}"), &fault);
                return Ok(report);
            }
            if page.next.is_none() {
                return Ok(report);
            }
            start.cursor = page.next;
        }
    }

    async fn start(&self, source: &str) -> Result<Start, ImportError> {
        let fresh = Start {
            cursor: None,
            since: None,
            started_at: self.registry.now(),
        };
        let Some(last) = self
            .registry
            .store()
            .import_cursor(source)
            .await?
            .filter(|_| !self.options.full)
        else {
            return Ok(fresh);
        };
        Ok(match last.cursor {
            Some(cursor) => Start {
                cursor: Some(cursor),
                since: last.since,
                started_at: last.started_at,
            },
            None => Start {
                since: Some(last.started_at.plus_secs(-IMPORT_OVERLAP_SECS)),
                ..fresh
            },
        })
    }

    /// Writes the rows of a page; the place reached goes with the last of them.
    async fn page(
        &self,
        mut found: Vec<Found>,
        reached: Option<&ImportCursor>,
        report: &mut ImportReport,
    ) -> Result<(), ImportError> {
        loop {
            let rest = found.split_off(found.len().min(IMPORT_BATCH_ROWS));
            let is_last = rest.is_empty();
            self.batch(found, reached.filter(|_| is_last), report).await?;
            (self.progress)(&progress(report));
            if is_last {
                return Ok(());
            }
            found = rest;
        }
    }

    /// Takes over a file.
    async fn file(&self, path: &Path) -> Result<ImportReport, ImportError> {
        let mut report = ImportReport::new(path.display().to_string());
        let (mut batches, bytes_total) = file::read(path).await.map_err(|source| ImportError::Open {
            path: path.display().to_string(),
            source,
        })?;
        while let Some(batch) = batches.recv().await {
            self.batch(batch.found, None, &mut report).await?;
            (self.progress)(&ImportProgress {
                bytes: batch.bytes,
                bytes_total,
                ..progress(&report)
            });
            if let Some(fault) = batch.fault {
                report.stop(format!("after {} documents", report.rows), &fault);
            }
        }
        if report.stopped.is_none() && report.is_all_noise() {
            report.stop("the file", &SourceFault::Noise);
        }
        if report.stopped.is_none() && bytes_total == Some(0) {
            report.stop("the file", &SourceFault::Empty);
        }
        Ok(report)
    }

    /// Writes one batch and counts what became of it.
    async fn batch(
        &self,
        found: Vec<Found>,
        reached: Option<&ImportCursor>,
        report: &mut ImportReport,
    ) -> Result<(), ImportError> {
        let at = self.registry.now();
        let mut places = Vec::with_capacity(found.len());
        let mut rows = Vec::with_capacity(found.len());
        for (place, outcome) in found {
            report.rows += 1;
            match outcome {
                Ok(mut row) => {
                    places.push(place);
                    report.future += u64::from(row.meta.is_after(at));
                    self.bound_times(&mut row, at).await?;
                    rows.push(self.complete(row, at).await?);
                }
                Err(refusal) => report.skip(place, refusal),
            }
        }
        if rows.is_empty() && reached.is_none() {
            return Ok(());
        }
        let outcomes = self.registry.store().import_batch(&rows, at, reached).await?;
        for ((place, row), outcome) in places.into_iter().zip(&rows).zip(outcomes) {
            count(report, place, row, outcome);
        }
        Ok(())
    }

    /// A time that is yet to come is none we can vouch for, and would be carried on by the next publication. It becomes
    /// the time it has here already, so that the same row again changes nothing, else the time of this import.
    async fn bound_times(&self, row: &mut Row, at: Timestamp) -> Result<(), StoreError> {
        if !row.meta.is_after(at) {
            return Ok(());
        }
        let store = self.registry.store();
        let known = store.version(row.server.as_str(), row.version.as_str()).await?;
        let times = known.map(|known| [known.published_at, known.updated_at, known.status_changed_at]);
        let fields = [
            &mut row.meta.published_at,
            &mut row.meta.updated_at,
            &mut row.meta.status_changed_at,
        ];
        for (field, index) in fields.into_iter().zip(0_usize..) {
            if field.is_some_and(|given| given > at) {
                let kept = times.map(|times| times[index]).filter(|kept| *kept <= at);
                *field = Some(kept.unwrap_or(at));
            }
        }
        Ok(())
    }

    /// What must follow a row, when looks are asked for.
    fn jobs_of(
        &self,
        (server, version, document): (&ServerName, &VersionId, &str),
        status: Status,
        at: Timestamp,
    ) -> Vec<NewJob> {
        if !self.options.crawl || status == Status::Deleted {
            return Vec::new();
        }
        let document = serde_json::from_str(document).unwrap_or_default();
        jobs::of_new_version(server, version, &document, at)
    }

    /// Fills in what the source does not say: from what is here already, so that the same bare document twice is one
    /// version at one time; else from the clock.
    async fn complete(&self, row: Row, at: Timestamp) -> Result<ImportRow, StoreError> {
        let meta = row.meta;
        let known = match meta.published_at {
            Some(_) => None,
            None => {
                self.registry
                    .store()
                    .version(row.server.as_str(), row.version.as_str())
                    .await?
            }
        };
        let same = |known: &toolmark_domain::record::Version| {
            known.digest == toolmark_domain::digest::Digest::of(&row.raw)
        };
        let published_at = meta
            .published_at
            .or(known.as_ref().map(|known| known.published_at))
            .unwrap_or(at);
        let first_known =
            known.as_ref().map_or(
                published_at,
                |known| if same(known) { known.updated_at } else { at },
            );
        let updated_at = meta.updated_at.unwrap_or(first_known);
        let status = meta
            .status
            .or(known.as_ref().map(|known| known.status))
            .unwrap_or(Status::Active);
        let kept = known.filter(|known| known.status == status);
        let changed_at = match status {
            Status::Active => published_at,
            Status::Deprecated | Status::Deleted => updated_at,
        };
        let jobs = self.jobs_of((&row.server, &row.version, &row.document), status, at);
        Ok(ImportRow {
            hidden: self.registry.is_blocked(row.server.namespace()),
            server: row.server,
            version: row.version,
            status,
            status_changed_at: meta
                .status_changed_at
                .or(kept.as_ref().map(|known| known.status_changed_at))
                .unwrap_or(changed_at),
            status_message: meta
                .status_message
                .or(kept.and_then(|known| known.status_message)),
            published_at,
            updated_at,
            is_latest: meta.is_latest,
            origin: Origin::Imported,
            document: row.document,
            raw: row.raw,
            valid: row.valid,
            facts: row.facts,
            jobs,
        })
    }
}

fn count(report: &mut ImportReport, place: Place, row: &ImportRow, outcome: RowOutcome) {
    let reason = match outcome {
        RowOutcome::Added | RowOutcome::Updated => {
            report.invalid += u64::from(!row.valid);
            let counter = if outcome == RowOutcome::Added {
                &mut report.added
            } else {
                &mut report.updated
            };
            *counter += 1;
            return;
        }
        RowOutcome::Unchanged => {
            report.unchanged += 1;
            return;
        }
        RowOutcome::Older => Reason::Older,
        RowOutcome::PublishedHere => Reason::PublishedHere,
        RowOutcome::TakenDown => Reason::TakenDown,
    };
    let refusal = Refusal {
        reason,
        server: Some(row.server.as_str().to_owned()),
        detail: format!("version `{}`", row.version),
    };
    report.skip(place, refusal);
}

fn progress(report: &ImportReport) -> ImportProgress {
    ImportProgress {
        rows: report.rows,
        written: report.added + report.updated,
        skipped: report.skipped_count(),
        pages: report.pages,
        bytes: 0,
        bytes_total: None,
    }
}

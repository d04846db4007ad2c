//! Recording what a target declares: its documents, its scan, the change against the look before, and when to look
//! again.

use std::collections::BTreeSet;

use bytes::Bytes;
use serde_json::{Map, Value, json};
use toolmark_domain::diff::{self, Diff};
use toolmark_domain::digest::Digest;
use toolmark_domain::finding::Finding;
use toolmark_domain::finding::Label;
use toolmark_domain::launch::{self, Launch};
use toolmark_domain::limits::{EVENT_FINDINGS, OBSERVE_ATTEMPTS};
use toolmark_domain::manifest::{InputError, ItemKind, Manifest};
use toolmark_domain::name::ServerName;
use toolmark_domain::rules::{KnownNames, skeleton};
use toolmark_domain::scan::{self, Scan};
use toolmark_domain::snapshot::{Snapshot, SnapshotError};
use toolmark_domain::target::Target;
use toolmark_domain::timestamp::Timestamp;
use toolmark_domain::version::{self, VersionId};
use toolmark_store::{
    BlobError, NewChange, NewItem, NewSnapshot, RecordConflict, StoreError, StoredSnapshot,
};
use uuid::Uuid;

use crate::Registry;
use crate::jobs::crawl;

/// A look to be recorded.
#[derive(Clone, Debug)]
pub struct Observation<'a> {
    pub server: &'a ServerName,
    pub version: &'a VersionId,
    pub target: &'a Target,
    pub snapshot: &'a Snapshot,
    /// An earlier look found the same surprising thing: believe it now.
    pub second_look: bool,
}

/// What became of a look.
#[derive(Clone, Debug)]
pub struct Observed {
    pub snapshot: Uuid,
    /// Whether it is what is shown from now on.
    pub confirmed: bool,
    /// The step against the look before, when anything changed.
    pub change: Option<Diff>,
    pub scan: Option<Scan>,
}

/// Why a look cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    #[error("`{server}@{version}` is gone")]
    NoVersion { server: String, version: String },
    #[error("what was seen cannot be read as a manifest")]
    Manifest(#[from] InputError),
    /// Others recorded looks at the same target all the time.
    #[error("other looks at the target were recorded meanwhile")]
    Contended,
    #[error("a stored snapshot cannot be read")]
    Stored(#[from] SnapshotError),
    #[error("the document {digest} is not in the blob store")]
    Lost { digest: Digest },
    #[error("the blob store failed")]
    Blobs(#[from] BlobError),
    #[error("the store failed")]
    Store(#[from] StoreError),
}

/// What a look is compared with.
struct Base {
    row: StoredSnapshot,
    snapshot: Snapshot,
    manifest: Manifest,
}

/// What was worked out of a look, before the store is asked to keep it.
struct Judged {
    manifest: Option<Manifest>,
    scan: Option<Scan>,
    change: Option<Diff>,
    confirmed: bool,
}

/// The look a new one is compared with: one at the same version, else at the greatest version below it; and whether a
/// greater version was seen before.
fn base_of<'a>(
    shown: &'a [StoredSnapshot],
    wanted: &VersionId,
    now: Timestamp,
) -> (Option<&'a StoredSnapshot>, bool) {
    let order = |row: &StoredSnapshot| {
        version::compare((row.version.as_str(), row.observed_at), (wanted.as_str(), now))
    };
    if let Some(same) = shown
        .iter()
        .filter(|row| row.version == *wanted)
        .max_by_key(|row| row.observed_at)
    {
        let later = shown
            .iter()
            .any(|row| row.version != *wanted && order(row).is_gt());
        return (Some(same), later);
    }
    let before = shown.iter().filter(|row| order(row).is_lt()).max_by(|a, b| {
        version::compare(
            (a.version.as_str(), a.observed_at),
            (b.version.as_str(), b.observed_at),
        )
    });
    (before, shown.iter().any(|row| order(row).is_gt()))
}

/// Whether a step is so surprising that it is believed only when it was seen twice.
fn surprising(base: &Base, snapshot: &Snapshot, manifest: &Manifest) -> bool {
    let emptied = base.row.tools > 0 && manifest.tools().next().is_none();
    let other_era = base.row.era.is_some() && base.row.era != snapshot.era;
    emptied || other_era
}

fn judge(base: Option<&Base>, snapshot: &Snapshot, second_look: bool) -> Result<Judged, InputError> {
    if !snapshot.outcome.has_manifest() {
        return Ok(Judged {
            manifest: None,
            scan: None,
            change: None,
            confirmed: true,
        });
    }
    let manifest = snapshot.manifest()?;
    let scan = scan::scan(&manifest);
    let confirmed = second_look || base.is_none_or(|base| !surprising(base, snapshot, &manifest));
    let step = base
        .filter(|_| confirmed)
        .map(|base| diff::diff(&base.manifest, &manifest));
    let change = step.filter(|step| step.label != Label::None || !step.findings.is_empty());
    Ok(Judged {
        manifest: Some(manifest),
        scan: Some(scan),
        change,
        confirmed,
    })
}

/// The head of findings, for an event: enough to be told, the rest is behind the link.
fn head(findings: &[Finding], rule_set: Digest) -> Map<String, Value> {
    let head: Vec<_> = findings.iter().take(EVENT_FINDINGS).collect();
    let mut told = Map::new();
    told.insert(
        "summary".into(),
        json!(findings.first().map(|finding| finding.summary.as_str())),
    );
    told.insert("findings".into(), json!(head));
    told.insert("findings_count".into(), json!(findings.len()));
    told.insert("rule_set".into(), json!(rule_set));
    told
}

/// What the event of a step tells.
fn told(step: &Diff, base: &StoredSnapshot, manifest: Option<Digest>) -> Map<String, Value> {
    let tools: BTreeSet<&str> = step.findings.iter().filter_map(|f| f.tool.as_deref()).collect();
    let mut told = head(&step.findings, step.rule_set);
    told.insert("tools".into(), json!(tools));
    told.insert(
        "manifest".into(),
        json!({"before": base.manifest, "after": manifest}),
    );
    told
}

/// What the event of a first look tells of its scan: there is no step that could tell it.
fn first_told(scan: Option<&Scan>) -> Map<String, Value> {
    let Some(scan) = scan.filter(|scan| !scan.findings.is_empty()) else {
        return Map::new();
    };
    let rules: BTreeSet<&str> = scan.findings.iter().map(|finding| finding.rule).collect();
    let mut told = head(&scan.findings, scan.rule_set);
    told.insert("rules".into(), json!(rules));
    told
}

/// The artifact that was run, as the look wrote it down.
fn artifact(snapshot: &Snapshot) -> Option<Digest> {
    let text = snapshot.look.pointer("/artifact/sha256").and_then(Value::as_str);
    text.and_then(|text| text.parse().ok())
}

/// How a look was started, and what it asked the network for.
fn launch_of(version: &str, declared: &Value, snapshot: &Snapshot, manifest: Option<Digest>) -> Launch {
    // A name counts when both takes asked for it.
    let hosts = snapshot.egress.iter().filter(|egress| egress.takes >= 2);
    Launch {
        version: version.to_owned(),
        artifact: artifact(snapshot),
        manifest,
        hosts: hosts.map(|egress| egress.host.clone()).collect(),
        ..Launch::declared(declared)
    }
}

fn items(manifest: &Manifest) -> Vec<NewItem> {
    let each = manifest.items.iter().map(|item| NewItem {
        kind: item.kind,
        // PostgreSQL keeps no NUL in a text; the whole name is in the document.
        key: item.key.replace('\0', "\u{fffd}"),
        tool: item.tool,
        contract: item.contract,
    });
    each.collect()
}

impl Registry {
    /// Records a look at a target of a version, with its scan and what changed. A surprising one is kept and looked
    /// at again before it is believed. Doing it twice adds a second look and nothing else.
    pub async fn observe(&self, look: Observation<'_>) -> Result<Observed, ObserveError> {
        let document = self.keep(look.snapshot.to_bytes()).await?;
        for _ in 0..OBSERVE_ATTEMPTS {
            let line = look.target.line();
            let shown = self.store().shown_on_line(look.server.as_str(), &line).await?;
            let newest = shown
                .iter()
                .max_by_key(|row| (row.observed_at, row.id))
                .map(|row| row.id);
            let (row, backfill) = base_of(&shown, look.version, self.now());
            let base = match row {
                Some(row) if look.snapshot.outcome.has_manifest() => Some(self.base(row).await?),
                _ => None,
            };
            let snapshot = look.snapshot.clone();
            let second = look.second_look;
            let work = move || judge(base.as_ref(), &snapshot, second).map(|judged| (judged, base));
            let (mut judged, base) = blocking(work).await?;
            self.judge_beside(&look, &mut judged, base.as_ref()).await?;
            let mut new = self.new_snapshot(&look, &judged, document, backfill).await?;
            if newest.is_none() {
                new.told = first_told(judged.scan.as_ref());
            }
            let change = match (&judged.change, &base) {
                (Some(step), Some(base)) => Some(self.new_change(step, &base.row, new.manifest).await?),
                _ => None,
            };
            let jobs = crawl::next(&look, judged.confirmed, self.now());
            let recorded = self
                .store()
                .record_snapshot(&new, change.as_ref(), newest, &jobs, self.now())
                .await?;
            match recorded {
                Ok(recorded) => {
                    tell(&look, &judged);
                    return Ok(Observed {
                        snapshot: recorded.snapshot,
                        confirmed: judged.confirmed,
                        change: judged.change,
                        scan: judged.scan,
                    });
                }
                Err(RecordConflict::Moved) => {}
                Err(RecordConflict::NoVersion) => {
                    return Err(ObserveError::NoVersion {
                        server: look.server.to_string(),
                        version: look.version.to_string(),
                    });
                }
            }
        }
        Err(ObserveError::Contended)
    }

    async fn base(&self, row: &StoredSnapshot) -> Result<Base, ObserveError> {
        let snapshot = self.snapshot_document(row).await?;
        let read = move || snapshot.manifest().map(|manifest| (snapshot, manifest));
        let (snapshot, manifest) = blocking(read).await?;
        Ok(Base {
            row: row.clone(),
            snapshot,
            manifest,
        })
    }

    /// What the manifest alone does not say: names known of other servers, and how it is started.
    async fn judge_beside(
        &self,
        look: &Observation<'_>,
        judged: &mut Judged,
        base: Option<&Base>,
    ) -> Result<(), ObserveError> {
        let (Some(manifest), Some(scan)) = (&judged.manifest, &mut judged.scan) else {
            return Ok(());
        };
        let mut names: BTreeSet<String> = manifest.tools().map(|item| item.key.clone()).collect();
        names.extend(manifest.tools().map(|item| skeleton(&item.key)));
        let names: Vec<String> = names.into_iter().filter(|name| !name.contains('\0')).collect();
        let owners = self.store().tool_owners(&names, look.server.as_str()).await?;
        let pairs = owners
            .iter()
            .map(|(tool, server)| (tool.as_str(), server.as_str()));
        let shadows = KnownNames::new(pairs).shadowed(manifest, look.server.as_str());
        scan.findings.extend(shadows);
        scan.findings
            .sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        let Some(base) = base.filter(|_| judged.confirmed) else {
            return Ok(());
        };
        let declared = self
            .declared(look.server.as_str(), &base.row, look.target)
            .await?;
        let old = launch_of(
            base.row.version.as_str(),
            &declared,
            &base.snapshot,
            base.row.manifest,
        );
        let root = Some(manifest.root());
        let new = launch_of(look.version.as_str(), &look.target.declared, look.snapshot, root);
        let found = launch::diff(&old, &new);
        if found.is_empty() {
            return Ok(());
        }
        let mut step = judged
            .change
            .take()
            .unwrap_or_else(|| diff::diff(&base.manifest, manifest));
        step.add(found);
        judged.change = Some(step);
        Ok(())
    }

    /// The entry of the target an earlier look was at; the present one where that version is gone.
    async fn declared(&self, server: &str, row: &StoredSnapshot, now: &Target) -> Result<Value, StoreError> {
        let version = self.store().version(server, row.version.as_str()).await?;
        let document = version.and_then(|version| serde_json::from_str::<Value>(&version.document).ok());
        let targets = document
            .map(|document| Target::all(&document))
            .unwrap_or_default();
        let same = targets.into_iter().find(|target| target.line() == now.line());
        Ok(same.map_or_else(|| now.declared.clone(), |target| target.declared))
    }

    async fn new_snapshot(
        &self,
        look: &Observation<'_>,
        judged: &Judged,
        document: Digest,
        backfill: bool,
    ) -> Result<NewSnapshot, ObserveError> {
        let scan = match &judged.scan {
            Some(scan) => Some(self.keep(serde_json::to_vec(scan).unwrap_or_default()).await?),
            None => None,
        };
        let cost = judged.manifest.as_ref().map_or(0, Manifest::tools_token_cost);
        Ok(NewSnapshot {
            server: look.server.clone(),
            version: look.version.clone(),
            position: i64::try_from(look.target.position).unwrap_or(i64::MAX),
            line: look.target.line(),
            target: look.target.text(),
            took_ms: i64::try_from(look.snapshot.took_ms).unwrap_or(i64::MAX),
            outcome: look.snapshot.outcome,
            reason: look.snapshot.reason.clone(),
            era: look.snapshot.era,
            protocol_version: look
                .snapshot
                .protocol_version
                .as_ref()
                .map(|text| text.replace('\0', "")),
            manifest: judged.manifest.as_ref().map(Manifest::root),
            document,
            scan,
            artifact: artifact(look.snapshot),
            severity: judged
                .scan
                .as_ref()
                .and_then(|scan| scan.findings.iter().map(|finding| finding.severity).max()),
            token_cost: i64::try_from(cost).unwrap_or(i64::MAX),
            confirmed: judged.confirmed,
            items: judged.manifest.as_ref().map(items).unwrap_or_default(),
            backfill,
            told: Map::new(),
        })
    }

    async fn new_change(
        &self,
        step: &Diff,
        base: &StoredSnapshot,
        manifest: Option<Digest>,
    ) -> Result<NewChange, ObserveError> {
        let rules: BTreeSet<&str> = step.findings.iter().map(|finding| finding.rule).collect();
        Ok(NewChange {
            from: base.id,
            from_version: base.version.clone(),
            label: step.label,
            severity: step.severity,
            rules: rules.into_iter().map(str::to_owned).collect(),
            document: self.keep(serde_json::to_vec(step).unwrap_or_default()).await?,
            told: told(step, base, manifest),
        })
    }

    pub(crate) async fn keep(&self, bytes: Vec<u8>) -> Result<Digest, BlobError> {
        self.blobs().put(Bytes::from(bytes)).await
    }

    /// The bytes of a stored document.
    pub async fn document_bytes(&self, digest: &Digest) -> Result<Bytes, ObserveError> {
        let found = self.blobs().get(digest).await?;
        found.ok_or(ObserveError::Lost { digest: *digest })
    }

    /// The snapshot document of a look.
    pub async fn snapshot_document(&self, row: &StoredSnapshot) -> Result<Snapshot, ObserveError> {
        Ok(Snapshot::read(&self.document_bytes(&row.document).await?)?)
    }

    /// The manifest of a look.
    pub async fn manifest_of(&self, row: &StoredSnapshot) -> Result<Manifest, ObserveError> {
        let snapshot = self.snapshot_document(row).await?;
        Ok(blocking(move || snapshot.manifest()).await?)
    }

    /// What the current version of a server declares, when it was observed.
    pub async fn current_manifest(
        &self,
        name: &str,
    ) -> Result<Option<(StoredSnapshot, Manifest)>, ObserveError> {
        let Some(row) = self.store().current_snapshot(name).await? else {
            return Ok(None);
        };
        let manifest = self.manifest_of(&row).await?;
        Ok(Some((row, manifest)))
    }
}

fn tell(look: &Observation<'_>, judged: &Judged) {
    let tools = judged
        .manifest
        .as_ref()
        .map_or(0, |m| m.of(ItemKind::Tool).count());
    tracing::info!(
        server.name = %look.server, server.version = %look.version, target = %look.target.text(),
        outcome = look.snapshot.outcome.as_str(), tools.count = tools,
        change = judged.change.as_ref().map_or("none", |step| step.label.as_str()),
        "looked at `{}` of `{}@{}`: {}", look.target.text(), look.server, look.version,
        look.snapshot.outcome.as_str()
    );
}

/// Runs work that takes more than half a millisecond of CPU where it holds up no request.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(failed) => std::panic::resume_unwind(failed.into_panic()),
    }
}

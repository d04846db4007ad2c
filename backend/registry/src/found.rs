//! From what the index names to what is true: each tool is read from the store before it is shown.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use serde_json::Value;
use toolmark_domain::digest::Digest;
use toolmark_domain::event::Severity;
use toolmark_domain::find::{FoundTool, Run};
use toolmark_domain::limits::FOUND_CACHE_BYTES;
use toolmark_domain::manifest::{Item, Manifest, token_cost};
use toolmark_domain::provenance::Verdict;
use toolmark_domain::record::Version;
use toolmark_domain::timestamp::Timestamp;
use toolmark_search::Hit;
use toolmark_store::{StoreError, StoredSnapshot, StoredVerdict};

use crate::Registry;
use crate::index::targets_of;
use crate::observe::{ObserveError, blocking};

/// Most copies of one tool that are looked at.
const COPIES: usize = 6;

/// What one look found, ready to be shown. It never changes: it is kept by the digest of its document.
#[derive(Default)]
pub(crate) struct Look {
    pub(crate) tools: Vec<Item>,
    tokens: Vec<usize>,
    by_name: HashMap<String, usize>,
    /// The gravest finding of each tool, and how many are high or critical.
    findings: HashMap<String, (Severity, usize)>,
    weight: u32,
}

impl Look {
    fn of(manifest: &Manifest, scan: Option<&Value>) -> Self {
        let tools: Vec<Item> = manifest.tools().cloned().collect();
        let tokens: Vec<usize> = tools.iter().map(|item| token_cost(&item.value)).collect();
        let mut by_name = HashMap::new();
        for (place, item) in tools.iter().enumerate() {
            by_name.entry(item.key.clone()).or_insert(place);
        }
        let mut findings: HashMap<String, (Severity, usize)> = HashMap::new();
        let found = scan.and_then(|scan| scan["findings"].as_array());
        for finding in found.into_iter().flatten() {
            let severity = finding["severity"].as_str().and_then(Severity::parse);
            if let (Some(tool), Some(severity)) = (finding["tool"].as_str(), severity) {
                let entry = findings.entry(tool.to_owned()).or_insert((severity, 0));
                entry.0 = entry.0.max(severity);
                entry.1 += usize::from(severity >= Severity::High);
            }
        }
        // A value in memory is some five times its text.
        let bytes: usize = tokens.iter().map(|tokens| tokens * 4 * 5 + 500).sum();
        Self {
            tools,
            tokens,
            by_name,
            findings,
            weight: u32::try_from(bytes).unwrap_or(u32::MAX),
        }
    }

    pub(crate) fn severity_of(&self, tool: &str) -> Option<Severity> {
        self.findings.get(tool).map(|(severity, _)| *severity)
    }

    pub(crate) fn tool(&self, name: &str) -> Option<&Item> {
        self.by_name.get(name).map(|place| &self.tools[*place])
    }
}

/// Looks that were read for answers.
pub(crate) struct Looks(moka::future::Cache<Digest, Arc<Look>>);

impl Default for Looks {
    fn default() -> Self {
        let weigh = |_: &Digest, look: &Arc<Look>| look.weight;
        Self(
            moka::future::Cache::builder()
                .weigher(weigh)
                .max_capacity(FOUND_CACHE_BYTES)
                .build(),
        )
    }
}

/// The current version of a server with what was seen of it.
#[derive(Clone)]
pub(crate) struct Shown {
    pub(crate) version: Version,
    pub(crate) document: Arc<Value>,
    pub(crate) row: Option<StoredSnapshot>,
}

impl Registry {
    /// What a look found.
    pub(crate) async fn look(&self, row: &StoredSnapshot) -> Result<Arc<Look>, ObserveError> {
        let looks = &self.inner.looks.0;
        if let Some(known) = looks.get(&row.document).await {
            return Ok(known);
        }
        let snapshot = self.snapshot_document(row).await?;
        let scan = match &row.scan {
            Some(digest) => Some(self.document_bytes(digest).await?),
            None => None,
        };
        let read = move || {
            let scan = scan.and_then(|bytes| serde_json::from_slice(&bytes).ok());
            snapshot
                .manifest()
                .map(|manifest| Look::of(&manifest, scan.as_ref()))
        };
        let look = Arc::new(blocking(read).await?);
        looks.insert(row.document, Arc::clone(&look)).await;
        Ok(look)
    }

    /// Servers that may be seen, as they are now.
    pub(crate) async fn shown(&self, names: &[String]) -> Result<HashMap<String, Shown>, StoreError> {
        let mut names = names.to_vec();
        names.sort_unstable();
        names.dedup();
        let versions = self.store().current_of(&names).await?;
        let mut rows: HashMap<String, StoredSnapshot> = HashMap::new();
        for row in self.store().current_snapshots_of(&names).await? {
            rows.entry(row.server.to_string()).or_insert(row);
        }
        let shown = versions.into_iter().map(|version| {
            let name = version.server.to_string();
            let document = serde_json::from_str(&version.document).unwrap_or_default();
            let shown = Shown {
                version,
                document: Arc::new(document),
                row: rows.remove(&name),
            };
            (name, shown)
        });
        Ok(shown.collect())
    }

    /// The tools of these hits that are still there, in their order.
    pub(crate) async fn found(&self, hits: &[Hit]) -> Result<Vec<FoundTool>, FindError> {
        Ok(self.found_each(hits).await?.into_iter().flatten().collect())
    }

    /// The tool of each hit, where it is still there.
    pub(crate) async fn found_each(&self, hits: &[Hit]) -> Result<Vec<Option<FoundTool>>, FindError> {
        let servers: Vec<String> = hits
            .iter()
            .flat_map(ids_of)
            .filter_map(|id| parts(id).map(|(server, _)| server.to_owned()))
            .collect();
        let shown = self.shown(&servers).await?;
        let mut looks: HashMap<Digest, Arc<Look>> = HashMap::new();
        for row in shown.values().filter_map(|shown| shown.row.as_ref()) {
            looks.insert(row.document, self.look(row).await?);
        }
        let is_there = |id: &str| {
            let (server, name) = parts(id)?;
            let shown = shown.get(server)?;
            let row = shown.row.as_ref()?;
            let look = looks.get(&row.document)?;
            look.tool(name).map(|item| (shown, row, look, item))
        };
        let tools = hits.iter().map(|hit| {
            // A copy stands in for an original that is gone.
            let id = ids_of(hit).find(|id| is_there(id).is_some())?;
            let (shown, row, look, item) = is_there(id)?;
            let mut tool = tool(shown, row, look, item);
            tool.also_in = ids_of(hit)
                .filter(|other| *other != id && is_there(other).is_some())
                .cloned()
                .collect();
            tool.strength = hit.strength.as_str();
            tool.why = hit
                .why
                .iter()
                .map(|why| (why.word.clone(), why.fields.clone()))
                .collect();
            tool.first_seen = time(hit.first_seen);
            tool.changed = time(hit.changed);
            Some((tool, row.position))
        });
        let found: Vec<Option<(FoundTool, i64)>> = tools.collect();
        self.judged(found).await
    }

    /// With the verdict on the target each tool was seen at.
    async fn judged(
        &self,
        found: Vec<Option<(FoundTool, i64)>>,
    ) -> Result<Vec<Option<FoundTool>>, FindError> {
        let mut known: HashMap<String, Vec<StoredVerdict>> = HashMap::new();
        let mut judged = Vec::with_capacity(found.len());
        for found in found {
            let Some((mut tool, position)) = found else {
                judged.push(None);
                continue;
            };
            let verdicts = match known.entry(tool.server.clone()) {
                Entry::Occupied(kept) => kept.into_mut(),
                Entry::Vacant(empty) => {
                    empty.insert(self.store().last_verdicts(&tool.server, &tool.version).await?)
                }
            };
            tool.verdict = verdict_on(verdicts, position).map(|verdict| verdict.as_str().to_owned());
            judged.push(Some(tool));
        }
        Ok(judged)
    }

    /// Tools by their ids, and the ids that are not there.
    pub(crate) async fn by_ids(&self, ids: &[String]) -> Result<(Vec<FoundTool>, Vec<String>), FindError> {
        let mut tools = Vec::new();
        let mut missing = Vec::new();
        for id in ids {
            match self.tool(id).await? {
                Some(found) => tools.push(found),
                None => missing.push(id.clone()),
            }
        }
        Ok((tools, missing))
    }

    /// One tool as a version was seen to have it; the version `current` is the current one.
    pub async fn tool_of(
        &self,
        server: &str,
        version: &str,
        name: &str,
    ) -> Result<Option<FoundTool>, FindError> {
        if version == "current" {
            return self.tool(&format!("{server}#{name}")).await;
        }
        let Some(found) = self.store().version(server, version).await? else {
            return Ok(None);
        };
        let looks = self.store().last_looks(server, version).await?;
        for row in looks.into_iter().filter(|row| row.is_shown) {
            let look = self.look(&row).await?;
            if let Some(item) = look.tool(name) {
                let document = serde_json::from_str(&found.document).unwrap_or_default();
                let shown = Shown {
                    version: found,
                    document: Arc::new(document),
                    row: None,
                };
                let found = tool(&shown, &row, &look, item);
                let found = self.judged(vec![Some((found, row.position))]).await?;
                return Ok(found.into_iter().flatten().next());
            }
        }
        Ok(None)
    }

    /// One tool of the current version of a server.
    pub async fn tool(&self, id: &str) -> Result<Option<FoundTool>, FindError> {
        let Some((server, name)) = parts(id) else {
            return Ok(None);
        };
        let shown = self.shown(&[server.to_owned()]).await?.remove(server);
        let Some((shown, row)) = shown.and_then(|shown| shown.row.clone().map(|row| (shown, row))) else {
            return Ok(None);
        };
        let look = self.look(&row).await?;
        let Some(item) = look.tool(name) else {
            return Ok(None);
        };
        let found = tool(&shown, &row, &look, item);
        let found = self.judged(vec![Some((found, row.position))]).await?;
        let Some(mut found) = found.into_iter().flatten().next() else {
            return Ok(None);
        };
        let history = self.store().items_of(server).await?;
        let past = history
            .iter()
            .find(|past| past.line == row.line && past.kind == item.kind && past.key == item.key);
        found.first_seen = past.map(|past| past.first_seen_at);
        found.changed = past.map(|past| past.changed_at);
        Ok(Some(found))
    }
}

/// The verdict shown on a target.
pub(crate) fn verdict_on(verdicts: &[StoredVerdict], position: i64) -> Option<Verdict> {
    let shown = verdicts.iter().filter(|verdict| verdict.is_shown);
    let on_target = shown.filter(|verdict| verdict.position == position);
    on_target.map(|verdict| verdict.verdict).next()
}

/// A hit and its copies, as many as are looked at.
fn ids_of(hit: &Hit) -> impl Iterator<Item = &String> {
    std::iter::once(&hit.id).chain(hit.also_in.iter().take(COPIES))
}

fn tool(shown: &Shown, row: &StoredSnapshot, look: &Look, item: &Item) -> FoundTool {
    let version = &shown.version;
    let text = |key: &str| item.value.get(key).and_then(Value::as_str).map(str::to_owned);
    let annotated = item.value.pointer("/annotations/title").and_then(Value::as_str);
    let place = look.by_name.get(&item.key).copied().unwrap_or_default();
    FoundTool {
        id: format!("{}#{}", version.server, item.key),
        server: version.server.to_string(),
        name: item.key.clone(),
        title: text("title").or_else(|| annotated.map(str::to_owned)),
        description: text("description").unwrap_or_default(),
        definition: item.value.clone(),
        strength: "exact",
        why: Vec::new(),
        version: version.version.to_string(),
        status: Some(version.status),
        run: run_of(&shown.document, row),
        verdict: None,
        manifest: row.manifest,
        digest: Some(item.tool),
        first_seen: None,
        changed: None,
        high_findings: look.findings.get(&item.key).map_or(0, |(_, high)| *high),
        also_in: Vec::new(),
        tokens: look.tokens.get(place).copied().unwrap_or_default(),
    }
}

/// How the target that was looked at is reached.
fn run_of(document: &Value, row: &StoredSnapshot) -> Option<Run> {
    let mut targets = targets_of(document);
    let seen = targets.iter().position(|(run, _)| run.target == row.target);
    let at = seen.or((!targets.is_empty()).then_some(0))?;
    Some(targets.swap_remove(at).0)
}

fn time(secs: u64) -> Option<Timestamp> {
    let micros = i64::try_from(secs).ok()?.checked_mul(1_000_000)?;
    (micros > 0).then(|| Timestamp::from_micros(micros))
}

/// Server and tool of an id; a server's name holds no `#`.
pub(crate) fn parts(id: &str) -> Option<(&str, &str)> {
    id.split_once('#')
}

/// Why nothing could be found.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// The index is being built; it says nothing until it is whole.
    #[error("the search index is being built")]
    Rebuilding,
    #[error("the search index failed")]
    Search(#[from] toolmark_search::SearchError),
    #[error("the store failed")]
    Store(#[from] StoreError),
    #[error("a document cannot be read")]
    Document(#[from] ObserveError),
}

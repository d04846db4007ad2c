//! Following the feed: which servers an event touched, what of them is shown now, and putting that into the index.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use toolmark_domain::status::Status;
use toolmark_search::SearchError;
use toolmark_store::{ServerFilter, StoreError};

use super::{Pair, documents};
use crate::Registry;
use crate::found::verdict_on;
use crate::observe::blocking;

/// Events read at one time.
const EVENTS: u32 = 2000;
/// Servers read at one time when everything is indexed.
const SERVERS: u32 = 200;
/// How long the follower sleeps without an event; also how soon it sees an index that was built beside it.
const IDLE: Duration = Duration::from_secs(1);
/// How long it waits after a failure.
const PAUSE: Duration = Duration::from_secs(5);

/// Why the index could not follow.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    #[error("the search index failed")]
    Search(#[from] SearchError),
    #[error("the store failed")]
    Store(#[from] StoreError),
}

impl Registry {
    /// Keeps the search index at the head of the feed until it is dropped.
    pub async fn follow_feed(&self) {
        let mut pair = None;
        loop {
            match self.follow_once(&mut pair).await {
                Ok(()) => {}
                Err(error) => {
                    tracing::error!(
                        error = &error as &dyn std::error::Error,
                        "the search index cannot follow; it is built again"
                    );
                    pair = None;
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    /// One step: opens or builds the index where there is none, then follows, then waits.
    async fn follow_once(&self, pair: &mut Option<Arc<Pair>>) -> Result<(), IndexError> {
        let current = match pair.clone() {
            Some(current) if self.is_newest(&current) => current,
            _ => {
                // The one in use is let go first: one process has an index open once.
                *pair = None;
                let opened = self.open_or_build().await?;
                *pair = Some(Arc::clone(&opened));
                opened
            }
        };
        let reached = self.search_index().reached();
        if self.catch_up(&current, reached).await? == reached {
            self.wait_past(reached, IDLE).await?;
        }
        Ok(())
    }

    fn is_newest(&self, pair: &Pair) -> bool {
        let Some(folder) = &pair.folder else { return true };
        let newest = self.search_index().newest();
        // A folder that was deleted is built again.
        newest.is_some() && newest == super::number_of(folder)
    }

    async fn open_or_build(&self) -> Result<Arc<Pair>, IndexError> {
        let index = self.search_index();
        if let Some(path) = index.newest().and_then(|number| index.path(number)) {
            let opened = blocking({
                let path = path.clone();
                move || Pair::open(Some(path)).and_then(|pair| pair.reached().map(|reached| (pair, reached)))
            })
            .await;
            match opened {
                Ok((pair, reached)) if (0..=self.head().await?).contains(&reached) => {
                    let pair = Arc::new(pair);
                    index.show(Arc::clone(&pair), reached);
                    index.tidy(&path);
                    return Ok(pair);
                }
                Err(SearchError::Busy) => {
                    tracing::info!(
                        "another process writes the search index of this folder; this one keeps its own in memory"
                    );
                    return self.build_shown(None).await;
                }
                // Of another layout, damaged, or ahead of the store it should follow.
                _ => {}
            }
        }
        self.build_shown(index.next()).await
    }

    async fn build_shown(&self, folder: Option<PathBuf>) -> Result<Arc<Pair>, IndexError> {
        let (pair, reached) = self.build(folder.clone()).await?;
        let pair = Arc::new(pair);
        self.search_index().show(Arc::clone(&pair), reached);
        if let Some(folder) = folder {
            self.search_index().tidy(&folder);
        }
        Ok(pair)
    }

    /// Builds an index of everything, beside any other; returns it with the event it reflects at least.
    async fn build(&self, folder: Option<PathBuf>) -> Result<(Pair, i64), IndexError> {
        let seq = self.head().await?;
        let started = std::time::Instant::now();
        let pair = Arc::new(blocking(move || Pair::open(folder)).await?);
        let mut after: Option<String> = None;
        loop {
            let page = self
                .store()
                .list_servers(&ServerFilter::default(), after.as_deref(), SERVERS)
                .await?;
            let Some(last) = page.last() else { break };
            after = Some(last.server.to_string());
            for version in page {
                self.put(&pair, version.server.as_str(), false).await?;
            }
        }
        blocking({
            let pair = Arc::clone(&pair);
            move || pair.commit(seq).and_then(|()| pair.complete())
        })
        .await?;
        let pair = Arc::into_inner(pair).ok_or_else(|| std::io::Error::other("the index is still used"));
        let pair = pair.map_err(SearchError::from)?;
        let (tools, servers) = (pair.tools.shown().len(), pair.servers.shown().len());
        let took_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        tracing::info!(
            tools.count = tools,
            servers.count = servers,
            event.seq = seq,
            took_ms,
            "indexed {tools} tools of {servers} servers"
        );
        Ok((pair, seq))
    }

    /// Builds the index anew beside the one in use, which is put aside for it. Returns how many tools and servers it
    /// has, and the event it reflects.
    pub async fn reindex(&self) -> Result<(u64, u64, i64), IndexError> {
        let (pair, seq) = self.build(self.search_index().next()).await?;
        Ok((pair.tools.shown().len(), pair.servers.shown().len(), seq))
    }

    /// Takes in what happened after `reached`; returns the event that is reflected then.
    async fn catch_up(&self, pair: &Arc<Pair>, reached: i64) -> Result<i64, IndexError> {
        let touched = self.store().servers_touched(reached, EVENTS).await?;
        let Some((seq, _)) = touched.last() else {
            return Ok(reached);
        };
        let seq = *seq;
        let servers: BTreeSet<String> = touched.into_iter().map(|(_, server)| server).collect();
        for server in &servers {
            if let Err(error) = self.put(pair, server, true).await {
                let pair = Arc::clone(pair);
                blocking(move || pair.tools.forget().and_then(|()| pair.servers.forget())).await?;
                return Err(error);
            }
        }
        let committed = Arc::clone(pair);
        blocking(move || committed.commit(seq)).await?;
        self.search_index().show(Arc::clone(pair), seq);
        Ok(seq)
    }

    /// Puts what is shown of a server into the index, in place of what was.
    async fn put(&self, pair: &Arc<Pair>, server: &str, known: bool) -> Result<(), IndexError> {
        let version = self.store().current(server).await?;
        let version = version.filter(|version| version.status != Status::Deleted);
        let row = match &version {
            Some(_) => self.store().current_snapshot(server).await?,
            None => None,
        };
        let look = match &row {
            // What cannot be read is not searched; the page of the server says why.
            Some(row) => self.look(row).await.inspect_err(|error| {
                tracing::warn!(
                    server.name = server,
                    error = error as &dyn std::error::Error,
                    "cannot index the tools"
                );
            }),
            None => Ok(Arc::default()),
        }
        .ok();
        let verdict = match (&row, &version) {
            (Some(row), Some(version)) => {
                let verdicts = self
                    .store()
                    .last_verdicts(server, version.version.as_str())
                    .await?;
                verdict_on(&verdicts, row.position)
            }
            _ => None,
        };
        let history = match &row {
            Some(_) => self.store().items_of(server).await?,
            None => Vec::new(),
        };
        let (pair, server) = (Arc::clone(pair), server.to_owned());
        let put = move || -> Result<(), SearchError> {
            if known {
                pair.tools.remove(&server);
                pair.servers.remove(&server);
            }
            let Some(version) = version else { return Ok(()) };
            let document = serde_json::from_str(&version.document).unwrap_or_default();
            let about = documents::server(&version, &document, row.as_ref(), look.as_deref(), verdict);
            pair.servers.add([about])?;
            if let (Some(row), Some(look)) = (&row, &look) {
                pair.tools.add(documents::tools(
                    &version, &document, row, look, &history, verdict,
                ))?;
            }
            Ok(())
        };
        Ok(blocking(put).await?)
    }
}

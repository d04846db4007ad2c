//! The search index in the product: it follows the event feed, each process its own. It is derived and can be deleted
//! at any time; what it says is checked against the store before it is shown.

mod documents;
mod follow;

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::watch;
use toolmark_search::{LiveIndex, SearchError};

pub(crate) use documents::targets_of;
pub use follow::IndexError;

/// Tools and servers, followed together.
pub(crate) struct Pair {
    pub(crate) tools: LiveIndex,
    pub(crate) servers: LiveIndex,
    /// The folder; none when it is in memory.
    folder: Option<PathBuf>,
}

/// The index of this process.
pub(crate) struct SearchIndex {
    /// Where generations of it are kept; none: in memory.
    folder: Option<PathBuf>,
    shown: RwLock<Option<Arc<Pair>>>,
    /// The event it reflects; -1 while there is none.
    reached: watch::Sender<i64>,
}

/// Names of generations: `g1`, `g2`, …; the greatest that is complete is in use.
const GENERATION: char = 'g';
/// Says that a generation was built to its end.
const COMPLETE: &str = "complete";

impl SearchIndex {
    pub(crate) fn new(folder: Option<PathBuf>) -> Self {
        Self {
            folder,
            shown: RwLock::new(None),
            reached: watch::Sender::new(-1),
        }
    }

    pub(crate) fn shown(&self) -> Option<Arc<Pair>> {
        self.shown.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn reached(&self) -> i64 {
        *self.reached.borrow()
    }

    pub(crate) async fn wait_reached(&self, seq: i64) {
        let _ = self.reached.subscribe().wait_for(|reached| *reached >= seq).await;
    }

    fn show(&self, pair: Arc<Pair>, reached: i64) {
        *self.shown.write().unwrap_or_else(PoisonError::into_inner) = Some(pair);
        self.reached.send_replace(reached);
    }

    /// The newest complete generation, by its number.
    fn newest(&self) -> Option<u64> {
        let generations = generations(self.folder.as_deref()?);
        let complete = |number: &u64| {
            self.path(*number)
                .is_some_and(|path| path.join(COMPLETE).exists())
        };
        generations.into_iter().filter(complete).max()
    }

    fn path(&self, number: u64) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(format!("{GENERATION}{number}")))
    }

    /// A folder for the next generation, beside the others.
    fn next(&self) -> Option<PathBuf> {
        let newest = generations(self.folder.as_deref()?).into_iter().max();
        self.path(newest.unwrap_or_default() + 1)
    }

    /// Removes every generation but the one that is used and those that may be being built.
    fn tidy(&self, used: &Path) {
        let Some(folder) = &self.folder else { return };
        let used = number_of(used).unwrap_or(u64::MAX);
        for number in generations(folder).into_iter().filter(|number| *number < used) {
            if let Some(path) = self.path(number)
                && let Err(error) = std::fs::remove_dir_all(&path)
            {
                tracing::warn!(error = &error as &dyn std::error::Error, path = %path.display(), "cannot remove an old index");
            }
        }
    }
}

fn number_of(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.strip_prefix(GENERATION)?.parse().ok()
}

fn generations(folder: &Path) -> Vec<u64> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| number_of(&entry.path())).collect()
}

impl Pair {
    pub(crate) fn open(folder: Option<PathBuf>) -> Result<Self, SearchError> {
        let part = |name: &str| LiveIndex::open(folder.as_ref().map(|folder| folder.join(name)).as_deref());
        Ok(Self {
            tools: part("tools")?,
            servers: part("servers")?,
            folder,
        })
    }

    /// The event both reflect.
    fn reached(&self) -> Result<i64, SearchError> {
        let both = [self.tools.reached()?, self.servers.reached()?];
        Ok(both.into_iter().map(|seq| seq.unwrap_or(-1)).min().unwrap_or(-1))
    }

    fn commit(&self, seq: i64) -> Result<(), SearchError> {
        self.tools.commit(seq)?;
        self.servers.commit(seq)
    }

    /// Marks the generation as built to its end.
    fn complete(&self) -> Result<(), SearchError> {
        if let Some(folder) = &self.folder {
            std::fs::write(folder.join(COMPLETE), "")?;
        }
        Ok(())
    }
}

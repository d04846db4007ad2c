//! An index that follows: servers are taken out and put in again while others search. What is searched is swapped as a
//! whole, and how far the index has followed is written with what it holds.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use tantivy::directory::error::LockError;
use tantivy::directory::{Directory as _, MmapDirectory};
use tantivy::indexer::LogMergePolicy;
use tantivy::{Index, IndexSettings, IndexWriter, TantivyError, Term};

use crate::document::ToolDocument;
use crate::error::SearchError;
use crate::index::{LAYOUT_FILE, ToolIndex};
use crate::schema::{self, Fields};

/// Memory of the one thread that writes, in bytes.
const WRITER_BYTES: usize = 48 << 20;
/// A segment of which so much is deleted is written anew: deleted tools cost time at every query.
const MOST_DELETED: f32 = 0.05;

/// An index that is written and searched at the same time.
pub struct LiveIndex {
    index: Index,
    fields: Fields,
    writer: Mutex<IndexWriter>,
    shown: RwLock<Arc<ToolIndex>>,
}

impl std::fmt::Debug for LiveIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveIndex")
            .field("shown", &self.shown())
            .finish_non_exhaustive()
    }
}

impl LiveIndex {
    /// Opens the index of a folder, or makes an empty one there; without a folder it is in memory. One process at a
    /// time may have it open: another finds it [`SearchError::Busy`].
    pub fn open(folder: Option<&Path>) -> Result<Self, SearchError> {
        let (schema, fields) = schema::schema();
        let index = match folder {
            None => Index::create_in_ram(schema),
            Some(folder) => {
                std::fs::create_dir_all(folder)?;
                let directory = MmapDirectory::open(folder).map_err(TantivyError::from)?;
                if Index::exists(&directory).map_err(TantivyError::from)? {
                    let layout = directory.atomic_read(Path::new(LAYOUT_FILE));
                    let index = Index::open(directory)?;
                    if layout.ok().as_deref() != Some(schema::LAYOUT.as_bytes()) || index.schema() != schema {
                        return Err(SearchError::Layout);
                    }
                    index
                } else {
                    directory.atomic_write(Path::new(LAYOUT_FILE), schema::LAYOUT.as_bytes())?;
                    Index::create(directory, schema, IndexSettings::default())?
                }
            }
        };
        let writer: IndexWriter = match index.writer_with_num_threads(1, WRITER_BYTES) {
            Err(TantivyError::LockFailure(LockError::LockBusy, _)) => return Err(SearchError::Busy),
            writer => writer?,
        };
        let mut merges = LogMergePolicy::default();
        merges.set_del_docs_ratio_before_merge(MOST_DELETED);
        writer.set_merge_policy(Box::new(merges));
        let shown = ToolIndex::read(&index, &fields, None)?;
        Ok(Self {
            index,
            fields,
            writer: Mutex::new(writer),
            shown: RwLock::new(Arc::new(shown)),
        })
    }

    /// What can be searched now.
    pub fn shown(&self) -> Arc<ToolIndex> {
        Arc::clone(&self.shown.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The number given with the last commit; none before the first.
    pub fn reached(&self) -> Result<Option<i64>, SearchError> {
        let payload = self.index.load_metas()?.payload;
        Ok(payload.and_then(|payload| payload.parse().ok()))
    }

    /// Adds tools; they are searched after the next commit.
    pub fn add(&self, tools: impl IntoIterator<Item = ToolDocument>) -> Result<(), SearchError> {
        let writer = self.writer();
        for tool in tools {
            writer.add_document(schema::document(&self.fields, &tool))?;
        }
        Ok(())
    }

    /// Takes out everything of a server; it is gone after the next commit.
    pub fn remove(&self, server: &str) {
        self.writer()
            .delete_term(Term::from_field_text(self.fields.of_server, server));
    }

    /// Makes what was added and removed visible, all at once, and keeps it with `reached`.
    pub fn commit(&self, reached: i64) -> Result<(), SearchError> {
        let mut writer = self.writer();
        let mut commit = writer.prepare_commit()?;
        commit.set_payload(&reached.to_string());
        commit.commit()?;
        drop(writer);
        let next = ToolIndex::read(&self.index, &self.fields, Some(&self.shown()))?;
        *self.shown.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
        Ok(())
    }

    /// Puts aside what was added and removed since the last commit.
    pub fn forget(&self) -> Result<(), SearchError> {
        self.writer().rollback()?;
        Ok(())
    }

    fn writer(&self) -> MutexGuard<'_, IndexWriter> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! Building and opening the index, and what is kept in memory of it.

use std::path::Path;
use std::sync::{Arc, Mutex};

use tantivy::directory::{Directory as _, MmapDirectory};
use tantivy::fieldnorm::FieldNormReader;
use tantivy::{
    DocId, Index, IndexReader, IndexSettings, IndexWriter, InvertedIndexReader, ReloadPolicy, SegmentReader,
};

use crate::document::ToolDocument;
use crate::error::SearchError;
use crate::meaning::WIDTH;
use crate::num::{real_u32, real_u64};
use crate::schema::{self, FIELDS, Facts, Fields, MEANING};
use crate::score::Scratch;

/// How the index is built. None of it can be seen in an order.
#[derive(Clone, Copy, Debug)]
pub struct IndexOptions {
    /// Threads that write.
    pub threads: usize,
    /// Memory they share, in bytes.
    pub memory_bytes: usize,
    /// A commit, and so a new segment, after this many tools.
    pub commit_every: usize,
}

impl Default for IndexOptions {
    fn default() -> Self {
        Self {
            threads: 1,
            memory_bytes: 64 << 20,
            commit_every: usize::MAX,
        }
    }
}

/// Where a tool is: segment and document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    pub(crate) segment: usize,
    pub(crate) doc: DocId,
}

/// The index, opened for reading. It shows the tools it had when it was opened.
pub struct ToolIndex {
    pub(crate) segments: Vec<Arc<Segment>>,
    /// Mean length of each field, in words.
    pub(crate) mean: [f32; FIELDS],
    /// Tools that are not deleted.
    pub(crate) tools: u64,
    /// Memory of finished queries, for the next ones.
    pub(crate) scratch: Arc<Mutex<Vec<Scratch>>>,
}

impl std::fmt::Debug for ToolIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolIndex")
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}

/// What is read of one segment.
pub(crate) struct Segment {
    pub(crate) text: [Arc<InvertedIndexReader>; FIELDS],
    pub(crate) norms: [FieldNormReader; FIELDS],
    pub(crate) pairs: Arc<InvertedIndexReader>,
    pub(crate) keys: Arc<InvertedIndexReader>,
    pub(crate) keys_reversed: Arc<InvertedIndexReader>,
    pub(crate) surfaces: Arc<InvertedIndexReader>,
    pub(crate) facts: Arc<Vec<Facts>>,
    meaning: Arc<Vec<i8>>,
    ids: Arc<Ids>,
    /// Words of each field, over the tools that are not deleted.
    words: [u64; FIELDS],
    pub(crate) reader: SegmentReader,
}

/// The identifiers of a segment in one allocation.
struct Ids {
    text: String,
    /// By document: its range in `text`.
    ranges: Vec<(usize, usize)>,
}

impl Segment {
    /// The directions of the whole tool and of its name.
    pub(crate) fn meaning(&self, doc: DocId) -> (&[i8], &[i8]) {
        let start = doc as usize * MEANING;
        self.meaning[start..start + MEANING].split_at(WIDTH)
    }

    pub(crate) fn id(&self, doc: DocId) -> &str {
        let range = self.ids.ranges.get(doc as usize).copied().unwrap_or_default();
        &self.ids.text[range.0..range.1]
    }

    pub(crate) fn is_alive(&self, doc: DocId) -> bool {
        self.reader.alive_bitset().is_none_or(|alive| alive.is_alive(doc))
    }
}

impl ToolIndex {
    /// Builds an index in memory.
    pub fn in_memory(
        tools: impl IntoIterator<Item = ToolDocument>,
        options: &IndexOptions,
    ) -> Result<Self, SearchError> {
        let (schema, fields) = schema::schema();
        let index = Index::create_in_ram(schema);
        write(&index, &fields, tools, options)?;
        Self::read(&index, &fields, None)
    }

    /// Builds an index in an empty folder.
    pub fn create(
        folder: &Path,
        tools: impl IntoIterator<Item = ToolDocument>,
        options: &IndexOptions,
    ) -> Result<Self, SearchError> {
        let (schema, fields) = schema::schema();
        let directory = MmapDirectory::open(folder).map_err(tantivy::TantivyError::from)?;
        directory.atomic_write(Path::new(LAYOUT_FILE), schema::LAYOUT.as_bytes())?;
        let index = Index::create(directory, schema, IndexSettings::default())?;
        write(&index, &fields, tools, options)?;
        Self::read(&index, &fields, None)
    }

    /// Opens an index that [`Self::create`] made.
    pub fn open(folder: &Path) -> Result<Self, SearchError> {
        let (schema, fields) = schema::schema();
        let directory = MmapDirectory::open(folder).map_err(tantivy::TantivyError::from)?;
        let layout = directory
            .atomic_read(Path::new(LAYOUT_FILE))
            .map_err(|_| SearchError::Layout)?;
        let index = Index::open(directory)?;
        if layout != schema::LAYOUT.as_bytes() || index.schema() != schema {
            return Err(SearchError::Layout);
        }
        Self::read(&index, &fields, None)
    }

    /// Tools in it.
    pub fn len(&self) -> u64 {
        self.tools
    }

    /// Whether it has no tool.
    pub fn is_empty(&self) -> bool {
        self.tools == 0
    }

    /// Reads what the index holds now. Of `before`, what has not changed is kept.
    pub(crate) fn read(index: &Index, fields: &Fields, before: Option<&Self>) -> Result<Self, SearchError> {
        let reader: IndexReader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .try_into()?;
        let searcher = reader.searcher();
        let readers = searcher.segment_readers().iter();
        let segments = readers
            .map(|reader| {
                let same = |old: &&Arc<Segment>| old.reader.segment_id() == reader.segment_id();
                let old = before.and_then(|before| before.segments.iter().find(same));
                segment(reader, fields, old)
            })
            .collect::<Result<Vec<_>, _>>()?;
        let tools = segments
            .iter()
            .map(|segment| u64::from(segment.reader.num_docs()))
            .sum();
        let mut mean = [1.0; FIELDS];
        for (field, mean) in mean.iter_mut().enumerate() {
            let words: u64 = segments.iter().map(|segment| segment.words[field]).sum();
            *mean = (real_u64(words) / real_u64(tools).max(1.0)).max(1.0);
        }
        Ok(Self {
            segments,
            mean,
            tools,
            scratch: before
                .map(|before| Arc::clone(&before.scratch))
                .unwrap_or_default(),
        })
    }
}

/// Says which layout the folder holds.
pub(crate) const LAYOUT_FILE: &str = "layout";

fn write(
    index: &Index,
    fields: &Fields,
    tools: impl IntoIterator<Item = ToolDocument>,
    options: &IndexOptions,
) -> Result<(), SearchError> {
    let mut writer: IndexWriter =
        index.writer_with_num_threads(options.threads.max(1), options.memory_bytes)?;
    for (count, tool) in tools.into_iter().enumerate() {
        if count > 0 && count % options.commit_every == 0 {
            writer.commit()?;
        }
        writer.add_document(schema::document(fields, &tool))?;
    }
    writer.commit()?;
    writer.wait_merging_threads()?;
    Ok(())
}

fn segment(
    reader: &SegmentReader,
    fields: &Fields,
    old: Option<&Arc<Segment>>,
) -> Result<Arc<Segment>, SearchError> {
    if let Some(old) = old.filter(|old| old.reader.num_deleted_docs() == reader.num_deleted_docs()) {
        return Ok(Arc::clone(old));
    }
    let mut text = Vec::with_capacity(FIELDS);
    let mut norms = Vec::with_capacity(FIELDS);
    for &field in &fields.text {
        text.push(reader.inverted_index(field)?);
        norms.push(reader.get_fieldnorms_reader(field)?);
    }
    let (facts, meaning, ids) = match old {
        Some(old) => (old.facts.clone(), old.meaning.clone(), old.ids.clone()),
        None => (
            Arc::new(facts(reader)?),
            Arc::new(meaning(reader)?),
            Arc::new(ids(reader)?),
        ),
    };
    let mut segment = Segment {
        text: text.try_into().map_err(|_| SearchError::Layout)?,
        norms: norms.try_into().map_err(|_| SearchError::Layout)?,
        pairs: reader.inverted_index(fields.pairs)?,
        keys: reader.inverted_index(fields.keys)?,
        keys_reversed: reader.inverted_index(fields.keys_reversed)?,
        surfaces: reader.inverted_index(fields.surfaces)?,
        facts,
        meaning,
        ids,
        words: [0; FIELDS],
        reader: reader.clone(),
    };
    segment.words = std::array::from_fn(|field| length(&segment, field));
    Ok(Arc::new(segment))
}

fn facts(reader: &SegmentReader) -> Result<Vec<Facts>, SearchError> {
    let column = reader.fast_fields().u64("facts")?;
    let mut values = Vec::new();
    (0..reader.max_doc())
        .map(|doc| {
            values.clear();
            values.extend(column.values_for_doc(doc));
            Facts::from_values(&values).ok_or(SearchError::Layout)
        })
        .collect()
}

fn meaning(reader: &SegmentReader) -> Result<Vec<i8>, SearchError> {
    let column = reader.fast_fields().u64("meaning")?;
    let mut out = Vec::with_capacity(reader.max_doc() as usize * MEANING);
    for doc in 0..reader.max_doc() {
        if schema::meaning_of(column.values_for_doc(doc), &mut out) != MEANING {
            return Err(SearchError::Layout);
        }
    }
    Ok(out)
}

fn ids(reader: &SegmentReader) -> Result<Ids, SearchError> {
    let column = reader.fast_fields().str("id")?.ok_or(SearchError::Layout)?;
    let mut text = String::new();
    let mut by_rank = Vec::new();
    let mut terms = column.dictionary().stream()?;
    while terms.advance() {
        let start = text.len();
        text.push_str(std::str::from_utf8(terms.key()).map_err(|_| SearchError::Layout)?);
        by_rank.push((start, text.len()));
    }
    let rank = |doc| {
        column
            .term_ords(doc)
            .next()
            .and_then(|rank| usize::try_from(rank).ok())
    };
    let ranges = (0..reader.max_doc())
        .map(|doc| {
            rank(doc)
                .and_then(|rank| by_rank.get(rank).copied())
                .unwrap_or_default()
        })
        .collect();
    Ok(Ids { text, ranges })
}

/// Words of a field over the tools that are not deleted, as the norms tell them: those do not depend on segments.
fn length(segment: &Segment, field: usize) -> u64 {
    let norms = &segment.norms[field];
    let alive = (0..segment.reader.max_doc()).filter(|&doc| segment.is_alive(doc));
    alive.map(|doc| u64::from(norms.fieldnorm(doc))).sum()
}

/// Share of tools, as a weight of a word: rare words tell more.
pub(crate) fn rarity(tools: u64, having: u32) -> f32 {
    let (tools, having) = (real_u64(tools), real_u32(having));
    (1.0 + (tools - having + 0.5).max(0.5) / (having + 0.5)).ln()
}

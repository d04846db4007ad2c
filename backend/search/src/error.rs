//! Why the index could not do its work.

/// Why the index could not be made, opened or read.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The engine refused.
    #[error("the search index failed")]
    Engine(#[from] tantivy::TantivyError),
    /// Its files could not be read.
    #[error("the search index cannot be read")]
    Read(#[from] std::io::Error),
    /// Another process writes it.
    #[error("another process writes the search index")]
    Busy,
    /// It was made by another version of the program.
    #[error("the search index has another layout; it must be built again")]
    Layout,
}

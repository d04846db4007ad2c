//! The derived index of tools, and the ranking behind `find_tools`: which tools do what a person or a model asks for.
//!
//! The index holds what ranking needs and gives back identifiers; the truth about a tool is in the store. It can be
//! lost at any time and built again. Ranking is a function of the documents and the query alone: segment layout,
//! thread count and time of building leave no trace in the order.

mod analysis;
mod bounds;
mod document;
mod error;
mod exact;
mod family;
mod features;
mod hits;
mod honesty;
mod index;
mod meaning;
mod num;
mod plan;
mod rank;
mod rerank;
mod schema;
mod score;
mod shape;
mod text;

pub use document::{Parameter, ToolDocument};
pub use error::SearchError;
pub use hits::{Hit, Match, Strength};
pub use index::{IndexOptions, ToolIndex};
pub use rank::{Mode, SearchOptions};

//! The derived index of tools, and the ranking behind `find_tools`: which tools do what a person or a model asks for.
//!
//! The index holds what ranking needs and gives back identifiers; the truth about a tool is in the store. It can be
//! lost at any time and built again. Ranking is a function of the documents and the query alone: segment layout,
//! thread count and time of building leave no trace in the order.

mod analysis;
mod bounds;
mod complete;
mod document;
mod error;
mod exact;
mod family;
mod features;
mod filter;
mod highlight;
mod hits;
mod honesty;
mod index;
mod labels;
mod list;
mod live;
mod meaning;
mod num;
mod plan;
mod query;
mod rank;
mod repair;
mod rerank;
mod schema;
mod score;
mod shape;
mod tally;
mod text;

pub use complete::Completion;
pub use document::{Parameter, ToolDocument};
pub use error::SearchError;
pub use filter::{Clause, Facet, Filter};
pub use highlight::highlights;
pub use hits::{Found, Hit, Match, Strength};
pub use index::{IndexOptions, ToolIndex};
pub use labels::{GROUPS, Labels, Wanted};
pub use list::{After, ListOptions, Listed, Listing};
pub use live::LiveIndex;
pub use query::Typed;
pub use rank::{Mode, SearchOptions};

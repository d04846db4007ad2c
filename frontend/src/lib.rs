//! Pages: one view struct per page gives the HTML and its `.json` twin, so the two cannot disagree.
//!
//! No I/O and no routes: the server hands in domain types and sends what [`Page`] gives back. Text that others wrote
//! is a [`foreign::Foreign`] and reaches a page only through it, so that it is escaped, bounded, isolated from the
//! direction of the text around it, and shows its hidden characters.

pub mod assets;
pub mod docs;
pub mod foreign;
pub mod links;
pub mod paths;
pub mod snippets;
pub mod views;

use serde::Serialize;

/// A page: HTML for people, JSON for programs, from the same struct.
pub trait Page {
    /// The whole HTML document.
    fn render(&self) -> Result<String, askama::Error>;

    /// The JSON twin, `schema` first.
    fn json(&self) -> Result<String, serde_json::Error>;
}

impl<T: askama::Template + Serialize> Page for T {
    fn render(&self) -> Result<String, askama::Error> {
        askama::Template::render(self)
    }

    fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }
}

//! `/alerts/{id}/{code}`: where a reader of mailed alerts confirms the address, or stops them.

use askama::Template;
use serde::Serialize;

use super::{Head, Site};
use crate::foreign::Foreign;

#[derive(Debug, Serialize, Template)]
#[template(path = "reader.html")]
pub struct ReaderView {
    pub schema: &'static str,
    #[serde(skip)]
    pub head: Head,
    pub address: Foreign,
    /// Messages are sent now.
    pub active: bool,
    /// The address was never confirmed.
    pub unconfirmed: bool,
    #[serde(skip)]
    pub path: String,
}

impl ReaderView {
    /// `path`: of this page, with the code.
    pub fn new(site: &Site, path: String, address: &str, active: bool, unconfirmed: bool) -> Self {
        let mut head = Head::new(site, "/".to_owned(), "alerts by mail");
        head.indexed = false;
        // The code in the path is for its reader alone.
        head.public_url = None;
        Self {
            schema: "toolmark.page.reader/1",
            head,
            address: Foreign::line(address),
            active,
            unconfirmed,
            path,
        }
    }
}

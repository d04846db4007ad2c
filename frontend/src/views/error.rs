//! Error pages: what happened, and a way onward.

use askama::Template;
use serde::Serialize;

use super::{Head, Site};
use crate::foreign::Foreign;

#[derive(Debug, Serialize, Template)]
#[template(path = "error.html")]
pub struct ErrorView {
    pub schema: &'static str,
    #[serde(skip)]
    pub head: Head,
    pub status: u16,
    /// The stable code of the problem, as in the API.
    pub code: String,
    /// What happened, for people. May hold foreign words.
    pub detail: Foreign,
    pub hint: Option<Foreign>,
    /// Of the request, to quote when asking for help.
    pub request_id: Option<String>,
}

impl ErrorView {
    pub fn new(site: &Site, status: u16, code: &str, detail: &str) -> Self {
        let mut head = Head::new(site, "/".to_owned(), heading(status));
        head.indexed = false;
        // An error has no address of its own.
        head.public_url = None;
        Self {
            schema: "toolmark.page.error/1",
            head,
            status,
            code: code.to_owned(),
            detail: Foreign::line(detail),
            hint: None,
            request_id: None,
        }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: &str) -> Self {
        self.hint = Some(Foreign::line(hint));
        self
    }

    /// Adds the id of the request.
    #[must_use]
    pub fn with_request_id(mut self, id: &str) -> Self {
        self.request_id = Some(id.to_owned());
        self
    }

    /// The heading of the page.
    pub fn heading(&self) -> &'static str {
        heading(self.status)
    }
}

fn heading(status: u16) -> &'static str {
    match status {
        400 => "This request cannot be read",
        404 => "Not in the record",
        410 => "Taken out of the record",
        414 => "This address is too long",
        429 => "Too many requests",
        503 => "The store does not answer",
        _ if (400..500).contains(&status) => "This request was refused",
        _ => "Something failed here",
    }
}

//! `GET /servers`: the list, page by page.

use std::fmt::Write as _;

use axum::extract::State;
use axum::response::Response;
use toolmark_domain::limits::{CURSOR_BYTES, LIST_SEARCH_CHARS, PAGE_DEFAULT, PAGE_MAX, VERSION_CHARS};
use toolmark_domain::timestamp::Timestamp;
use toolmark_registry::{PageKey, StoreError, VersionChoice, VersionFilter};

use super::list_body;
use crate::cursor::{self, ListCursor};
use crate::extract::{Ask, Official};
use crate::problem::{Code, FieldError, Problem};
use crate::state::App;

const BAD_SINCE: &str =
    "Invalid updated_since format: expected RFC3339 timestamp (e.g., 2025-08-07T13:15:04.280Z)";
const SINCE_NEEDS_DELETED: &str =
    "Cannot set include_deleted=false when using updated_since (incremental sync requires deleted servers)";

pub(crate) async fn list_servers(State(app): State<App>, ask: Ask) -> Result<Response, Problem> {
    let asked = Asked::read(ask.query())?;
    let entry = app
        .lists
        .page(&app.registry, asked.key(), page(&app, &asked))
        .await?;
    Ok(entry.respond(ask.headers()))
}

async fn page(app: &App, asked: &Asked) -> Result<String, StoreError> {
    let rows = app
        .registry
        .list_versions(&asked.filter, asked.after.as_ref(), asked.limit)
        .await?;
    // As upstream: a full page names a next one, even when that is empty.
    let full = u32::try_from(rows.len()).is_ok_and(|count| count >= asked.limit);
    let next = rows
        .last()
        .filter(|_| full)
        .map(|row| asked.next(row.server.as_str(), row.version.as_str()));
    Ok(list_body(&rows, next.as_deref()))
}

/// A page of the list, as asked.
#[derive(Debug)]
struct Asked {
    filter: VersionFilter,
    after: Option<PageKey>,
    limit: u32,
}

impl Asked {
    fn read(query: Option<&str>) -> Result<Self, Problem> {
        let mut read = Official::parse(query);
        let limit = read.integer("limit", 1, PAGE_MAX).unwrap_or(PAGE_DEFAULT);
        let include_deleted = read.boolean("include_deleted");
        let search = read.text("search", LIST_SEARCH_CHARS);
        let version = read.text("version", VERSION_CHARS);
        let since = read.text("updated_since", 64);
        let cursor = read.text("cursor", CURSOR_BYTES);
        let cursor = match cursor.as_deref().map(ListCursor::read) {
            Some(None) => {
                let shown = cursor.unwrap_or_default().chars().take(64).collect::<String>();
                read.errors
                    .push(FieldError::at("invalid cursor", "query.cursor", shown));
                None
            }
            Some(Some(cursor)) => Some(cursor),
            None => None,
        };
        read.finish()?;

        let since = since
            .map(|text| text.parse::<Timestamp>())
            .transpose()
            .map_err(|_| Problem::new(Code::InvalidParameter, BAD_SINCE))?;
        if since.is_some() && include_deleted == Some(false) {
            return Err(Problem::new(Code::InvalidParameter, SINCE_NEEDS_DELETED));
        }
        // What the request leaves out is as on the page before; what it says again counts.
        let carried = cursor.clone().unwrap_or_default();
        let since = since.or(carried.updated_since.map(Timestamp::from_micros));
        let filter = VersionFilter {
            include_deleted: since.is_some() || include_deleted.unwrap_or(carried.include_deleted),
            search: search
                .or(carried.search)
                .filter(|search| !search.trim().is_empty()),
            version: version.or(carried.choice).map(choice),
            updated_since: since,
            name: None,
        };
        let after = cursor.map(|cursor| PageKey {
            name: cursor.name,
            version: cursor.version,
        });
        Ok(Self { filter, after, limit })
    }

    /// Where the page after the row `name`, `version` starts.
    fn next(&self, name: &str, version: &str) -> String {
        cursor::encode(&ListCursor {
            name: name.to_owned(),
            version: Some(version.to_owned()),
            search: self.filter.search.clone(),
            choice: self.filter.version.as_ref().map(|choice| match choice {
                VersionChoice::Latest => "latest".to_owned(),
                VersionChoice::Exact(version) => version.clone(),
            }),
            updated_since: self.filter.updated_since.map(Timestamp::as_micros),
            include_deleted: self.filter.include_deleted,
        })
    }

    /// The same text exactly for the same page.
    fn key(&self) -> String {
        let mut key = String::with_capacity(96);
        let filter = &self.filter;
        let _ = write!(key, "{},{}", self.limit, u8::from(filter.include_deleted));
        if let Some(since) = filter.updated_since {
            let _ = write!(key, ",u{}", since.as_micros());
        }
        // Lengths keep two different queries from giving one key.
        let mut part = |mark: char, text: &str| {
            let _ = write!(key, ",{mark}{}:{text}", text.len());
        };
        match &filter.version {
            Some(VersionChoice::Latest) => part('l', ""),
            Some(VersionChoice::Exact(version)) => part('e', version),
            None => {}
        }
        if let Some(search) = &filter.search {
            part('s', search);
        }
        if let Some(after) = &self.after {
            part('n', &after.name);
            if let Some(version) = &after.version {
                part('v', version);
            }
        }
        key
    }
}

fn choice(text: String) -> VersionChoice {
    if text == "latest" {
        VersionChoice::Latest
    } else {
        VersionChoice::Exact(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Asked {
        Asked::read(Some(query)).unwrap()
    }

    fn detail(query: &str) -> String {
        Asked::read(Some(query)).unwrap_err().detail().to_owned()
    }

    #[test]
    fn page_two_without_its_filters_is_still_filtered() {
        let first = read("search=two+words&version=latest&limit=50&updated_since=2026-01-01T00:00:00Z");
        let cursor = first.next("a/b", "1.0.0");
        let second = read(&format!("limit=50&cursor={cursor}"));
        assert_eq!(second.filter.search.as_deref(), Some("two words"));
        assert_eq!(second.filter.version, Some(VersionChoice::Latest));
        assert_eq!(second.filter.updated_since, first.filter.updated_since);
        assert!(second.filter.include_deleted);
        assert_eq!(second.after.unwrap().name, "a/b");
        let other = read(&format!("search=else&cursor={cursor}"));
        assert_eq!(other.filter.search.as_deref(), Some("else"));
    }

    #[test]
    fn the_longest_filters_fit_a_cursor() {
        let search = "%F0%9F%98%80".repeat(LIST_SEARCH_CHARS);
        let version = "%F0%9F%98%80".repeat(VERSION_CHARS);
        let first = read(&format!("search={search}&version={version}"));
        let cursor = first.next(&"n".repeat(200), &"\u{1F600}".repeat(VERSION_CHARS));
        assert!(cursor.len() <= CURSOR_BYTES, "{}", cursor.len());
        assert_eq!(
            read(&format!("cursor={cursor}")).filter.search,
            first.filter.search
        );
    }

    #[test]
    fn updated_since_has_upstreams_rules() {
        assert!(read("updated_since=2026-01-01T00:00:00Z").filter.include_deleted);
        assert_eq!(detail("updated_since=yesterday"), BAD_SINCE);
        assert_eq!(
            detail("updated_since=2026-01-01T00:00:00Z&include_deleted=false"),
            SINCE_NEEDS_DELETED
        );
        assert_eq!(detail("cursor=eyJx"), "validation failed");
    }

    #[test]
    fn different_pages_have_different_keys() {
        let queries = [
            "",
            "limit=31",
            "search=a",
            "version=a",
            "version=latest",
            "cursor=a",
            "cursor=a:",
            "cursor=a:b",
            "include_deleted=1",
            "updated_since=2026-01-01T00:00:00Z",
            "search=a,e1:b",
            "search=a&version=b",
        ];
        let keys: std::collections::HashSet<String> = queries.iter().map(|query| read(query).key()).collect();
        assert_eq!(keys.len(), queries.len());
        assert_eq!(read("q=x&limit=30").key(), read("").key());
    }
}

//! `GET /api/v1/servers`: servers by name, each by its current version.

use axum::extract::State;
use axum::response::Response;
use toolmark_domain::limits::{CURSOR_BYTES, LIST_SEARCH_CHARS, PAGE_DEFAULT, PAGE_MAX, SERVER_NAME_CHARS};
use toolmark_registry::ServerFilter;

use super::shapes::ServerPage;
use super::{invalid_cursor, text};
use crate::cursor;
use crate::extract::{Ask, Own};
use crate::problem::Problem;
use crate::state::App;

/// Its parameters.
const KNOWN: &[&str] = &["q", "namespace", "kind", "limit", "cursor"];
/// First part of its cursors: search, namespace, kind, last name.
const CURSOR: &str = "s1";

#[utoipa::path(
    get, path = "/api/v1/servers", tag = "servers", operation_id = "list_servers",
    summary = "List servers by name",
    description = "Each server once, by its current version. All filters hold together.",
    params(
        ("q" = Option<String>, Query, max_length = 200, pattern = r"^[^\u0000]*$",
            description = "Words, each of which must stand in the name, title or description."),
        ("namespace" = Option<String>, Query, max_length = 200, pattern = r"^[^\u0000]*$",
            description = "Only servers of this namespace."),
        ("kind" = Option<String>, Query, max_length = 40, pattern = r"^[^\u0000]*$",
            description = "`npm`, `pypi`, `oci`, …, or `remote`: the current version has such a target."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "Most servers of the page; 30 unless given."),
        ("cursor" = Option<String>, Query, max_length = 6144, pattern = r"^s1(-([0-9a-f]{2})*){4}$",
            description = "`next_cursor` of the page before. It carries the filters; what is given beside it counts."),
    ),
    responses((status = 200, body = ServerPage, description = "A page."))
)]
pub(crate) async fn list_own_servers(State(app): State<App>, ask: Ask) -> Result<Response, Problem> {
    let asked = Asked::read(ask.query())?;
    let key = format!(
        "own,{},{}",
        asked.limit,
        asked.cursor(asked.after.as_deref().unwrap_or_default())
    );
    let entry = app
        .lists
        .page(&app.registry, key, async {
            // One more than asked tells whether there is a next page.
            let mut found = app
                .registry
                .list_servers(&asked.filter, asked.after.as_deref(), asked.limit + 1)
                .await?;
            let more = found.len() > asked.limit as usize;
            found.truncate(asked.limit as usize);
            let last = found.last().filter(|_| more);
            let next_cursor = last.map(|summary| asked.cursor(summary.name.as_str()));
            let servers = found.into_iter().map(Into::into).collect();
            Ok(text(&ServerPage { servers, next_cursor }))
        })
        .await?;
    Ok(entry.respond(ask.headers()))
}

struct Asked {
    filter: ServerFilter,
    after: Option<String>,
    limit: u32,
}

impl Asked {
    fn read(query: Option<&str>) -> Result<Self, Problem> {
        let mut read = Own::parse(query, KNOWN);
        let limit = read.integer("limit", 1, i64::from(PAGE_MAX));
        let limit = limit
            .and_then(|limit| u32::try_from(limit).ok())
            .unwrap_or(PAGE_DEFAULT);
        let search = read.text("q", LIST_SEARCH_CHARS);
        let namespace = read.text("namespace", SERVER_NAME_CHARS.1);
        let kind = read.text("kind", 40);
        let cursor = read.text("cursor", CURSOR_BYTES);
        read.finish()?;
        let carried = match cursor {
            Some(cursor) => cursor::parts(&cursor, CURSOR)
                .ok_or_else(invalid_cursor)?
                .map(Some),
            None => [const { None }; 4],
        };
        let [carried_search, carried_namespace, carried_kind, after] = carried;
        let set = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        Ok(Self {
            filter: ServerFilter {
                search: set(search.or(carried_search)),
                namespace: set(namespace.or(carried_namespace)),
                kind: set(kind.or(carried_kind)),
            },
            after,
            limit,
        })
    }

    fn cursor(&self, last: &str) -> String {
        let part = |text: &Option<String>| text.clone().unwrap_or_default();
        let filter = &self.filter;
        cursor::join(
            CURSOR,
            &[
                &part(&filter.search),
                &part(&filter.namespace),
                &part(&filter.kind),
                last,
            ],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_carries_its_filters_and_every_well_formed_one_is_read() {
        let first = Asked::read(Some("q=two+words&namespace=com.example&limit=7")).unwrap();
        let cursor = first.cursor("com.example/x");
        let second = Asked::read(Some(&format!("cursor={cursor}"))).unwrap();
        assert_eq!(second.filter, first.filter);
        assert_eq!(second.after.as_deref(), Some("com.example/x"));
        for odd in ["s1----", "s1-ff-00--fe80"] {
            assert!(Asked::read(Some(&format!("cursor={odd}"))).is_ok(), "{odd}");
        }
        for wrong in [
            "",
            "s1",
            "s1---",
            "s1-----",
            "v1-00-00-00-00",
            "s1-0----",
            "s1-AA---",
            "abc",
        ] {
            assert!(Asked::read(Some(&format!("cursor={wrong}"))).is_err(), "{wrong}");
        }
    }
}

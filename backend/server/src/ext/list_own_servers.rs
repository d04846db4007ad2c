//! `GET /api/v1/servers`: servers by name, each by its current version.

use axum::extract::State;
use axum::response::Response;
use toolmark_domain::limits::{CURSOR_BYTES, LIST_SEARCH_CHARS, PAGE_DEFAULT, PAGE_MAX, SERVER_NAME_CHARS};
use toolmark_domain::target::REMOTE;
use toolmark_registry::ServerFilter;
use toolmark_registry::search::{After, ListOptions, Typed};

use super::shapes::ServerPage;
use super::{find_problem, invalid_cursor, text};
use crate::answer;
use crate::cursor;
use crate::extract::{Ask, Own};
use crate::problem::Problem;
use crate::state::App;

/// Its parameters.
const KNOWN: &[&str] = &["q", "namespace", "kind", "limit", "cursor"];
/// What a target can be. Imported documents may name others, which nothing can be asked about.
const KINDS: &[&str] = &["npm", "pypi", "oci", "mcpb", "nuget", "cargo", REMOTE];
/// First part of its cursors: search, namespace, kind, last name.
const CURSOR: &str = "s1";

#[utoipa::path(
    get, path = "/api/v1/servers", tag = "servers", operation_id = "list_servers",
    summary = "List servers by name",
    description = "Each server once, by its current version. All filters hold together. With `q` the best ones first, \
        ranked by the search index; without it all of them by name.",
    params(
        ("q" = Option<String>, Query, max_length = 200, pattern = r"^[^\u0000]*$",
            description = "What it is called, what it is for, what its tools do. In it `name:`, `ns:`, `-word` and a phrase in quotation marks narrow the list."),
        ("namespace" = Option<String>, Query, max_length = 200, pattern = r"^[^\u0000]*$",
            description = "Only servers of this namespace."),
        ("kind" = Option<String>, Query, pattern = r"^(npm|pypi|oci|mcpb|nuget|cargo|remote)$",
            description = "The current version has such a target: `npm`, `pypi`, `oci`, `mcpb`, `nuget`, `cargo`, `remote`."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "Most servers of the page; 30 unless given."),
        ("cursor" = Option<String>, Query, max_length = 6144, pattern = r"^s1(-([0-9a-f]{2})*){4}$",
            description = "`next_cursor` of the page before. It carries the filters; what is given beside it counts."),
    ),
    responses((status = 200, body = ServerPage, description = "A page."))
)]
pub(crate) async fn list_own_servers(State(app): State<App>, ask: Ask) -> Result<Response, Problem> {
    let asked = Asked::read(ask.query())?;
    if asked.filter.search.is_some() {
        return ranked(&app, &ask, &asked).await;
    }
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

/// The servers that fit the words best. Their cursor has the place of the last one before its name.
async fn ranked(app: &App, ask: &Ask, asked: &Asked) -> Result<Response, Problem> {
    let typed = Typed::read(asked.filter.search.as_deref().unwrap_or_default());
    let mut filter = typed.filter;
    if let Some(kind) = &asked.filter.kind
        && !filter.wanted.add("registry_type", kind)
    {
        // A kind nobody counts: no server has it.
        return Ok(answer::json(
            text(&ServerPage {
                servers: Vec::new(),
                next_cursor: None,
            }),
            ask.headers(),
        ));
    }
    if let Some(namespace) = &asked.filter.namespace {
        filter.namespace = Some(namespace.clone());
    }
    let after = asked.after.as_deref().map(|after| {
        let (place, id) = after.split_once(' ').unwrap_or(("", after));
        After {
            id: id.to_owned(),
            place: place.parse().unwrap_or_default(),
        }
    });
    let options = ListOptions {
        mode: app.registry.settings().search_mode,
        limit: asked.limit as usize,
        after,
        filter,
        per_server: usize::MAX,
    };
    let page = app.registry.find_servers(&typed.text, options).await;
    let page = page.map_err(|error| find_problem(&error))?;
    let last = page.listing.hits.last().filter(|_| page.listing.more);
    let next_cursor = last.map(|last| asked.cursor(&format!("{} {}", last.place, last.hit.id)));
    let servers = page.servers.into_iter().map(|(summary, ..)| summary.into());
    let body = ServerPage {
        servers: servers.collect(),
        next_cursor,
    };
    Ok(answer::json(text(&body), ask.headers()))
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
        let kind = read.word("kind", KINDS);
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

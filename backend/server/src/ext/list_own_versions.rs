//! `GET /api/v1/servers/{name}/versions`: a server's versions, the greatest first.

use std::cmp::Ordering;

use axum::extract::State;
use axum::response::Response;
use toolmark_domain::limits::{CURSOR_BYTES, PAGE_DEFAULT, PAGE_MAX};
use toolmark_domain::record::Version;
use toolmark_domain::timestamp::Timestamp;
use toolmark_domain::version::compare;

use super::shapes::{VersionFacts, VersionPage};
use super::{invalid_cursor, no_server, text};
use crate::answer;
use crate::api::absent_as;
use crate::cursor;
use crate::extract::{Ask, Own, Segments};
use crate::lists::store_problem;
use crate::problem::Problem;
use crate::state::App;

/// Its parameters.
const KNOWN: &[&str] = &["include_deleted", "limit", "cursor"];
/// First part of its cursors: last version, when it was published, whether deleted ones are shown.
const CURSOR: &str = "v1";

#[utoipa::path(
    get, path = "/api/v1/servers/{name}/versions", tag = "servers", operation_id = "list_versions",
    summary = "List the versions of a server",
    description = "The greatest first: semantic versions by precedence, before all others; those by time of publication.",
    params(
        ("name" = String, Path, max_length = 200, min_length = 1, pattern = r"^[^\u0000]+$",
            description = "`namespace/name`, with the slash percent-encoded."),
        ("include_deleted" = Option<bool>, Query, description = "Whether to show deleted versions."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "Most versions of the page; 30 unless given."),
        ("cursor" = Option<String>, Query, max_length = 6144, pattern = r"^v1(-([0-9a-f]{2})*){3}$",
            description = "`next_cursor` of the page before. It carries the filters; what is given beside it counts."),
    ),
    responses((status = 200, body = VersionPage, description = "A page."))
)]
pub(crate) async fn list_own_versions(
    State(app): State<App>,
    Segments([name]): Segments<1>,
    ask: Ask,
) -> Result<Response, Problem> {
    let asked = Asked::read(ask.query())?;
    let all = app.registry.versions_of(&name, true).await;
    let mut all = all.map_err(|error| store_problem(&error))?;
    if all.is_empty() {
        return absent_as(&app, ask.uri(), &name, 4, || no_server(&name)).await;
    }
    all.retain(|version| asked.include_deleted || version.status != toolmark_domain::status::Status::Deleted);
    all.sort_by(|a, b| order(key(a), key(b)));
    let mut page = all
        .iter()
        .filter(|version| {
            asked
                .after
                .as_ref()
                .is_none_or(|(text, at)| order(key(version), (text.as_str(), *at)).is_gt())
        })
        .peekable();
    let shown: Vec<&Version> = page.by_ref().take(asked.limit).collect();
    let more = page.peek().is_some();
    let next_cursor = shown.last().filter(|_| more).map(|version| asked.next(version));
    let body = VersionPage {
        name,
        versions: shown.into_iter().map(VersionFacts::from).collect(),
        next_cursor,
    };
    Ok(answer::json(text(&body), ask.headers()))
}

fn key(version: &Version) -> (&str, Timestamp) {
    (version.version.as_str(), version.published_at)
}

/// The greatest first; among equals the one published last, then by text.
fn order(a: (&str, Timestamp), b: (&str, Timestamp)) -> Ordering {
    compare(b, a)
        .then_with(|| b.1.cmp(&a.1))
        .then_with(|| a.0.cmp(b.0))
}

struct Asked {
    include_deleted: bool,
    limit: usize,
    after: Option<(String, Timestamp)>,
}

impl Asked {
    fn read(query: Option<&str>) -> Result<Self, Problem> {
        let mut read = Own::parse(query, KNOWN);
        let include_deleted = read.boolean("include_deleted");
        let limit = read.integer("limit", 1, i64::from(PAGE_MAX));
        let cursor = read.text("cursor", CURSOR_BYTES);
        read.finish()?;
        let carried: Option<[String; 3]> = match cursor {
            Some(cursor) => Some(cursor::parts(&cursor, CURSOR).ok_or_else(invalid_cursor)?),
            None => None,
        };
        let carried_deleted = carried.as_ref().is_some_and(|[_, _, deleted]| deleted == "d");
        Ok(Self {
            include_deleted: include_deleted.unwrap_or(carried_deleted),
            limit: limit
                .and_then(|limit| usize::try_from(limit).ok())
                .unwrap_or(PAGE_DEFAULT as usize),
            after: carried
                .map(|[version, at, _]| (version, Timestamp::from_micros(at.parse().unwrap_or_default()))),
        })
    }

    fn next(&self, last: &Version) -> String {
        let at = last.published_at.as_micros().to_string();
        let deleted = if self.include_deleted { "d" } else { "" };
        cursor::join(CURSOR, &[last.version.as_str(), &at, deleted])
    }
}

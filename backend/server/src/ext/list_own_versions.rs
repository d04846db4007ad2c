//! `GET /api/v1/servers/{name}/versions`: a server's versions, the greatest first.

use axum::extract::State;
use axum::response::Response;
use toolmark_domain::limits::{CURSOR_BYTES, PAGE_DEFAULT, PAGE_MAX};
use toolmark_domain::record::Outline;
use toolmark_domain::status::Status;
use toolmark_domain::timestamp::Timestamp;
use toolmark_domain::version::VersionId;

use super::shapes::{VersionFacts, VersionPage};
use super::{invalid_cursor, no_server, text};
use crate::answer;
use crate::api::absent_as;
use crate::cursor;
use crate::extract::{Ask, Own, Segments};
use crate::lists::store_problem;
use crate::outlines::outlines;
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
        ("cursor" = Option<String>, Query, max_length = 600, pattern = r"^v1-([2-6][0-9a-f]|7[0-9a-e]){1,200}-(3[0-9]){1,16}-(64)?$",
            description = "`next_cursor` of the page before. It carries the filters; what is given beside it counts."),
    ),
    responses((status = 200, body = VersionPage, description = "A page."))
)]
pub(crate) async fn list_own_versions(
    State(app): State<App>,
    Segments([name]): Segments<1>,
    ask: Ask,
) -> Result<Response, Problem> {
    let all = outlines(&app, &name).await?;
    if all.is_empty() {
        return absent_as(&app, ask.uri(), &name, 4, || no_server(&name)).await;
    }
    let asked = Asked::read(ask.query())?;
    // The place of the cursor stays one when its version is gone, or deleted and left out.
    let from = match &asked.after {
        Some(after) => all.partition_point(|outline| outline.newest_first(after).is_le()),
        None => 0,
    };
    let mut page = all[from..]
        .iter()
        .filter(|outline| asked.include_deleted || outline.status != Status::Deleted);
    let shown: Vec<&Outline> = page.by_ref().take(asked.limit).collect();
    let more = page.next().is_some();
    let next_cursor = shown.last().filter(|_| more).map(|last| asked.next(last));
    let wanted: Vec<VersionId> = shown.iter().map(|outline| outline.version.clone()).collect();
    let versions = app.registry.versions_named(&name, &wanted).await;
    let mut versions = versions.map_err(|error| store_problem(&error))?;
    versions.sort_by(|a, b| Outline::from(a).newest_first(&Outline::from(b)));
    let body = VersionPage {
        name,
        versions: versions.iter().map(VersionFacts::from).collect(),
        next_cursor,
    };
    Ok(answer::json(text(&body), ask.headers()))
}

struct Asked {
    include_deleted: bool,
    limit: usize,
    after: Option<Outline>,
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
            after: carried.map(place).transpose()?,
        })
    }

    fn next(&self, last: &Outline) -> String {
        let at = last.published_at.as_micros().to_string();
        let deleted = if self.include_deleted { "d" } else { "" };
        cursor::join(CURSOR, &[last.version.as_str(), &at, deleted])
    }
}

/// The place a cursor names; only its version and its time count.
fn place([version, at, _]: [String; 3]) -> Result<Outline, Problem> {
    Ok(Outline {
        version: VersionId::parse(&version).map_err(|_| invalid_cursor())?,
        status: Status::Active,
        published_at: Timestamp::from_micros(at.parse().unwrap_or_default()),
        is_current: false,
    })
}

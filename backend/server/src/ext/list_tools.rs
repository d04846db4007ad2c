//! `GET /api/v1/tools`: tools of current versions, ranked, narrowed and counted.

use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use serde_json::Value;
use toolmark_domain::find::summary;
use toolmark_registry::search::{After, Facet, highlights};
use toolmark_registry::{FindError, ListedTool};
use utoipa::ToSchema;

use super::listing::Narrowed;
use super::text;
use crate::answer;
use crate::extract::Ask;
use crate::problem::{Code, Problem};
use crate::state::App;

/// First part of its cursors: words, what narrows it, place and id of the last tool.
const CURSOR: &str = "t1";
/// Longest summary, in characters.
const SUMMARY_CHARS: usize = 240;

/// A page of tools.
#[derive(Serialize, ToSchema)]
pub(crate) struct ToolPage {
    tools: Vec<ToolRow>,
    /// How many were found; copies count.
    total: usize,
    facets: Vec<FacetCounts>,
    /// Words of the query that not every tool of the list has.
    relaxed: Vec<String>,
    /// Words that were searched for in place of others.
    instead: Vec<Instead>,
    /// What each word weighs in the order; only with `explain=1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    weights: Option<Vec<WordWeight>>,
    /// The event the index reflects.
    event: i64,
    next_cursor: Option<String>,
}

/// A value and how many tools have it.
#[derive(Serialize, ToSchema)]
pub(crate) struct ValueCount {
    value: String,
    count: u32,
}

/// How the tools found divide.
#[derive(Serialize, ToSchema)]
pub(crate) struct FacetCounts {
    name: String,
    values: Vec<ValueCount>,
}

/// A word and the one searched for in its place.
#[derive(Serialize, ToSchema)]
pub(crate) struct Instead {
    word: String,
    searched: String,
}

/// A word of the query and its weight on a fixed grid.
#[derive(Serialize, ToSchema)]
pub(crate) struct WordWeight {
    word: String,
    weight: i64,
}

/// A word of the query that the tool has.
#[derive(Serialize, ToSchema)]
pub(crate) struct Reason {
    word: String,
    /// `name`, `server`, `description`, `parameters`, `server_text`, `parameter_text`.
    fields: Vec<String>,
}

/// A tool of the current version of a server. Texts are its author's.
#[derive(Serialize, ToSchema)]
pub(crate) struct ToolRow {
    /// `ns/name#tool`.
    id: String,
    server: String,
    name: String,
    title: Option<String>,
    summary: String,
    /// Where words of the query stand in `summary`, as pairs of character offsets.
    highlights: Vec<[usize; 2]>,
    /// `exact`, `strong`, `weak`; null in a list without words.
    r#match: Option<String>,
    why: Vec<Reason>,
    version: String,
    /// The verdict on its origin; null while it was not checked.
    verdict: Option<String>,
    #[schema(format = DateTime)]
    first_seen: Option<String>,
    #[schema(format = DateTime)]
    last_changed: Option<String>,
    /// Open findings of high or critical severity.
    high_findings: usize,
    also_in: Vec<String>,
    /// How many tools of its server were found.
    of_server: usize,
    /// What its definition costs a model.
    tokens: usize,
    /// The numbers of the order on a fixed grid: in all, and of the first stage the whole query, its best part and
    /// neighbouring words; only with `explain=1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    score: Option<[i64; 4]>,
}

#[utoipa::path(
    get, path = "/api/v1/tools", tag = "search", operation_id = "list_tools",
    summary = "Search tools",
    description = "Tools of current versions, best first; without words all of them. In `q`, `name:`, `server:` and `ns:` \
        narrow the list, `-word` leaves out, and a phrase stands in quotation marks.",
    params(
        ("q" = Option<String>, Query, max_length = 2000, pattern = r"^[^\u0000]*$", description = "What it should do, or what it is called."),
        ("namespace" = Option<String>, Query, max_length = 200, pattern = r"^[^\u0000]*$", description = "Only servers of this namespace and those below it."),
        ("server" = Option<String>, Query, max_length = 200, pattern = r"^[^\u0000]*$", description = "Only this server."),
        ("registry_type" = Option<String>, Query, pattern = "^(npm|pypi|oci|mcpb|nuget|cargo|remote)?$", description = "The version has such a target."),
        ("transport" = Option<String>, Query, pattern = "^(stdio|streamable-http|sse)?$", description = "The version has such a target."),
        ("era" = Option<String>, Query, pattern = "^(modern|legacy)?$", description = "The protocol it was seen to speak."),
        ("verdict" = Option<String>, Query, pattern = "^(verified|unsigned|mismatch|invalid|unverifiable)?$", description = "On its origin."),
        ("read_only" = Option<String>, Query, pattern = "^(yes|no)?$", description = "As the server claims."),
        ("destructive" = Option<String>, Query, pattern = "^(yes|no)?$", description = "As the server claims."),
        ("output_schema" = Option<String>, Query, pattern = "^(yes|no)?$", description = "Whether it declares one."),
        ("auth" = Option<String>, Query, pattern = "^(needed|none)?$", description = "Whether its server asks for a secret."),
        ("severity" = Option<String>, Query, pattern = "^(none|low|medium|high|critical)?$", description = "The gravest open finding."),
        ("status" = Option<String>, Query, pattern = "^(active|deprecated)?$", description = "Of its version."),
        ("changed_since" = Option<String>, Query, max_length = 40, pattern = r"^(\d{4}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8]))?$", description = "A date."),
        ("minimum_age_days" = Option<u32>, Query, maximum = 36500, description = "Known here for so many days."),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "Most tools of the page; 30 unless given."),
        ("cursor" = Option<String>, Query, max_length = 6144, pattern = r"^t1(-([0-9a-f]{2})*){4}$",
            description = "`next_cursor` of the page before. It carries the words and filters; what is given beside it counts."),
        ("explain" = Option<String>, Query, pattern = "^1?$", description = "`1` shows the numbers of the order."),
    ),
    responses((status = 200, body = ToolPage, description = "A page."))
)]
pub(crate) async fn list_tools(State(app): State<App>, ask: Ask) -> Result<Response, Problem> {
    let asked = Narrowed::read(ask.query(), CURSOR)?;
    let mode = app.registry.settings().search_mode;
    let (words, options) = asked.options(mode, app.registry.now(), usize::MAX);
    let page = app
        .registry
        .list_tools(&words, options)
        .await
        .map_err(|error| problem(&error))?;
    let listing = page.listing;
    let last = listing.hits.last().filter(|_| listing.more);
    let next_cursor = last.map(|last| {
        let after = After {
            id: last.hit.id.clone(),
            place: last.place,
        };
        asked.cursor(CURSOR, &after)
    });
    let has_words = !words.trim().is_empty();
    let weights = listing.weights.into_iter();
    let body = ToolPage {
        tools: page
            .tools
            .iter()
            .map(|listed| row(listed, has_words, asked.explain))
            .collect(),
        total: listing.total,
        facets: listing.facets.iter().map(FacetCounts::of).collect(),
        relaxed: listing.relaxed,
        instead: listing
            .instead
            .into_iter()
            .map(|(word, searched)| Instead { word, searched })
            .collect(),
        weights: asked.explain.then(|| {
            weights
                .map(|(word, weight)| WordWeight { word, weight })
                .collect()
        }),
        event: page.event,
        next_cursor,
    };
    Ok(answer::json(text(&body), ask.headers()))
}

impl FacetCounts {
    fn of(facet: &Facet) -> Self {
        let values = facet.values.iter().map(|(value, count)| ValueCount {
            value: (*value).to_owned(),
            count: *count,
        });
        Self {
            name: facet.group.to_owned(),
            values: values.collect(),
        }
    }
}

/// Character offsets of the words of a query in a text.
pub(crate) fn marks(text: &str, words: &[String]) -> Vec<[usize; 2]> {
    let ranges = highlights(text, words).into_iter();
    ranges
        .map(|range| {
            let start = text[..range.start].chars().count();
            [start, start + text[range].chars().count()]
        })
        .collect()
}

fn row(listed: &ListedTool, has_words: bool, explain: bool) -> ToolRow {
    let (tool, hit) = (&listed.tool, &listed.hit);
    let summary = summary(&tool.description, SUMMARY_CHARS);
    let words: Vec<String> = tool.why.iter().map(|(word, _)| word.clone()).collect();
    let [whole, part, pairs] = hit.parts;
    ToolRow {
        highlights: marks(&summary, &words),
        summary,
        id: tool.id.clone(),
        server: tool.server.clone(),
        name: tool.name.clone(),
        title: tool.title.clone(),
        r#match: has_words.then(|| tool.strength.to_owned()),
        why: tool
            .why
            .iter()
            .map(|(word, fields)| Reason {
                word: word.clone(),
                fields: fields.iter().map(|field| (*field).to_owned()).collect(),
            })
            .collect(),
        version: tool.version.clone(),
        verdict: tool.verdict.clone(),
        first_seen: tool.first_seen.map(|at| at.to_string()),
        last_changed: tool.changed.map(|at| at.to_string()),
        high_findings: tool.high_findings,
        also_in: tool.also_in.clone(),
        of_server: listed.of_server,
        tokens: tool.tokens,
        score: explain.then_some([hit.score, whole, part, pairs]),
    }
}

/// What a client is told when nothing could be searched.
pub(crate) fn problem(error: &FindError) -> Problem {
    match error {
        FindError::Rebuilding => Problem::new(Code::Unavailable, "the search index is being built")
            .hint("try again in a few seconds; `/health/ready` says when it is there"),
        FindError::Search(_) | FindError::Store(_) | FindError::Document(_) => Problem::internal(error),
    }
}

/// A JSON value as the body of an answer.
pub(crate) fn body(value: &Value) -> String {
    text(value)
}

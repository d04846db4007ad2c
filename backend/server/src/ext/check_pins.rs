//! `POST /api/v1/check`: how pinned servers stand today.

use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolmark_domain::digest::Digest;
use toolmark_domain::limits::{CHECKED_PINS, SERVER_NAME_CHARS, VERSION_CHARS};
use toolmark_domain::lock::ToolPin;
use toolmark_registry::{ObserveError, PinAsked};
use utoipa::ToSchema;

use super::alerts::{answered, body_of, invalid};
use crate::extract::Own;
use crate::lists::store_problem;
use crate::problem::Problem;
use crate::state::App;

/// What is asked about.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Check)]
pub(crate) struct CheckBody {
    #[schema(max_items = 200)]
    servers: Vec<PinBody>,
}

/// One server: by its name, or by a package or remote.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PinAsked)]
pub(crate) struct PinBody {
    /// `namespace/name`.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, max_length = 200)]
    name: Option<String>,
    /// `npm`, `pypi`, `oci`, `mcpb`, … or `remote`; with `identifier`, in place of the name.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, max_length = 50)]
    kind: Option<String>,
    /// Name of the package, or URL of the remote.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, max_length = 2000)]
    identifier: Option<String>,
    /// Of the server; of the package where only that is given. The current one unless given.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, max_length = 255)]
    version: Option<String>,
    #[serde(default, rename = "manifest/1", deserialize_with = "given")]
    #[schema(nullable = false, pattern = "^[0-9a-f]{64}$")]
    manifest: Option<String>,
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, pattern = "^[0-9a-f]{64}$")]
    artifact: Option<String>,
    #[serde(default)]
    #[schema(required = false, max_items = 2000)]
    tools: Vec<ToolPinBody>,
}

/// A member that is there holds a value: `null` is none.
fn given<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    String::deserialize(from).map(Some)
}

/// One tool.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ToolPin)]
pub(crate) struct ToolPinBody {
    name: String,
    #[serde(rename = "tool/1")]
    #[schema(pattern = "^[0-9a-f]{64}$")]
    tool: String,
}

/// How they stand, in the order they were asked about.
#[derive(Serialize, ToSchema)]
#[schema(as = Checked)]
pub(crate) struct CheckAnswer {
    /// `toolmark.check/1`.
    schema: &'static str,
    /// The newest event this answer knows of.
    event: i64,
    /// Each with `standing` (`same`, `known_older`, `unknown`, `withdrawn`), `reasons`, `severity`, `tools`, `current`.
    #[schema(value_type = Vec<Object>)]
    servers: Vec<Value>,
}

#[utoipa::path(
    post, path = "/api/v1/check", tag = "servers", operation_id = "check_pins",
    summary = "Say how pinned servers stand today",
    description = "For a lock file or the settings of a client. `same`: what is current is what you have. `known_older`: \
        recorded here, something else is current. `unknown`: never seen here. `withdrawn`: deleted.",
    request_body = CheckBody,
    responses((status = 200, body = CheckAnswer, description = "How each one stands."))
)]
pub(crate) async fn check_pins(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    Own::parse(parts.uri.query(), &[]).finish()?;
    let body: CheckBody = body_of(&app, &parts.headers, body).await?;
    if body.servers.len() > CHECKED_PINS {
        return Err(invalid(
            "body.servers",
            &format!("at most {CHECKED_PINS} of them"),
        ));
    }
    let event = app.registry.head().await.map_err(|error| store_problem(&error))?;
    let mut servers = Vec::with_capacity(body.servers.len());
    for (index, asked) in body.servers.into_iter().enumerate() {
        let checked = app.registry.check_pin(&read(asked, index)?).await;
        let checked = checked.map_err(|error| problem(&error))?;
        servers.push(serde_json::to_value(checked).unwrap_or_default());
    }
    let answer = CheckAnswer {
        schema: "toolmark.check/1",
        event,
        servers,
    };
    Ok(answered(StatusCode::OK, &answer))
}

/// Longest kind and identifier of a target that is asked about, in characters.
const KIND_CHARS: usize = 50;
const IDENTIFIER_CHARS: usize = 2000;

fn problem(error: &ObserveError) -> Problem {
    Problem::internal(error)
}

fn read(asked: PinBody, index: usize) -> Result<PinAsked, Problem> {
    let place = |member: &str| format!("body.servers[{index}].{member}");
    for (member, text, most) in [
        ("name", &asked.name, SERVER_NAME_CHARS.1),
        ("kind", &asked.kind, KIND_CHARS),
        ("identifier", &asked.identifier, IDENTIFIER_CHARS),
        ("version", &asked.version, VERSION_CHARS),
    ] {
        if text.as_ref().is_some_and(|text| text.chars().count() > most) {
            return Err(invalid(&place(member), &format!("longer than {most} characters")));
        }
    }
    let digest = |text: Option<String>, member: &str| -> Result<Option<Digest>, Problem> {
        let read = text.map(|text| {
            text.parse()
                .map_err(|_| invalid(&place(member), "not a sha256 digest in lower-case hex"))
        });
        read.transpose()
    };
    let target = match (asked.kind, asked.identifier) {
        (Some(kind), Some(identifier)) => Some((clean(&kind), clean(&identifier))),
        // A name says all; half a target beside it adds nothing.
        _ if asked.name.is_some() => None,
        _ => return Err(invalid(&place("name"), "give a name, or `kind` and `identifier`")),
    };
    let name = clean(&asked.name.unwrap_or_default());
    let mut tools = Vec::with_capacity(asked.tools.len());
    for tool in asked.tools {
        let read = digest(Some(tool.tool), "tools")?;
        tools.extend(read.map(|digest| ToolPin {
            name: tool.name,
            tool: digest,
        }));
    }
    Ok(PinAsked {
        name,
        target,
        version: asked.version.map(|version| clean(&version)),
        manifest: digest(asked.manifest, "manifest/1")?,
        artifact: digest(asked.artifact, "artifact")?,
        tools,
    })
}

fn clean(text: &str) -> String {
    text.replace('\0', "")
}

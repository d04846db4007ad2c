//! `GET /api/v1/openapi.json`: the description of our own API, made from the handlers.

use std::sync::LazyLock;

use axum::response::Response;
use serde_json::{Value, json};
use utoipa::OpenApi;

use crate::answer;
use crate::extract::Ask;
use crate::problem::{Code, FieldError, OwnProblem};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Toolmark API",
        version = "1.0.0",
        description = "A public registry of MCP servers. Unknown parameters are refused and named; every error is an \
            RFC 9457 problem with a stable `code`. Reads carry an ETag and cost little to repeat."
    ),
    paths(
        super::list_own_servers::list_own_servers,
        super::get_server::get_server,
        super::list_own_versions::list_own_versions,
        super::get_own_version::get_own_version,
        super::get_document::get_document,
        super::list_snapshots::list_snapshots,
        super::get_manifest::get_manifest,
        super::get_tool::get_tool,
        super::list_tools::list_tools,
        super::find::find,
        super::find::find_by_post,
        super::complete::complete,
        super::get_provenance::get_provenance,
        super::get_evidence::get_evidence,
        super::list_events::list_events,
        super::get_stats::get_stats,
        super::check_pins::check_pins,
        crate::pages::get_diff,
        super::alerts::list_endpoints,
        super::alerts::create_endpoint,
        super::alerts::get_endpoint,
        super::alerts::delete_endpoint,
        super::alerts::test_endpoint,
        super::alerts::rotate_secret,
        super::alerts::pause_endpoint,
        super::alerts::resume_endpoint,
        super::alerts::replay_events,
        super::alerts::confirm_endpoint,
        super::alerts::list_subscriptions,
        super::alerts::create_subscription,
        super::alerts::get_subscription,
        super::alerts::replace_subscription,
        super::alerts::delete_subscription,
        super::alerts::list_deliveries,
        super::alerts::get_delivery,
        super::alerts::replay_delivery,
    ),
    components(schemas(OwnProblem, FieldError)),
    tags(
        (name = "servers", description = "What is recorded of servers and their versions"),
        (name = "observations", description = "What versions were seen to declare"),
        (name = "search", description = "Tools of current versions, and `find_tools`"),
        (name = "provenance", description = "Who built the packages of a version, and the evidence for it"),
        (name = "registry", description = "The feed of events, and counts"),
        (name = "alerts", description = "Subscriptions, where their messages go, and the log of deliveries")
    )
)]
struct Description;

/// The document: what the handlers say, and the answers every one of them can give.
pub(crate) fn document() -> &'static Value {
    static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
        let mut document = serde_json::to_value(Description::openapi()).expect("the description is JSON");
        document["components"]["responses"] = problems();
        // Which members go together is more than the types can say.
        document["components"]["schemas"]["PinAsked"]["anyOf"] =
            json!([{"required": ["name"]}, {"required": ["kind", "identifier"]}]);
        for sent in ["PinAsked", "ToolPin"] {
            let schema = &mut document["components"]["schemas"][sent];
            for (_, member) in schema["properties"].as_object_mut().into_iter().flatten() {
                without_nul(member);
            }
        }
        document["components"]["securitySchemes"] = json!({"token": {"type": "http", "scheme": "bearer",
            "description": "`tmk_…`, made by an operator."}});
        for item in document["paths"]
            .as_object_mut()
            .into_iter()
            .flat_map(|paths| paths.values_mut())
        {
            for (method, operation) in item.as_object_mut().into_iter().flatten() {
                let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
                for schema in parameters
                    .into_iter()
                    .flatten()
                    .filter_map(|parameter| parameter.get_mut("schema"))
                {
                    without_nul(schema);
                }
                let signed = operation.get("security").is_some();
                if let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) {
                    share(responses, method == "get", signed);
                }
            }
        }
        document
    });
    &DOCUMENT
}

/// A text may hold no NUL; one with a pattern of its own says so itself.
fn without_nul(schema: &mut Value) {
    let text = schema.get("type").is_some_and(|kind| match kind {
        Value::String(kind) => kind == "string",
        Value::Array(kinds) => kinds.iter().any(|kind| kind == "string"),
        _ => false,
    });
    let open = ["pattern", "enum", "format"]
        .iter()
        .all(|key| schema.get(*key).is_none());
    if text && open {
        schema["pattern"] = json!(r"^[^\u0000]*$");
    }
}

/// Statuses that hold for every operation, each once as a shared response.
const SHARED: [Code; 8] = [
    Code::InvalidParameter,
    Code::NotFound,
    Code::MethodNotAllowed,
    Code::TargetTooLong,
    Code::RateLimited,
    Code::Internal,
    Code::Unavailable,
    Code::TimedOut,
];

/// Of operations that need a token.
const SIGNED: [Code; 2] = [Code::Unauthenticated, Code::Forbidden];
/// Of operations with a body.
const WRITTEN: [Code; 4] = [
    Code::BodyTimeout,
    Code::BodyTooLarge,
    Code::MediaType,
    Code::ValidationFailed,
];

fn problems() -> Value {
    let problem = json!({"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}});
    let mut all = json!({});
    for code in SHARED.into_iter().chain(SIGNED).chain(WRITTEN) {
        let mut response = json!({"description": code.title(), "content": problem});
        if code == Code::RateLimited {
            response["headers"] = json!({"Retry-After": {"required": true, "description": "Seconds.", "schema": {"type": "integer"}}});
        }
        if code == Code::Unauthenticated {
            response["headers"] =
                json!({"WWW-Authenticate": {"required": true, "schema": {"type": "string"}}});
        }
        if code == Code::MethodNotAllowed {
            response["headers"] = json!({"Allow": {"required": true, "schema": {"type": "string"}}});
        }
        // A problem of the NUL check is upstream's, and so is its media type.
        if code == Code::InvalidParameter {
            response["description"] =
                "A parameter that is unknown, repeated or of the wrong form; all are named".into();
            response["content"]["application/json"] =
                json!({"schema": {"$ref": "#/components/schemas/Problem"}});
        }
        all[code.as_str()] = response;
    }
    all
}

fn share(responses: &mut serde_json::Map<String, Value>, reads: bool, signed: bool) {
    responses.insert(
        "308".into(),
        json!({"description": "The same thing under its canonical path.",
            "headers": {"Location": {"required": true, "schema": {"type": "string"}}}}),
    );
    if reads && !signed {
        responses.insert(
            "304".into(),
            json!({"description": "Unchanged since the ETag in `If-None-Match`."}),
        );
    }
    let mut add = |code: Code| {
        let target = format!("#/components/responses/{}", code.as_str());
        let status = code.status().as_u16().to_string();
        responses.entry(status).or_insert_with(|| json!({"$ref": target}));
    };
    SHARED.into_iter().for_each(&mut add);
    if signed {
        SIGNED.into_iter().for_each(&mut add);
        add(Code::ValidationFailed);
    }
    if !reads {
        WRITTEN.into_iter().for_each(&mut add);
    }
}

pub(crate) async fn get_own_openapi(ask: Ask) -> Response {
    static TEXT: LazyLock<String> = LazyLock::new(|| document().to_string());
    answer::text(TEXT.as_str(), answer::JSON, ask.headers())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_names_its_errors_and_every_reference_leads_somewhere() {
        let document = document();
        assert_eq!(document["openapi"], "3.1.0");
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                let signed = operation.get("security").is_some();
                let mut statuses = vec!["308", "400", "404", "405", "429", "500", "503"];
                if signed {
                    statuses.extend(["401", "403"]);
                } else if method == "get" {
                    statuses.extend(["200", "304"]);
                }
                if method != "get" {
                    statuses.extend(["408", "413", "415", "422"]);
                }
                for status in statuses {
                    assert!(
                        operation["responses"].get(status).is_some(),
                        "{method} {path} {status}"
                    );
                }
            }
        }
        let text = document.to_string();
        for target in text.split("\"$ref\":\"#").skip(1) {
            let pointer = target.split('"').next().unwrap();
            assert!(document.pointer(pointer).is_some(), "{pointer}");
        }
    }
}

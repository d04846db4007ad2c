//! `PATCH …/status`: active, deprecated or deleted, for one version or for all of a server's.

use std::collections::BTreeMap;

use axum::extract::{Request, State};
use axum::response::Response;
use serde_json::Value;
use toolmark_domain::limits::STATUS_MESSAGE_CHARS;
use toolmark_domain::permission::Action;
use toolmark_domain::status::Status;
use toolmark_registry::{StatusChange, StatusError};

use super::signed::{forbidden, signed};
use super::{spelled, written};
use crate::answer;
use crate::extract::{Segments, Unfit, json_value};
use crate::lists::store_problem;
use crate::problem::{Code, FieldError, Problem};
use crate::state::App;

const NO_VERSION: &str = "Server version not found";
const NO_SERVER: &str = "Server not found";

pub(crate) async fn set_status(
    State(app): State<App>,
    Segments([name, version]): Segments<2>,
    request: Request,
) -> Result<Response, Problem> {
    let (actor, change) = signed(&app, request, read).await?;
    let changed = app
        .registry
        .set_status(&actor, &name, Some(&version), &change)
        .await;
    app.lists.wrote();
    let changed = match changed {
        Ok(changed) => changed,
        Err(error) => return Err(spelled(&app, &name, status_problem(&error, NO_VERSION)).await),
    };
    let first = changed.first();
    Ok(written(
        first.ok_or_else(|| Problem::new(Code::NotFound, NO_VERSION))?,
    ))
}

/// Changes only the versions that differ, and answers with all of them, as upstream.
pub(crate) async fn set_all_statuses(
    State(app): State<App>,
    Segments([name]): Segments<1>,
    request: Request,
) -> Result<Response, Problem> {
    let (actor, change) = signed(&app, request, read).await?;
    let changed = app.registry.set_status(&actor, &name, None, &change).await;
    app.lists.wrote();
    if let Err(error) = changed {
        return Err(spelled(&app, &name, status_problem(&error, NO_SERVER)).await);
    }
    let all = app.registry.versions_of(&name, true).await;
    let all = all.map_err(|error| store_problem(&error))?;
    let mut body = format!(r#"{{"updatedCount":{},"servers":["#, all.len());
    for (index, version) in all.iter().enumerate() {
        if index > 0 {
            body.push(',');
        }
        version.write_response(&mut body);
    }
    body.push_str("]}");
    Ok(answer::fresh(body))
}

/// Reads the body.
fn read(raw: &[u8]) -> Result<StatusChange, Unfit> {
    let body = json_value(raw)?;
    let errors = gate(&body);
    let status = body.get("status").and_then(Value::as_str).and_then(Status::parse);
    match status.filter(|_| errors.is_empty()) {
        Some(status) => Ok(StatusChange {
            status,
            message: body
                .get("statusMessage")
                .and_then(Value::as_str)
                .map(str::to_owned),
        }),
        None => Err(Unfit {
            code: Code::ValidationFailed,
            errors,
        }),
    }
}

fn message_with_active() -> Problem {
    Problem::new(
        Code::Refused,
        "status_message cannot be provided when setting status to active",
    )
}

/// The rules of upstream's HTTP layer on the body, every error with its place.
fn gate(body: &Value) -> Vec<FieldError> {
    let Some(object) = body.as_object() else {
        return vec![FieldError::located("expected object", "body")];
    };
    let mut errors = BTreeMap::new();
    match object.get("status") {
        None => {
            let error = FieldError::located("expected required property status to be present", "body");
            errors.insert(0, error);
        }
        Some(Value::String(word)) if Status::parse(word).is_some() => {}
        Some(Value::String(word)) => {
            let message = "expected value to be one of \"active, deprecated, deleted\"";
            errors.insert(
                1,
                FieldError::at(message, "body.status", word.chars().take(64).collect::<String>()),
            );
        }
        Some(other) => {
            errors.insert(1, FieldError::at("expected string", "body.status", small(other)));
        }
    }
    match object.get("statusMessage") {
        None | Some(Value::Null) => {}
        Some(Value::String(text)) if text.chars().count() <= STATUS_MESSAGE_CHARS => {}
        Some(Value::String(_)) => {
            let message = format!("expected length <= {STATUS_MESSAGE_CHARS}");
            errors.insert(2, FieldError::located(message, "body.statusMessage"));
        }
        Some(other) => {
            errors.insert(
                2,
                FieldError::at("expected string", "body.statusMessage", small(other)),
            );
        }
    }
    let unknown = object
        .keys()
        .filter(|key| !matches!(key.as_str(), "status" | "statusMessage" | "$schema"));
    let unknown = unknown.map(|key| {
        let shown: String = key.chars().take(64).collect();
        FieldError::located("unexpected property", format!("body.{shown}"))
    });
    errors.into_values().chain(unknown).collect()
}

/// What was given, unless it is large.
fn small(value: &Value) -> Value {
    match value {
        Value::Array(_) | Value::Object(_) | Value::String(_) => Value::Null,
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn status_problem(error: &StatusError, absent: &'static str) -> Problem {
    match error {
        StatusError::NotFound => Problem::new(Code::NotFound, absent),
        StatusError::Forbidden { allowed, attempted } => forbidden(Action::Publish, allowed, attempted),
        StatusError::MessageWithActive => message_with_active(),
        StatusError::MessageTooLong => Problem::validation(vec![FieldError::located(
            format!("expected length <= {STATUS_MESSAGE_CHARS}"),
            "body.statusMessage",
        )]),
        StatusError::NoChange => Problem::new(
            Code::Refused,
            "No changes to apply: status and message already are as requested",
        ),
        StatusError::RemoteTaken { url, server } => Problem::new(Code::Refused, "Failed to update status")
            .errors(vec![FieldError::new(format!(
                "remote URL {url} is already used by server {server}"
            ))]),
        StatusError::Store(error) => Problem::internal(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn errors(body: &Value) -> Vec<(String, String)> {
        let errors = gate(body).into_iter();
        errors
            .map(|error| (error.location.unwrap(), error.message))
            .collect()
    }

    #[test]
    fn the_gate_reports_every_error_at_once() {
        let error = |location: &str, message: &str| (location.to_owned(), message.to_owned());
        assert_eq!(errors(&json!({"status": "deleted", "statusMessage": null})), []);
        assert_eq!(
            errors(&json!({"status": "active", "statusMessage": "m".repeat(500)})),
            []
        );
        assert_eq!(errors(&json!([])), [error("body", "expected object")]);
        assert_eq!(
            errors(&json!({"statusMessage": "é".repeat(501), "reason": 1})),
            [
                error("body", "expected required property status to be present"),
                error("body.statusMessage", "expected length <= 500"),
                error("body.reason", "unexpected property"),
            ]
        );
        assert_eq!(
            errors(&json!({"status": "yanked"})),
            [error(
                "body.status",
                "expected value to be one of \"active, deprecated, deleted\""
            )]
        );
        assert_eq!(
            errors(&json!({"status": 1})),
            [error("body.status", "expected string")]
        );
    }
}

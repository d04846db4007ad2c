//! `POST /publish`: a new version of a server.

use axum::extract::{Request, State};
use axum::response::Response;
use toolmark_domain::permission::Action;
use toolmark_domain::validation::{Severity, Validation};
use toolmark_registry::PublishError;

use super::signed::{forbidden, signed};
use super::written;
use crate::extract::draft;
use crate::problem::{Code, FieldError, Problem};
use crate::state::App;

pub(crate) async fn publish_server(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let (actor, draft) = signed(&app, request, draft).await?;
    let published = app.registry.publish(&actor, &draft).await;
    app.lists.wrote();
    let version = published.map_err(|error| write_problem(&error, Action::Publish))?;
    Ok(written(&version))
}

/// Why a version is not written, in upstream's words.
pub(super) fn write_problem(error: &PublishError, action: Action) -> Problem {
    let word = action.as_str();
    match error {
        PublishError::Forbidden { allowed, attempted } => forbidden(action, allowed, attempted),
        PublishError::Blocked { .. } => Problem::new(Code::Forbidden, error.to_string()),
        PublishError::Invalid(validation) => Problem::new(
            Code::ValidationFailed,
            format!("Failed to {word} server, invalid schema: call /validate for details"),
        )
        .errors(issues(validation)),
        PublishError::MetaTooLarge(_)
        | PublishError::EmptyVersion
        | PublishError::NameCase { .. }
        | PublishError::RemoteTaken { .. }
        | PublishError::TooManyVersions { .. }
        | PublishError::DuplicateVersion
        | PublishError::TakenDown => Problem::new(Code::Refused, format!("Failed to {word} server"))
            .errors(vec![FieldError::new(error.to_string())]),
        PublishError::NotFound => Problem::new(Code::NotFound, "Server not found"),
        PublishError::Renamed => Problem::new(Code::Refused, "Cannot rename server"),
        PublishError::OtherVersion => Problem::new(
            Code::Refused,
            "Version in request body must match URL path parameter",
        ),
        PublishError::Store(error) => Problem::internal(error),
    }
}

/// The errors among the issues, each at its place in the body.
fn issues(validation: &Validation) -> Vec<FieldError> {
    let errors = validation
        .issues
        .iter()
        .filter(|issue| issue.severity == Severity::Error);
    errors
        .map(|issue| {
            let location = if issue.path.is_empty() {
                "body".to_owned()
            } else {
                format!("body.{}", issue.path)
            };
            FieldError::located(issue.message.as_str(), location)
        })
        .collect()
}

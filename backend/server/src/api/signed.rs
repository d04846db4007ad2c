//! What every write needs first: a body that is right, then somebody who may. In upstream's order: parameters and
//! body with all errors together, then the form of the token, then the token.

use axum::extract::Request;
use toolmark_domain::permission::{Action, Permission};
use toolmark_registry::{Actor, AuthError};

use crate::extract::{Unfit, authorization, bearer_token, json_bytes, unauthenticated};
use crate::problem::{Code, FieldError, Problem};
use crate::state::App;

/// Reads a write: what the body says, by `read`, and who asks.
pub(super) async fn signed<T>(
    app: &App,
    request: Request,
    read: fn(&[u8]) -> Result<T, Unfit>,
) -> Result<(Actor, T), Problem> {
    let (parts, body) = request.into_parts();
    let raw = json_bytes(&parts.headers, body, app.settings.body_read).await?;
    let authorization = match (authorization(&parts.headers), read(&raw)) {
        (Ok(authorization), Ok(body)) => (authorization, body),
        (Err(missing), Ok(_)) => return Err(Problem::validation(vec![missing])),
        (Ok(_), Err(unfit)) => return Err(refused(unfit, None)),
        (Err(missing), Err(unfit)) => return Err(refused(unfit, Some(missing))),
    };
    let (authorization, body) = authorization;
    let token = bearer_token(authorization)?;
    let actor = app.registry.authenticate(token).await;
    Ok((actor.map_err(|error| auth_problem(&error))?, body))
}

/// A body that cannot be used: 400 when it cannot be read, 422 otherwise, with every error.
pub(super) fn refused(unfit: Unfit, missing: Option<FieldError>) -> Problem {
    let errors = missing.into_iter().chain(unfit.errors).collect();
    Problem::new(unfit.code, "validation failed").errors(errors)
}

pub(super) fn auth_problem(error: &AuthError) -> Problem {
    match error {
        AuthError::Invalid | AuthError::Expired | AuthError::Revoked => {
            unauthenticated("Invalid or expired Registry JWT token")
        }
        AuthError::Disabled => Problem::new(
            Code::RouteNotFound,
            "Endpoint not found. See /docs for the API documentation.",
        ),
        AuthError::Store(error) => Problem::internal(error),
    }
}

/// 403 with both lists: what the token allows, what was tried.
pub(super) fn forbidden(action: Action, allowed: &[Permission], attempted: &str) -> Problem {
    let word = action.as_str();
    let mut names: Vec<&str> = allowed
        .iter()
        .filter(|permission| permission.action == action)
        .map(|permission| permission.resource.as_str())
        .collect();
    names.dedup();
    let names = if names.is_empty() {
        "nothing".to_owned()
    } else {
        names.join(", ")
    };
    let mut detail = format!(
        "You do not have permission to {word} this server. You have permission to {word}: {names}. \
         Attempting to {word}: {attempted}"
    );
    let other_case = allowed.iter().find(|permission| {
        let lower = Permission {
            action: permission.action,
            resource: permission.resource.to_ascii_lowercase(),
        };
        lower.allows(action, &attempted.to_ascii_lowercase())
    });
    if let Some(permission) = other_case {
        detail.push_str(". Letter case counts: the permission is for ");
        detail.push_str(&permission.resource);
    } else if attempted.starts_with("io.github.") {
        detail.push_str(
            ". For an organization on GitHub, make your membership of it public, log in again and retry",
        );
    }
    Problem::new(Code::Forbidden, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_both_sides_and_what_may_help() {
        let grant = |resource: &str| Permission {
            action: Action::Publish,
            resource: resource.into(),
        };
        let detail = |allowed: &[Permission], name: &str| {
            forbidden(Action::Publish, allowed, name).detail().to_owned()
        };
        let case = detail(&[grant("io.github.PrefectHQ/*")], "io.github.prefecthq/x");
        assert!(
            case.contains("publish: io.github.PrefectHQ/*. Attempting to publish: io.github.prefecthq/x")
        );
        assert!(case.ends_with("Letter case counts: the permission is for io.github.PrefectHQ/*"));
        let org = detail(&[grant("io.github.me/*")], "io.github.org/x");
        assert!(org.contains("make your membership of it public"));
        assert!(detail(&[], "com.example/x").contains("permission to publish: nothing"));
    }
}

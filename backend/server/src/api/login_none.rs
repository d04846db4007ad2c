//! `POST /auth/none`: a token for the anonymous namespace, in development only. The other ways to log in stand
//! beside it in `routes.rs` as they come.

use axum::extract::State;
use axum::response::Response;
use serde_json::json;

use super::signed::auth_problem;
use crate::answer;
use crate::problem::Problem;
use crate::state::App;

pub(crate) async fn login_none(State(app): State<App>) -> Result<Response, Problem> {
    let token = app.registry.login_none().map_err(|error| auth_problem(&error))?;
    let body = json!({"registry_token": token.token, "expires_at": token.expires_at.as_secs()});
    Ok(answer::fresh(body.to_string()))
}

//! `POST /validate`: what is wrong with a document, without publishing it.

use axum::extract::{Request, State};
use axum::response::Response;
use toolmark_domain::validation;

use super::signed::refused;
use crate::answer;
use crate::extract::{draft, json_bytes};
use crate::problem::Problem;
use crate::state::App;

pub(crate) async fn validate_server(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let raw = json_bytes(&parts.headers, body, app.settings.body_read).await?;
    let draft = draft(&raw).map_err(|unfit| refused(unfit, None))?;
    let found = validation::validate(draft.value());
    let body = serde_json::to_string(&found).map_err(|error| Problem::internal(&error))?;
    Ok(answer::fresh(body))
}

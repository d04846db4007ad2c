//! `PUT /servers/{serverName}/versions/{version}`: replaces the document of a version. For administrators.

use axum::extract::{Request, State};
use axum::response::Response;
use toolmark_domain::permission::Action;

use super::publish_server::write_problem;
use super::signed::signed;
use super::{spelled, written};
use crate::extract::{Segments, draft};
use crate::problem::Problem;
use crate::state::App;

pub(crate) async fn edit_version(
    State(app): State<App>,
    Segments([name, version]): Segments<2>,
    request: Request,
) -> Result<Response, Problem> {
    let (actor, draft) = signed(&app, request, draft).await?;
    let edited = app.registry.edit(&actor, &name, &version, &draft).await;
    app.lists.wrote();
    match edited {
        Ok(edited) => Ok(written(&edited)),
        Err(error) => Err(spelled(&app, &name, write_problem(&error, Action::Edit)).await),
    }
}

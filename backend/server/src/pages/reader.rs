//! `/alerts/{id}/{code}`: what a mail links to. The code proves that its reader asks; looking changes nothing, so that
//! a program that follows links in mails confirms and stops nothing.

use axum::extract::State;
use axum::response::Response;
use http::{HeaderValue, header};
use toolmark_frontend::paths::segment;
use toolmark_frontend::views::ReaderView;
use toolmark_registry::{EndpointState, StoreError};
use uuid::Uuid;

use super::{Form, not_recorded, page, site};
use crate::extract::{Ask, Own, Segments};
use crate::lists::store_problem;
use crate::middleware::moved;
use crate::problem::Problem;
use crate::state::App;

pub(crate) async fn reader(
    State(app): State<App>,
    Segments([id, code]): Segments<2>,
    ask: Ask,
) -> Result<Response, Problem> {
    Own::parse(ask.query(), &[]).finish()?;
    show(&app, &ask, &id, &code).await
}

/// The address of an act, looked at: the page from which it is done.
pub(crate) async fn reader_again(Segments([id, code]): Segments<2>) -> Response {
    moved(&format!("/alerts/{}/{}", segment(&id), segment(&code)))
}

pub(crate) async fn confirm_reader(
    State(app): State<App>,
    Segments([id, code]): Segments<2>,
    ask: Ask,
) -> Result<Response, Problem> {
    known(app.registry.confirm_endpoint(uuid(&id)?, &code).await)?;
    show(&app, &ask, &id, &code).await
}

/// Also what a mail program sends at one click (RFC 8058).
pub(crate) async fn stop_reader(
    State(app): State<App>,
    Segments([id, code]): Segments<2>,
    ask: Ask,
) -> Result<Response, Problem> {
    known(app.registry.stop_endpoint(uuid(&id)?, &code).await)?;
    show(&app, &ask, &id, &code).await
}

fn uuid(id: &str) -> Result<Uuid, Problem> {
    id.parse().map_err(|_| unknown())
}

fn unknown() -> Problem {
    not_recorded("this link is of no address that gets messages here")
}

fn known(done: Result<bool, StoreError>) -> Result<(), Problem> {
    match done {
        Ok(true) => Ok(()),
        Ok(false) => Err(unknown()),
        Err(error) => Err(store_problem(&error)),
    }
}

async fn show(app: &App, ask: &Ask, id: &str, code: &str) -> Result<Response, Problem> {
    let endpoint = app.registry.endpoint_of_reader(uuid(id)?, code).await;
    let endpoint = endpoint.map_err(|error| store_problem(&error))?;
    let endpoint = endpoint.ok_or_else(unknown)?;
    let path = format!("/alerts/{}/{}", segment(id), segment(code));
    let view = ReaderView::new(
        &site(app),
        path,
        &endpoint.address,
        endpoint.state == EndpointState::Active,
        endpoint.state == EndpointState::Unconfirmed,
    );
    let mut response = page(&view, Form::Html, ask.headers())?;
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    Ok(response)
}

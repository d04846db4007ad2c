//! `/docs` and below, as pages, as Markdown, as JSON.

use axum::extract::State;
use axum::response::Response;
use http::HeaderValue;
use toolmark_frontend::views::{ApiView, DocView};

use super::{Form, not_recorded, page, site};
use crate::answer;
use crate::ext;
use crate::extract::{Ask, Own, Segments};
use crate::problem::Problem;
use crate::state::App;

const MARKDOWN: HeaderValue = HeaderValue::from_static("text/markdown; charset=utf-8");

pub(crate) async fn docs_index(State(app): State<App>, ask: Ask) -> Result<Response, Problem> {
    show(&app, &ask, "", Form::Html)
}

pub(crate) async fn docs_index_twin(State(app): State<App>, ask: Ask) -> Result<Response, Problem> {
    show(&app, &ask, "", Form::Json)
}

pub(crate) async fn docs_index_markdown(ask: Ask) -> Result<Response, Problem> {
    markdown(&ask, "")
}

pub(crate) async fn docs(
    State(app): State<App>,
    Segments([slug]): Segments<1>,
    ask: Ask,
) -> Result<Response, Problem> {
    markdown_or_twin(&app, &ask, &slug)
}

/// A page of the documentation in the form its ending asks for.
fn markdown_or_twin(app: &App, ask: &Ask, slug: &str) -> Result<Response, Problem> {
    if let Some(slug) = slug.strip_suffix(".md") {
        return markdown(ask, slug);
    }
    match slug.strip_suffix(".json") {
        Some(slug) => show(app, ask, slug, Form::Json),
        None => show(app, ask, slug, Form::Html),
    }
}

fn show(app: &App, ask: &Ask, slug: &str, form: Form) -> Result<Response, Problem> {
    Own::parse(ask.query(), &[]).finish()?;
    if slug == "api" {
        return page(&ApiView::new(&site(app), ext::document()), form, ask.headers());
    }
    let view = DocView::new(&site(app), slug).ok_or_else(no_page)?;
    page(&view, form, ask.headers())
}

fn markdown(ask: &Ask, slug: &str) -> Result<Response, Problem> {
    let found = toolmark_frontend::docs::page(slug).ok_or_else(no_page)?;
    Ok(answer::text(found.markdown, MARKDOWN, ask.headers()))
}

fn no_page() -> Problem {
    not_recorded("there is no such page of the documentation").hint("all pages are listed at `/docs`")
}

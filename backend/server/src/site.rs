//! What is neither page nor API: health, assets, and the small files crawlers and tools ask for.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::{HeaderValue, header};
use toolmark_frontend::{assets, docs};

use crate::answer;
use crate::extract::Ask;
use crate::problem::{Code, Problem};
use crate::state::App;

mod sitemap;

pub(crate) use sitemap::{sitemap_index, sitemap_part};

const PLAIN: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// The process runs.
pub(crate) async fn live() -> Response {
    answer::fresh(r#"{"status":"live"}"#.to_owned())
}

/// The store answers.
pub(crate) async fn ready(State(app): State<App>) -> Result<Response, Problem> {
    match app.registry.ready().await {
        Ok(()) => {
            let reached = app.registry.index_reached();
            let search = if reached < 0 { "rebuilding" } else { "ready" };
            let body = serde_json::json!({"status": "ready", "search": search, "event": reached.max(0)});
            Ok(answer::fresh(body.to_string()))
        }
        Err(error) => {
            tracing::warn!(error = %error, "not ready: {error}");
            Err(Problem::new(Code::Unavailable, "the store does not answer"))
        }
    }
}

/// The address of this site as the world sees it, without a final slash.
pub(crate) fn base(app: &App, ask: &Ask) -> String {
    if let Some(url) = &app.settings.public_url {
        return url.trim_end_matches('/').to_owned();
    }
    let host = ask
        .headers()
        .get(header::HOST)
        .and_then(|value| value.to_str().ok());
    let host = host.or_else(|| ask.uri().authority().map(http::uri::Authority::as_str));
    let plain = |host: &&str| {
        host.len() <= 255
            && host
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b':' | b'[' | b']'))
    };
    format!("http://{}", host.filter(plain).unwrap_or("localhost"))
}

pub(crate) async fn robots(State(app): State<App>, ask: Ask) -> Response {
    let base = base(&app, &ask);
    let body = format!("User-agent: *\nDisallow: /search\nAllow: /\n\nSitemap: {base}/sitemap.xml\n");
    answer::text(body, PLAIN, ask.headers())
}

pub(crate) async fn opensearch(State(app): State<App>, ask: Ask) -> Response {
    let base = base(&app, &ask);
    let body = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <OpenSearchDescription xmlns=\"http://a9.com/-/spec/opensearch/1.1/\">\n\
         <ShortName>Toolmark</ShortName>\n\
         <Description>Search MCP servers</Description>\n\
         <InputEncoding>UTF-8</InputEncoding>\n\
         <Url type=\"text/html\" template=\"{base}/search?q={{searchTerms}}\"/>\n\
         </OpenSearchDescription>\n"
    );
    let media_type = HeaderValue::from_static("application/opensearchdescription+xml");
    answer::text(body, media_type, ask.headers())
}

pub(crate) async fn llms(State(app): State<App>, ask: Ask) -> Response {
    let base = base(&app, &ask);
    answer::text(docs::llms_txt(Some(&base)), PLAIN, ask.headers())
}

/// Only where the operator says who reads the reports: an address nobody reads is worse than none.
pub(crate) async fn security(State(app): State<App>, ask: Ask) -> Result<Response, Problem> {
    let contact = app.settings.security_contact.as_deref().ok_or_else(|| {
        Problem::new(
            Code::NotFound,
            "this registry names no contact for security reports",
        )
    })?;
    // The format asks for an end; it is renewed with every answer.
    let expires = app.registry.now().plus_secs(90 * 24 * 3600).as_secs() / 86_400 * 86_400;
    let expires = toolmark_domain::timestamp::Timestamp::from_micros(expires * 1_000_000);
    let base = base(&app, &ask);
    let body = format!(
        "Contact: {contact}\nExpires: {expires}\nPreferred-Languages: en\nCanonical: {base}/.well-known/security.txt\n"
    );
    Ok(answer::text(body, PLAIN, ask.headers()))
}

/// The public halves of the keys this registry signs its statements with.
pub(crate) async fn keys(State(app): State<App>, ask: Ask) -> Result<Response, Problem> {
    let keys = app.registry.published_keys().await;
    let keys = keys.map_err(|error| Problem::internal(&error))?;
    let text = serde_json::to_string(&keys).map_err(|error| Problem::internal(&error))?;
    Ok(answer::json(text, ask.headers()))
}

/// A style sheet, script or icon; its address holds its digest, so it can be kept for ever.
pub(crate) async fn asset(ask: Ask) -> Result<Response, Problem> {
    let asset = assets::find(ask.uri().path())
        .ok_or_else(|| Problem::new(Code::RouteNotFound, "nothing is served at this address"))?;
    let mut response = Response::new(Body::from(asset.bytes));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.media_type));
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static(assets::CACHE_CONTROL),
    );
    Ok(response)
}

#[cfg(test)]
mod tests {
    #[test]
    fn assets_are_text_so_that_they_are_compressed() {
        for asset in [toolmark_frontend::assets::css(), toolmark_frontend::assets::js()] {
            assert!(asset.media_type.starts_with("text/"), "{}", asset.path);
        }
    }
}

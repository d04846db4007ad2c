//! Every route, in one file.

use axum::Router;
use axum::extract::Request;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, patch, post};
use tower_http::catch_panic::CatchPanicLayer;

use crate::middleware::{around, compression, is_official, is_version_word, panicked};
use crate::problem::{Code, Problem};
use crate::state::App;
use crate::{api, ext, feeds, mcp, pages, site};

/// The site, both APIs, and what is around every request.
pub(crate) fn router(app: App) -> Router {
    Router::new()
        .merge(official("/v0"))
        .merge(official("/v0.1"))
        .merge(own())
        .merge(alerts())
        .merge(unversioned())
        .merge(mcp(&app))
        .fallback(not_found)
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn_with_state(app.clone(), around))
        .layer(compression())
        .with_state(app)
}

/// The official registry's contract: another method on a known path is 404, as upstream, never 405.
fn official(version: &str) -> Router<App> {
    // Written out, not nested: a nested handler would see a path without its beginning.
    let at = |path: &str| format!("{version}{path}");
    Router::new()
        .route(&at("/servers"), get(api::list_servers))
        .route(&at("/servers/{name}/versions"), get(api::list_versions))
        .route(
            &at("/servers/{name}/versions/{version}"),
            get(api::get_version).put(api::edit_version),
        )
        .route(
            &at("/servers/{name}/versions/{version}/status"),
            patch(api::set_status),
        )
        .route(&at("/servers/{name}/status"), patch(api::set_all_statuses))
        .route(&at("/publish"), post(api::publish_server))
        .route(&at("/validate"), post(api::validate_server))
        .route(&at("/auth/none"), post(api::login_none))
        .route(&at("/health"), get(api::get_health))
        .route(&at("/ping"), get(api::ping))
        .route(&at("/version"), get(api::get_build))
        .method_not_allowed_fallback(not_found)
}

/// Our own API: another method on a known path is 405 and names the methods.
fn own() -> Router<App> {
    Router::new()
        .route("/api/v1/servers", get(ext::list_own_servers))
        .route("/api/v1/servers/{name}", get(ext::get_server))
        .route("/api/v1/servers/{name}/versions", get(ext::list_own_versions))
        .route(
            "/api/v1/servers/{name}/versions/{version}",
            get(ext::get_own_version),
        )
        .route(
            "/api/v1/servers/{name}/versions/{version}/document",
            get(ext::get_document),
        )
        .route(
            "/api/v1/servers/{name}/versions/{version}/snapshots",
            get(ext::list_snapshots),
        )
        .route(
            "/api/v1/servers/{name}/versions/{version}/manifest",
            get(ext::get_manifest),
        )
        .route("/api/v1/diff", get(pages::get_diff))
        .route(
            "/api/v1/servers/{name}/versions/{version}/tools/{tool}",
            get(ext::get_tool),
        )
        .route("/api/v1/tools", get(ext::list_tools))
        .route("/api/v1/find", get(ext::find).post(ext::find_by_post))
        .route("/api/v1/complete", get(ext::complete))
        .route(
            "/api/v1/servers/{name}/versions/{version}/provenance",
            get(ext::get_provenance),
        )
        .route("/api/v1/evidence/{digest}", get(ext::get_evidence))
        .route("/api/v1/events", get(ext::list_events))
        .route("/api/v1/stats", get(ext::get_stats))
        .route("/api/v1/openapi.json", get(ext::get_own_openapi))
        .method_not_allowed_fallback(method_not_allowed)
}

/// The part of our own API that writes; which methods a path has is in the answer's `Allow`.
fn alerts() -> Router<App> {
    let endpoint = "/api/v1/endpoints/{id}";
    let below = |word: &str| format!("{endpoint}/{word}");
    Router::new()
        .route(
            "/api/v1/endpoints",
            get(ext::list_endpoints).post(ext::create_endpoint),
        )
        .route(endpoint, get(ext::get_endpoint).delete(ext::delete_endpoint))
        .route(&below("test"), post(ext::test_endpoint))
        .route(&below("rotate"), post(ext::rotate_secret))
        .route(&below("pause"), post(ext::pause_endpoint))
        .route(&below("resume"), post(ext::resume_endpoint))
        .route(&below("replay"), post(ext::replay_events))
        .route(&below("confirm"), post(ext::confirm_endpoint))
        .route(
            "/api/v1/subscriptions",
            get(ext::list_subscriptions).post(ext::create_subscription),
        )
        .route(
            "/api/v1/subscriptions/{id}",
            get(ext::get_subscription)
                .put(ext::replace_subscription)
                .delete(ext::delete_subscription),
        )
        .route("/api/v1/check", post(ext::check_pins))
        .route("/api/v1/deliveries", get(ext::list_deliveries))
        .route("/api/v1/deliveries/{id}", get(ext::get_delivery))
        .route("/api/v1/deliveries/{id}/replay", post(ext::replay_delivery))
        .method_not_allowed_fallback(other_method)
}

async fn other_method() -> Problem {
    Problem::new(Code::MethodNotAllowed, "this operation has another method")
        .hint("the methods are in the header `Allow` of this answer")
}

/// One path, and nothing below it.
fn mcp(app: &App) -> Router<App> {
    let endpoint = mcp::endpoint(app.registry.clone(), &app.settings.build.version);
    Router::new()
        .route_service("/mcp", endpoint)
        .layer(from_fn_with_state(app.clone(), mcp::gate))
}

fn unversioned() -> Router<App> {
    Router::new()
        .route("/openapi.yaml", get(api::get_openapi_yaml))
        .route("/openapi.json", get(api::get_openapi_json))
        .route("/health", get(api::get_health))
        .route("/ping", get(api::ping))
        .route("/version", get(api::get_build))
        .route("/health/live", get(site::live))
        .route("/health/ready", get(site::ready))
        .route("/robots.txt", get(site::robots))
        .route("/opensearch.xml", get(site::opensearch))
        .route("/llms.txt", get(site::llms))
        .route("/sitemap.xml", get(site::sitemap_index))
        .route("/sitemap/{part}", get(site::sitemap_part))
        .route("/.well-known/security.txt", get(site::security))
        .route("/.well-known/toolmark/keys.json", get(site::keys))
        .route("/assets/{file}", get(site::asset))
        .merge(pages())
        .merge(changes())
        .method_not_allowed_fallback(not_found)
}

/// Pages, each with its `.json` twin.
fn pages() -> Router<App> {
    Router::new()
        .route("/", get(pages::home))
        .route("/search", get(pages::search))
        .route("/search.json", get(pages::search_twin))
        .route("/s/{namespace}/{name}", get(pages::server))
        .route("/s/{namespace}/{name}/versions", get(pages::versions))
        .route("/s/{namespace}/{name}/versions.json", get(pages::versions_twin))
        .route("/s/{namespace}/{name}/{version}", get(pages::version))
        .route("/s/{namespace}/{name}/v/{version}", get(pages::version_below))
        .route("/s/{namespace}/{name}/{version}/tools", get(pages::tools))
        .route(
            "/s/{namespace}/{name}/{version}/tools.json",
            get(pages::tools_twin),
        )
        .route("/s/{namespace}/{name}/{version}/tools/{tool}", get(pages::tool))
        .route("/s/{namespace}/{name}/v/{version}/tools", get(pages::tools_below))
        .route(
            "/s/{namespace}/{name}/v/{version}/tools.json",
            get(pages::tools_below_twin),
        )
        .route(
            "/s/{namespace}/{name}/v/{version}/tools/{tool}",
            get(pages::tool_below),
        )
        .merge(provenance())
        .route("/alerts/{id}/{code}", get(pages::reader))
        .route(
            "/alerts/{id}/{code}/confirm",
            get(pages::reader_again).post(pages::confirm_reader),
        )
        .route(
            "/alerts/{id}/{code}/stop",
            get(pages::reader_again).post(pages::stop_reader),
        )
        .route("/changes", get(pages::changes))
        .route("/s/{namespace}/{name}/changes", get(pages::server_changes))
        .route("/s/{namespace}/{name}/diff/{step}", get(pages::diff))
        .route("/publishers/{namespace}", get(pages::publisher))
        .route("/stats", get(pages::stats))
        .route("/stats.json", get(pages::stats_twin))
        .route("/status", get(pages::status))
        .route("/status.json", get(pages::status_twin))
        .route("/docs", get(pages::docs_index))
        .route("/docs.json", get(pages::docs_index_twin))
        .route("/docs.md", get(pages::docs_index_markdown))
        .route("/docs/{page}", get(pages::docs))
}

/// Who built the packages of a version.
fn provenance() -> Router<App> {
    let of = |version: &str, end: &str| format!("/s/{{namespace}}/{{name}}/{version}/provenance{end}");
    Router::new()
        .route(&of("{version}", ""), get(pages::provenance))
        .route(&of("{version}", ".json"), get(pages::provenance_twin))
        .route(&of("v/{version}", ""), get(pages::provenance_below))
        .route(&of("v/{version}", ".json"), get(pages::provenance_below_twin))
}

/// Feeds of what changed.
fn changes() -> Router<App> {
    Router::new()
        .route("/changes.atom", get(feeds::all_atom))
        .route("/changes.json", get(feeds::all_json))
        .route("/s/{namespace}/{name}/changes.atom", get(feeds::server_atom))
        .route("/s/{namespace}/{name}/changes.json", get(feeds::server_json))
        .route("/publishers/{namespace}/changes.atom", get(feeds::namespace_atom))
        .route("/publishers/{namespace}/changes.json", get(feeds::namespace_json))
        .route("/feeds/{file}", get(feeds::saved))
}

/// The router adds `Allow` with the methods of the path that was asked.
async fn method_not_allowed() -> Problem {
    Problem::new(
        Code::MethodNotAllowed,
        "this path has no operation of this method",
    )
    .hint("the header `Allow` names the methods it has")
}

/// Words for a path nobody serves, naming the one that was probably meant.
async fn not_found(request: Request) -> Problem {
    let path = request.uri().path();
    let upstream = "Endpoint not found. See /docs for the API documentation.";
    if path.starts_with("/v0/") || path.starts_with("/v0.1/") {
        return Problem::new(Code::RouteNotFound, upstream);
    }
    if is_official(path) {
        let rest = match without_version(path) {
            rest if rest.is_empty() => "/servers".to_owned(),
            rest => rest,
        };
        let detail = format!(
            "Endpoint not found. Did you mean '/v0.1{rest}' or '/v0{rest}'? See /docs for the API documentation."
        );
        return Problem::new(Code::RouteNotFound, detail);
    }
    if path.starts_with("/api") {
        return Problem::new(Code::RouteNotFound, "no such operation")
            .hint("all operations are in `/api/v1/openapi.json`");
    }
    Problem::new(Code::RouteNotFound, "nothing is served at this address")
        .hint("search at `/search`; the API is described at `/docs/api`")
}

/// The path behind a leading `/vN`, or all of it.
fn without_version(path: &str) -> String {
    let mut segments = path.split('/').skip(1);
    match segments.next() {
        Some(first) if is_version_word(first) => segments.fold(String::new(), |mut rest, segment| {
            rest.push('/');
            rest.push_str(segment);
            rest
        }),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leading_version_is_replaced() {
        assert_eq!(without_version("/servers"), "/servers");
        assert_eq!(without_version("/v0.9/servers"), "/servers");
        assert_eq!(without_version("/v1/servers/a/versions"), "/servers/a/versions");
        assert_eq!(without_version("/v0"), "");
    }
}

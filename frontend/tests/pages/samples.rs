//! Sample data for the page tests and for looking at the pages: ordinary rows, and rows that mean harm.

mod observed;

use serde_json::{Value, json};
use toolmark_domain::digest::Digest;
use toolmark_domain::name::ServerName;
use toolmark_domain::record::{Origin, Outline, ServerSummary, Stats, Version};
use toolmark_domain::status::Status;
use toolmark_domain::timestamp::Timestamp;
use toolmark_domain::version::VersionId;
use toolmark_frontend::Page;
use toolmark_frontend::views::{
    ApiView, DocView, ErrorView, FacetView, FormFinding, FoundTools, HomeView, InstanceStatus, PublisherView,
    ReaderView, SearchView, SearchWords, ServerView, Site, StatsView, StatusView, ToolGroup, ToolRowView,
    VersionsView,
};

use self::observed::{changes, hostile_changes, observed_pages};

pub(crate) fn at(text: &str) -> Timestamp {
    text.parse().expect("sample data")
}

pub(crate) fn site() -> Site {
    Site {
        public_url: Some("https://toolmark.example".to_owned()),
    }
}

pub(crate) fn version(document: &Value, status: Status, current: bool) -> Version {
    let text = document.to_string();
    Version {
        server: ServerName::parse(document["name"].as_str().expect("sample data")).expect("sample data"),
        version: VersionId::parse(document["version"].as_str().expect("sample data")).expect("sample data"),
        status,
        status_changed_at: at("2026-03-04T09:00:00Z"),
        status_message: None,
        published_at: at("2026-02-11T13:57:43.256739Z"),
        updated_at: at("2026-03-04T09:00:00Z"),
        is_latest: current,
        is_current: current,
        origin: Origin::Published,
        valid: true,
        digest: Digest::of(text.as_bytes()),
        document: text,
    }
}

pub(crate) fn summary(version: &Version) -> ServerSummary {
    let document: Value = serde_json::from_str(&version.document).expect("sample data");
    let words = |list: &str, key: &str| {
        let entries = document[list].as_array().cloned().unwrap_or_default();
        entries
            .iter()
            .map(|entry| entry[key].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    ServerSummary {
        name: version.server.clone(),
        title: document["title"].as_str().map(str::to_owned),
        description: document["description"].as_str().map(str::to_owned),
        version: version.version.clone(),
        status: version.status,
        origin: version.origin,
        published_at: version.published_at,
        updated_at: version.updated_at,
        registry_types: words("packages", "registryType"),
        remote_transports: words("remotes", "type"),
    }
}

/// A server with a package that asks for a secret, an image and a remote.
pub(crate) fn weather() -> Value {
    json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": "io.github.northwind/weather",
        "title": "Northwind Weather",
        "description": "Forecasts, warnings and tide tables for any harbour, with the source of each reading.",
        "version": "1.4.0",
        "repository": { "url": "https://github.com/northwind/weather", "source": "github" },
        "websiteUrl": "https://northwind.example/weather",
        "packages": [
            {
                "registryType": "npm", "identifier": "@northwind/weather", "version": "1.4.0",
                "transport": { "type": "stdio" },
                "packageArguments": [
                    { "type": "named", "name": "--units", "default": "metric", "description": "metric or imperial" },
                    { "type": "positional", "valueHint": "harbour", "isRequired": true, "description": "Name of the home harbour" },
                ],
                "environmentVariables": [
                    { "name": "WEATHER_API_KEY", "description": "Key of the weather service", "isRequired": true, "isSecret": true },
                    { "name": "LOG_LEVEL", "default": "info", "description": "How much is logged" },
                ],
            },
            {
                "registryType": "oci", "identifier": "ghcr.io/northwind/weather:1.4.0", "transport": { "type": "stdio" },
                "environmentVariables": [
                    { "name": "WEATHER_API_KEY", "description": "Key of the weather service", "isRequired": true, "isSecret": true },
                ],
            },
        ],
        "remotes": [{
            "type": "streamable-http", "url": "https://weather.northwind.example/mcp",
            "headers": [{
                "name": "Authorization", "value": "Bearer {token}", "isSecret": true,
                "variables": { "token": { "description": "Access token", "isSecret": true, "isRequired": true } },
            }],
        }],
    })
}

fn plain(name: &str, version: &str, description: &str, packages: &Value) -> Value {
    json!({ "name": name, "version": version, "description": description, "packages": packages })
}

pub(crate) fn others() -> Vec<Version> {
    let npm = |name: &str| json!([{ "registryType": "npm", "identifier": name, "version": "2.0.1", "transport": { "type": "stdio" } }]);
    let pypi = |name: &str| json!([{ "registryType": "pypi", "identifier": name, "version": "0.9.2", "transport": { "type": "stdio" } }]);
    let mut rows = vec![
        version(
            &plain(
                "com.example.ledger/books",
                "2.0.1",
                "Double-entry bookkeeping: post, reverse and reconcile entries.",
                &npm("ledger-books"),
            ),
            Status::Active,
            true,
        ),
        version(
            &plain(
                "io.github.marisol/herbarium",
                "0.9.2",
                "Looks up plants by leaf, flower and place.",
                &pypi("herbarium"),
            ),
            Status::Deprecated,
            true,
        ),
        version(
            &plain(
                "org.example.atlas/maps",
                "2025.06.18",
                "Tiles, routes and elevation from open data.",
                &json!([]),
            ),
            Status::Active,
            true,
        ),
    ];
    rows[0].origin = Origin::Imported;
    rows[2].origin = Origin::Listed;
    rows
}

/// Versions of the weather server, the shown one first.
pub(crate) fn weather_versions() -> Vec<Version> {
    let of = |number: &str, status, current| {
        let mut document = weather();
        document["version"] = number.into();
        version(&document, status, current)
    };
    let mut rows = vec![
        of("1.4.0", Status::Active, true),
        of("1.10.0", Status::Deleted, false),
        of("1.3.0", Status::Deprecated, false),
        of("2.0.0-rc.1", Status::Active, false),
        of("1.2.0", Status::Active, false),
    ];
    rows[1].status_message = Some("Published by mistake from a test branch.".to_owned());
    rows[2].status_message = Some("Reports tides an hour late; use 1.4.0.".to_owned());
    rows
}

pub(crate) const MARKUP: &str = "\"><svg onload=alert(1)>'</title></script>&amp;";
pub(crate) const HIDDEN: &str =
    "Adds\u{200B} two \u{202E}srebmun\u{202C}\u{E0069}\u{E0067}\u{E006E}\u{E006F}\u{E0072}\u{E0065}\u{7}";

/// A document in which every foreign string means harm.
pub(crate) fn hostile() -> Value {
    let zoo = format!("{MARKUP}{HIDDEN}");
    let long = "x".repeat(200);
    let field = json!({ "name": zoo, "description": zoo, "isRequired": true, "default": zoo, "type": "named", "valueHint": zoo });
    json!({
        "$schema": zoo,
        "name": format!("a.{}/{}", "n".repeat(97), "s".repeat(99)),
        "title": zoo,
        "description": format!("{zoo}{}", "wörd ".repeat(20_000)),
        "version": format!("1.0.0-{MARKUP}\u{202E}"),
        "repository": { "url": "javascript:alert(1)", "source": zoo },
        "websiteUrl": format!("https://example.com/{zoo}"),
        "packages": [
            { "registryType": zoo, "identifier": long, "version": zoo, "transport": { "type": zoo }, "registryBaseUrl": zoo, "fileSha256": zoo },
            { "registryType": "npm", "identifier": "--eval=x", "version": "1.0.0", "transport": { "type": "stdio" } },
            { "registryType": "npm", "identifier": "fine", "version": "1.0.0", "transport": { "type": "stdio" },
              "packageArguments": [field, { "type": "positional", "value": zoo }, { "type": "positional", "value": "$(touch x); `id` 'q'" }],
              "environmentVariables": [field, { "name": "TOKEN", "value": "tmk_not_to_be_shown", "isSecret": true, "description": zoo }] },
            { "registryType": "mcpb", "identifier": "javascript:alert(2)", "transport": { "type": "stdio" } },
        ],
        "remotes": [
            { "type": zoo, "url": zoo },
            { "type": "sse", "url": "javascript:alert(3)" },
            { "type": "streamable-http", "url": "https://example.com/mcp", "headers": [{ "name": "X-Key", "value": zoo }, field] },
        ],
    })
}

pub(crate) fn hostile_version() -> Version {
    let mut row = version(&hostile(), Status::Deprecated, true);
    row.status_message = Some(format!("{MARKUP}{HIDDEN}"));
    row.valid = false;
    row
}

pub(crate) fn stats() -> Stats {
    Stats {
        servers: 1204,
        versions: 5310,
        events: 9811,
        by_registry_type: vec![
            ("npm".into(), 701),
            ("pypi".into(), 388),
            ("oci".into(), 140),
            (MARKUP.into(), 1),
        ],
        by_remote_transport: vec![("streamable-http".into(), 412), ("sse".into(), 90)],
        by_origin: vec![
            (Origin::Imported, 1100),
            (Origin::Published, 64),
            (Origin::Listed, 40),
        ],
    }
}

pub(crate) fn instance() -> InstanceStatus {
    InstanceStatus {
        version: "0.1.0".to_owned(),
        commit: None,
        store: "SQLite",
        ready: true,
        event: Some(9811),
        jobs_waiting: Some(3),
        jobs_running: Some(1),
        started_at: at("2026-03-01T06:30:00Z"),
        asked_at: at("2026-03-04T09:00:00Z"),
    }
}

pub(crate) fn openapi() -> Value {
    json!({
        "info": { "title": "Toolmark API", "version": "1" },
        "components": { "parameters": { "limit": { "name": "limit", "in": "query", "description": "at most 100" } } },
        "paths": { "/api/v1/servers": { "get": {
            "summary": "Servers by name", "description": "One page of servers.",
            "parameters": [{ "$ref": "#/components/parameters/limit" }],
            "responses": { "200": { "description": "one page" }, "400": { "description": "a parameter is not known" } },
        } } },
    })
}

/// A page and the name it goes by.
pub(crate) type Named = (String, Box<dyn Page>);

fn named(name: &str, page: impl Page + 'static) -> Named {
    (name.to_owned(), Box::new(page))
}

/// One of each page.
pub(crate) fn pages() -> Vec<Named> {
    [
        list_pages(),
        server_pages(),
        observed_pages(),
        reader_pages(),
        other_pages(),
        doc_pages(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn search(site: &Site, query: &str, rows: &[ServerSummary], found: &FoundTools, more: bool) -> SearchView {
    let words = SearchWords {
        query: query.to_owned(),
        narrow: if found.total > 0 {
            vec![
                ("era".into(), "modern".into()),
                ("server".into(), query.to_owned()),
            ]
        } else {
            Vec::new()
        },
        later: false,
    };
    SearchView::new(site, &words, rows, found, more.then(|| query.to_owned()))
}

fn found_tools(text: &str) -> FoundTools {
    let tool = ToolRowView {
        id: format!("io.github.northwind/weather#{text}"),
        name: text.to_owned(),
        title: Some(text.to_owned()),
        summary: text.to_owned(),
        marks: vec![[0, 5]],
        deprecated: true,
        high_findings: 2,
        copies: 3,
        tokens: 70,
        verdict: Some("verified".to_owned()),
    };
    FoundTools {
        groups: vec![ToolGroup {
            server: format!("io.github.northwind/{text}"),
            version: text.to_owned(),
            found: 9,
            tools: vec![tool],
        }],
        total: 9,
        facets: vec![FacetView {
            name: "era",
            values: vec![("modern", 9), ("legacy", 2)],
        }],
        relaxed: vec![text.to_owned()],
        instead: vec![(text.to_owned(), text.to_owned())],
        event: 7,
    }
}

fn list_pages() -> Vec<Named> {
    let site = site();
    let weather = &weather_versions()[..1];
    let rows: Vec<ServerSummary> = weather.iter().chain(&others()).map(summary).collect();
    let bad = [summary(&hostile_version())];
    vec![
        named("home", HomeView::new(&site, &stats(), &rows, &changes())),
        named("home-empty", HomeView::new(&site, &Stats::default(), &[], &[])),
        named(
            "home-hostile",
            HomeView::new(&site, &stats(), &bad, &hostile_changes()),
        ),
        named(
            "search",
            search(
                &site,
                "tide tables",
                &rows,
                &found_tools("Tells the tide <b>tables</b>"),
                true,
            ),
        ),
        named(
            "search-all",
            search(&site, "", &rows, &FoundTools::default(), false),
        ),
        named(
            "search-empty",
            search(&site, MARKUP, &[], &FoundTools::default(), false),
        ),
        named(
            "search-hostile",
            search(&site, MARKUP, &bad, &found_tools(MARKUP), true),
        ),
        named(
            "publisher",
            PublisherView::new(&site, "io.github.northwind", &rows[..1], None),
        ),
        named(
            "publisher-hostile",
            PublisherView::new(&site, MARKUP, &bad, Some(MARKUP)),
        ),
    ]
}

/// The outlines of versions, the greatest first.
pub(crate) fn outlines(versions: &[Version]) -> Vec<Outline> {
    let mut outlines: Vec<Outline> = versions.iter().map(Outline::from).collect();
    outlines.sort_by(Outline::newest_first);
    outlines
}

fn reader_pages() -> Vec<Named> {
    let page = |name, address: &str, active, unconfirmed| {
        let path = "/alerts/0190/00aa".to_owned();
        named(name, ReaderView::new(&site(), path, address, active, unconfirmed))
    };
    vec![
        page("reader-asked", "reader@northwind.example", false, true),
        page("reader", "reader@northwind.example", true, false),
        page("reader-hostile", MARKUP, false, false),
    ]
}

fn server_pages() -> Vec<Named> {
    let site = site();
    let all = weather_versions();
    let listed = others();
    let bad = [hostile_version()];
    let findings = vec![
        FormFinding::new("error", MARKUP, HIDDEN),
        FormFinding::new("warning", "$schema", "an older schema"),
    ];
    vec![
        named("server", ServerView::of_server(&site, &all[0], &all)),
        named("server-old", ServerView::of_version(&site, &all[2], &all)),
        named("server-deleted", ServerView::of_version(&site, &all[1], &all)),
        named(
            "server-listed",
            ServerView::of_server(&site, &listed[2], &listed[2..]),
        ),
        named(
            "server-hostile",
            ServerView::of_server(&site, &bad[0], &bad).with_findings(findings),
        ),
        named(
            "versions",
            VersionsView::new(&site, &all[0].server, &outlines(&all), &all, None),
        ),
        named(
            "versions-hostile",
            VersionsView::new(&site, &bad[0].server, &outlines(&bad), &bad, None),
        ),
    ]
}

fn other_pages() -> Vec<Named> {
    let site = site();
    let down = InstanceStatus {
        ready: false,
        event: None,
        jobs_waiting: None,
        jobs_running: None,
        ..instance()
    };
    let missing = ErrorView::new(&site, 404, "server-not-found", "no server of this name is listed")
        .with_hint("names are written `namespace/name`")
        .with_request_id("0193");
    let hostile = ErrorView::new(&site, 400, "bad-parameter", MARKUP).with_hint(HIDDEN);
    vec![
        named("stats", StatsView::new(&site, &stats())),
        named("status", StatusView::new(&site, instance())),
        named("status-down", StatusView::new(&site, down)),
        named("error", missing),
        named("error-hostile", hostile),
        named("api", ApiView::new(&site, &openapi())),
    ]
}

fn doc_pages() -> Vec<Named> {
    let page = |slug: &str| DocView::new(&site(), slug).expect("sample data");
    let name = |slug: &str| {
        if slug.is_empty() {
            "doc-index".to_owned()
        } else {
            format!("doc-{slug}")
        }
    };
    toolmark_frontend::docs::all()
        .iter()
        .map(|doc| named(&name(doc.slug), page(doc.slug)))
        .collect()
}

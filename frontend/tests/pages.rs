//! Every kind of page, with ordinary data and with data that means harm.

#[path = "pages/samples.rs"]
mod samples;

use std::io::Write as _;

use samples::{HIDDEN, MARKUP, pages, site, summary, version};
use serde_json::{Value, json};
use toolmark_domain::record::ServerSummary;
use toolmark_domain::status::Status;
use toolmark_frontend::Page;
use toolmark_frontend::views::{
    ApiView, FormFinding, FoundTools, SearchView, SearchWords, ServerView, VersionsView,
};

/// The promised weight of a page, compressed.
const PAGE_BYTES: usize = 60_000;

fn html(page: &dyn Page) -> String {
    page.render().expect("a page renders")
}

/// Every tag of a page with its attributes, in order. Also proves that quotes and brackets are balanced.
fn tags(html: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut out = Vec::new();
    let mut rest = html;
    while let Some(open) = rest.find('<') {
        let mut end = open + 1;
        let mut quoted = false;
        for (at, c) in rest[open + 1..].char_indices() {
            match c {
                '"' => quoted = !quoted,
                '>' if !quoted => {
                    end = open + 1 + at;
                    break;
                }
                _ => {}
            }
        }
        let tag = &rest[open + 1..end];
        let (name, mut attributes) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
        let mut found = Vec::new();
        while let Some((key, after)) = attributes.trim_start().split_once("=\"") {
            let (value, next) = after.split_once('"').expect("an attribute ends");
            let key = key.rsplit(char::is_whitespace).next().unwrap_or(key);
            found.push((key.to_owned(), value.to_owned()));
            attributes = next;
        }
        out.push((name.trim_end_matches('/').to_owned(), found));
        rest = &rest[end + 1..];
    }
    out
}

#[test]
fn every_page_keeps_the_page_rules() {
    for (name, page) in pages() {
        let html = html(&*page);
        assert!(html.starts_with("<!doctype html>\n<html lang=\"en\">"), "{name}");
        let (head, _) = html.split_once("</head>").unwrap();
        // A drawing has titles of its own, one for each mark.
        assert_eq!(head.matches("<title>").count(), 1, "{name}");
        for once in ["<main id=\"main\"", "<h1", "</html>", "class=\"skip\""] {
            assert_eq!(html.matches(once).count(), 1, "{name}: {once}");
        }
        for (tag, attributes) in tags(&html) {
            let get = |key: &str| {
                attributes
                    .iter()
                    .find(|(k, _)| k == key)
                    .map(|(_, value)| value.as_str())
            };
            for (key, value) in &attributes {
                assert!(
                    key != "style" && !key.starts_with("on"),
                    "{name}: {tag} {key}={value}"
                );
                assert!(key != "autofocus", "{name}");
            }
            assert!(tag != "style", "{name}: inline style");
            if tag == "script" {
                assert!(
                    get("src").is_some_and(|src| src.starts_with("/assets/")),
                    "{name}: inline script"
                );
            }
            if let Some(href) = get("href") {
                let own = href.starts_with('/') && !href.starts_with("//") || href.starts_with('#');
                let canonical = tag == "link" && href.starts_with("https://toolmark.example/");
                let foreign = href.starts_with("https://") && get("rel") == Some("nofollow noopener ugc");
                assert!(own || canonical || foreign, "{name}: {href}");
            }
        }
    }
}

#[test]
fn headings_do_not_skip_a_level() {
    for (name, page) in pages() {
        let mut last = 0;
        let html = html(&*page);
        let body = &html[html.find("<main").unwrap()..];
        for (tag, _) in tags(body) {
            if let Some(level) = tag.strip_prefix('h').and_then(|level| level.parse::<u32>().ok()) {
                // The list of documentation pages stands before the article's own heading.
                let ok = level <= last + 1 || (last == 0 && level == 2 && body.contains("doc-pages"));
                assert!(ok, "{name}: h{level} after h{last}");
                last = level;
            }
        }
    }
}

#[test]
fn ids_are_unique_and_labels_point_at_fields() {
    for (name, page) in pages() {
        let html = html(&*page);
        let tags = tags(&html);
        let values = |wanted: &str| -> Vec<&str> {
            tags.iter()
                .flat_map(|(_, a)| a)
                .filter(|(k, _)| k == wanted)
                .map(|(_, v)| v.as_str())
                .collect()
        };
        let mut ids = values("id");
        ids.sort_unstable();
        let count = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), count, "{name}: an id is there twice");
        for target in values("for") {
            assert!(ids.contains(&target), "{name}: label for {target}");
        }
        let fields = tags
            .iter()
            .filter(|(tag, attributes)| {
                let hidden = attributes.iter().any(|(k, v)| k == "type" && v == "hidden");
                (tag == "input" || tag == "select") && !hidden
            })
            .count();
        assert_eq!(values("for").len(), fields, "{name}: a field without a label");
    }
}

#[test]
fn foreign_text_is_never_markup_and_never_invisible() {
    for (name, page) in pages().into_iter().filter(|(name, _)| name.contains("hostile")) {
        let html = html(&*page);
        assert!(!html.contains("<svg onload"), "{name}");
        assert!(!html.contains("</script>&amp;amp;"), "{name}");
        for (tag, attributes) in tags(&html) {
            assert!(
                !attributes.iter().any(|(key, _)| key == "onload"),
                "{name}: {tag}"
            );
        }
        let hidden: Vec<char> = html
            .chars()
            .filter(|c| toolmark_frontend::foreign::is_hidden(*c))
            .collect();
        assert!(hidden.is_empty(), "{name}: {hidden:?}");
        assert!(!html.contains("href=\"javascript"), "{name}");
    }
    let html = html(
        &*pages()
            .into_iter()
            .find(|(name, _)| name == "server-hostile")
            .unwrap()
            .1,
    );
    for label in ["ZWSP", "RLO", "PDF", "TAG ignore", "BEL"] {
        assert!(html.contains(&format!(">{label}</span>")), "{label}");
    }
    assert!(html.contains("cut after 2000 of 100072 characters"));
}

#[test]
fn no_secret_of_a_document_is_shown_on_its_page_or_its_twin() {
    let row = samples::hostile_version();
    let page = ServerView::of_server(&site(), &row, std::slice::from_ref(&row));
    assert!(!html(&page).contains("tmk_not_to_be_shown"));
    assert!(!page.json().unwrap().contains("tmk_not_to_be_shown"));
}

fn searched(query: &str, rows: &[ServerSummary], next: Option<&str>) -> SearchView {
    let words = SearchWords {
        query: query.to_owned(),
        ..SearchWords::default()
    };
    SearchView::new(
        &site(),
        &words,
        rows,
        &FoundTools::default(),
        next.map(str::to_owned),
    )
}

#[test]
fn an_empty_search_answer_does_not_repeat_the_words() {
    let page = searched("zzyzx \u{202E}words", &[], None);
    for text in [html(&page), page.json().unwrap()] {
        assert!(!text.contains("zzyzx"));
    }
    let rows = [summary(&samples::weather_versions()[0])];
    let found = searched("tide \"tables\"", &rows, Some("next one"));
    let text = html(&found);
    assert!(text.contains("value=\"tide &#34;tables&#34;\""));
    assert!(
        text.contains("href=\"/search?q=tide%20%22tables%22&#38;cursor=next%20one\""),
        "{text}"
    );
}

#[test]
fn every_twin_is_json_with_the_schema_first() {
    for (name, page) in pages() {
        let text = page.json().unwrap();
        assert!(text.starts_with("{\"schema\":\"toolmark.page."), "{name}");
        let read: Value = serde_json::from_str(&text).unwrap();
        assert!(read["schema"].as_str().unwrap().ends_with("/1"), "{name}");
    }
}

#[test]
fn the_twin_of_a_server_has_the_facts_of_its_page() {
    let all = samples::weather_versions();
    let page = ServerView::of_server(&site(), &all[0], &all);
    let twin: Value = serde_json::from_str(&page.json().unwrap()).unwrap();
    let html = html(&page);
    for pointer in [
        "/name",
        "/title",
        "/description/text",
        "/version",
        "/vouched",
        "/provenance/state",
        "/provenance/means",
        "/unobserved/state",
        "/unobserved/means",
        "/published_at",
        "/sha256",
        "/document_href",
        "/packages/0/identifier",
        "/packages/1/registry_type",
        "/remotes/0/url",
        "/links/0/url",
        "/prerelease/version",
        "/versions_href",
    ] {
        let value = twin
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_else(|| panic!("{pointer}"));
        assert!(html.contains(value), "{pointer}: {value}");
    }
    assert_eq!(twin["current"], true);
    assert_eq!(twin["packages"][0]["install"].as_array().unwrap().len(), 10);
}

#[test]
fn a_prerelease_is_offered_apart_from_the_current_version() {
    let all = samples::weather_versions();
    let page = ServerView::of_server(&site(), &all[0], &all);
    assert_eq!(page.version.raw(), "1.4.0");
    assert_eq!(
        page.prerelease.as_ref().map(|row| row.version.raw()),
        Some("2.0.0-rc.1")
    );
    let older = ServerView::of_version(&site(), &all[4], &all);
    assert_eq!(
        older.current_version.as_ref().map(|row| row.version.raw()),
        Some("1.4.0")
    );
    for snippet in &page.packages[0].install {
        assert!(
            snippet.code.contains("@northwind/weather@1.4.0"),
            "{}",
            snippet.client
        );
    }
}

#[test]
fn versions_come_newest_first_by_semantic_version_and_page_by_page() {
    let of = |number: String| {
        let mut document = samples::weather();
        document["version"] = number.into();
        version(&document, Status::Active, false)
    };
    let mut all: Vec<_> = (0..150).map(|minor| of(format!("1.{minor}.0"))).collect();
    all.push(of("2.0.0-rc.1".to_owned()));
    let name = all[0].server.clone();
    let first = VersionsView::new(&site(), &name, &samples::outlines(&all), &all, None);
    let shown = |view: &VersionsView| {
        view.versions
            .iter()
            .map(|row| row.version.raw().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(shown(&first)[..2], ["1.149.0", "1.148.0"]);
    assert_eq!(first.prereleases.len(), 1);
    assert_eq!(
        first.next.as_deref(),
        Some("/s/io.github.northwind/weather/versions?cursor=1.50.0")
    );
    let second = VersionsView::new(&site(), &name, &samples::outlines(&all), &all, Some("1.50.0"));
    let rest = shown(&second);
    assert_eq!(
        (rest.first().map(String::as_str), rest.len()),
        (Some("1.49.0"), 50)
    );
    assert_eq!((second.next, second.prereleases.len()), (None, 0));
    assert!(
        VersionsView::new(&site(), &name, &samples::outlines(&all), &all, Some("no such"))
            .versions
            .is_empty()
    );
}

fn gzipped(text: &str) -> usize {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).expect("memory takes it");
    encoder.finish().expect("memory takes it").len()
}

#[test]
fn no_ordinary_page_is_heavy() {
    for (name, page) in pages() {
        let weight = gzipped(&html(&*page));
        assert!(weight <= PAGE_BYTES, "{name}: {weight} bytes");
    }
}

/// Text that does not compress, from a small generator of our own.
struct Noise(u64);

impl Noise {
    fn text(&mut self, chars: usize) -> String {
        let mut next = || {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            u32::try_from(self.0 >> 40).expect("24 bits") % 20_000
        };
        (0..chars)
            .map(|_| char::from_u32(0x4E00 + next()).expect("in one block"))
            .collect()
    }
}

#[test]
fn the_heaviest_document_still_gives_a_page_within_its_weight() {
    let mut noise = Noise(7);
    let mut setting = || json!({ "name": "K", "description": noise.text(2000), "default": noise.text(2000), "isRequired": true });
    let package = |settings: Vec<Value>| json!({ "registryType": "npm", "identifier": "fine", "version": "1.0.0", "environmentVariables": settings });
    let packages: Vec<Value> = (0..60)
        .map(|_| package((0..1).map(|_| setting()).collect()))
        .collect();
    let mut document = samples::weather();
    document["packages"] = packages.clone().into();
    document["remotes"] = packages.into();
    document["description"] = Noise(1).text(100_000).into();
    document["title"] = Noise(2).text(5000).into();
    let row = version(&document, Status::Active, true);
    let findings =
        (0..200).map(|at| FormFinding::new("error", &Noise(at).text(400), &Noise(at + 500).text(400)));
    let page =
        ServerView::of_server(&site(), &row, std::slice::from_ref(&row)).with_findings(findings.collect());
    let text = html(&page);
    assert!(text.contains("the document</a> has all") && text.contains("of 200 findings are shown"));
    let weight = gzipped(&text);
    assert!(weight <= PAGE_BYTES, "{weight} bytes");
}

#[test]
fn a_full_list_of_heavy_rows_stays_within_its_weight() {
    let rows: Vec<_> = (0..u64::from(toolmark_domain::limits::PAGE_DEFAULT))
        .map(|at| {
            let mut document = samples::weather();
            document["title"] = Noise(at).text(1000).into();
            document["description"] = Noise(at + 99).text(1000).into();
            document["name"] = format!("a.{at}/{}", "s".repeat(190)).into();
            summary(&version(&document, Status::Active, true))
        })
        .collect();
    let weight = gzipped(&html(&searched("words", &rows, None)));
    assert!(weight <= PAGE_BYTES, "search: {weight} bytes");

    let versions: Vec<_> = (0..300)
        .map(|at| {
            let mut document = samples::weather();
            document["version"] = format!("{at}{}", Noise(at).text(250)).into();
            let mut row = version(&document, Status::Deprecated, false);
            row.status_message = Some(Noise(at + 999).text(500));
            row
        })
        .collect();
    let page = VersionsView::new(
        &site(),
        &versions[0].server,
        &samples::outlines(&versions),
        &versions,
        None,
    );
    assert!(page.next.is_some());
    let weight = gzipped(&html(&page));
    assert!(weight <= PAGE_BYTES, "versions: {weight} bytes");
}

#[test]
fn the_documentation_has_no_raw_html_and_its_links_lead_somewhere() {
    let known: Vec<String> = toolmark_frontend::docs::all()
        .iter()
        .map(|page| toolmark_frontend::docs::path(page.slug))
        .chain(["/docs/api".to_owned()])
        .collect();
    for page in toolmark_frontend::docs::all() {
        assert!(
            page.markdown.starts_with(&format!("# {}", page.title)),
            "{}",
            page.slug
        );
        for (tag, attributes) in tags(page.html()) {
            for (key, value) in attributes {
                // A place of the page itself is one of its ids.
                let here = value.strip_prefix('#').is_some_and(|id| {
                    tags(page.html())
                        .iter()
                        .any(|(_, all)| all.iter().any(|(k, v)| k == "id" && v == id))
                });
                assert!(
                    key != "href" || here || known.contains(&value),
                    "{}: {tag} {value}",
                    page.slug
                );
            }
        }
    }
    let llms = toolmark_frontend::docs::llms_txt(Some("https://toolmark.example/"));
    assert!(llms.contains("(https://toolmark.example/docs/limits.md)"));
    assert!(!llms.contains("{base}"));
}

#[test]
fn markup_in_the_description_of_an_operation_is_text() {
    let mut openapi = samples::openapi();
    openapi["paths"]["/api/v1/servers"]["get"]["summary"] = MARKUP.into();
    openapi["info"]["title"] = HIDDEN.into();
    assert!(!html(&ApiView::new(&site(), &openapi)).contains("<svg onload"));
}

fn luminance(hex: &str) -> f64 {
    let channel = |at: usize| {
        let value = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).expect("hex")) / 255.0;
        if value <= 0.03928 {
            value / 12.92
        } else {
            ((value + 0.055) / 1.055).powf(2.4)
        }
    };
    0.2126 * channel(0) + 0.7152 * channel(2) + 0.0722 * channel(4)
}

#[test]
fn every_colour_of_text_can_be_read_on_every_ground_in_both_themes() {
    let css = std::str::from_utf8(toolmark_frontend::assets::css().bytes).unwrap();
    let role = |name: &str, theme: usize| {
        let (_, rest) = css
            .split_once(&format!("  --{name}: light-dark("))
            .unwrap_or_else(|| panic!("{name}"));
        let pair: Vec<&str> = rest.split(')').next().unwrap().split(", ").collect();
        luminance(pair[theme].trim_start_matches('#'))
    };
    let inks = [
        "ink",
        "faint",
        "link",
        "accent",
        "verified",
        "unsigned",
        "mismatch",
        "invalid",
        "unverifiable",
        "info",
        "low",
        "medium",
        "high",
        "critical",
    ];
    for theme in [0, 1] {
        for ground in ["paper", "sheet", "code"] {
            for ink in inks {
                let (a, b) = (role(ink, theme), role(ground, theme));
                let contrast = (a.max(b) + 0.05) / (a.min(b) + 0.05);
                assert!(
                    contrast >= 4.5,
                    "{ink} on {ground} in theme {theme}: {contrast:.2}"
                );
            }
        }
    }
}

//! Pages of real documents. The corpus lies beside the project: a test that does not find it prints one line and
//! counts as skipped.

#[path = "pages/samples.rs"]
#[expect(dead_code, reason = "the page tests use all of it")]
mod samples;

use std::io::Write as _;
use std::path::PathBuf;

use serde_json::Value;
use toolmark_domain::name::ServerName;
use toolmark_domain::status::Status;
use toolmark_frontend::Page as _;
use toolmark_frontend::views::ServerView;

fn corpus(test: &str, file: &str) -> Option<String> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data");
    let folder = std::env::var_os("TOOLMARK_TEST_DATA").map_or(default.into(), PathBuf::from);
    match std::fs::read_to_string(folder.join(file)) {
        Ok(content) => Some(content),
        Err(error) => {
            // Straight to the stream, so that the line is seen of tests that pass, too.
            let _ = writeln!(std::io::stderr(), "skipped: {test}: {file}: {error}");
            None
        }
    }
}

#[test]
fn every_real_document_has_a_page_and_what_it_installs_is_pinned() {
    let name = "every_real_document_has_a_page_and_what_it_installs_is_pinned";
    let Some(text) = corpus(name, "official-registry-servers.2025-12-12.jsonl") else {
        return;
    };
    let (mut pages, mut targets, mut without) = (0, 0, 0);
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let document = row.get("server").unwrap_or(&row);
        // Names the store does not keep have no page.
        if document["name"]
            .as_str()
            .is_none_or(|name| ServerName::parse(name).is_err())
        {
            continue;
        }
        let version = samples::version(document, Status::Active, true);
        let page = ServerView::of_server(&samples::site(), &version, std::slice::from_ref(&version));
        let html = page.render().unwrap();
        let what = format!("{} {}", version.server, version.version);
        assert!(
            html.starts_with("<!doctype html>\n<html lang=") && html.ends_with("</html>"),
            "{what}"
        );
        let read: Value = serde_json::from_str(&page.json().unwrap()).unwrap();
        assert_eq!(read["name"], document["name"], "{what}");
        pages += 1;
        for package in &page.packages {
            targets += 1;
            without += usize::from(package.install.is_empty());
            let pinned = package
                .version
                .as_ref()
                .map_or(package.identifier.raw(), |version| version.raw());
            for snippet in &package.install {
                assert!(
                    snippet.code.contains(pinned),
                    "{what}: {}: {}",
                    snippet.client,
                    snippet.code
                );
            }
        }
        for remote in &page.remotes {
            targets += 1;
            without += usize::from(remote.install.is_empty());
        }
    }
    println!("{pages} pages, {targets} packages and remotes, {without} without a snippet");
    assert!(
        pages > 1000 && without * 5 < targets,
        "{without} of {targets} have no snippet"
    );
}

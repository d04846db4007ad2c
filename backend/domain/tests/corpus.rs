//! The validator and the order of versions against what the official registry says of real and made-up documents.
//!
//! The corpora lie beside the project, not in it: a test that does not find them prints one line and counts as
//! skipped.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stdout, reason = "the runner reads what a test says")]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::{Map, Value, json};
use toolmark_domain::status::Status;
use toolmark_domain::timestamp::Timestamp;
use toolmark_domain::validation::{
    IssueKind, Severity, gate, is_uri, publish_issues, schema, schema_issues, served_form, validate,
};
use toolmark_domain::version::{Candidate, compare, is_semver, latest};

/// The texts of corpus files; without them, prints once that `test` is skipped.
fn corpora<const N: usize>(test: &str, files: [&str; N]) -> Option<[String; N]> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let folder = std::env::var_os("TOOLMARK_TEST_DATA").map_or(default.into(), PathBuf::from);
    let mut contents = [const { String::new() }; N];
    for (file, content) in files.iter().zip(&mut contents) {
        match std::fs::read_to_string(folder.join(file)) {
            Ok(found) => *content = found,
            Err(error) => {
                println!("skipped: {test}: {file}: {error}");
                return None;
            }
        }
    }
    Some(contents)
}

fn corpus(test: &str, file: &str) -> Option<String> {
    corpora(test, [file]).map(|[content]| content)
}

fn rows(text: &str) -> Vec<Value> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Where we differ from the official registry on purpose: test, row, reason.
const DIFFERENCES: &[(&str, &str, &str)] = &[
    (
        "vectors",
        "version-10",
        "`Latest` would read as the reserved word",
    ),
    ("vectors", "version-22", "`*` is a range"),
    ("vectors", "version-23", "`x` is a range"),
    ("vectors", "version-28", "a set of comparators is a range"),
    (
        "vectors",
        "version-29",
        "white space around a version makes two versions of one",
    ),
    (
        "vectors",
        "version-30",
        "white space around a version makes two versions of one",
    ),
    (
        "vectors",
        "schema-07",
        "an unknown schema is called unknown, not also deprecated",
    ),
    (
        "vectors",
        "schema-08",
        "an unknown schema is called unknown, not also deprecated",
    ),
    ("vectors", "repository-01", "an empty repository is not published"),
];

fn differs(test: &str, row: &str) -> bool {
    DIFFERENCES
        .iter()
        .any(|(in_test, id, _)| *in_test == test && *id == row)
}

/// What is compared of a verdict: valid, publishable, references of semantic issues in order.
#[derive(Debug, PartialEq)]
struct Verdict {
    valid: bool,
    publishable: bool,
    references: Vec<(String, String)>,
}

impl Verdict {
    fn ours(document: &Value) -> Self {
        let found = validate(document);
        let references = found
            .issues
            .iter()
            .filter(|issue| issue.kind == IssueKind::Semantic || issue.path == "schema")
            .map(|issue| (issue.path.clone(), issue.reference.clone()));
        Self {
            valid: found.valid,
            publishable: publish_issues(document).valid,
            references: references.collect(),
        }
    }

    fn upstreams(row: &Value) -> Self {
        let text = |issue: &Value, key: &str| issue[key].as_str().unwrap().to_owned();
        let issues = row["issues"].as_array().unwrap();
        let references = issues
            .iter()
            .filter(|issue| issue["type"] == "semantic" || issue["path"] == "schema")
            .map(|issue| (text(issue, "path"), text(issue, "reference")));
        Self {
            valid: row["valid"].as_bool().unwrap(),
            publishable: row["publishGateValid"].as_bool().unwrap(),
            references: references.collect(),
        }
    }
}

/// Fails with every line of `wrong`.
fn nothing(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn made_up_documents_get_upstreams_answers() {
    let name = "made_up_documents_get_upstreams_answers";
    let Some(text) = corpus(name, "official-validate-vectors.jsonl") else {
        return;
    };
    let mut wrong = Vec::new();
    for row in rows(&text) {
        let id = row["id"].as_str().unwrap();
        let document = &row["doc"];
        let errors = gate(document);
        let status = if errors.is_empty() { 200 } else { 422 };
        let mut problem = String::new();
        if status != row["status"] {
            let _ = write!(problem, "status {status}, expected {}: {errors:?}", row["status"]);
        } else if status == 422 {
            let expected = row["errors"].as_array().unwrap();
            let same = expected.len() == errors.len()
                && expected.iter().zip(&errors).all(|(theirs, ours)| {
                    theirs["location"] == ours.location.as_str()
                        && ours.message.starts_with(theirs["message"].as_str().unwrap())
                });
            if !same {
                let _ = write!(problem, "{errors:?}, expected {expected:?}");
            }
        } else {
            let (ours, theirs) = (Verdict::ours(document), Verdict::upstreams(&row));
            if ours != theirs {
                let _ = write!(problem, "{ours:?}, expected {theirs:?}");
            }
        }
        if problem.is_empty() == differs("vectors", id) {
            wrong.push(format!("{id}: {problem}"));
        }
    }
    nothing(&wrong);
}

#[test]
fn real_documents_get_upstreams_answers() {
    let name = "real_documents_get_upstreams_answers";
    let files = [
        "official-registry-servers.2025-12-12.jsonl",
        "official-validate-results.2025-12-12.jsonl",
    ];
    let Some([servers, results]) = corpora(name, files) else {
        return;
    };
    let key = |row: &Value| (row["name"].to_string(), row["version"].to_string());
    let documents: HashMap<_, _> = rows(&servers)
        .into_iter()
        .map(|row| (key(&row["server"]), row["server"].clone()))
        .collect();
    let results = rows(&results);
    assert_eq!(documents.len(), results.len());
    let mut wrong = Vec::new();
    for row in results {
        let document = &documents[&key(&row)];
        let (ours, mut theirs) = (Verdict::ours(document), Verdict::upstreams(&row));
        // Difference: an empty repository is not published; it can be told from the document itself.
        if document["repository"].as_object().is_some_and(Map::is_empty) {
            theirs.publishable = false;
        }
        if ours != theirs {
            wrong.push(format!("{:?}: {ours:?}, expected {theirs:?}", key(&row)));
        }
    }
    nothing(&wrong);
}

#[test]
fn served_documents_are_served_unchanged() {
    let name = "served_documents_are_served_unchanged";
    let Some(servers) = corpus(name, "official-registry-servers.2025-12-12.jsonl") else {
        return;
    };
    let mut changed = Vec::new();
    for row in rows(&servers) {
        // As text, because the order of keys counts.
        let (before, after) = (row["server"].to_string(), served_form(&row["server"]).to_string());
        if before != after && row["corpus"]["oldShape"].is_null() {
            changed.push(format!("{before}, served as {after}"));
        }
    }
    nothing(&changed);
}

struct Oracle {
    date: &'static str,
    validator: jsonschema::Validator,
}

fn oracles(test: &str) -> Option<Vec<Oracle>> {
    let mut oracles = Vec::new();
    for known in &schema::KNOWN {
        let published = corpus(test, &format!("official-schemas/{}.json", known.date))?;
        let parsed: Value = serde_json::from_str(&published).unwrap();
        // The schemas leave open what a `uri` is: the registry takes what Go takes, the library what RFC 3986 says.
        let validator = jsonschema::options()
            .should_validate_formats(true)
            .with_format("uri", is_uri)
            .build(&parsed)
            .unwrap();
        oracles.push(Oracle {
            date: known.date,
            validator,
        });
    }
    Some(oracles)
}

/// One document with every field there is, in both spellings of names.
fn full(snake_case: bool) -> Value {
    let key = |name: &str| match name.find(|c: char| c.is_ascii_uppercase()) {
        Some(_) if snake_case => name.chars().fold(String::new(), |mut key, c| {
            if c.is_ascii_uppercase() {
                key.push('_');
            }
            key.push(c.to_ascii_lowercase());
            key
        }),
        _ => name.to_owned(),
    };
    let input = json!({
        "description": "d", key("isRequired"): true, "format": "string", "value": "{v}", key("isSecret"): false,
        "default": "d", "placeholder": "p", "choices": ["a"],
    });
    let with = |more: Value| {
        let mut input = input.clone();
        input["variables"] = json!({"v": input.clone()});
        input
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        input
    };
    let header = with(json!({"name": "N"}));
    let named = with(json!({"type": "named", "name": "--n", key("isRepeated"): true}));
    let positional = with(json!({"type": "positional", key("valueHint"): "h", key("isRepeated"): true}));
    let bare = json!({"type": "positional", "value": "x"});
    let web = |kind: &str, headers: &Value| json!({"type": kind, "url": "https://example.com/mcp", "headers": [headers], "variables": {"v": {"value": ""}}});
    let plain = json!({"name": "N"});
    let package = |transport: Value| json!({key("registryType"): "npm", "identifier": "a", "version": "1.0.0", "transport": transport});
    let mut first = package(json!({"type": "stdio"}));
    first.as_object_mut().unwrap().extend(
        json!({
            key("registryBaseUrl"): "https://example.com", key("fileSha256"): "a".repeat(64),
            key("runtimeHint"): "npx", key("runtimeArguments"): [named, positional],
            key("packageArguments"): [bare], key("environmentVariables"): [plain],
        })
        .as_object()
        .unwrap()
        .clone(),
    );
    json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": "com.example/a", "description": "d", "title": "t", "status": "active", "version": "1.0.0",
        key("websiteUrl"): "https://example.com",
        "repository": {"url": "https://github.com/a/b", "source": "github", "id": "1", "subfolder": "s"},
        "icons": [{"src": "https://example.com/i.png", "mimeType": "image/png", "sizes": ["48x48", "any"], "theme": "dark"}],
        "packages": [first, package(web("sse", &plain)), package(web("streamable-http", &plain))],
        "remotes": [web("sse", &header), web("streamable-http", &plain)],
        "_meta": {
            "io.modelcontextprotocol.registry/publisher-provided": {"a": 1},
            "io.modelcontextprotocol.registry/official": {"b": 1},
        },
    })
}

/// What each value of a document is replaced with, one at a time.
fn replacements(value: &Value) -> Vec<Value> {
    let mut all = vec![
        Value::Null,
        json!(true),
        json!(7),
        json!(1.5),
        json!(""),
        json!([]),
        json!({}),
        json!("x"),
        json!("latest"),
        json!("stdio"),
        json!("sse"),
        json!("streamable-http"),
        json!("named"),
        json!("positional"),
        json!("deleted"),
        json!("light"),
        json!("boolean"),
        json!("12x7"),
        json!("12x"),
        json!("http://h"),
        json!("https://a b"),
        json!("ftp://example.com"),
        json!("b".repeat(64)),
        json!("ab".repeat(100)),
        json!("ab/".repeat(40)),
        json!("é".repeat(256)),
        json!([null]),
        json!([""]),
        json!({"a": null}),
        json!({"type": "sse"}),
    ];
    if let Value::String(text) = value {
        all.extend(["x", " ", "é", "/", "0"].map(|more| json!(format!("{text}{more}"))));
        all.push(json!(text.repeat(120)));
        all.push(json!(text.to_uppercase()));
    }
    all
}

/// Every document that differs from `document` in one place: a value replaced, a field left out, renamed or added.
fn mutations(document: &Value) -> Vec<Value> {
    let mut pointers = vec![String::new()];
    let mut at = 0;
    while let Some(pointer) = pointers.get(at).cloned() {
        match document.pointer(&pointer).unwrap() {
            Value::Object(map) => {
                let escaped = |key: &String| key.replace('~', "~0").replace('/', "~1");
                pointers.extend(map.keys().map(|key| format!("{pointer}/{}", escaped(key))));
            }
            Value::Array(items) => {
                pointers.extend((0..items.len()).map(|index| format!("{pointer}/{index}")));
            }
            _ => {}
        }
        at += 1;
    }
    let mut all = Vec::new();
    for pointer in &pointers {
        let value = document.pointer(pointer).unwrap();
        let mut change = |new: Value| {
            let mut changed = document.clone();
            *changed.pointer_mut(pointer).unwrap() = new;
            all.push(changed);
        };
        replacements(value).into_iter().for_each(&mut change);
        let Value::Object(map) = value else {
            continue;
        };
        for key in map.keys() {
            let mut without = map.clone();
            let field = without.shift_remove(key).unwrap();
            change(Value::Object(without.clone()));
            without.insert(format!("{key}_"), field);
            change(Value::Object(without));
        }
        let mut more = map.clone();
        more.insert("extra".to_owned(), json!(1));
        change(Value::Object(more));
    }
    all
}

#[test]
fn schema_verdicts_equal_the_published_schemas() {
    let name = "schema_verdicts_equal_the_published_schemas";
    let files = [
        "official-registry-servers.2025-12-12.jsonl",
        "official-doc-examples.2026-04-25.json",
        "official-validate-vectors.jsonl",
        "legacy-seed.2025-05-16.json",
    ];
    let Some([servers, examples, vectors, seed]) = corpora(name, files) else {
        return;
    };
    let Some(oracles) = oracles(name) else {
        return;
    };
    let list = |text: &str| serde_json::from_str::<Vec<Value>>(text).unwrap();
    let mut documents: Vec<Value> = rows(&servers).iter().map(|row| row["server"].clone()).collect();
    documents.extend(rows(&vectors).iter().map(|row| row["doc"].clone()));
    documents.extend(list(&seed));
    documents.extend(list(&examples));
    documents.extend(mutations(&full(false)));
    documents.extend(mutations(&full(true)));
    let mut wrong = Vec::new();
    let mut counts = BTreeMap::new();
    for document in &documents {
        for oracle in &oracles {
            let ours = schema_issues(oracle.date, document).unwrap();
            let theirs = oracle.validator.is_valid(document);
            *counts.entry((oracle.date, theirs)).or_insert(0) += 1;
            if ours.valid != theirs {
                let found = oracle
                    .validator
                    .iter_errors(document)
                    .map(|error| error.to_string());
                wrong.push(format!(
                    "{}: ours {:?}, theirs {:?}, {document}",
                    oracle.date,
                    ours.issues,
                    found.collect::<Vec<_>>()
                ));
            }
        }
    }
    wrong.truncate(10);
    nothing(&wrong);
    assert!(
        counts.values().all(|count| *count > 500),
        "both verdicts are common: {counts:?}"
    );
    println!("{} documents, {counts:?}", documents.len());
}

#[test]
fn references_lead_into_the_published_schemas() {
    let name = "references_lead_into_the_published_schemas";
    let mut seen = BTreeSet::new();
    for known in &schema::KNOWN {
        let file = format!("official-schemas/{}.json", known.date);
        let Some(text) = corpus(name, &file) else {
            return;
        };
        let published: Value = serde_json::from_str(&text).unwrap();
        for document in mutations(&full(known.date == "2025-07-09")) {
            for issue in schema_issues(known.date, &document).unwrap().issues {
                assert_eq!(issue.severity, Severity::Error);
                let (address, pointer) = issue.reference.split_once('#').unwrap();
                assert_eq!(published["$id"], address);
                assert!(published.pointer(pointer).is_some(), "{}", issue.reference);
                assert!(
                    !issue.path.is_empty() || !document.is_object() || issue.message.starts_with("missing")
                );
                seen.insert(issue.reference);
            }
        }
    }
    assert!(seen.len() > 50, "{seen:?}");
}

#[test]
fn versions_compare_as_upstream_compares_them() {
    let name = "versions_compare_as_upstream_compares_them";
    let Some(text) = corpus(name, "official-version-compare.json") else {
        return;
    };
    let table: Value = serde_json::from_str(&text).unwrap();
    let mut wrong = Vec::new();
    for (version, semver) in table["isSemver"].as_object().unwrap() {
        if is_semver(version) != *semver {
            wrong.push(format!("is_semver({version})"));
        }
    }
    let pairs = table["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), 378);
    let now = Timestamp::from_micros(0);
    for pair in pairs {
        let (a, b) = (pair["a"].as_str().unwrap(), pair["b"].as_str().unwrap());
        let expected = pair["cmp"].as_i64().unwrap();
        let ours = compare((a, now), (b, now)) as i64;
        let turned = compare((b, now), (a, now)) as i64;
        if ours != expected || turned != -expected {
            wrong.push(format!("{a} {b}: {ours} and {turned}, expected {expected}"));
        }
    }
    nothing(&wrong);
}

#[test]
fn replaying_every_publish_gives_the_latest_flags() {
    let name = "replaying_every_publish_gives_the_latest_flags";
    let Some(text) = corpus(name, "official-registry-servers.2025-12-12.jsonl") else {
        return;
    };
    let mut servers: BTreeMap<String, Vec<(Timestamp, String, bool)>> = BTreeMap::new();
    for row in rows(&text) {
        let official = &row["_meta"]["io.modelcontextprotocol.registry/official"];
        let Some(flag) = official["isLatest"].as_bool() else {
            continue;
        };
        let server = &row["server"];
        let published: Timestamp = official["publishedAt"].as_str().unwrap().parse().unwrap();
        let version = server["version"].as_str().unwrap_or_default().to_owned();
        servers
            .entry(server["name"].as_str().unwrap().to_owned())
            .or_default()
            .push((published, version, flag));
    }
    let mut wrong = Vec::new();
    let mut several = 0;
    for (server, mut versions) in servers {
        versions.sort();
        several += usize::from(versions.len() > 1);
        let candidates: Vec<Candidate<'_>> = versions
            .iter()
            .map(|(published_at, version, _)| Candidate {
                version,
                status: Status::Active,
                published_at: *published_at,
            })
            .collect();
        let chosen = latest(&candidates);
        for (index, (_, version, flag)) in versions.iter().enumerate() {
            if (chosen == Some(index)) != *flag {
                wrong.push(format!("{server} {version}: latest {}", !flag));
            }
        }
    }
    nothing(&wrong);
    assert!(several > 200, "{several} servers with several versions");
}

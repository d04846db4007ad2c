//! What a server and its tools are in the index.

use serde_json::Value;
use toolmark_domain::document::Document;
use toolmark_domain::event::Severity;
use toolmark_domain::find::{Run, summary};
use toolmark_domain::manifest::{Era, Item};
use toolmark_domain::provenance::Verdict;
use toolmark_domain::record::Version;
use toolmark_domain::status::Status;
use toolmark_domain::target::Target;
use toolmark_domain::timestamp::Timestamp;
use toolmark_search::{Labels, Parameter, ToolDocument};
use toolmark_store::{ItemHistory, StoredSnapshot};

use crate::found::Look;

/// Most tools of one server that help to find the server itself.
const SERVER_TOOLS: usize = 40;

fn seconds(at: Timestamp) -> u64 {
    u64::try_from(at.as_secs()).unwrap_or_default()
}

/// How the targets of a version are reached, in the order of its document.
pub(crate) fn targets_of(document: &Value) -> Vec<(Run, String)> {
    let targets = Target::all(document).into_iter();
    targets
        .map(|target| {
            let run = Run {
                target: target.text(),
                transport: target.transport,
            };
            (run, target.kind)
        })
        .collect()
}

/// What a version is filtered and counted by, its tools apart.
fn labels_of(
    version: &Version,
    document: &Value,
    look: Option<&StoredSnapshot>,
    verdict: Option<Verdict>,
) -> Labels {
    let mut labels = Labels::default();
    for (run, kind) in targets_of(document) {
        labels.add("registry_type", &kind);
        labels.add("transport", &run.transport);
    }
    labels.add("auth", if needs_auth(document) { "needed" } else { "none" });
    let deprecated = version.status == Status::Deprecated;
    labels.add("status", if deprecated { "deprecated" } else { "active" });
    if let Some(verdict) = verdict {
        labels.add("verdict", verdict.as_str());
    }
    match look.and_then(|look| look.era) {
        Some(Era::Modern) => labels.add("era", "modern"),
        Some(Era::Legacy) => labels.add("era", "legacy"),
        None => {}
    }
    labels
}

/// Whether its document asks for a secret.
fn needs_auth(document: &Value) -> bool {
    fn secret(value: &Value) -> bool {
        match value {
            Value::Object(members) => {
                members.get("isSecret").is_some_and(|is| is == &Value::Bool(true))
                    || members.values().any(secret)
            }
            Value::Array(items) => items.iter().any(secret),
            _ => false,
        }
    }
    ["packages", "remotes"]
        .iter()
        .any(|list| document.get(list).is_some_and(secret))
}

/// How well a version's origin is proved: what breaks ties.
fn trust_of(version: &Version, verdict: Option<Verdict>) -> u8 {
    let proved = match verdict {
        Some(Verdict::Verified) => 6,
        Some(Verdict::Mismatch | Verdict::Invalid) => 0,
        _ => 3,
    };
    proved + u8::from(version.valid) + u8::from(version.status == Status::Active)
}

/// The tools of a server as the index takes them.
pub(crate) fn tools(
    version: &Version,
    document: &Value,
    row: &StoredSnapshot,
    look: &Look,
    history: &[ItemHistory],
    verdict: Option<Verdict>,
) -> Vec<ToolDocument> {
    let facts = Document::read(document);
    let labels = labels_of(version, document, Some(row), verdict);
    let server_description = facts.description.unwrap_or_default();
    let mut seen = std::collections::HashSet::new();
    let items = look.tools.iter().filter(|item| seen.insert(item.key.clone()));
    items
        .map(|item| {
            let past = history
                .iter()
                .find(|past| past.line == row.line && past.kind == item.kind && past.key == item.key);
            let severity = look.severity_of(&item.key);
            ToolDocument {
                id: format!("{}#{}", version.server, item.key),
                server: version.server.to_string(),
                server_title: facts.title.clone().unwrap_or_default(),
                server_description: server_description.clone(),
                name: item.key.clone(),
                title: title_of(item),
                description: item.text("description").to_owned(),
                parameters: ToolDocument::parameters_of(&item.value["inputSchema"]),
                trust: trust_of(version, verdict),
                first_seen: seconds(past.map_or(row.observed_at, |past| past.first_seen_at)),
                changed: seconds(past.map_or(row.observed_at, |past| past.changed_at)),
                labels: tool_labels(labels, item, severity),
            }
        })
        .collect()
}

fn title_of(item: &Item) -> Option<String> {
    let annotated = item.value.pointer("/annotations/title").and_then(Value::as_str);
    let title = item.value.get("title").and_then(Value::as_str).or(annotated);
    title.map(str::to_owned)
}

fn tool_labels(labels: Labels, item: &Item, severity: Option<Severity>) -> Labels {
    let hint = |name: &str, usual: bool| {
        let hint = item.value.pointer(&format!("/annotations/{name}"));
        hint.and_then(Value::as_bool).unwrap_or(usual)
    };
    let word = |yes: bool| if yes { "yes" } else { "no" };
    let read_only = hint("readOnlyHint", false);
    let severity = match severity {
        None | Some(Severity::Info) => "none",
        Some(severity) => severity.as_str(),
    };
    labels
        .with("read_only", word(read_only))
        .with("destructive", word(!read_only && hint("destructiveHint", true)))
        .with("output_schema", word(item.value.get("outputSchema").is_some()))
        .with("severity", severity)
}

/// A server as the index takes it: found by what it is called, says, and can do.
pub(crate) fn server(
    version: &Version,
    document: &Value,
    row: Option<&StoredSnapshot>,
    look: Option<&Look>,
    verdict: Option<Verdict>,
) -> ToolDocument {
    let facts = Document::read(document);
    let name = version.server.to_string();
    let short = name.rsplit('/').next().unwrap_or(&name).to_owned();
    let tools = look
        .into_iter()
        .flat_map(|look| look.tools.iter())
        .take(SERVER_TOOLS);
    let parameters = tools.map(|item| Parameter {
        name: item.key.clone(),
        description: summary(item.text("description"), 120),
        ..Parameter::default()
    });
    ToolDocument {
        id: name.clone(),
        server: name,
        name: short,
        title: facts.title,
        description: facts.description.unwrap_or_default(),
        parameters: parameters.collect(),
        trust: trust_of(version, verdict),
        first_seen: seconds(version.published_at),
        changed: seconds(version.updated_at),
        labels: labels_of(version, document, row, verdict),
        ..ToolDocument::default()
    }
}

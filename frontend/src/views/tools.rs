//! What a version declares: its tools on the page of the server, on a page of their own, and each alone.

use askama::Template;
use serde::Serialize;
use serde_json::Value;
use toolmark_domain::event::Severity;
use toolmark_domain::finding::Finding;
use toolmark_domain::limits::{SHOWN_FINDINGS, SHOWN_PARAMETERS, TOOLS_PAGE};
use toolmark_domain::manifest::{EFFECTIVE_HINTS, Item, Manifest, token_cost};
use toolmark_domain::name::ServerName;
use toolmark_domain::profile::{Cause, Profile};
use toolmark_domain::snapshot::{Egress, Outcome};
use toolmark_domain::timestamp::Timestamp;

use super::{Head, Moment, Site};
use crate::foreign::{Excerpt, Foreign};
use crate::paths;

/// Tools shown on the page of a server; all are on their own page.
const FIRST: usize = 12;
/// Causes named for one trait of the risk profile.
const CAUSES: usize = 4;

/// How a look at one target ended, as the registry keeps it.
#[derive(Clone, Debug)]
pub struct Look {
    pub target: String,
    pub outcome: Outcome,
    pub reason: Option<String>,
    pub observed_at: Timestamp,
    pub protocol_version: Option<String>,
    pub tools: usize,
    /// Whether it is believed: a surprising look is repeated first.
    pub confirmed: bool,
}

/// What is shown of a version: the look it is from, and what it declares.
#[derive(Clone, Debug)]
pub struct Declared {
    pub look: Look,
    pub manifest: Manifest,
    pub profile: Profile,
    pub findings: Vec<Finding>,
    pub egress: Vec<Egress>,
}

/// A look in a table.
#[derive(Clone, Debug, Serialize)]
pub struct LookRow {
    pub target: Foreign,
    pub outcome: Outcome,
    pub means: &'static str,
    pub reason: Option<Foreign>,
    pub observed_at: Moment,
    pub protocol_version: Option<Foreign>,
    pub confirmed: bool,
}

impl LookRow {
    pub(crate) fn new(look: &Look) -> Self {
        Self {
            target: Foreign::line(&look.target),
            outcome: look.outcome,
            means: look.outcome.meaning(),
            reason: look.reason.as_deref().map(Foreign::line),
            observed_at: Moment(look.observed_at),
            protocol_version: look.protocol_version.as_deref().map(Foreign::line),
            confirmed: look.confirmed,
        }
    }
}

/// A tool in a list.
#[derive(Clone, Debug, Serialize)]
pub struct ToolRow {
    pub name: Foreign,
    pub href: String,
    pub title: Option<Foreign>,
    pub about: Option<Excerpt>,
    /// What the server claims of it.
    pub hints: Vec<&'static str>,
    /// Model tokens of its definition.
    pub token_cost: usize,
    /// The gravest finding about it.
    pub severity: Option<Severity>,
}

impl ToolRow {
    fn new(base: &str, item: &Item, findings: &[Finding]) -> Self {
        let about = item.text("description");
        Self {
            name: Foreign::line(&item.key),
            href: tool_path(base, &item.key),
            title: title(item),
            about: (!about.is_empty()).then(|| Excerpt::short(about)),
            hints: hints(item),
            token_cost: token_cost(&item.value),
            severity: findings
                .iter()
                .filter(|finding| finding.tool.as_deref() == Some(item.key.as_str()))
                .map(|finding| finding.severity)
                .max(),
        }
    }
}

pub(crate) fn tool_path(base: &str, key: &str) -> String {
    // An empty name and dots alone would be lost in a path.
    let lost = key.is_empty() || key.starts_with('~') || key.chars().all(|c| c == '.');
    format!(
        "{base}/tools/{}{}",
        if lost { "~" } else { "" },
        paths::segment(key)
    )
}

fn title(item: &Item) -> Option<Foreign> {
    let annotated = item.value.pointer("/annotations/title").and_then(Value::as_str);
    let own = item.value.get("title").and_then(Value::as_str);
    own.or(annotated)
        .filter(|text| !text.trim().is_empty())
        .map(Foreign::line)
}

/// The words for what a server claims of a tool; nothing claimed says nothing.
fn hints(item: &Item) -> Vec<&'static str> {
    let claims = |hint: &str| {
        item.value
            .pointer(&format!("/annotations/{hint}"))
            .and_then(Value::as_bool)
    };
    let words = [
        ("readOnlyHint", "claims to only read", "says it writes"),
        ("destructiveHint", "says it may destroy", "claims not to destroy"),
        ("idempotentHint", "claims to be repeatable", ""),
        ("openWorldHint", "reaches the open world", "claims a closed world"),
    ];
    let said = words
        .into_iter()
        .filter_map(|(hint, yes, no)| match claims(hint) {
            Some(true) => Some(yes),
            Some(false) => Some(no),
            None => None,
        });
    said.filter(|word| !word.is_empty()).collect()
}

/// A finding about a snapshot.
#[derive(Clone, Debug, Serialize)]
pub struct ScanRow {
    pub rule: &'static str,
    pub severity: Severity,
    pub tool: Option<Foreign>,
    pub pointer: Foreign,
    pub summary: Foreign,
    pub text: Option<Excerpt>,
}

impl ScanRow {
    fn new(finding: &Finding) -> Self {
        let text = match &finding.after {
            Some(Value::String(text)) => Some(Excerpt::short(text)),
            Some(other) => Some(Excerpt::short(&other.to_string())),
            None => None,
        };
        Self {
            rule: finding.rule,
            severity: finding.severity,
            tool: finding.tool.as_deref().map(Foreign::line),
            pointer: Foreign::line(&finding.pointer),
            summary: Foreign::line(&finding.summary),
            text,
        }
    }
}

/// A trait of the risk profile with what causes it.
#[derive(Clone, Debug, Serialize)]
pub struct TraitRow {
    pub says: &'static str,
    pub causes: Vec<Foreign>,
    pub more: usize,
}

fn traits(profile: &Profile) -> Vec<TraitRow> {
    let row = |says, causes: &[Cause]| TraitRow {
        says,
        causes: causes
            .iter()
            .take(CAUSES)
            .map(|cause| Foreign::line(&cause.tool))
            .collect(),
        more: causes.len().saturating_sub(CAUSES),
    };
    let all = [
        row("reads what may be private", &profile.reads_private),
        row("takes in what strangers wrote", &profile.takes_untrusted),
        row("can send out", &profile.sends_out),
    ];
    all.into_iter().filter(|row| !row.causes.is_empty()).collect()
}

/// A place it tried to reach.
#[derive(Clone, Debug, Serialize)]
pub struct EgressRow {
    pub host: Foreign,
    pub port: u16,
    pub protocol: Foreign,
}

impl EgressRow {
    fn new(egress: &Egress) -> Self {
        Self {
            host: Foreign::line(&egress.host),
            port: egress.port,
            protocol: Foreign::line(&egress.protocol),
        }
    }
}

/// What a version declares, on the page of the server.
#[derive(Clone, Debug, Serialize)]
pub struct ToolsPart {
    pub look: LookRow,
    /// `manifest/1`, lower-case hex.
    pub manifest: String,
    pub tools: Vec<ToolRow>,
    pub tool_count: usize,
    pub prompt_count: usize,
    pub resource_count: usize,
    pub template_count: usize,
    pub token_cost: usize,
    pub traits: Vec<TraitRow>,
    /// All three traits together.
    pub all_three: bool,
    pub egress: Vec<EgressRow>,
    /// Findings from medium on, gravest first.
    pub findings: Vec<ScanRow>,
    pub finding_count: usize,
    pub href: String,
}

impl ToolsPart {
    pub(crate) fn new(base: &str, declared: &Declared) -> Self {
        let grave = |finding: &&Finding| finding.severity >= Severity::Medium;
        let primitives = &declared.profile.primitives;
        Self {
            look: LookRow::new(&declared.look),
            manifest: declared.manifest.root().to_string(),
            tools: declared
                .manifest
                .tools()
                .take(FIRST)
                .map(|item| ToolRow::new(base, item, &declared.findings))
                .collect(),
            tool_count: primitives.tools,
            prompt_count: primitives.prompts,
            resource_count: primitives.resources,
            template_count: primitives.resource_templates,
            token_cost: declared.profile.token_cost,
            traits: traits(&declared.profile),
            all_three: declared.profile.all_three,
            egress: declared.egress.iter().take(FIRST).map(EgressRow::new).collect(),
            findings: declared
                .findings
                .iter()
                .filter(grave)
                .take(FIRST)
                .map(ScanRow::new)
                .collect(),
            finding_count: declared.findings.len(),
            href: format!("{base}/tools"),
        }
    }
}

/// `/s/{namespace}/{name}/{version}/tools`.
#[derive(Debug, Serialize, Template)]
#[template(path = "tools.html")]
pub struct ToolsView {
    pub schema: &'static str,
    #[serde(skip)]
    pub head: Head,
    pub name: ServerName,
    pub version: Foreign,
    #[serde(skip)]
    pub version_href: String,
    /// Nothing where the version was not observed yet.
    pub look: Option<LookRow>,
    pub manifest: Option<String>,
    pub token_cost: usize,
    pub tool_count: usize,
    pub tools: Vec<ToolRow>,
    pub prompts: Vec<Foreign>,
    pub resources: Vec<Foreign>,
    pub findings: Vec<ScanRow>,
    pub finding_count: usize,
    /// Path of the next page.
    pub next: Option<String>,
    #[serde(skip)]
    pub later: bool,
}

impl ToolsView {
    /// `cursor`: how many tools come before this page.
    pub fn new(
        site: &Site,
        name: &ServerName,
        version: &str,
        declared: Option<&Declared>,
        cursor: usize,
    ) -> Self {
        let base = paths::version(name, version);
        let path = format!("{base}/tools");
        let shown = Foreign::line(version);
        let mut head =
            Head::new(site, path.clone(), format!("tools of {name} {}", shown.plain())).with_twin();
        head.description = format!("Every tool the MCP server {name} declared when Toolmark looked at it.");
        head.indexed = cursor == 0 && declared.is_some();
        let empty = Manifest::default();
        let manifest = declared.map_or(&empty, |declared| &declared.manifest);
        let findings = declared.map_or(&[][..], |declared| &declared.findings);
        let count = manifest.tools().count();
        let reached = cursor.saturating_add(TOOLS_PAGE);
        let names = |kind: &str| {
            let of_kind = manifest.items.iter().filter(|item| item.kind.as_str() == kind);
            of_kind
                .take(SHOWN_FINDINGS)
                .map(|item| Foreign::line(&item.key))
                .collect()
        };
        let first = cursor == 0;
        Self {
            schema: "toolmark.page.tools/1",
            head,
            name: name.clone(),
            version: shown,
            look: declared.map(|declared| LookRow::new(&declared.look)),
            manifest: declared.map(|declared| declared.manifest.root().to_string()),
            token_cost: manifest.tools_token_cost(),
            tool_count: count,
            tools: manifest
                .tools()
                .skip(cursor)
                .take(TOOLS_PAGE)
                .map(|item| ToolRow::new(&base, item, findings))
                .collect(),
            prompts: if first { names("prompt") } else { Vec::new() },
            resources: if first { names("resource") } else { Vec::new() },
            findings: if first {
                findings.iter().take(SHOWN_FINDINGS).map(ScanRow::new).collect()
            } else {
                Vec::new()
            },
            finding_count: findings.len(),
            next: (reached < count).then(|| format!("{path}?cursor={reached}")),
            later: !first,
            version_href: base,
        }
    }
}

/// A parameter of a tool.
#[derive(Clone, Debug, Serialize)]
pub struct ParameterRow {
    pub name: Foreign,
    /// `string`, `array of string`, `one of 3`, …
    pub kind: Foreign,
    pub required: bool,
    pub description: Option<Excerpt>,
    pub default: Option<Foreign>,
    /// Values of a list it must be one of.
    pub choices: Vec<Foreign>,
}

/// The type of a schema in a few words.
fn kind(schema: &Value) -> String {
    let own = match schema.get("type") {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Array(list)) => {
            let words: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
            Some(words.join(" or "))
        }
        _ => None,
    };
    let items = schema
        .get("items")
        .and_then(|items| items.get("type"))
        .and_then(Value::as_str);
    match (own.as_deref(), items) {
        (Some("array"), Some(items)) => format!("array of {items}"),
        (Some(own), _) => own.to_owned(),
        (None, _) => {
            let branches = ["anyOf", "oneOf", "allOf"];
            let found = branches
                .iter()
                .find_map(|key| Some((key, schema.get(*key)?.as_array()?)));
            match found {
                Some((key, list)) if *key == "allOf" => format!("all of {}", list.len()),
                Some((_, list)) => {
                    let mut words: Vec<String> = list.iter().map(kind).collect();
                    words.dedup();
                    words.join(" or ")
                }
                None if schema.get("enum").is_some() => "one of a list".to_owned(),
                None if schema.get("$ref").is_some() => "by reference".to_owned(),
                None => "any".to_owned(),
            }
        }
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn parameters(schema: &Value) -> Vec<ParameterRow> {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let properties = schema.get("properties").and_then(Value::as_object);
    let rows = properties
        .into_iter()
        .flatten()
        .take(SHOWN_PARAMETERS)
        .map(|(name, schema)| ParameterRow {
            name: Foreign::line(name),
            kind: Foreign::line(&kind(schema)),
            required: required.contains(&name.as_str()),
            description: schema
                .get("description")
                .and_then(Value::as_str)
                .map(Excerpt::short),
            default: schema.get("default").map(|value| Foreign::line(&text_of(value))),
            choices: schema
                .get("enum")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .take(CAUSES * 3)
                .map(|value| Foreign::line(&text_of(value)))
                .collect(),
        });
    rows.collect()
}

/// When a tool came and last changed, as we saw it.
#[derive(Clone, Debug, Serialize)]
pub struct ToolHistory {
    pub first_seen_at: Moment,
    pub first_seen_version: Foreign,
    pub changed_at: Moment,
    pub changed_version: Foreign,
}

impl ToolHistory {
    pub fn new(first_at: Moment, first_in: &str, changed_at: Moment, changed_in: &str) -> Self {
        Self {
            first_seen_at: first_at,
            first_seen_version: Foreign::line(first_in),
            changed_at,
            changed_version: Foreign::line(changed_in),
        }
    }
}

/// One line of the annotations: what is in force, and whether the server said so.
#[derive(Clone, Debug, Serialize)]
pub struct HintRow {
    pub hint: &'static str,
    pub value: bool,
    /// Not said, so the protocol's default holds.
    pub by_default: bool,
}

/// `/s/{namespace}/{name}/{version}/tools/{tool}`.
#[derive(Debug, Serialize, Template)]
#[template(path = "tool.html")]
pub struct ToolView {
    pub schema: &'static str,
    #[serde(skip)]
    pub head: Head,
    pub name: ServerName,
    pub version: Foreign,
    pub tool: Foreign,
    pub title: Option<Foreign>,
    pub description: Option<Excerpt>,
    pub look: LookRow,
    pub parameters: Vec<ParameterRow>,
    pub parameter_count: usize,
    pub output: Vec<ParameterRow>,
    pub has_output: bool,
    pub hints: Vec<HintRow>,
    pub token_cost: usize,
    /// `tool/1` and `contract/1`, lower-case hex.
    pub tool_digest: String,
    pub contract_digest: String,
    pub history: Option<ToolHistory>,
    pub findings: Vec<ScanRow>,
    /// The definition as it was received, when it is not too long for a page.
    pub definition: Excerpt,
    #[serde(skip)]
    pub version_href: String,
    #[serde(skip)]
    pub tools_href: String,
}

impl ToolView {
    /// `item`: the tool; `raw`: its definition as received.
    pub fn new(
        site: &Site,
        name: &ServerName,
        version: &str,
        declared: &Declared,
        (item, raw): (&Item, &str),
        history: Option<ToolHistory>,
    ) -> Self {
        let base = paths::version(name, version);
        let tool = Foreign::line(&item.key);
        let mut head = Head::new(
            site,
            tool_path(&base, &item.key),
            format!("{} · {name}", tool.plain()),
        )
        .with_twin();
        let about = item.text("description");
        let description = Excerpt::short(about).text.plain();
        if !description.is_empty() {
            head.description = description;
        }
        let input = item.value.get("inputSchema").unwrap_or(&Value::Null);
        let output = item.value.get("outputSchema");
        let said = |hint: &str| {
            item.value
                .pointer(&format!("/annotations/{hint}"))
                .and_then(Value::as_bool)
        };
        Self {
            schema: "toolmark.page.tool/1",
            head,
            name: name.clone(),
            version: Foreign::line(version),
            title: title(item),
            description: (!about.is_empty()).then(|| Excerpt::new(about)),
            look: LookRow::new(&declared.look),
            parameters: parameters(input),
            parameter_count: input
                .get("properties")
                .and_then(Value::as_object)
                .map_or(0, serde_json::Map::len),
            output: output.map(parameters).unwrap_or_default(),
            has_output: output.is_some(),
            hints: EFFECTIVE_HINTS
                .iter()
                .map(|(hint, default)| HintRow {
                    hint,
                    value: said(hint).unwrap_or(*default),
                    by_default: said(hint).is_none(),
                })
                .collect(),
            token_cost: token_cost(&item.value),
            tool_digest: item.tool.to_string(),
            contract_digest: item.contract.to_string(),
            history,
            findings: declared
                .findings
                .iter()
                .filter(|finding| finding.tool.as_deref() == Some(item.key.as_str()))
                .take(SHOWN_FINDINGS)
                .map(ScanRow::new)
                .collect(),
            definition: Excerpt::definition(raw),
            tools_href: format!("{base}/tools"),
            version_href: base,
            tool,
        }
    }
}

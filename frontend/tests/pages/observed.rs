//! What was looked at and what changed: ordinary, and meaning harm.

use serde_json::{Value, json};
use toolmark_domain::event::Severity;
use toolmark_domain::finding::Label;
use toolmark_domain::manifest;
use toolmark_domain::profile::profile;
use toolmark_domain::scan::scan;
use toolmark_domain::snapshot::{Egress, Outcome};
use toolmark_frontend::views::{
    Change, ChangesView, Declared, Look, Moment, ServerView, ToolHistory, ToolView, ToolsView,
};

use super::{HIDDEN, MARKUP, Named, at, named, outlines, site, weather_versions};

/// What a look saw, with these tools.
fn declared(tools: &Value, target: &str, reason: Option<&str>) -> Declared {
    let manifest = manifest::read(json!({ "tools": tools }).to_string().as_bytes()).expect("sample data");
    Declared {
        look: Look {
            target: target.to_owned(),
            outcome: Outcome::Observed,
            reason: reason.map(str::to_owned),
            observed_at: at("2026-03-02T08:00:00Z"),
            protocol_version: Some("2025-06-18".to_owned()),
            tools: manifest.tools().count(),
            confirmed: true,
        },
        profile: profile(&manifest),
        findings: scan(&manifest).findings,
        egress: vec![Egress {
            host: target.to_owned(),
            port: 443,
            protocol: "tcp".to_owned(),
            takes: 2,
        }],
        manifest,
    }
}

fn weather_tools() -> Value {
    json!([
        {
            "name": "get_forecast", "title": "Forecast", "description": "The forecast for a place, for up to ten days.",
            "annotations": {"readOnlyHint": true, "openWorldHint": true},
            "inputSchema": {"type": "object", "required": ["place"], "properties": {
                "place": {"type": "string", "description": "Name of a town, or `lat,lon`."},
                "days": {"type": "integer", "default": 3, "description": "How many days, 1 to 10."},
                "units": {"enum": ["metric", "imperial"], "description": "Of the answer."},
            }},
            "outputSchema": {"type": "object", "properties": {"days": {"type": "array", "items": {"type": "object"}}}},
        },
        {
            "name": "send_report", "description": "Sends the forecast to an e-mail address.",
            "annotations": {"readOnlyHint": false, "destructiveHint": false},
            "inputSchema": {"type": "object", "properties": {"to": {"type": "string"}}},
        },
    ])
}

fn hostile_tools() -> Value {
    json!([{
        "name": MARKUP, "title": HIDDEN, "description": format!("{MARKUP}{HIDDEN}"),
        "annotations": {"title": MARKUP, "readOnlyHint": true},
        "inputSchema": {"type": "object", "required": [MARKUP], "properties": {
            MARKUP: {"type": MARKUP, "description": HIDDEN, "default": MARKUP, "enum": [MARKUP, HIDDEN]},
        }},
        "outputSchema": {"properties": {HIDDEN: {"$ref": MARKUP}}},
    }])
}

fn change(severity: Option<Severity>, label: Label, from: &str, to: &str, day: &str, words: &str) -> Change {
    Change {
        seq: 9000,
        server: weather_versions()[0].server.clone(),
        at: at(day),
        line: "npm:@northwind/weather-mcp".to_owned(),
        from_version: from.to_owned(),
        to_version: to.to_owned(),
        label,
        severity,
        backfill: false,
        rules: vec!["D01".to_owned()],
        summary: Some(words.to_owned()),
        tools: vec!["get_forecast".to_owned()],
        finding_count: 3,
    }
}

pub(super) fn changes() -> Vec<Change> {
    vec![
        change(
            Some(Severity::Critical),
            Label::Suspicious,
            "2.1.0",
            "2.1.1",
            "2026-03-04T08:00:00Z",
            "the description asks the model to hide what it does from the user",
        ),
        change(
            Some(Severity::High),
            Label::Breaking,
            "2.0.0",
            "2.1.0",
            "2026-02-20T08:00:00Z",
            "a parameter became required",
        ),
        change(
            Some(Severity::Medium),
            Label::Semantic,
            "1.9.0",
            "2.0.0",
            "2026-02-14T08:00:00Z",
            "`readOnlyHint` was taken back",
        ),
        change(
            Some(Severity::Low),
            Label::Compatible,
            "1.9.0",
            "1.9.0",
            "2026-02-12T08:00:00Z",
            "tool added",
        ),
        change(
            None,
            Label::Cosmetic,
            "1.8.0",
            "1.9.0",
            "2026-02-11T14:00:00Z",
            "white space",
        ),
    ]
}

pub(super) fn hostile_changes() -> Vec<Change> {
    let mut bad = change(
        Some(Severity::High),
        Label::Suspicious,
        MARKUP,
        HIDDEN,
        "2026-03-04T08:00:00Z",
        MARKUP,
    );
    bad.tools = vec![MARKUP.to_owned(), HIDDEN.to_owned()];
    bad.rules = vec![MARKUP.to_owned()];
    bad.line = format!("npm:{MARKUP}{HIDDEN}");
    vec![bad]
}

pub(super) fn observed_pages() -> Vec<Named> {
    let site = site();
    let all = weather_versions();
    let name = &all[0].server;
    let seen = declared(&weather_tools(), "npm:@northwind/weather-mcp@2.1.0", None);
    let bad = declared(&hostile_tools(), &format!("{MARKUP}{HIDDEN}"), Some(MARKUP));
    let failed = Look {
        outcome: Outcome::NeedsConfiguration,
        reason: Some("missing_argument".to_owned()),
        confirmed: false,
        ..seen.look.clone()
    };
    let one = |declared: &Declared, version: &str| {
        let item = declared.manifest.items[0].clone();
        let history = ToolHistory::new(
            Moment(at("2025-11-02T08:00:00Z")),
            HIDDEN,
            Moment(at("2026-02-11T14:00:00Z")),
            version,
        );
        let raw = item.value.to_string();
        ToolView::new(&site, name, version, declared, (&item, &raw), Some(history))
    };
    let looked =
        ServerView::of_server(&site, &all[0], &all).with_looks(std::slice::from_ref(&seen.look), Some(&seen));
    let unseen = ServerView::of_server(&site, &all[0], &all).with_looks(&[failed], None);
    let harmful =
        ServerView::of_server(&site, &all[0], &all).with_looks(std::slice::from_ref(&bad.look), Some(&bad));
    vec![
        named("server-observed", looked),
        named("server-unobservable", unseen),
        named("server-observed-hostile", harmful),
        named("tools", ToolsView::new(&site, name, "2.1.0", Some(&seen), 0)),
        named("tools-unobserved", ToolsView::new(&site, name, "2.1.0", None, 0)),
        named(
            "tools-hostile",
            ToolsView::new(&site, name, MARKUP, Some(&bad), 0),
        ),
        named("tool", one(&seen, "2.1.0")),
        named("tool-hostile", one(&bad, MARKUP)),
        named(
            "changes",
            ChangesView::of_all(&site, &changes(), None, true, None),
        ),
        named(
            "changes-empty",
            ChangesView::of_all(&site, &[], Some(Severity::High), false, None),
        ),
        named(
            "changes-server",
            ChangesView::of_server(&site, name, &outlines(&all), &changes(), false, None),
        ),
        named(
            "changes-hostile",
            ChangesView::of_server(&site, name, &outlines(&all), &hostile_changes(), true, None),
        ),
    ]
}

//! What the server says of itself.

use serde_json::Value;

use super::text;
use crate::finding::{Finding, Label, Place, Severity};
use crate::manifest::Manifest;
use crate::scan;

pub(super) fn compare(old: &Manifest, new: &Manifest) -> Vec<Finding> {
    let place = Place::server();
    let mut findings = Vec::new();
    let (before, after) = (&old.server, &new.server);
    if before.instructions != after.instructions {
        let changed = text::compare(
            &place,
            "/instructions",
            before.instructions.as_ref(),
            after.instructions.as_ref(),
            true,
        );
        if let Some(changed) = changed {
            let mut found = place.finding("I01", "/instructions", changed.summary.clone());
            found.effect = match changed.rule {
                "D01" | "D02" => Label::Cosmetic,
                _ if after.instructions().is_empty() => Label::Cosmetic,
                _ => Label::Semantic,
            };
            if found.effect == Label::Cosmetic {
                found.severity = Severity::Info;
            }
            findings.push(
                found
                    .before(before.instructions.clone())
                    .after(after.instructions.clone()),
            );
        }
        findings.extend(text::jump(
            &place,
            "/instructions",
            before.instructions(),
            after.instructions(),
        ));
    }
    capabilities(
        before.capabilities.as_ref(),
        after.capabilities.as_ref(),
        &place,
        &mut findings,
    );
    info(old, new, &place, &mut findings);
    findings.extend(super::fresh(&scan::server(old), scan::server(new)));
    findings
}

fn capabilities(old: Option<&Value>, new: Option<&Value>, place: &Place, findings: &mut Vec<Finding>) {
    if old == new || (old.is_none() || new.is_none()) {
        return;
    }
    let keys = |value: Option<&Value>| -> Vec<String> {
        let map = value.and_then(Value::as_object);
        map.map(|map| map.keys().cloned().collect()).unwrap_or_default()
    };
    let mut all = keys(old);
    all.extend(keys(new));
    all.sort_unstable();
    all.dedup();
    for key in all {
        let part = |value: Option<&Value>| value.and_then(|value| value.get(&key)).cloned();
        let (before, after) = (part(old), part(new));
        if before == after {
            continue;
        }
        let said = match (&before, &after) {
            (None, _) => format!("capability `{key}` added"),
            (_, None) => format!("capability `{key}` removed"),
            _ => format!("capability `{key}` changed"),
        };
        let asks = before.is_none() && matches!(key.as_str(), "sampling" | "elicitation");
        let mut found = place.finding("I02", format!("/capabilities/{key}"), said);
        if asks {
            found.severity = Severity::Medium;
        }
        findings.push(found.before(before).after(after).effect(Label::Cosmetic));
    }
}

fn info(old: &Manifest, new: &Manifest, place: &Place, findings: &mut Vec<Finding>) {
    let (Some(before), Some(after)) = (&old.server.info, &new.server.info) else {
        return;
    };
    let name = |info: &Value| info.get("name").cloned();
    if name(before) != name(after) {
        let found = place.finding(
            "I03",
            "/serverInfo/name",
            "the server has another name".to_owned(),
        );
        findings.push(found.before(name(before)).after(name(after)));
    }
    let versions = (&old.server.supported_versions, &new.server.supported_versions);
    let rest = |info: &Value| {
        let mut info = info.clone();
        if let Value::Object(members) = &mut info {
            members.remove("name");
        }
        info
    };
    if rest(before) != rest(after) {
        let said = "what the server says of its version changed".to_owned();
        let found = place.finding("I04", "/serverInfo", said);
        findings.push(found.before(Some(rest(before))).after(Some(rest(after))));
    }
    let fewer = versions.0.iter().any(|version| !versions.1.contains(version));
    if fewer && !versions.1.is_empty() {
        let said = "the server speaks fewer versions of the protocol".to_owned();
        findings.push(
            place
                .finding("I04", "/supportedVersions", said)
                .severity(Severity::Low),
        );
    }
}

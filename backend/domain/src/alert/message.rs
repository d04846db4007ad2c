//! What is sent: the body of a webhook, the same for a chat, the same as a mail.
//!
//! Text of a server's author is quoted, cut, and has its hidden characters as marks: a message is read by people and by
//! programs that fetch previews.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::Cadence;
use crate::finding::excerpt;
use crate::limits::WEBHOOK_BODY_BYTES;
use crate::timestamp::Timestamp;

/// Most events named in a digest; the rest is counted.
const DIGEST_EVENTS: usize = 40;
/// Most findings shown in a mail or a chat for one event.
const SHOWN_FINDINGS: usize = 5;
/// Longest quoted text in a chat or a mail, in characters.
const QUOTE_CHARS: usize = 240;

/// One event, with as many of its findings as fit. `base` is the address of this registry, empty when it is not known.
pub fn event(event: &Value, base: &str) -> Value {
    let mut data = thin(event, base);
    if let Some(Value::Object(own)) = event.get("data") {
        for (key, value) in own {
            data.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
    let findings = event.pointer("/data/findings").and_then(Value::as_array);
    let findings = findings.map(Vec::as_slice).unwrap_or_default();
    let all = data.get("findings_count").and_then(Value::as_u64);
    let all = all.unwrap_or_default().max(findings.len() as u64);
    let mut kept = findings.len();
    loop {
        if !findings.is_empty() {
            data.insert("findings".into(), Value::from(findings[..kept].to_vec()));
        }
        let left_out = all - kept as u64;
        if left_out > 0 {
            data.insert("findings_left_out".into(), Value::from(left_out));
        }
        let body = json!({"type": event["kind"], "timestamp": event["at"], "data": data});
        if kept == 0 || fits(&body) {
            return bounded(body);
        }
        kept /= 2;
    }
}

/// Several events in one message.
pub fn digest(cadence: Cadence, events: &[Value], at: Timestamp, base: &str) -> Value {
    let mut kept = events.len().min(DIGEST_EVENTS);
    loop {
        let shown: Vec<Value> = events[..kept]
            .iter()
            .map(|event| {
                let mut entry = Map::new();
                entry.insert("type".into(), event["kind"].clone());
                entry.insert("timestamp".into(), event["at"].clone());
                entry.extend(thin(event, base));
                for key in ["label", "summary", "rules", "tools"] {
                    if let Some(value) = event.pointer(&format!("/data/{key}")) {
                        entry.insert(key.into(), short(value));
                    }
                }
                Value::Object(entry)
            })
            .collect();
        let body = json!({"type": "digest", "timestamp": at, "data": {
            "cadence": cadence.as_str(),
            "count": events.len(),
            "left_out": events.len() - kept,
            "severity": worst(events),
            "first_seq": events.first().map(|event| &event["seq"]),
            "last_seq": events.last().map(|event| &event["seq"]),
            "events": shown,
        }});
        if kept <= 1 || fits(&body) {
            return bounded(body);
        }
        kept /= 2;
    }
}

/// What the test button sends.
pub fn ping(at: Timestamp, endpoint: &str) -> Value {
    json!({"type": "test.ping", "timestamp": at, "data": {"endpoint": endpoint, "message": "a test, asked for by the owner of this endpoint"}})
}

/// Number, id, server and link of an event.
fn thin(event: &Value, base: &str) -> Map<String, Value> {
    let mut data = Map::new();
    for key in ["seq", "id", "server", "version", "target", "severity"] {
        if let Some(value) = event.get(key).filter(|value| !value.is_null()) {
            let name = if key == "id" { "event_id" } else { key };
            data.insert(name.into(), value.clone());
        }
    }
    if let (false, Some(server)) = (base.is_empty(), event["server"].as_str()) {
        let base = base.trim_end_matches('/');
        data.insert("link".into(), Value::from(format!("{base}/s/{server}")));
    }
    data
}

fn fits(body: &Value) -> bool {
    body.to_string().len() <= WEBHOOK_BODY_BYTES
}

/// Whatever is still too large is cut, member by member, to what fits.
fn bounded(mut body: Value) -> Value {
    if fits(&body) {
        return body;
    }
    if let Some(data) = body["data"].as_object_mut() {
        for value in data.values_mut() {
            *value = short(value);
        }
        data.insert("cut".into(), Value::Bool(true));
    }
    body
}

fn short(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::from(excerpt(text)),
        Value::Array(list) => list.iter().take(20).map(short).collect(),
        Value::Object(map) => map
            .iter()
            .take(20)
            .map(|(key, value)| (key.clone(), short(value)))
            .collect::<Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

fn worst(events: &[Value]) -> Value {
    let severities = events.iter().filter_map(|event| event["severity"].as_str());
    let worst = severities.filter_map(crate::event::Severity::parse).max();
    worst.map_or(Value::Null, |severity| severity.as_str().into())
}

/// The body for an incoming webhook of Slack, made from the standard one.
pub fn slack(body: &Value) -> Value {
    let title = title(body);
    let mut blocks = vec![
        json!({"type": "header", "text": {"type": "plain_text", "text": cut(&title, 150), "emoji": false}}),
    ];
    let mut text = String::new();
    for line in lines(body) {
        let _ = writeln!(text, "{}", line.slack());
    }
    if !text.is_empty() {
        blocks
            .push(json!({"type": "section", "text": {"type": "mrkdwn", "text": cut(text.trim_end(), 2900)}}));
    }
    if let Some(link) = body.pointer("/data/link").and_then(Value::as_str) {
        blocks.push(json!({"type": "context", "elements": [{"type": "mrkdwn", "text": format!("<{}>", escaped(link))}]}));
    }
    json!({"text": cut(&escaped(&title), 300), "blocks": blocks})
}

/// Subject and text of a mail, made from the standard body.
pub fn mail(body: &Value) -> (String, String) {
    let mut text = format!("{}\n\n", title(body));
    for line in lines(body) {
        let _ = writeln!(text, "{}", line.plain());
    }
    if let Some(link) = body.pointer("/data/link").and_then(Value::as_str) {
        let _ = write!(text, "\n{link}\n");
    }
    (format!("[toolmark] {}", cut(&title(body), 160)), text)
}

/// One line for people: gravity, server, what happened.
fn title(body: &Value) -> String {
    let data = &body["data"];
    let kind = body["type"].as_str().unwrap_or("event");
    let word = |key: &str| data[key].as_str().map(quoted);
    match kind {
        "test.ping" => "test message".to_owned(),
        "digest" => {
            let count = data["count"].as_u64().unwrap_or_default();
            let plural = if count == 1 { "event" } else { "events" };
            let worst = word("severity").map_or(String::new(), |severity| format!(", worst {severity}"));
            format!(
                "{} digest: {count} {plural}{worst}",
                word("cadence").unwrap_or_default()
            )
        }
        _ => {
            let version = word("version").map_or(String::new(), |version| format!(" {version}"));
            let label = word("label").map_or(String::new(), |label| format!(", {label}"));
            format!(
                "{}: {}{version}: {kind}{label}",
                word("severity").unwrap_or_default(),
                word("server").unwrap_or_default()
            )
        }
    }
}

/// What stands below the title: words of ours, and a quote of the author's.
struct Line {
    said: String,
    quote: Option<String>,
}

impl Line {
    fn plain(&self) -> String {
        match &self.quote {
            Some(quote) => format!("- {}\n    > {quote}", self.said),
            None => format!("- {}", self.said),
        }
    }

    /// In a code block nothing is a link, a mention or a format.
    fn slack(&self) -> String {
        let said = escaped(&self.said).replace(['`', '*', '_', '~'], "'");
        match &self.quote {
            Some(quote) => format!("• {said}\n```{}```", escaped(&quote.replace('`', "'"))),
            None => format!("• {said}"),
        }
    }
}

fn lines(body: &Value) -> Vec<Line> {
    let data = &body["data"];
    let text = |value: &Value, key: &str| value[key].as_str().map(quoted);
    let mut lines = Vec::new();
    for key in ["summary", "message", "status_message"] {
        if let Some(said) = text(data, key) {
            lines.push(Line { said, quote: None });
        }
    }
    let findings = data["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
    for finding in findings.iter().take(SHOWN_FINDINGS) {
        let place = ["tool", "key"].iter().find_map(|key| text(finding, key));
        let place = place.map_or(String::new(), |place| format!(" {place}"));
        let said = format!(
            "{} {}{place}{}: {}",
            text(finding, "severity").unwrap_or_default(),
            text(finding, "rule").unwrap_or_default(),
            text(finding, "pointer").map_or(String::new(), |pointer| format!(" {pointer}")),
            text(finding, "summary").unwrap_or_default(),
        );
        let quote = match &finding["after"] {
            Value::Null => None,
            Value::String(text) => Some(quoted(text)),
            other => Some(quoted(&other.to_string())),
        };
        lines.push(Line { said, quote });
    }
    let more = findings.len().saturating_sub(SHOWN_FINDINGS) as u64;
    let more = more + data["findings_left_out"].as_u64().unwrap_or_default();
    if more > 0 {
        lines.push(Line {
            said: format!("and {more} more findings"),
            quote: None,
        });
    }
    for event in data["events"].as_array().into_iter().flatten() {
        let version = text(event, "version").map_or(String::new(), |version| format!(" {version}"));
        let summary = text(event, "summary").map_or(String::new(), |summary| format!(": {summary}"));
        let said = format!(
            "{}: {}{version}: {}{summary}",
            text(event, "severity").unwrap_or_default(),
            text(event, "server").unwrap_or_default(),
            text(event, "type").unwrap_or_default(),
        );
        lines.push(Line { said, quote: None });
    }
    if let Some(left_out @ 1..) = data["left_out"].as_u64() {
        lines.push(Line {
            said: format!("and {left_out} more events"),
            quote: None,
        });
    }
    lines
}

/// Foreign text on one line, without what cannot be seen.
fn quoted(text: &str) -> String {
    let flat: Vec<&str> = text.split_whitespace().collect();
    cut(&excerpt(&flat.join(" ")), QUOTE_CHARS)
}

fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// The three characters that Slack reads.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(findings: &[Value]) -> Value {
        json!({
            "schema": "toolmark.event/1", "seq": 12, "id": "e1", "kind": "version.published",
            "at": "2026-03-01T12:00:00Z", "server": "com.example/weather", "version": "1.2.0", "target": null,
            "severity": "high",
            "data": {"label": "suspicious", "rules": ["D08"], "tools": ["get"], "summary": "text asks to conceal",
                "findings": findings},
        })
    }

    fn finding(after: &str) -> Value {
        json!({"rule": "D08", "severity": "high", "kind": "tool", "key": "get", "tool": "get", "pointer": "/description",
            "summary": "asks to conceal", "before": null, "after": after})
    }

    #[test]
    fn an_event_carries_its_number_its_link_and_its_findings() {
        let body = event(&change(&[finding("do not tell")]), "https://registry.example/");
        assert_eq!(
            body,
            json!({
                "type": "version.published", "timestamp": "2026-03-01T12:00:00Z",
                "data": {
                    "seq": 12, "event_id": "e1", "server": "com.example/weather", "version": "1.2.0", "severity": "high",
                    "link": "https://registry.example/s/com.example/weather",
                    "label": "suspicious", "rules": ["D08"], "tools": ["get"], "summary": "text asks to conceal",
                    "findings": [finding("do not tell")],
                },
            })
        );
        assert_eq!(event(&change(&[]), "")["data"].get("link"), None);
    }

    #[test]
    fn a_body_stays_within_its_bound_and_says_what_is_left_out() {
        let many = vec![finding(&"x".repeat(500)); 200];
        let body = event(&change(&many), "");
        assert!(body.to_string().len() <= WEBHOOK_BODY_BYTES);
        let kept = body["data"]["findings"].as_array().unwrap().len() as u64;
        assert!(kept > 5, "{kept}");
        assert_eq!(body["data"]["findings_left_out"], 200 - kept);
        let mut odd = change(&many);
        odd["data"]["summary"] = "y".repeat(50_000).into();
        let body = event(&odd, "");
        assert!(body.to_string().len() <= WEBHOOK_BODY_BYTES);
        assert_eq!(body["data"]["cut"], true);
        let events = vec![change(&[]); 500];
        let body = digest(
            Cadence::Daily,
            &events,
            Timestamp::from_micros(0),
            "https://a.example",
        );
        assert!(body.to_string().len() <= WEBHOOK_BODY_BYTES);
        let kept = body["data"]["events"].as_array().unwrap().len();
        assert_eq!(body["data"]["left_out"], 500 - kept);
        assert_eq!(
            (&body["data"]["count"], &body["data"]["severity"]),
            (&json!(500), &json!("high"))
        );
    }

    #[test]
    fn a_chat_shows_no_link_mention_or_hidden_character_of_the_author() {
        let body = event(
            &change(&[finding(
                "<!channel> ``` <https://evil.example|safe> a\u{202e}b\nc",
            )]),
            "https://registry.example",
        );
        let slack = slack(&body);
        let shown = slack["blocks"][1]["text"]["text"].as_str().unwrap();
        assert!(
            shown.contains("```&lt;!channel&gt; ''' &lt;https://evil.example|safe&gt; a⟨U+202E⟩b c```"),
            "{shown}"
        );
        assert_eq!(shown.matches("```").count(), 2);
        assert_eq!(
            slack["text"],
            "high: com.example/weather 1.2.0: version.published, suspicious"
        );
        let link = &slack["blocks"][2]["elements"][0]["text"];
        assert_eq!(link, "<https://registry.example/s/com.example/weather>");
    }

    #[test]
    fn a_mail_says_the_same_in_lines() {
        let body = event(&change(&[finding("do not tell")]), "https://registry.example");
        let (subject, text) = mail(&body);
        assert_eq!(
            subject,
            "[toolmark] high: com.example/weather 1.2.0: version.published, suspicious"
        );
        assert_eq!(
            text,
            "high: com.example/weather 1.2.0: version.published, suspicious\n\n- text asks to conceal\n\
             - high D08 get /description: asks to conceal\n    > do not tell\n\n\
             https://registry.example/s/com.example/weather\n"
        );
        let digest = digest(Cadence::Hourly, &[change(&[])], Timestamp::from_micros(0), "");
        let (subject, text) = mail(&digest);
        assert_eq!(subject, "[toolmark] hourly digest: 1 event, worst high");
        assert!(
            text.contains("- high: com.example/weather 1.2.0: version.published: text asks to conceal"),
            "{text}"
        );
        assert_eq!(
            mail(&ping(Timestamp::from_micros(0), "x")).0,
            "[toolmark] test message"
        );
    }
}

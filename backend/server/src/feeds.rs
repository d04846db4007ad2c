//! What changed, as Atom (RFC 4287) and JSON Feed 1.1: for everything, one server, one namespace, one saved filter.
//! An entry never changes after it was written, so readers are never told twice.

use axum::extract::State;
use axum::response::Response;
use http::{HeaderValue, header};
use serde_json::{Value, json};
use toolmark_domain::event::Severity;
use toolmark_domain::finding::excerpt;
use toolmark_domain::timestamp::Timestamp;
use toolmark_registry::{ChangeFilter, StoreError, StoredChange};
use uuid::Uuid;

use crate::answer::Entry;
use crate::extract::{Ask, Own, Segments};
use crate::lists::store_problem;
use crate::problem::{Code, Problem};
use crate::site;
use crate::state::App;

/// Entries of one page.
const ENTRIES: u32 = 50;
const ATOM: HeaderValue = HeaderValue::from_static("application/atom+xml; charset=utf-8");
const JSON_FEED: HeaderValue = HeaderValue::from_static("application/feed+json");

/// What a feed is of.
struct Of {
    /// Its path, with the ending.
    path: String,
    title: String,
    /// Where people read the same.
    page: String,
    filter: ChangeFilter,
    saved: Option<Uuid>,
}

/// `/changes.atom` and `/changes.json`: everything.
pub(crate) async fn all_atom(State(app): State<App>, ask: Ask) -> Result<Response, Problem> {
    feed(&app, &ask, everything("/changes.atom")).await
}

pub(crate) async fn all_json(State(app): State<App>, ask: Ask) -> Result<Response, Problem> {
    feed(&app, &ask, everything("/changes.json")).await
}

fn everything(path: &str) -> Of {
    Of {
        path: path.to_owned(),
        title: "Changes of MCP servers".to_owned(),
        page: "/".to_owned(),
        filter: ChangeFilter::default(),
        saved: None,
    }
}

/// `/s/{namespace}/{name}/changes.atom` and `.json`.
pub(crate) async fn server_atom(
    State(app): State<App>,
    Segments([namespace, name]): Segments<2>,
    ask: Ask,
) -> Result<Response, Problem> {
    feed(&app, &ask, of_server(&app, &namespace, &name, "atom").await?).await
}

pub(crate) async fn server_json(
    State(app): State<App>,
    Segments([namespace, name]): Segments<2>,
    ask: Ask,
) -> Result<Response, Problem> {
    feed(&app, &ask, of_server(&app, &namespace, &name, "json").await?).await
}

async fn of_server(app: &App, namespace: &str, name: &str, ending: &str) -> Result<Of, Problem> {
    let server = format!("{namespace}/{name}");
    let known = app.registry.current(&server).await;
    if known.map_err(|error| store_problem(&error))?.is_none() {
        return Err(Problem::new(Code::NotFound, "no such server is recorded"));
    }
    Ok(Of {
        path: format!("/s/{server}/changes.{ending}"),
        title: format!("Changes of {server}"),
        page: format!("/s/{server}"),
        filter: ChangeFilter {
            server: Some(server),
            ..ChangeFilter::default()
        },
        saved: None,
    })
}

/// `/publishers/{namespace}/changes.atom` and `.json`.
pub(crate) async fn namespace_atom(
    State(app): State<App>,
    Segments([namespace]): Segments<1>,
    ask: Ask,
) -> Result<Response, Problem> {
    feed(&app, &ask, of_namespace(&namespace, "atom")?).await
}

pub(crate) async fn namespace_json(
    State(app): State<App>,
    Segments([namespace]): Segments<1>,
    ask: Ask,
) -> Result<Response, Problem> {
    feed(&app, &ask, of_namespace(&namespace, "json")?).await
}

fn of_namespace(namespace: &str, ending: &str) -> Result<Of, Problem> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-');
    if namespace.is_empty() || namespace.len() > 200 || !namespace.bytes().all(plain) {
        return Err(Problem::new(Code::NotFound, "no such namespace is recorded"));
    }
    Ok(Of {
        path: format!("/publishers/{namespace}/changes.{ending}"),
        title: format!("Changes of servers of {namespace}"),
        page: format!("/publishers/{namespace}"),
        filter: ChangeFilter {
            namespace: Some(namespace.to_owned()),
            ..ChangeFilter::default()
        },
        saved: None,
    })
}

/// `/feeds/{id}.atom` and `/feeds/{id}.json`: what a subscription's filter fits.
pub(crate) async fn saved(
    State(app): State<App>,
    Segments([file]): Segments<1>,
    ask: Ask,
) -> Result<Response, Problem> {
    let missing = || Problem::new(Code::NotFound, "no such feed");
    let (id, ending) = file.rsplit_once('.').ok_or_else(missing)?;
    let id: Uuid = id.parse().map_err(|_| missing())?;
    if !matches!(ending, "atom" | "json") {
        return Err(missing());
    }
    let found = app.registry.saved_filter(id).await;
    let (label, _) = found
        .map_err(|error| store_problem(&error))?
        .ok_or_else(missing)?;
    let of = Of {
        path: format!("/feeds/{id}.{ending}"),
        title: format!("Changes: {label}"),
        page: "/".to_owned(),
        filter: ChangeFilter::default(),
        saved: Some(id),
    };
    feed(&app, &ask, of).await
}

async fn feed(app: &App, ask: &Ask, of: Of) -> Result<Response, Problem> {
    let mut read = Own::parse(ask.query(), &["before", "severity"]);
    let before = read.integer("before", 1, i64::MAX);
    let severity = read.text("severity", 20);
    read.finish()?;
    let mut of = of;
    if let Some(word) = &severity {
        let least = Severity::parse(word);
        of.filter.severity = Some(
            least.ok_or_else(|| Problem::new(Code::InvalidParameter, "query.severity: no such severity"))?,
        );
    }
    let base = site::base(app, ask);
    let atom = of.path.rsplit('.').next() == Some("atom");
    let key = format!("{base}{}?{before:?}&{severity:?}", of.path);
    let media_type = if atom { ATOM } else { JSON_FEED };
    let make = async {
        let found = app
            .registry
            .told_changes(&of.filter, of.saved, before, ENTRIES)
            .await?;
        let feed = Feed::new(&of, &base, severity.as_deref(), &found);
        Ok::<String, StoreError>(if atom { feed.atom() } else { feed.json() })
    };
    let entry: std::sync::Arc<Entry> = app.lists.page_as(&app.registry, key, media_type, make).await?;
    let mut response = entry.respond(ask.headers());
    response.headers_mut().insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("public, max-age=60"),
    );
    Ok(response)
}

/// A feed, ready to be written in either form.
struct Feed {
    title: String,
    id: String,
    own: String,
    page: String,
    next: Option<String>,
    updated: Timestamp,
    entries: Vec<FeedEntry>,
}

struct FeedEntry {
    id: String,
    title: String,
    link: String,
    at: Timestamp,
    server: String,
    severity: String,
    label: String,
    text: String,
}

impl Feed {
    fn new(of: &Of, base: &str, severity: Option<&str>, found: &[StoredChange]) -> Self {
        let with = |query: &[String]| {
            let query: Vec<&str> = query.iter().map(String::as_str).collect();
            let mark = if query.is_empty() { "" } else { "?" };
            format!("{base}{}{mark}{}", of.path, query.join("&"))
        };
        let severity: Vec<String> = severity
            .map(|word| format!("severity={word}"))
            .into_iter()
            .collect();
        let next = found
            .last()
            .filter(|_| found.len() >= ENTRIES as usize)
            .map(|last| with(&[severity.clone(), vec![format!("before={}", last.seq)]].concat()));
        Self {
            title: of.title.clone(),
            id: with(&severity),
            own: with(&severity),
            page: format!("{base}{}", of.page),
            next,
            // A feed without an entry was last changed before anything happened.
            updated: found
                .first()
                .map_or(Timestamp::from_micros(0), |change| change.at),
            entries: found.iter().map(|change| FeedEntry::new(change, base)).collect(),
        }
    }

    fn atom(&self) -> String {
        let mut out = String::from(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n",
        );
        let mut line = |text: String| {
            out.push_str(&text);
            out.push('\n');
        };
        line(format!("<title>{}</title>", xml(&self.title)));
        line(format!("<id>{}</id>", xml(&self.id)));
        line(format!("<updated>{}</updated>", self.updated));
        line("<author><name>Toolmark</name></author>".to_owned());
        line(format!(
            "<link rel=\"self\" type=\"application/atom+xml\" href=\"{}\"/>",
            xml(&self.own)
        ));
        line(format!(
            "<link rel=\"alternate\" type=\"text/html\" href=\"{}\"/>",
            xml(&self.page)
        ));
        if let Some(next) = &self.next {
            line(format!("<link rel=\"next\" href=\"{}\"/>", xml(next)));
        }
        for entry in &self.entries {
            line("<entry>".to_owned());
            line(format!("<title>{}</title>", xml(&entry.title)));
            line(format!("<id>{}</id>", xml(&entry.id)));
            line(format!("<published>{}</published>", entry.at));
            line(format!("<updated>{}</updated>", entry.at));
            line(format!(
                "<link rel=\"alternate\" type=\"text/html\" href=\"{}\"/>",
                xml(&entry.link)
            ));
            for word in [&entry.severity, &entry.label] {
                line(format!("<category term=\"{}\"/>", xml(word)));
            }
            line(format!("<content type=\"text\">{}</content>", xml(&entry.text)));
            line("</entry>".to_owned());
        }
        line("</feed>".to_owned());
        out
    }

    fn json(&self) -> String {
        let items: Vec<Value> = self
            .entries
            .iter()
            .map(|entry| {
                json!({
                    "id": entry.id,
                    "url": entry.link,
                    "title": entry.title,
                    "content_text": entry.text,
                    "date_published": entry.at,
                    "tags": [entry.severity, entry.label],
                    "_toolmark": {"server": entry.server, "severity": entry.severity, "label": entry.label},
                })
            })
            .collect();
        let mut feed = json!({
            "version": "https://jsonfeed.org/version/1.1",
            "title": self.title,
            "home_page_url": self.page,
            "feed_url": self.own,
            "authors": [{"name": "Toolmark"}],
            "items": items,
        });
        if let Some(next) = &self.next {
            feed["next_url"] = Value::from(next.as_str());
        }
        feed.to_string()
    }
}

impl FeedEntry {
    fn new(change: &StoredChange, base: &str) -> Self {
        let severity = change.severity.unwrap_or(Severity::Info).as_str();
        let label = change.label.as_str();
        let (from, to) = (change.from_version.as_str(), change.to_version.as_str());
        let step = if from == to {
            to.to_owned()
        } else {
            format!("{from} → {to}")
        };
        let server = change.server.as_str();
        let encoded = |version: &str| percent(version);
        Self {
            id: format!("urn:uuid:{}", change.id),
            title: excerpt(&format!("{severity}: {server} {step}: {label}")),
            link: format!("{base}/s/{server}/diff/{}...{}", encoded(from), encoded(to)),
            at: change.at,
            server: server.to_owned(),
            severity: severity.to_owned(),
            label: label.to_owned(),
            text: text(&change.event),
        }
    }
}

/// The head of the findings, one a line.
fn text(event: &Value) -> String {
    let findings = event.pointer("/data/findings").and_then(Value::as_array);
    let findings = findings.map(Vec::as_slice).unwrap_or_default();
    let word = |finding: &Value, key: &str| finding[key].as_str().map(excerpt).unwrap_or_default();
    let mut lines: Vec<String> = findings
        .iter()
        .map(|finding| {
            format!(
                "{} {} {} {}: {}",
                word(finding, "severity"),
                word(finding, "rule"),
                word(finding, "key"),
                word(finding, "pointer"),
                word(finding, "summary")
            )
        })
        .collect();
    let all = event
        .pointer("/data/findings_count")
        .and_then(Value::as_u64)
        .unwrap_or_default();
    let more = all.saturating_sub(findings.len() as u64);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    if lines.is_empty() {
        lines.push("nothing that a rule speaks of".to_owned());
    }
    lines.join("\n")
}

/// A version as one path segment.
fn percent(version: &str) -> String {
    percent_encoding::utf8_percent_encode(version, percent_encoding::NON_ALPHANUMERIC)
        .to_string()
        .replace("%2E", ".")
        .replace("%2D", "-")
        .replace("%5F", "_")
}

/// Text for XML: what XML cannot hold is gone already, [`excerpt`] writes it as a mark.
fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_cannot_leave_its_element() {
        assert_eq!(
            xml("a<b>&\"\u{0}\u{b}]]>\n"),
            "a&lt;b&gt;&amp;&quot;\u{fffd}\u{fffd}]]&gt;\n"
        );
        assert_eq!(percent("1.0.0-rc.1+b/é"), "1.0.0-rc.1%2Bb%2F%C3%A9");
    }
}

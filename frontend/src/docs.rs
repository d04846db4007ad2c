//! The documentation: Markdown of our own, made into HTML at first use, raw HTML left out.

mod limits;

use std::fmt::Write as _;
use std::sync::LazyLock;

use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// A page of documentation.
#[derive(Debug)]
pub struct DocPage {
    /// Below `/docs/`; empty for the first page.
    pub slug: &'static str,
    pub title: &'static str,
    pub summary: &'static str,
    pub markdown: &'static str,
    html: String,
}

impl DocPage {
    /// The page's body as HTML.
    pub fn html(&self) -> &str {
        &self.html
    }
}

/// Slug, title, summary, Markdown.
type Written = (&'static str, &'static str, &'static str, &'static str);

const WRITTEN: [Written; 10] = [
    (
        "",
        "Concepts",
        "What Toolmark records, and the words it uses.",
        include_str!("../docs/index.md"),
    ),
    (
        "browse",
        "Find a server",
        "Search, read a server's page, install a pinned version.",
        include_str!("../docs/browse.md"),
    ),
    (
        "publish",
        "Publish a server",
        "Check a server.json and publish it with a token.",
        include_str!("../docs/publish.md"),
    ),
    (
        "observed",
        "What is observed",
        "How a server is looked at, how a look can end, what the digests mean.",
        include_str!("../docs/observed.md"),
    ),
    (
        "alerts",
        "Alerts",
        "Subscribe to events: webhooks, mail, feeds.",
        include_str!("../docs/alerts.md"),
    ),
    (
        "lock",
        "Pin and check",
        "The lock file, and checking a client's settings.",
        include_str!("../docs/lock.md"),
    ),
    (
        "operate",
        "Run a registry",
        "Start one, fill it, watch it, move to PostgreSQL.",
        include_str!("../docs/operate.md"),
    ),
    (
        "agents",
        "Query by program",
        "The official contract, the event feed and the JSON twins.",
        include_str!("../docs/agents.md"),
    ),
    (
        "differences",
        "Differences",
        "Every deliberate difference to the official registry.",
        include_str!("../docs/differences.md"),
    ),
    (
        "search-measured",
        "How search is measured",
        "What the ranking was scored on, and what it misses.",
        include_str!("../docs/search-measured.md"),
    ),
];

static PAGES: LazyLock<Vec<DocPage>> = LazyLock::new(|| {
    // Made once for the life of the program.
    let limits: &'static str = Box::leak(limits::markdown().into_boxed_str());
    let limits: Written = (
        "limits",
        "Limits",
        "Every bound, from the program's own source.",
        limits,
    );
    let rules: &'static str = Box::leak(toolmark_domain::rules::markdown().into_boxed_str());
    let rules: Written = (
        "rules",
        "Rules",
        "Every rule of findings, with an example.",
        rules,
    );
    let page = |(slug, title, summary, markdown): Written| DocPage {
        slug,
        title,
        summary,
        markdown,
        html: html(markdown),
    };
    WRITTEN.into_iter().chain([rules, limits]).map(page).collect()
});

/// Every written page, in reading order.
pub fn all() -> &'static [DocPage] {
    &PAGES
}

/// The page at `/docs/{slug}`.
pub fn page(slug: &str) -> Option<&'static DocPage> {
    PAGES.iter().find(|page| page.slug == slug)
}

/// Where a page lives.
pub fn path(slug: &str) -> String {
    if slug.is_empty() {
        "/docs".to_owned()
    } else {
        format!("/docs/{slug}")
    }
}

/// Where its Markdown lives.
pub fn markdown_path(slug: &str) -> String {
    format!("{}.md", path(slug))
}

/// `/llms.txt`: what this site is and where a program finds what.
pub fn llms_txt(public_url: Option<&str>) -> String {
    let base = public_url.unwrap_or_default().trim_end_matches('/');
    let mut out = include_str!("../docs/llms.txt")
        .trim_end()
        .replace("{base}", base);
    out.push_str("\n\n## Documentation\n\n");
    for page in all() {
        let _ = writeln!(
            out,
            "- [{}]({base}{}): {}",
            page.title,
            markdown_path(page.slug),
            page.summary
        );
    }
    out
}

fn html(markdown: &str) -> String {
    let mut heading: Option<String> = None;
    let mut ids = Vec::new();
    // First pass: the ids of the headings, from their words.
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(text) | Event::Code(text) => {
                if let Some(words) = &mut heading {
                    words.push_str(&text);
                }
            }
            Event::End(TagEnd::Heading(_)) => ids.extend(heading.take().map(|words| id(&words))),
            _ => {}
        }
    }
    let mut ids = ids.into_iter();
    let events = Parser::new_ext(markdown, Options::ENABLE_TABLES).map(move |event| match event {
        Event::Start(Tag::Heading { level, .. }) if level != HeadingLevel::H1 => Event::Start(Tag::Heading {
            level,
            id: ids.next().map(CowStr::from),
            classes: Vec::new(),
            attrs: Vec::new(),
        }),
        Event::Start(Tag::Heading {
            level,
            id,
            classes,
            attrs,
        }) => {
            ids.next();
            Event::Start(Tag::Heading {
                level,
                id,
                classes,
                attrs,
            })
        }
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        other => other,
    });
    let mut out = String::with_capacity(markdown.len() * 2);
    pulldown_cmark::html::push_html(&mut out, events);
    // Wide tables and blocks scroll inside the page, never the page; the keyboard must reach them.
    out.replace(
        "<table>",
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"table\"><table>",
    )
    .replace("</table>", "</table></div>")
    .replace("<pre>", "<pre tabindex=\"0\">")
}

fn id(words: &str) -> String {
    let mut out = String::new();
    for c in words.chars() {
        if c.is_ascii_alphanumeric() {
            out.push(c.to_ascii_lowercase());
        } else if !out.ends_with('-') && !out.is_empty() {
            out.push('-');
        }
    }
    out.trim_end_matches('-').to_owned()
}

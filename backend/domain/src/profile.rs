//! What a server can do together: read what is private, take in what strangers wrote, send something out. Facts with
//! the tools that cause them, taken from names and descriptions; no judgement.

use serde::Serialize;
use serde_json::Value;

use crate::manifest::{Item, ItemKind, Manifest, token_cost};
use crate::rules::parameters::parts;

/// A tool and the word that puts it where it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cause {
    pub tool: String,
    /// Where the word stands: `name`, `description`, or a pointer to a parameter.
    pub place: String,
    pub word: String,
}

/// How many of each primitive a server offers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Primitives {
    pub tools: usize,
    pub prompts: usize,
    pub resources: usize,
    pub resource_templates: usize,
    /// Capabilities it declares.
    pub capabilities: Vec<String>,
}

/// The profile of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Profile {
    pub reads_private: Vec<Cause>,
    pub takes_untrusted: Vec<Cause>,
    pub sends_out: Vec<Cause>,
    /// All three together: what a stranger wrote can make it send out what is private.
    pub all_three: bool,
    /// Model tokens of all definitions of tools.
    pub token_cost: usize,
    /// Of each tool, most first.
    pub token_costs: Vec<(String, usize)>,
    pub primitives: Primitives,
}

/// Words about a thing, and what is done with it: one of each in a name or a first sentence.
struct Trait {
    verbs: &'static [&'static str],
    things: &'static [&'static str],
}

const PRIVATE: Trait = Trait {
    verbs: &[
        "read", "get", "list", "search", "query", "find", "fetch", "export", "download", "retrieve", "view",
        "show", "describe", "execute", "select",
    ],
    things: &[
        "file",
        "files",
        "directory",
        "email",
        "emails",
        "mail",
        "gmail",
        "inbox",
        "message",
        "messages",
        "calendar",
        "event",
        "events",
        "contact",
        "contacts",
        "drive",
        "document",
        "documents",
        "doc",
        "docs",
        "note",
        "notes",
        "database",
        "table",
        "tables",
        "sql",
        "secret",
        "secrets",
        "password",
        "credential",
        "credentials",
        "env",
        "environment",
        "history",
        "customer",
        "customers",
        "invoice",
        "invoices",
        "key",
        "keys",
        "clipboard",
        "screenshot",
        "issue",
        "issues",
        "page",
        "pages",
        "log",
        "logs",
        "memory",
        "memories",
    ],
};

const UNTRUSTED: Trait = Trait {
    verbs: &[
        "fetch", "search", "browse", "navigate", "crawl", "scrape", "extract", "read", "get", "list",
        "download", "open", "visit",
    ],
    things: &[
        "url",
        "web",
        "website",
        "webpage",
        "internet",
        "online",
        "browser",
        "email",
        "emails",
        "gmail",
        "inbox",
        "message",
        "messages",
        "comment",
        "comments",
        "issue",
        "issues",
        "review",
        "reviews",
        "feed",
        "rss",
        "tweet",
        "tweets",
        "post",
        "posts",
        "page",
        "snapshot",
        "transcript",
        "article",
        "articles",
        "html",
    ],
};

const OUTWARD: Trait = Trait {
    verbs: &[
        "send", "post", "publish", "upload", "share", "create", "add", "write", "push", "submit", "forward",
        "reply", "fetch", "navigate", "invite",
    ],
    things: &[
        "email",
        "mail",
        "gmail",
        "message",
        "messages",
        "comment",
        "comments",
        "issue",
        "tweet",
        "webhook",
        "url",
        "post",
        "gist",
        "repository",
        "pull",
        "request",
        "sms",
        "slack",
        "channel",
        "event",
        "web",
        "http",
        "link",
        "public",
    ],
};

impl Trait {
    /// The word that makes a tool one of these.
    fn cause(&self, item: &Item) -> Option<Cause> {
        let name = parts(&item.key);
        let sentence = first_sentence(item.text("description"));
        let words = parts(&sentence);
        for (place, words) in [("name", &name), ("description", &words)] {
            let verb = words.iter().any(|word| self.verbs.contains(&stem(word)));
            let thing = words.iter().find(|word| self.things.contains(&word.as_str()));
            if let (true, Some(thing)) = (verb, thing) {
                return Some(Cause {
                    tool: item.key.clone(),
                    place: place.to_owned(),
                    word: thing.clone(),
                });
            }
        }
        None
    }
}

fn stem(word: &str) -> &str {
    match word {
        "fetches" | "searches" | "pushes" | "publishes" => &word[..word.len() - 2],
        "queries" => "query",
        "replies" => "reply",
        _ => word.strip_suffix('s').unwrap_or(word),
    }
}

fn first_sentence(text: &str) -> String {
    let text = text.trim_start();
    let end = text.find(['.', '\n']).unwrap_or(text.len());
    text[..end].chars().take(300).collect()
}

/// A parameter by which a caller names an address of its own choice.
fn address(item: &Item) -> Option<Cause> {
    let properties = item.value.pointer("/inputSchema/properties")?.as_object()?;
    let name = properties.keys().find(|name| {
        let parts = parts(name);
        parts
            .iter()
            .any(|part| matches!(part.as_str(), "url" | "urls" | "uri" | "endpoint" | "webhook"))
    })?;
    let closed = item.value.pointer("/annotations/openWorldHint") == Some(&Value::Bool(false));
    (!closed).then(|| Cause {
        tool: item.key.clone(),
        place: format!("/inputSchema/properties/{}", crate::manifest::escaped(name)),
        word: name.clone(),
    })
}

/// The profile of what `manifest` declares.
pub fn profile(manifest: &Manifest) -> Profile {
    let causes = |of: &Trait| -> Vec<Cause> { manifest.tools().filter_map(|item| of.cause(item)).collect() };
    let with_addresses = |of: &Trait| -> Vec<Cause> {
        let each = manifest.tools();
        each.filter_map(|item| of.cause(item).or_else(|| address(item)))
            .collect()
    };
    let (reads_private, takes_untrusted, sends_out) = (
        causes(&PRIVATE),
        with_addresses(&UNTRUSTED),
        with_addresses(&OUTWARD),
    );
    let mut token_costs: Vec<(String, usize)> = manifest
        .tools()
        .map(|item| (item.key.clone(), token_cost(&item.value)))
        .collect();
    token_costs.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let count = |kind| manifest.of(kind).count();
    let capabilities = manifest.server.capabilities.as_ref().and_then(Value::as_object);
    Profile {
        all_three: !reads_private.is_empty() && !takes_untrusted.is_empty() && !sends_out.is_empty(),
        reads_private,
        takes_untrusted,
        sends_out,
        token_cost: token_costs.iter().map(|(_, cost)| cost).sum(),
        token_costs,
        primitives: Primitives {
            tools: count(ItemKind::Tool),
            prompts: count(ItemKind::Prompt),
            resources: count(ItemKind::Resource),
            resource_templates: count(ItemKind::Template),
            capabilities: capabilities
                .map(|map| map.keys().cloned().collect())
                .unwrap_or_default(),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(tools: &Value) -> Profile {
        let document = json!({"tools": tools, "initialize": {"capabilities": {"tools": {}}}});
        profile(&crate::manifest::read(document.to_string().as_bytes()).unwrap())
    }

    #[test]
    fn facts_name_the_tools_that_cause_them() {
        let found = of(&json!([
            {"name": "search_gmail_messages", "description": "Searches mail"},
            {"name": "fetch", "description": "Gets it", "inputSchema": {"properties": {"url": {"type": "string"}}}},
            {"name": "add", "description": "Adds two numbers"},
        ]));
        let names = |causes: &[Cause]| causes.iter().map(|c| c.tool.clone()).collect::<Vec<_>>();
        assert_eq!(names(&found.reads_private), ["search_gmail_messages"]);
        assert_eq!(names(&found.takes_untrusted), ["search_gmail_messages", "fetch"]);
        assert_eq!(names(&found.sends_out), ["fetch"]);
        assert!(found.all_three);
        assert_eq!(found.sends_out[0].place, "/inputSchema/properties/url");
        assert_eq!(found.primitives.tools, 3);
        assert_eq!(found.primitives.capabilities, ["tools"]);
    }

    #[test]
    fn a_calculator_holds_none_of_the_three() {
        let found = of(&json!([{"name": "add", "description": "Adds two numbers"}]));
        assert_eq!(
            (
                found.reads_private.len(),
                found.takes_untrusted.len(),
                found.sends_out.len()
            ),
            (0, 0, 0)
        );
        assert!(!found.all_three);
    }

    #[test]
    fn the_cost_is_a_quarter_of_the_canonical_bytes() {
        // {"name":"a"} has 12 bytes.
        assert_eq!(
            of(&json!([{"name": "a"}, {"name": "bb"}])).token_costs,
            [("bb".to_owned(), 4), ("a".to_owned(), 3)]
        );
        assert_eq!(of(&json!([{"name": "a"}, {"name": "bb"}])).token_cost, 7);
    }
}

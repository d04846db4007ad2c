//! `find_tools` and the lists of the search page: the index ranks, the store says what is true, the domain packs.

use std::sync::Arc;
use std::time::Duration;

use toolmark_domain::find::{Answer, FindAsk, FoundTool, Need, NoteFacts, pack};
use toolmark_domain::record::ServerSummary;
use toolmark_search::{
    Completion, Filter, Found, Hit, ListOptions, Listing, Mode, SearchError, SearchOptions, Strength, Wanted,
};

use crate::Registry;
use crate::found::FindError;
use crate::index::Pair;
use crate::observe::blocking;

/// With so many good ones, those that meet little of the request are left out.
const ENOUGH: usize = 3;
/// How long a search waits for the index to take in what this process wrote.
const MOMENT: Duration = Duration::from_millis(300);
/// Most servers and tools a completion offers.
const COMPLETIONS: usize = 8;

/// A page of tools, as they are now.
#[derive(Debug)]
pub struct ToolPage {
    pub tools: Vec<ListedTool>,
    pub listing: Listing,
    /// The event the index reflects.
    pub event: i64,
}

/// A tool of a page, with how it was found.
#[derive(Debug)]
pub struct ListedTool {
    pub tool: FoundTool,
    pub hit: Hit,
    pub place: usize,
    /// How many tools of its server were found.
    pub of_server: usize,
}

/// A page of servers, as they are now.
#[derive(Debug)]
pub struct ServerPage {
    pub servers: Vec<(ServerSummary, Hit, usize)>,
    pub listing: Listing,
    pub event: i64,
}

/// Ways to go on typing.
#[derive(Debug, Default)]
pub struct Completions {
    pub tools: Vec<Completion>,
    pub servers: Vec<Completion>,
    /// The word that was probably meant, in place of which one.
    pub instead: Option<(String, String)>,
    pub event: i64,
}

impl Registry {
    /// The event the search index reflects; -1 while it is being built.
    pub fn index_reached(&self) -> i64 {
        self.search_index().reached()
    }

    /// Waits until the search index reflects an event.
    pub async fn wait_indexed(&self, seq: i64) {
        self.search_index().wait_reached(seq).await;
    }

    /// What is searched. Who just wrote here finds what was written: the index is waited for, a moment only.
    async fn searched(&self) -> Result<(Arc<Pair>, i64), FindError> {
        let index = self.search_index();
        let head = self.head_seen();
        if index.reached() < head {
            let _ = tokio::time::timeout(MOMENT, index.wait_reached(head)).await;
        }
        let reached = index.reached();
        let shown = index.shown().filter(|_| reached >= 0);
        Ok((shown.ok_or(FindError::Rebuilding)?, reached))
    }

    fn mode(&self) -> Mode {
        self.settings().search_mode
    }

    /// Answers `find_tools`.
    pub async fn find(&self, ask: &FindAsk) -> Result<Answer, FindError> {
        let (pair, event) = self.searched().await?;
        let mut facts = NoteFacts {
            event,
            ..NoteFacts::default()
        };
        let mut needs = Vec::new();
        if !ask.ids.is_empty() {
            let (tools, missing) = self.by_ids(&ask.ids).await?;
            facts.missing = missing;
            let matched = tools.len();
            needs.push(Need {
                text: String::new(),
                tools,
                matched,
            });
        }
        if !ask.needs.is_empty() {
            let (filter, options) = self.limits_of(ask);
            let texts = ask.needs.clone();
            let found: Vec<Found> = blocking(move || {
                let index = pair.tools.shown();
                let each = texts.iter().map(|text| index.find(text, &filter, &options));
                each.collect::<Result<_, _>>()
            })
            .await?;
            for (text, mut found) in ask.needs.iter().zip(found) {
                enough(&mut found.hits);
                let mut tools = self.found(&found.hits).await?;
                tools.truncate(ask.limit);
                facts.instead.append(&mut found.instead);
                needs.push(Need {
                    text: text.clone(),
                    matched: found.matched.max(tools.len()),
                    tools,
                });
            }
        }
        Ok(pack(ask, &needs, &facts))
    }

    fn limits_of(&self, ask: &FindAsk) -> (Filter, SearchOptions) {
        let filters = &ask.filters;
        let mut wanted = Wanted::default();
        let mut want = |group: &str, value: Option<&str>| {
            if let Some(value) = value {
                let known = wanted.add(group, value);
                debug_assert!(known, "`{group}` `{value}` was checked when it was read");
            }
        };
        want("registry_type", filters.registry_type.as_deref());
        want("transport", filters.transport.as_deref());
        want("verdict", filters.provenance.as_deref());
        want(
            "read_only",
            filters.read_only.map(|yes| if yes { "yes" } else { "no" }),
        );
        let secs = |secs: i64| u64::try_from(secs).unwrap_or_default();
        let filter = Filter {
            server: ask.server.clone(),
            namespace: filters.namespace.clone(),
            wanted,
            changed_since: filters.changed_since.map(|since| secs(since.as_secs())),
            seen_before: filters
                .minimum_age_days
                .map(|days| secs(self.now().as_secs() - i64::from(days) * 86_400)),
            clauses: Vec::new(),
        };
        let options = SearchOptions {
            limit: ask.limit,
            mode: self.mode(),
            // Who names a server wants all of it.
            per_server: if ask.server.is_some() {
                usize::MAX
            } else {
                SearchOptions::default().per_server
            },
            ..SearchOptions::default()
        };
        (filter, options)
    }

    /// A page of tools. Hits that are gone from the store are left out.
    pub async fn list_tools(&self, query: &str, options: ListOptions) -> Result<ToolPage, FindError> {
        let (pair, event) = self.searched().await?;
        let query = query.to_owned();
        let listing = blocking(move || pair.tools.shown().list(&query, &options)).await?;
        let hits: Vec<Hit> = listing.hits.iter().map(|listed| listed.hit.clone()).collect();
        let found = self.found_each(&hits).await?;
        let tools = found.into_iter().zip(&listing.hits).filter_map(|(tool, listed)| {
            Some(ListedTool {
                tool: tool?,
                hit: listed.hit.clone(),
                place: listed.place,
                of_server: listed.of_server,
            })
        });
        let tools = tools.collect();
        Ok(ToolPage {
            tools,
            listing,
            event,
        })
    }

    /// A page of servers. Hits that are gone from the store are left out.
    pub async fn find_servers(&self, query: &str, mut options: ListOptions) -> Result<ServerPage, FindError> {
        // The second stage learnt from judged tools.
        options.mode = Mode::FirstStage;
        let (pair, event) = self.searched().await?;
        let query = query.to_owned();
        let listing = blocking(move || pair.servers.shown().list(&query, &options)).await?;
        let names: Vec<String> = listing.hits.iter().map(|listed| listed.hit.id.clone()).collect();
        let shown = self.shown(&names).await?;
        let servers = listing.hits.iter().filter_map(|listed| {
            let shown = shown.get(&listed.hit.id)?;
            Some((
                ServerSummary::of(&shown.version),
                listed.hit.clone(),
                listed.place,
            ))
        });
        Ok(ServerPage {
            servers: servers.collect(),
            event,
            listing,
        })
    }

    /// What a name that is being typed may become: only what is there.
    pub async fn complete(&self, typed: &str) -> Result<Completions, FindError> {
        let (pair, event) = self.searched().await?;
        let typed = typed.to_owned();
        let mut found = blocking(move || {
            let (tools, servers) = (pair.tools.shown(), pair.servers.shown());
            let mut found = Completions {
                tools: tools.complete(&typed, COMPLETIONS)?,
                servers: servers.complete(&typed, COMPLETIONS)?,
                instead: None,
                event,
            };
            if found.tools.is_empty() && found.servers.is_empty() {
                found.instead = match tools.respell(&typed)? {
                    None => servers.respell(&typed)?,
                    some => some,
                };
            }
            Ok::<_, SearchError>(found)
        })
        .await?;
        let names: Vec<String> = found
            .tools
            .iter()
            .chain(&found.servers)
            .filter_map(|completion| completion.id.split('#').next().map(str::to_owned))
            .collect();
        let shown = self.shown(&names).await?;
        let there = |completion: &Completion| {
            let server = completion.id.split('#').next();
            server.is_some_and(|server| shown.contains_key(server))
        };
        found.tools.retain(there);
        found.servers.retain(there);
        Ok(found)
    }
}

/// Fewer good ones rather than seven mixed.
fn enough(hits: &mut Vec<Hit>) {
    let good = |hit: &Hit| hit.strength > Strength::Weak;
    if hits.iter().filter(|hit| good(hit)).count() >= ENOUGH {
        hits.retain(good);
    }
}

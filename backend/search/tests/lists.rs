//! Lists, conditions, completion, and an index that follows: what a person at a search box sees.
#![expect(clippy::unwrap_used, reason = "a step that fails fails its test")]

use toolmark_search::{
    After, Filter, IndexOptions, Labels, ListOptions, Listing, LiveIndex, Mode, SearchOptions, ToolDocument,
    ToolIndex, Typed, Wanted,
};

fn tool(server: &str, name: &str, description: &str) -> ToolDocument {
    ToolDocument {
        id: format!("{server}#{name}"),
        server: server.to_owned(),
        name: name.to_owned(),
        description: description.to_owned(),
        ..ToolDocument::default()
    }
}

fn some() -> Vec<ToolDocument> {
    let mut tools = vec![
        tool("io.acme/file-tools", "read_file", "Reads a file from the disk"),
        tool(
            "io.acme/file-tools",
            "write_file",
            "Writes a csv file to the disk",
        ),
        tool("io.github.ann/csv", "parse_csv", "A csv parser for tables"),
        tool("io.github.ann/csv", "write_csv", "Writes a csv table"),
        tool("com.example/tempfile", "tempfile", "Makes a temporary place"),
        tool(
            "com.example/calendar",
            "list_events",
            "Lists the events of a calendar",
        ),
    ];
    for number in 0..40 {
        let name = format!("report_{number}x");
        tools.push(tool(
            "org.big/reports",
            &name,
            &format!("A monthly report number {number}"),
        ));
    }
    for (number, tool) in (0_u64..).zip(&mut tools) {
        let kind = if number % 2 == 0 { "npm" } else { "pypi" };
        let read_only = if number % 3 == 0 { "yes" } else { "no" };
        tool.labels = Labels::default()
            .with("registry_type", kind)
            .with("read_only", read_only);
        tool.first_seen = number;
        tool.changed = number + 100;
    }
    tools
}

fn index() -> ToolIndex {
    ToolIndex::in_memory(some(), &IndexOptions::default()).unwrap()
}

fn options() -> ListOptions {
    ListOptions {
        mode: Mode::Default,
        limit: 10,
        after: None,
        filter: Filter::default(),
        per_server: usize::MAX,
    }
}

fn typed(index: &ToolIndex, query: &str) -> Listing {
    let typed = Typed::read(query);
    let options = ListOptions {
        filter: typed.filter,
        ..options()
    };
    index.list(&typed.text, &options).unwrap()
}

fn ids(listing: &Listing) -> Vec<&str> {
    listing.hits.iter().map(|listed| listed.hit.id.as_str()).collect()
}

#[test]
fn conditions_hold() {
    let index = index();
    assert_eq!(
        ids(&typed(&index, "csv ns:io.acme")),
        ["io.acme/file-tools#write_file"]
    );
    assert_eq!(typed(&index, "csv ns:io.github").total, 2);
    assert!(
        ids(&typed(&index, "csv -parser"))
            .iter()
            .all(|id| !id.ends_with("#parse_csv"))
    );
    assert_eq!(
        ids(&typed(&index, "\"csv parser\"")),
        ["io.github.ann/csv#parse_csv"]
    );
    assert_eq!(ids(&typed(&index, "\"parser csv\"")), [""; 0]);
    assert_eq!(
        ids(&typed(&index, "name:events")),
        ["com.example/calendar#list_events"]
    );
    assert_eq!(typed(&index, "server:org.big/reports").total, 40);
    assert_eq!(typed(&index, "server:reports").total, 40);
    assert_eq!(typed(&index, "ns:com").total, 2);
    let since = Filter {
        changed_since: Some(144),
        ..Filter::default()
    };
    let listed = index
        .list(
            "",
            &ListOptions {
                filter: since,
                ..options()
            },
        )
        .unwrap();
    assert_eq!(listed.total, 2);
    let old = Filter {
        seen_before: Some(1),
        server: Some("io.acme/file-tools".into()),
        ..Filter::default()
    };
    assert_eq!(
        index
            .list(
                "",
                &ListOptions {
                    filter: old,
                    ..options()
                }
            )
            .unwrap()
            .total,
        2
    );
}

#[test]
fn more_words_never_find_more_unless_it_is_said() {
    let index = index();
    let one = typed(&index, "csv");
    assert_eq!((one.total, one.relaxed.len()), (3, 0));
    let two = typed(&index, "csv parser");
    assert!(two.total <= one.total || two.relaxed == ["parser"], "{two:?}");
    let three = typed(&index, "csv parser zzqx");
    assert!(three.relaxed.contains(&"zzqx".to_owned()), "{:?}", three.relaxed);
    assert_eq!(ids(&three)[0], "io.github.ann/csv#parse_csv");
    assert_eq!(typed(&index, "zzqx").total, 0);
}

#[test]
fn what_is_begun_is_completed_and_what_is_misspelt_is_said() {
    let index = index();
    for begun in ["tempf", "temp file", "tempfile", "TempFile", "temp-file"] {
        assert_eq!(
            ids(&typed(&index, begun))[0],
            "com.example/tempfile#tempfile",
            "{begun}"
        );
    }
    let begun = typed(&index, "cal");
    assert_eq!(ids(&begun), ["com.example/calendar#list_events"]);
    assert!(begun.instead.is_empty());
    let slip = typed(&index, "calender events");
    assert_eq!(slip.instead, [("calender".to_owned(), "calendar".to_owned())]);
    assert_eq!(ids(&slip)[0], "com.example/calendar#list_events");
    let long = "calender ".repeat(3) + "please find and show to me all of the events of this month";
    assert!(typed(&index, &long).instead.is_empty());
}

#[test]
fn a_name_that_is_typed_is_completed() {
    let index = index();
    let found = |typed: &str| -> Vec<String> {
        let found = index.complete(typed, 5).unwrap();
        found.into_iter().map(|completion| completion.id).collect()
    };
    assert_eq!(found("read"), ["io.acme/file-tools#read_file"]);
    assert_eq!(found("Read_F"), ["io.acme/file-tools#read_file"]);
    assert_eq!(found("report").len(), 5);
    assert!(found("r").is_empty() && found("").is_empty() && found("zzz").is_empty());
    assert_eq!(
        index.respell("calender").unwrap(),
        Some(("calender".to_owned(), "calendar".to_owned()))
    );
}

#[test]
fn pages_follow_each_other_and_counts_stay() {
    let index = index();
    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let page = index
            .list("monthly report", &ListOptions { after, ..options() })
            .unwrap();
        assert_eq!(page.total, 40);
        seen.extend(ids(&page).iter().map(|id| (*id).to_owned()));
        let Some(last) = page.hits.last().filter(|_| page.more) else {
            break;
        };
        after = Some(After {
            id: last.hit.id.clone(),
            place: last.place,
        });
    }
    assert_eq!(seen.len(), 40);
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 40);
    let gone = After {
        id: "no.longer/here#x".into(),
        place: 9,
    };
    let page = index
        .list(
            "monthly report",
            &ListOptions {
                after: Some(gone),
                ..options()
            },
        )
        .unwrap();
    assert_eq!((page.hits.len(), page.hits[0].place), (10, 10));
}

#[test]
fn facets_count_everything_found_and_their_own_group_as_if_it_were_free() {
    let index = index();
    let count = |listing: &Listing, group: &str, value: &str| {
        let facet = listing.facets.iter().find(|facet| facet.group == group).unwrap();
        facet
            .values
            .iter()
            .find(|(name, _)| *name == value)
            .map_or(0, |(_, count)| *count)
    };
    let all = index.list("monthly report", &options()).unwrap();
    assert_eq!(
        (
            count(&all, "registry_type", "npm"),
            count(&all, "registry_type", "pypi")
        ),
        (20, 20)
    );
    let mut wanted = Wanted::default();
    assert!(wanted.add("registry_type", "npm"));
    let filter = Filter {
        wanted,
        ..Filter::default()
    };
    let npm = index
        .list("monthly report", &ListOptions { filter, ..options() })
        .unwrap();
    assert_eq!(npm.total, 20);
    assert_eq!(
        (
            count(&npm, "registry_type", "npm"),
            count(&npm, "registry_type", "pypi")
        ),
        (20, 20)
    );
    assert_eq!(
        count(&npm, "read_only", "yes") + count(&npm, "read_only", "no"),
        20
    );
}

#[test]
fn a_server_with_much_shows_a_few_and_says_how_many_more() {
    let listing = index()
        .list(
            "monthly report",
            &ListOptions {
                per_server: 3,
                ..options()
            },
        )
        .unwrap();
    assert_eq!((listing.hits.len(), listing.hits[0].of_server), (3, 40));
}

fn answers(index: &ToolIndex) -> Vec<String> {
    let queries = [
        "csv",
        "write a file to disk",
        "tempf",
        "report",
        "calendar events",
    ];
    let found = queries.map(|query| index.search(query, &SearchOptions::default()).unwrap());
    found.iter().map(|hits| format!("{hits:?}")).collect()
}

#[test]
fn an_index_that_followed_answers_as_one_built_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let live = LiveIndex::open(Some(folder.path())).unwrap();
    assert_eq!(live.reached().unwrap(), None);
    live.add([tool(
        "gone.soon/csv",
        "parse_csv",
        "A csv parser for calendars and reports",
    )])
    .unwrap();
    live.commit(1).unwrap();
    for (number, tool) in (2..).zip(some()) {
        live.add([tool]).unwrap();
        live.commit(number).unwrap();
    }
    // Written again, as a server that changed is.
    live.remove("io.github.ann/csv");
    live.add(
        some()
            .into_iter()
            .filter(|tool| tool.server == "io.github.ann/csv"),
    )
    .unwrap();
    live.remove("gone.soon/csv");
    let before = live.shown();
    live.commit(100).unwrap();
    assert_eq!(before.len(), 47);
    assert_eq!(live.shown().len(), 46);
    assert_eq!(answers(&live.shown()), answers(&index()));
    assert!(matches!(
        LiveIndex::open(Some(folder.path())),
        Err(toolmark_search::SearchError::Busy)
    ));
    live.add([tool("never/kept", "x_y", "csv")]).unwrap();
    live.forget().unwrap();
    drop(live);
    let again = LiveIndex::open(Some(folder.path())).unwrap();
    assert_eq!(again.reached().unwrap(), Some(100));
    assert_eq!(answers(&again.shown()), answers(&index()));
}

//! `/stats`.

use askama::Template;
use serde::Serialize;
use toolmark_domain::record::Stats;

use super::rows::vouched_short;
use super::{Head, Site};
use crate::foreign::Foreign;

/// One line of a count: what, how many, and its share of the greatest as 0 to 100.
#[derive(Clone, Debug, Serialize)]
pub struct Bar {
    pub label: Foreign,
    pub count: i64,
    #[serde(skip)]
    pub width: i64,
}

#[derive(Debug, Serialize, Template)]
#[template(path = "stats.html")]
pub struct StatsView {
    pub schema: &'static str,
    #[serde(skip)]
    pub head: Head,
    pub servers: i64,
    pub versions: i64,
    pub event: i64,
    pub by_registry_type: Vec<Bar>,
    pub by_remote_transport: Vec<Bar>,
    pub by_origin: Vec<Bar>,
}

/// Lines of one count; foreign words could be many.
const BARS: usize = 20;

fn bars<'a>(counts: impl Iterator<Item = (&'a str, i64)> + Clone) -> Vec<Bar> {
    let greatest = counts.clone().map(|(_, count)| count).max().unwrap_or(1).max(1);
    counts
        .take(BARS)
        .map(|(label, count)| Bar {
            label: Foreign::line(label),
            count,
            width: (count.max(0) * 100 + greatest - 1) / greatest,
        })
        .collect()
}

impl StatsView {
    pub fn new(site: &Site, stats: &Stats) -> Self {
        let foreign =
            |counts: &[(String, i64)]| bars(counts.iter().map(|(label, count)| (label.as_str(), *count)));
        Self {
            schema: "toolmark.page.stats/1",
            head: Head::new(site, "/stats".to_owned(), "statistics").with_twin(),
            servers: stats.servers,
            versions: stats.versions,
            event: stats.events,
            by_registry_type: foreign(&stats.by_registry_type),
            by_remote_transport: foreign(&stats.by_remote_transport),
            by_origin: bars(
                stats
                    .by_origin
                    .iter()
                    .map(|(origin, count)| (vouched_short(*origin), *count)),
            ),
        }
    }
}

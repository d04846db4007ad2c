//! `toolmark import`: takes over another registry, or a file.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::anyhow;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use toolmark_registry::{ImportError, ImportOptions, ImportProgress, ImportReport};
use url::Url;

use crate::Global;
use crate::opening;
use crate::outcome::{Failure, Outcome};
use crate::output::{Format, print, print_json, shown, table};

/// The word that stands for a registry in place of a file.
const OFFICIAL: &str = "official";

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolmark import official
  toolmark import official --base-url http://127.0.0.1:9000
  toolmark import servers.jsonl --format json

A registry is read from where the last run ended: an interrupted run goes on, a complete one is followed by what
changed since. A row that is here already changes nothing.

Exit status: 0 the source was read to its end, whatever was skipped; 2 it could not be")]
pub(crate) struct ImportArgs {
    /// The word `official`, or a file: a server.json, JSON lines of `{server, _meta}`, a list answer, an array
    #[arg(value_name = "official|FILE")]
    source: PathBuf,
    /// After `official`: a file of what the official registry holds, read in its place
    #[arg(value_name = "FILE", conflicts_with = "base_url")]
    file: Option<PathBuf>,
    /// The registry to read instead of the one in the settings; with `official` only
    #[arg(long, value_name = "URL")]
    base_url: Option<Url>,
    /// Read everything again, not only what changed
    #[arg(long)]
    full: bool,
    /// Queue a look at each version that is added or updated and is its server's current one
    #[arg(long)]
    crawl: bool,
    /// Form of the answer
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(global: &Global, args: &ImportArgs) -> Result<Outcome, Failure> {
    let named_official = args.source == Path::new(OFFICIAL);
    if args.file.is_some() && !named_official {
        return Err(Failure::unreadable(anyhow!(
            "one file at a time, or `official` and a file"
        )));
    }
    let official = named_official && args.file.is_none();
    if args.base_url.is_some() && !official {
        let error = anyhow!("`--base-url` goes with `import official`, not with a file");
        return Err(Failure::unreadable(error));
    }
    let base_url = args.base_url.as_ref().map(Url::to_string);
    let loaded = global.start(vec![("--base-url", "import.base_url", base_url)])?;
    let settings = &loaded.settings;
    if official && !matches!(settings.import.base_url.scheme(), "http" | "https") {
        let error = anyhow!("`{}` is not an http or https address", settings.import.base_url);
        return Err(Failure::unreadable(error));
    }
    let options = ImportOptions {
        full: args.full,
        crawl: args.crawl,
    };
    let report = super::block_on(async {
        let registry = opening::registry(settings).await?;
        let bar = bar();
        let progress = |now: &ImportProgress| show(&bar, now);
        let report = if official {
            let client = opening::client()?;
            registry
                .import_official(&client, &settings.import.base_url, &options, &progress)
                .await
        } else {
            let file = args.file.as_ref().unwrap_or(&args.source);
            registry.import_file(file, &options, &progress).await
        };
        bar.finish_and_clear();
        registry.close().await;
        report.map_err(failed)
    })??;
    answer(args.format, &report)
}

fn failed(error: ImportError) -> Failure {
    match error {
        error @ ImportError::Open { .. } => {
            Failure::unreadable(error).hint("`import official` reads a registry, `import FILE` a file")
        }
        error @ ImportError::Store(_) => Failure::from(anyhow::Error::from(error)),
    }
}

fn answer(format: Format, report: &ImportReport) -> Result<Outcome, Failure> {
    match format {
        Format::Text => print(&text(report))?,
        Format::Json => print_json(&document(report))?,
    }
    let Some(stop) = &report.stopped else {
        return Ok(Outcome::Yes);
    };
    let error = anyhow!("{}", shown(&stop.cause)).context(format!("stopped at {}", stop.at));
    Err(Failure::unreadable(error).hint(if report.pages > 0 {
        "what was read before it is kept; the same command reads on"
    } else if report.rows > report.skipped_count() {
        "what was read before it is kept; importing the file again changes nothing that is here already"
    } else if report.source.starts_with("http://") || report.source.starts_with("https://") {
        if stop.unanswered {
            "check the address, and that this machine reaches it; the same command tries again"
        } else {
            "is it the address of a registry? its list is expected at `/v0.1/servers` below it"
        }
    } else {
        "a registry's address or a file of `server.json` documents is expected"
    }))
}

fn document(report: &ImportReport) -> serde_json::Value {
    let skipped = report.skipped.iter().map(
        |(reason, skipped)| json!({"reason": reason, "count": skipped.count, "examples": skipped.examples}),
    );
    json!({
        "schema": "toolmark.import/1",
        "source": report.source,
        "complete": report.stopped.is_none(),
        "rows": report.rows,
        "added": report.added,
        "updated": report.updated,
        "unchanged": report.unchanged,
        "skipped": skipped.collect::<Vec<_>>(),
        "invalid": report.invalid,
        "future": report.future,
        "pages": report.pages,
        "since": report.since,
        "resumed": report.resumed,
        "stopped": report.stopped,
    })
}

fn text(report: &ImportReport) -> String {
    let line = |name: &str, count: u64, note: String| vec![name.to_owned(), count.to_string(), note];
    let invalid = match report.invalid {
        0 => String::new(),
        count => format!("of the added and updated, {count} have errors and are marked invalid"),
    };
    let mut rows = vec![
        line("added", report.added, invalid),
        line("updated", report.updated, String::new()),
        line("unchanged", report.unchanged, String::new()),
        line("skipped", report.skipped_count(), String::new()),
    ];
    for (reason, skipped) in &report.skipped {
        rows.push(line(
            &format!("  {}", reason.as_str()),
            skipped.count,
            reason.words().to_owned(),
        ));
    }
    if report.future > 0 {
        let note = "rows with a time that is yet to come, cut to the time of the import";
        rows.push(line("future", report.future, note.to_owned()));
    }
    let mut out = format!(
        "{} from `{}`{}\n",
        rows_of(report.rows),
        shown(&report.source),
        manner(report)
    );
    out.push_str(&table(&rows));
    let examples = report.skipped.iter().flat_map(|(reason, skipped)| {
        skipped.examples.iter().map(move |example| {
            let server = example
                .server
                .as_deref()
                .map(|name| format!(" `{}`", shown(name)))
                .unwrap_or_default();
            format!(
                "{}, {}:{server} {}\n",
                reason.as_str(),
                example.at,
                shown(&example.detail)
            )
        })
    });
    let examples: Vec<String> = examples.collect();
    if !examples.is_empty() {
        out.push_str("skipped, for example:\n");
        out.extend(examples.iter().map(|example| format!("  {example}")));
    }
    out
}

fn rows_of(count: u64) -> String {
    if count == 1 {
        "1 row".to_owned()
    } else {
        format!("{count} rows")
    }
}

fn manner(report: &ImportReport) -> String {
    let mut manner = String::new();
    if report.resumed {
        manner.push_str(", going on with an interrupted run");
    }
    if let Some(since) = report.since {
        let _ = write!(manner, ", changed since {since}");
    }
    manner
}

/// On standard error, and only where that is a terminal.
fn bar() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    bar.set_style(ProgressStyle::default_spinner());
    // A wait for the other side looks alive.
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

/// A file has an end to reckon with, a registry only a rate.
fn show(bar: &ProgressBar, now: &ImportProgress) {
    let style = match now.bytes_total {
        Some(total) => {
            bar.set_length(total);
            bar.set_position(now.bytes);
            ProgressStyle::with_template("{bar:30} {percent}%  {msg}  {bytes_per_sec}  {eta} left")
        }
        None => ProgressStyle::with_template("{spinner} {msg}  {elapsed}"),
    };
    if let Ok(style) = style {
        bar.set_style(style);
    }
    let secs = bar.elapsed().as_secs_f64().max(0.001);
    #[expect(clippy::cast_precision_loss, reason = "shown without decimals")]
    let rate = now.rows as f64 / secs;
    let pages = if now.pages == 0 {
        String::new()
    } else {
        format!(", {} pages", now.pages)
    };
    bar.set_message(format!(
        "{}{pages}, {rate:.0}/s, {} written, {} skipped",
        rows_of(now.rows),
        now.written,
        now.skipped
    ));
}

#[cfg(test)]
mod tests {
    use toolmark_registry::{Example, Place, Reason, Skipped, Stop};

    use super::*;

    fn report() -> ImportReport {
        let mut report = ImportReport {
            source: "servers.jsonl".into(),
            rows: 12,
            added: 9,
            updated: 1,
            unchanged: 1,
            invalid: 2,
            ..ImportReport::default()
        };
        let example = Example {
            at: Place::Line(7),
            server: Some("a/b/\u{1b}[31mc".into()),
            detail: "not a server name".into(),
        };
        let skipped = Skipped {
            count: 1,
            examples: vec![example],
        };
        report.skipped.insert(Reason::BadName, skipped);
        report
    }

    #[test]
    fn the_table_says_what_was_done_and_what_was_not() {
        assert_eq!(
            text(&report()),
            "\
12 rows from `servers.jsonl`
added       9  of the added and updated, 2 have errors and are marked invalid
updated     1
unchanged   1
skipped     1
  bad_name  1  name not of the form `namespace/name`
skipped, for example:
  bad_name, line 7: `a/b/\\u{1b}[31mc` not a server name
"
        );
    }

    #[test]
    fn the_json_names_its_schema_first() {
        let mut report = report();
        report.stopped = Some(Stop {
            at: "page 2".into(),
            cause: "x".into(),
            unanswered: false,
        });
        let document = document(&report);
        assert_eq!(document.as_object().unwrap().keys().next().unwrap(), "schema");
        assert_eq!(document["skipped"][0]["reason"], "bad_name");
        assert_eq!(document["skipped"][0]["examples"][0]["at"], "line 7");
        assert_eq!(
            (&document["complete"], &document["stopped"]["at"]),
            (&json!(false), &json!("page 2"))
        );
    }
}

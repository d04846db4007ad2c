//! `toolmark evaluate`: ranks a file of queries over a file of tools with the code and settings of the product, so
//! that anyone can score the search. It reads and writes files only; no database is opened.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand, ValueEnum};
use flate2::bufread::MultiGzDecoder;
use serde::Deserialize;
use serde_json::{Value, json};
use toolmark_domain::limits::IMPORT_LINE_BYTES;
use toolmark_registry::search::{IndexOptions, Mode, SearchOptions, ToolDocument, ToolIndex};

use crate::Global;
use crate::outcome::{Failure, Outcome};
use crate::output::print;

#[derive(Debug, Subcommand)]
pub(crate) enum EvaluateCommand {
    /// Rank a file of queries over a file of tools
    Search(SearchArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  toolmark evaluate search --tools tools.jsonl.gz --queries queries.jsonl --run run.jsonl

The run has a JSON line for each query: `qid`, `ids` best first, and the time in `ms`.")]
pub(crate) struct SearchArgs {
    /// Tools, a JSON object a line; gzip or plain
    #[arg(long, value_name = "FILE")]
    tools: PathBuf,
    /// Queries, a JSON object a line; gzip or plain
    #[arg(long, value_name = "FILE")]
    queries: PathBuf,
    /// Where the run is written
    #[arg(long, value_name = "OUT")]
    run: PathBuf,
    /// Most tools for each query
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=100))]
    limit: u16,
    /// How tools are ranked
    #[arg(long, value_enum, default_value_t)]
    mode: RankMode,
    /// More tools, which join every corpus
    #[arg(long, value_name = "FILE")]
    extra_tools: Option<PathBuf>,
}

/// How tools are ranked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum RankMode {
    /// By words alone.
    Lexical,
    /// As the product does.
    #[default]
    Default,
}

/// A tool as the file has it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ToolLine {
    id: String,
    src: String,
    server: String,
    server_desc: Option<String>,
    name: String,
    title: Option<String>,
    description: Option<String>,
    #[serde(rename = "inputSchema")]
    input_schema: Value,
    #[serde(skip)]
    extra: bool,
}

#[derive(Debug, Deserialize)]
struct QueryLine {
    qid: String,
    #[serde(default)]
    corpus: Corpus,
    text: String,
}

/// Which tools a query is asked of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Corpus {
    Livemcp,
    Mcp,
    #[default]
    All,
}

/// Sources of real MCP tools.
const MCP: [&str; 6] = ["livemcp", "azure", "mcpbench", "mcptools", "mcpm", "docker"];

impl Corpus {
    fn has(self, tool: &ToolLine) -> bool {
        tool.extra
            || match self {
                Self::Livemcp => tool.src == "livemcp",
                Self::Mcp => MCP.contains(&tool.src.as_str()),
                Self::All => true,
            }
    }
}

pub(crate) fn run(global: &Global, command: &EvaluateCommand) -> Result<Outcome, Failure> {
    global.start(Vec::new())?;
    let EvaluateCommand::Search(args) = command;
    let (tools, queries) = read(args).map_err(Failure::unreadable)?;
    let answers = rank(args, &tools, &queries)?;
    write(&args.run, &answers)?;
    print(&format!(
        "ranked {} queries over {} tools into `{}`\n",
        answers.len(),
        tools.len(),
        args.run.display()
    ))?;
    Ok(Outcome::Yes)
}

fn read(args: &SearchArgs) -> anyhow::Result<(Vec<ToolLine>, Vec<QueryLine>)> {
    let mut tools: Vec<ToolLine> = lines(&args.tools)?;
    if let Some(extra) = &args.extra_tools {
        let extra = lines::<ToolLine>(extra)?.into_iter();
        tools.extend(extra.map(|tool| ToolLine { extra: true, ..tool }));
    }
    if let Some(place) = tools
        .iter()
        .position(|tool| tool.id.is_empty() || tool.name.is_empty())
    {
        bail!("tool {} has no `id` or no `name`", place + 1);
    }
    Ok((tools, lines(&args.queries)?))
}

/// The answers in the order of the queries.
fn rank(args: &SearchArgs, tools: &[ToolLine], queries: &[QueryLine]) -> anyhow::Result<Vec<Value>> {
    let options = SearchOptions {
        limit: usize::from(args.limit),
        mode: match args.mode {
            RankMode::Lexical => Mode::Lexical,
            RankMode::Default => Mode::Default,
        },
        ..SearchOptions::default()
    };
    let mut answers = vec![Value::Null; queries.len()];
    for corpus in [Corpus::Livemcp, Corpus::Mcp, Corpus::All] {
        let asked = || {
            queries
                .iter()
                .enumerate()
                .filter(|(_, query)| query.corpus == corpus)
        };
        if asked().next().is_none() {
            continue;
        }
        let of_corpus = tools.iter().enumerate().filter(|(_, tool)| corpus.has(tool));
        let documents = of_corpus.map(|(order, tool)| document(tool, order));
        let index =
            ToolIndex::in_memory(documents, &IndexOptions::default()).context("cannot build the index")?;
        for (place, query) in asked() {
            let start = Instant::now();
            let hits = index
                .search(&query.text, &options)
                .with_context(|| format!("cannot rank query `{}`", query.qid))?;
            let ms = start.elapsed().as_secs_f64() * 1000.0;
            let ids: Vec<String> = hits.into_iter().map(|hit| hit.id).collect();
            answers[place] = json!({"qid": query.qid, "ids": ids, "ms": ms});
        }
    }
    Ok(answers)
}

fn document(tool: &ToolLine, order: usize) -> ToolDocument {
    ToolDocument {
        id: tool.id.clone(),
        server: format!("{}/{}", tool.src, tool.server),
        server_title: tool.server.clone(),
        server_description: tool.server_desc.clone().unwrap_or_default(),
        name: tool.name.clone(),
        title: tool.title.clone(),
        description: tool.description.clone().unwrap_or_default(),
        parameters: ToolDocument::parameters_of(&tool.input_schema),
        // The file proves nothing about any of them; what it lists first was there first.
        trust: 0,
        first_seen: u64::try_from(order).unwrap_or(u64::MAX),
        ..ToolDocument::default()
    }
}

/// The JSON lines of a file, gzip or plain.
fn lines<T: for<'de> Deserialize<'de>>(path: &Path) -> anyhow::Result<Vec<T>> {
    let name = path.display();
    let file = File::open(path).with_context(|| format!("cannot read `{name}`"))?;
    let mut bytes = BufReader::new(file);
    let packed = bytes
        .fill_buf()
        .with_context(|| format!("cannot read `{name}`"))?
        .starts_with(&[0x1f, 0x8b]);
    let mut reader: Box<dyn BufRead> = if packed {
        Box::new(BufReader::new(MultiGzDecoder::new(bytes)))
    } else {
        Box::new(bytes)
    };
    let mut out = Vec::new();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let most = u64::try_from(IMPORT_LINE_BYTES).unwrap_or(u64::MAX);
        let mut within = (&mut reader).take(most);
        let length = within
            .read_until(b'\n', &mut line)
            .with_context(|| format!("cannot read `{name}`"))?;
        if length == 0 {
            break;
        }
        if length == IMPORT_LINE_BYTES && line.last() != Some(&b'\n') {
            bail!("line {number} of `{name}` is longer than {IMPORT_LINE_BYTES} bytes");
        }
        if !line.trim_ascii().is_empty() {
            out.push(serde_json::from_slice(&line).with_context(|| format!("line {number} of `{name}`"))?);
        }
    }
    Ok(out)
}

fn write(path: &Path, answers: &[Value]) -> anyhow::Result<()> {
    let context = || format!("cannot write `{}`", path.display());
    let mut out = BufWriter::new(File::create(path).with_context(context)?);
    for answer in answers {
        writeln!(out, "{answer}").with_context(context)?;
    }
    out.flush().with_context(context)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOLS: &str = r#"{"id":"livemcp/a/get_weather","src":"livemcp","server":"a","name":"get_weather","description":"Weather of a city","inputSchema":{"type":"object"}}
{"id":"bfcl/b/get_stock","src":"bfcl","server":"b","name":"get_stock","description":"Price of a share","inputSchema":{}}
"#;
    const QUERIES: &str = r#"{"qid":"q1","set":"s","corpus":"all","text":"price of a share"}
{"qid":"q2","set":"s","corpus":"livemcp","text":"price of a share or the weather"}
"#;

    fn evaluate(tools: &[u8], queries: &str) -> Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        let args = SearchArgs {
            tools: folder.path().join("tools"),
            queries: folder.path().join("queries"),
            run: folder.path().join("run"),
            limit: 7,
            mode: RankMode::Default,
            extra_tools: None,
        };
        std::fs::write(&args.tools, tools).unwrap();
        std::fs::write(&args.queries, queries).unwrap();
        let (tools, queries) = read(&args).map_err(|error| format!("{error:#}"))?;
        write(&args.run, &rank(&args, &tools, &queries).unwrap()).unwrap();
        Ok(std::fs::read_to_string(&args.run).unwrap())
    }

    fn ids(run: &str) -> Vec<Value> {
        run.lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["ids"].clone())
            .collect()
    }

    #[test]
    fn the_corpus_of_a_query_chooses_the_tools() {
        let run = evaluate(TOOLS.as_bytes(), QUERIES).unwrap();
        assert_eq!(
            ids(&run),
            [json!(["bfcl/b/get_stock"]), json!(["livemcp/a/get_weather"])]
        );
    }

    #[test]
    fn gzip_is_read_as_plain_is() {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(TOOLS.as_bytes()).unwrap();
        let packed = evaluate(&packed.finish().unwrap(), QUERIES).unwrap();
        assert_eq!(ids(&packed), ids(&evaluate(TOOLS.as_bytes(), QUERIES).unwrap()));
    }

    #[test]
    fn a_line_that_cannot_be_read_is_named() {
        let error = evaluate(TOOLS.as_bytes(), "{\"qid\":\"q\",\"text\":\"a\"}\n{\"qid\":3}\n").unwrap_err();
        assert!(error.starts_with("line 2 of `"), "{error}");
        let error = evaluate(b"{\"server\":\"a\"}", QUERIES).unwrap_err();
        assert_eq!(error, "tool 1 has no `id` or no `name`");
    }
}

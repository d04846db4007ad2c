//! Writes what the second stage sees of every query of a file, for `train.py`, and a run of each mode to compare.
//!
//! `training_rows TOOLS QUERIES OUT [EXTRA_TOOLS]` writes `OUT.rows`, `OUT.lexical.jsonl` and `OUT.default.jsonl`.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Read, Write as _};
use std::time::Instant;

use serde_json::{Value, json};
use toolmark_search::{IndexOptions, Mode, SearchOptions, ToolDocument, ToolIndex};

const MCP: [&str; 6] = ["livemcp", "azure", "mcpbench", "mcptools", "mcpm", "docker"];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [tools, queries, out, extra @ ..] = &arguments[..] else {
        return Err("usage: training_rows TOOLS QUERIES OUT [EXTRA_TOOLS]".into());
    };
    let mut tools = lines(tools)?;
    for extra in extra {
        tools.extend(lines(extra)?);
    }
    let queries = lines(queries)?;
    let mut rows = BufWriter::new(File::create(format!("{out}.rows"))?);
    let mut runs = BTreeMap::new();
    for (name, mode) in [("lexical", Mode::Lexical), ("default", Mode::Default)] {
        runs.insert(
            name,
            (mode, BufWriter::new(File::create(format!("{out}.{name}.jsonl"))?)),
        );
    }
    for corpus in ["livemcp", "mcp", "all"] {
        let documents = tools.iter().enumerate().filter(|(_, tool)| is_in(tool, corpus));
        let documents = documents.map(|(order, tool)| document(tool, order));
        let index = ToolIndex::in_memory(documents, &IndexOptions::default())?;
        for query in queries.iter().filter(|query| query["corpus"] == corpus) {
            let text = query["text"].as_str().unwrap_or_default();
            for (mode, file) in runs.values_mut() {
                let options = SearchOptions {
                    limit: 50,
                    mode: *mode,
                    ..SearchOptions::default()
                };
                let start = Instant::now();
                let hits = index.search(text, &options)?;
                let ms = start.elapsed().as_secs_f64() * 1000.0;
                let ids: Vec<String> = hits.into_iter().map(|hit| hit.id).collect();
                writeln!(file, "{}", json!({"qid": query["qid"], "ids": ids, "ms": ms}))?;
            }
            for (id, row) in index.training_rows(text)? {
                let row: Vec<String> = row.iter().map(f32::to_string).collect();
                writeln!(
                    rows,
                    "{}\t{id}\t{}",
                    query["qid"].as_str().unwrap_or_default(),
                    row.join("\t")
                )?;
            }
        }
    }
    Ok(())
}

fn lines(path: &str) -> Result<Vec<Value>, Box<dyn Error>> {
    let file = File::open(path)?;
    let packed = std::path::Path::new(path)
        .extension()
        .is_some_and(|end| end == "gz");
    let reader: Box<dyn Read> = if packed {
        Box::new(flate2::read::GzDecoder::new(file))
    } else {
        Box::new(file)
    };
    let lines = BufReader::new(reader).lines();
    lines.map(|line| Ok(serde_json::from_str(&line?)?)).collect()
}

fn is_in(tool: &Value, corpus: &str) -> bool {
    let source = tool["src"].as_str().unwrap_or_default();
    source == "spam" || corpus == "all" || source == corpus || (corpus == "mcp" && MCP.contains(&source))
}

fn document(tool: &Value, order: usize) -> ToolDocument {
    let text = |key: &str| tool[key].as_str().unwrap_or_default().to_owned();
    ToolDocument {
        id: text("id"),
        server: format!("{}/{}", text("src"), text("server")),
        server_title: text("server"),
        server_description: text("server_desc"),
        name: text("name"),
        title: tool["title"].as_str().map(str::to_owned),
        description: text("description"),
        parameters: ToolDocument::parameters_of(&tool["inputSchema"]),
        trust: 0,
        first_seen: u64::try_from(order).unwrap_or(u64::MAX),
        ..ToolDocument::default()
    }
}

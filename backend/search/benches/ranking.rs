//! Time of one query on one core, at 16,000 and 100,000 tools.
//!
//! `cargo bench -p toolmark-search -- TOOLS QUERIES`: JSON lines, plain. Past the tools of the file, names, servers,
//! descriptions and schemas of different ones are joined: the vocabulary stays real, only the number is made up.

use std::error::Error;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::time::Instant;

use serde_json::Value;
use toolmark_search::{IndexOptions, Mode, SearchOptions, ToolDocument, ToolIndex};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    let mut out = std::io::stdout().lock();
    let [tools, queries] = &arguments[..] else {
        writeln!(out, "skipped: give a file of tools and a file of queries")?;
        return Ok(());
    };
    let (tools, queries) = (lines(tools)?, lines(queries)?);
    for count in [16_000, 100_000] {
        let start = Instant::now();
        let index = ToolIndex::in_memory(
            (0..count).map(|number| joined(&tools, number)),
            &IndexOptions::default(),
        )?;
        writeln!(
            out,
            "{count} tools: built in {:.1} s",
            start.elapsed().as_secs_f64()
        )?;
        for mode in [Mode::Lexical, Mode::Default] {
            let options = SearchOptions {
                mode,
                ..SearchOptions::default()
            };
            let mut times = Vec::new();
            for query in &queries {
                let text: String = query["text"]
                    .as_str()
                    .unwrap_or_default()
                    .chars()
                    .take(2000)
                    .collect();
                let start = Instant::now();
                index.search(&text, &options)?;
                times.push(start.elapsed().as_secs_f64() * 1000.0);
            }
            times.sort_by(f64::total_cmp);
            let at = |share: usize| times[(times.len() - 1) * share / 100];
            writeln!(
                out,
                "  {mode:?}: p50 {:.2} ms, p95 {:.2} ms, p99 {:.2} ms",
                at(50),
                at(95),
                at(99)
            )?;
        }
    }
    Ok(())
}

fn lines(path: &str) -> Result<Vec<Value>, Box<dyn Error>> {
    let lines = BufReader::new(File::open(path)?).lines();
    lines.map(|line| Ok(serde_json::from_str(&line?)?)).collect()
}

fn joined(tools: &[Value], number: usize) -> ToolDocument {
    let round = number / tools.len();
    let pick = |step: usize| &tools[(number + round * step) % tools.len()];
    let text = |tool: &Value, key: &str| tool[key].as_str().unwrap_or_default().to_owned();
    let server = text(pick(101), "server");
    ToolDocument {
        id: format!("{number}"),
        server: format!("{round}/{server}"),
        server_title: server,
        server_description: text(pick(101), "server_desc"),
        name: text(pick(0), "name"),
        description: text(pick(1009), "description"),
        parameters: ToolDocument::parameters_of(&pick(10_007)["inputSchema"]),
        ..ToolDocument::default()
    }
}

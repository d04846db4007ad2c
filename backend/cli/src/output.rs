//! Writing to standard output.

use std::io::{ErrorKind, Write as _};

use anyhow::Context as _;
use clap::ValueEnum;
use serde::Serialize;

/// The form of printed data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

/// Writes `text`. A reader that went away (`| head`) is no error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write to standard output"),
    }
}

/// Writes `data` as indented JSON and a line end.
pub(crate) fn print_json(data: &impl Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(data).context("cannot write the answer as JSON")?;
    print(&(text + "\n"))
}

/// Lines of cells with each column as wide as its widest cell; the last column is not filled up.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths);
        let line: Vec<String> = cells.map(|(cell, width)| format!("{cell:width$}")).collect();
        out.push_str(line.join("  ").trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [["a", "bb", "c"], ["dddd", "", "e"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(table(&rows), "a     bb  c\ndddd      e\n");
    }
}

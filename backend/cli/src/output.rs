//! Writing to standard output.

use std::io::{ErrorKind, Write as _};

use anyhow::Context as _;
use clap::ValueEnum;
use serde::Serialize;
use toolmark_domain::characters::is_hidden;

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

/// Foreign text in a line of ours: what would move the cursor, hide or reorder text is written out as `\u{…}`.
pub(crate) fn shown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        if char.is_control() || is_hidden(char) {
            out.extend(char.escape_unicode());
        } else {
            out.push(char);
        }
    }
    out
}

/// Foreign text for a terminal: whatever is not plainly a letter, a digit, a mark of ASCII or a space is written as its
/// code, so that nothing is hidden, reordered or obeyed.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        // Letters by their class, that show nothing.
        let blank = matches!(c, '\u{115F}' | '\u{1160}' | '\u{3164}' | '\u{FFA0}');
        if (c.is_alphanumeric() && !blank) || c.is_ascii_graphic() || matches!(c, ' ' | '…') {
            out.push(c);
        } else {
            out.extend(c.escape_unicode());
        }
    }
    out
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
    fn foreign_text_cannot_hide_or_command() {
        assert_eq!(plain("naïve <b>x</b>…"), "naïve <b>x</b>…");
        assert_eq!(plain("a\u{202e}b\x1b[2J\n"), "a\\u{202e}b\\u{1b}[2J\\u{a}");
        assert_eq!(plain("\u{3164}\u{200b}"), "\\u{3164}\\u{200b}");
    }

    #[test]
    fn columns_line_up() {
        let rows = [["a", "bb", "c"], ["dddd", "", "e"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(table(&rows), "a     bb  c\ndddd      e\n");
    }
}

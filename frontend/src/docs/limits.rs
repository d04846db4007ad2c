//! The page "Limits", made from the source of the bounds themselves, so that it cannot be stale.

use std::fmt::Write as _;

const SOURCE: &str = include_str!("../../../backend/domain/src/limits.rs");

/// One bound as written in the source.
#[derive(Debug, PartialEq, Eq)]
struct Limit {
    name: String,
    meaning: String,
    value: String,
}

/// The page.
pub(super) fn markdown() -> String {
    let mut out = String::from(
        "# Limits\n\nBytes that others send never cost more than this. Each bound is a constant of the program; this \
         page is made from their source.\n\n| Bound | Value | Meaning |\n|---|---|---|\n",
    );
    for limit in read(SOURCE) {
        // A `|` would end the cell.
        let meaning = limit.meaning.replace('|', "\\|");
        let _ = writeln!(out, "| `{}` | {} | {meaning} |", limit.name, limit.value);
    }
    out
}

/// Every `pub const NAME: TYPE = VALUE;` with the comment above it.
fn read(source: &str) -> Vec<Limit> {
    let mut limits = Vec::new();
    let mut comment = String::new();
    let mut statement = String::new();
    for line in source.lines().map(str::trim) {
        if let Some(text) = line.strip_prefix("///") {
            if !comment.is_empty() {
                comment.push(' ');
            }
            comment.push_str(text.trim());
            continue;
        }
        if statement.is_empty() && !line.starts_with("pub const ") {
            comment.clear();
            continue;
        }
        statement.push_str(line);
        statement.push(' ');
        if line.ends_with(';') {
            limits.extend(limit(&statement, std::mem::take(&mut comment)));
            statement.clear();
        }
    }
    limits
}

fn limit(statement: &str, meaning: String) -> Option<Limit> {
    let rest = statement.trim().strip_prefix("pub const ")?.strip_suffix(';')?;
    let (name, rest) = rest.split_once(':')?;
    let (_, expression) = rest.split_once('=')?;
    Some(Limit {
        name: name.trim().to_owned(),
        meaning,
        value: value(name.trim(), expression.trim()),
    })
}

/// `1024 * 1024` of a name in `_BYTES` is `1,048,576 bytes (1 MiB)`; `(3, 200)` is `3 to 200`. What is neither stays
/// as it is written.
fn value(name: &str, expression: &str) -> String {
    let unit = match name.rsplit('_').next() {
        Some("BYTES") => " bytes",
        Some("CHARS") => " characters",
        Some("SECS") => " seconds",
        _ => "",
    };
    let pair = expression
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'))
        .and_then(|rest| rest.split_once(','));
    if let Some((Some(least), Some(most))) = pair.map(|(least, most)| (product(least), product(most))) {
        return format!("{} to {}{unit}", grouped(least), grouped(most));
    }
    let Some(number) = product(expression) else {
        return format!("`{expression}`");
    };
    let mebi = 1024 * 1024;
    let short = match number {
        _ if unit != " bytes" => String::new(),
        _ if number >= mebi && number % mebi == 0 => format!(" ({} MiB)", number / mebi),
        _ if number >= 1024 && number % 1024 == 0 => format!(" ({} KiB)", number / 1024),
        _ => String::new(),
    };
    format!("{}{unit}{short}", grouped(number))
}

fn product(expression: &str) -> Option<u64> {
    expression
        .split('*')
        .map(|factor| factor.trim().replace('_', "").parse::<u64>().ok())
        .try_fold(1_u64, |product, factor| product.checked_mul(factor?))
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolmark_domain::limits;

    #[test]
    fn every_bound_of_the_source_is_on_the_page_with_its_value_and_its_meaning() {
        let read = read(SOURCE);
        let declared = SOURCE
            .lines()
            .filter(|line| line.starts_with("pub const "))
            .count();
        assert_eq!(read.len(), declared);
        let page = markdown();
        for limit in &read {
            assert!(!limit.meaning.is_empty(), "`{}` has no meaning", limit.name);
            assert!(
                !limit.value.contains('`'),
                "`{}` has a value this page cannot show: {}",
                limit.name,
                limit.value
            );
            assert!(page.contains(&format!("| `{}` |", limit.name)));
        }
    }

    #[test]
    fn the_values_are_those_of_the_program() {
        let read = read(SOURCE);
        let value = |name: &str| {
            read.iter()
                .find(|limit| limit.name == name)
                .map(|limit| limit.value.clone())
                .unwrap()
        };
        assert_eq!(value("SERVER_JSON_BYTES"), "1,048,576 bytes (1 MiB)");
        assert_eq!(limits::SERVER_JSON_BYTES, 1_048_576);
        assert_eq!(value("SERVER_NAME_CHARS"), "3 to 200 characters");
        assert_eq!(limits::SERVER_NAME_CHARS, (3, 200));
        assert_eq!(
            value("VERSIONS_PER_SERVER"),
            grouped(limits::VERSIONS_PER_SERVER.unsigned_abs())
        );
        assert_eq!(value("PAGE_MAX"), limits::PAGE_MAX.to_string());
    }
}

//! The published `server.json` schemas: which there are and what changed from date to date. What they say is in
//! `rules`.

mod rules;

use super::findings::Findings;
use super::place::{Place, short};
use super::{IssueKind, Severity};
pub(super) use rules::check;

/// Where the schemas are published.
pub const SCHEMA_BASE: &str = "https://static.modelcontextprotocol.io/schemas/";

/// One published schema: what it says that others do not.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each one is a fact about a published schema, and they change independently"
)]
pub struct Schema {
    /// The date that names it.
    pub date: &'static str,
    /// Field names are `snake_case`.
    snake_case: bool,
    /// The document has a status, and `_meta` the registry's own block.
    registry_fields: bool,
    /// Packages must have a version and no other fields than the known ones.
    closed_packages: bool,
    /// There are titles, icons and placeholders.
    presentation: bool,
    /// Transport URLs are templates for the web, and remotes declare their variables.
    url_templates: bool,
}

/// The known schemas, oldest first.
pub static KNOWN: [Schema; 6] = [
    schema("2025-07-09", 0),
    schema("2025-09-16", 1),
    schema("2025-09-29", 2),
    schema("2025-10-11", 3),
    schema("2025-10-17", 3),
    schema("2025-12-11", 4),
];

/// The schema new documents should name.
pub const CURRENT: &str = "2025-12-11";

/// A date and how many of the changes had happened by then.
const fn schema(date: &'static str, changes: u8) -> Schema {
    Schema {
        date,
        snake_case: changes < 1,
        registry_fields: changes < 2,
        closed_packages: changes < 3,
        presentation: changes >= 3,
        url_templates: changes >= 4,
    }
}

/// The known schema of this date.
pub fn find(date: &str) -> Option<&'static Schema> {
    KNOWN.iter().find(|schema| schema.date == date)
}

/// The date in a schema's address: what stands between `/schemas/` and `/server.schema.json`, on any host.
pub fn date_of(address: &str) -> Option<&str> {
    const BEFORE: &str = "/schemas/";
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '~' | '.');
    let mut rest = address;
    loop {
        // The slash that ends one `/schemas/` may begin the next.
        rest = &rest[rest.find(BEFORE)? + BEFORE.len() - 1..];
        let run = &rest[1..];
        let end = run.find(|c| !allowed(c)).unwrap_or(run.len());
        if end > 0 && run[end..].starts_with("/server.schema.json") {
            return Some(&run[..end]);
        }
    }
}

/// Checks the `$schema` of a document; gives the schema when its rules can be checked.
pub(super) fn check_version(address: &str, out: &mut Findings) -> Option<&'static Schema> {
    let place = Place::Root.field("schema");
    if address.is_empty() {
        out.semantic(&place, "schema-field-required", || {
            "$schema field is required".to_owned()
        });
        return None;
    }
    let mut error = |reference: &'static str, message: String| {
        let kind = IssueKind::Schema;
        out.add(kind, Severity::Error, &place, || reference.to_owned(), || message);
    };
    let Some(date) = date_of(address) else {
        let message = format!(
            "failed to extract schema version from URL: invalid schema URL format: {}",
            short(address)
        );
        error("schema-version-extraction-error", message);
        return None;
    };
    let Some(schema) = find(date) else {
        let known: Vec<&str> = KNOWN.iter().map(|schema| schema.date).collect();
        let message = format!(
            "schema version {} is unknown here, known are {}",
            short(date),
            known.join(", ")
        );
        error("schema-version-not-available", message);
        return None;
    };
    if address != format!("{SCHEMA_BASE}{CURRENT}/server.schema.json") {
        out.add(
            IssueKind::Semantic,
            Severity::Warning,
            &place,
            || "schema-version-deprecated".to_owned(),
            || {
                if date == CURRENT {
                    return format!("$schema is not the address {SCHEMA_BASE}{CURRENT}/server.schema.json");
                }
                format!("schema version {date} is not the current version ({CURRENT}). Consider updating to the latest schema version")
            },
        );
    }
    Some(schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_date_is_found_anywhere_in_the_address() {
        for (address, date) in [
            (
                "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
                Some("2025-12-11"),
            ),
            (
                "x/schemas/draft/server.schema.json#/definitions/ServerDetail",
                Some("draft"),
            ),
            ("/schemas/schemas/a~b/server.schema.json", Some("a~b")),
            ("/schemas/x/schemas/y/server.schema.json", Some("y")),
            ("/schemas//server.schema.json", None),
            ("/schemas/a b/server.schema.json", None),
            ("draft", None),
        ] {
            assert_eq!(date_of(address), date, "{address}");
        }
    }

    #[test]
    fn the_current_schema_is_known() {
        assert_eq!(KNOWN.last().map(|schema| schema.date), Some(CURRENT));
    }
}

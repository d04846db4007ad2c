//! A verdict as text for people, JSON for programs, annotations for GitHub and SARIF for code scanners.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;

use super::lines::line_of;
use super::{Issue, Severity, Validation};
use crate::sarif::{self, Entry};

/// Name of the JSON form.
pub const SCHEMA: &str = "toolmark.validation/1";

/// The file a verdict is about.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Its name as the reader knows it.
    pub file: &'a str,
    /// Its text, to name lines.
    pub text: &'a str,
}

/// Lines for people: each issue, a hint where one helps, and the verdict.
pub fn text(source: Source<'_>, validation: &Validation) -> String {
    let mut out = String::new();
    for issue in &validation.issues {
        let line = line_of(source.text, &issue.path);
        let word = severity_word(issue.severity);
        let place = if issue.path.is_empty() {
            "document"
        } else {
            &issue.path
        };
        let _ = writeln!(
            out,
            "{word}: {}:{line}: {}: {}",
            source.file,
            visible(place),
            visible(&issue.message)
        );
        if let Some(hint) = hint(issue) {
            let _ = writeln!(out, "hint: {hint}");
        }
    }
    let verdict = if validation.valid { "valid" } else { "not valid" };
    let count = |severity| {
        validation
            .issues
            .iter()
            .filter(|issue| issue.severity == severity)
            .count()
    };
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let plural = |count, word: &str| match count {
        1 => format!("1 {word}"),
        _ => format!("{count} {word}s"),
    };
    let _ = writeln!(
        out,
        "{}: {verdict}, {}, {}",
        source.file,
        plural(errors, "error"),
        plural(warnings, "warning")
    );
    out
}

/// One JSON object on one line.
pub fn json(validation: &Validation) -> String {
    #[derive(Serialize)]
    struct Report<'a> {
        schema: &'static str,
        #[serde(flatten)]
        validation: &'a Validation,
    }
    let report = Report {
        schema: SCHEMA,
        validation,
    };
    serde_json::to_string(&report).expect("strings, booleans and lists always become JSON")
}

/// One workflow command per issue, as GitHub Actions reads them.
pub fn github(source: Source<'_>, validation: &Validation) -> String {
    let mut out = String::new();
    for issue in &validation.issues {
        let command = match issue.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "notice",
        };
        let line = line_of(source.text, &issue.path);
        let place = if issue.path.is_empty() {
            "document"
        } else {
            &issue.path
        };
        let _ = writeln!(
            out,
            "::{command} file={},line={line},title={}::{}",
            property(source.file),
            property(place),
            data(&issue.message)
        );
    }
    out
}

/// A SARIF 2.1.0 log with one run; `tool_version` is the program's.
pub fn sarif(source: Source<'_>, validation: &Validation, tool_version: &str) -> Value {
    let entries: Vec<Entry<'_>> = validation
        .issues
        .iter()
        .map(|issue| Entry {
            rule: &issue.reference,
            level: match issue.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Info => "note",
            },
            message: &issue.message,
            file: source.file,
            line: line_of(source.text, &issue.path),
            place: &issue.path,
        })
        .collect();
    sarif::log(tool_version, &entries, |_| None)
}

/// What to do about an issue, where the message does not say it.
pub fn hint(issue: &Issue) -> Option<&'static str> {
    Some(match issue.reference.as_str() {
        "schema-field-required" | "schema-version-extraction-error" | "schema-version-not-available" => {
            "set `$schema` to `https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json`"
        }
        "reserved-version-string" | "version-looks-like-range" => "name one version, such as `1.2.3`",
        "version-has-outer-space" => "remove the space around the version",
        "invalid-repository-url" => "name the repository itself and put the path inside it into `subfolder`",
        "invalid-templated-url" if issue.path.starts_with("remotes") => {
            "declare each `{name}` of the URL under `variables` of this remote"
        }
        "invalid-templated-url" => {
            "each `{name}` of the URL must be an environment variable, argument name or `valueHint` of this package"
        }
        "invalid-named-argument-name" => {
            "put the value into `value` or `default`, and words for people into `description`"
        }
        "argument-value-starts-with-name" | "argument-default-starts-with-name" => {
            "give the value alone, the name is put before it"
        }
        "unsupported-transport-type" => "use `stdio`, `streamable-http` or `sse`",
        "unsupported-remote-transport-type" => "use `streamable-http` or `sse`",
        _ => return None,
    })
}

fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "info",
    }
}

/// Text from a stranger's file on a terminal: no control characters and no marks that turn the direction of writing.
fn visible(text: &str) -> String {
    let turns =
        |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || turns(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// The text of a workflow command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property of a workflow command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::inspect;

    const TEXT: &str = "{\n  \"$schema\": \"https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json\",\n  \"name\": \"com.example/weather\",\n  \"description\": \"Weather\",\n  \"version\": \"^1%,\\n\"\n}\n";

    fn validation(text: &str) -> Validation {
        inspect(&serde_json::from_str(text).unwrap())
    }

    fn source(text: &str) -> Source<'_> {
        Source {
            file: "a, b/server.json",
            text,
        }
    }

    #[test]
    fn text_names_file_line_and_place() {
        let ranged = TEXT.replace("^1%,\\n", "^1");
        assert_eq!(
            text(source(&ranged), &validation(&ranged)),
            "error: a, b/server.json:5: version: version must be a specific version, not a range: \"^1\"\n\
             hint: name one version, such as `1.2.3`\n\
             a, b/server.json: not valid, 1 error, 0 warnings\n"
        );
        let good = TEXT.replace("^1%,\\n", "1.0.0");
        assert_eq!(
            text(source(&good), &validation(&good)),
            "a, b/server.json: valid, 0 errors, 0 warnings\n"
        );
    }

    #[test]
    fn json_has_the_official_issues() {
        let report = json(&validation("{}"));
        let read: Value = serde_json::from_str(&report).unwrap();
        assert_eq!(read["schema"], SCHEMA);
        assert_eq!(read["valid"], false);
        assert_eq!(read["issues"][0]["type"], "schema");
        assert_eq!(read["issues"][0]["severity"], "error");
    }

    #[test]
    fn commands_and_paths_are_escaped() {
        let mut found = validation(TEXT);
        found.issues[0].message = "100%\n::error::x".to_owned();
        assert_eq!(
            github(source(TEXT), &found),
            "::error file=a%2C b/server.json,line=5,title=version::100%25%0A::error::x\n"
        );
        let log = sarif(source(TEXT), &found, "1.0.0");
        let result = &log["runs"][0]["results"][0];
        assert_eq!(result["level"], "error");
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "a%2C%20b/server.json");
        assert_eq!(place["region"]["startLine"], 5);
        assert_eq!(
            log["runs"][0]["tool"]["driver"]["rules"][0]["id"],
            result["ruleId"]
        );
    }

    #[test]
    fn a_terminal_sees_no_control_characters() {
        assert_eq!(visible("a\u{1b}[2J\u{202e}b"), "a\\u{1b}[2J\\u{202e}b");
    }
}

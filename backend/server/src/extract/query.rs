//! Query parameters, in upstream's manner and in ours.

use std::borrow::Cow;

use url::form_urlencoded;

use crate::problem::{Code, FieldError, Problem};

type Pairs<'a> = Vec<(Cow<'a, str>, Cow<'a, str>)>;

fn pairs(query: Option<&str>) -> Pairs<'_> {
    form_urlencoded::parse(query.unwrap_or_default().as_bytes()).collect()
}

/// Go's `strconv.ParseBool`.
fn go_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

/// Parameters as upstream's framework reads them: the first of several counts, an empty value is an absent one,
/// unknown names are ignored, and all errors are collected.
pub(crate) struct Official<'a> {
    pairs: Pairs<'a>,
    pub(crate) errors: Vec<FieldError>,
}

impl<'a> Official<'a> {
    pub(crate) fn parse(query: Option<&'a str>) -> Self {
        Self {
            pairs: pairs(query),
            errors: Vec::new(),
        }
    }

    fn first(&self, name: &str) -> Option<&str> {
        let (_, value) = self.pairs.iter().find(|(key, _)| key == name)?;
        (!value.is_empty()).then_some(value.as_ref())
    }

    pub(crate) fn text(&mut self, name: &str, most_chars: usize) -> Option<String> {
        let value = self.first(name)?.to_owned();
        if value.len() > most_chars && value.chars().count() > most_chars {
            let message = format!("expected length <= {most_chars}");
            let shown: String = value.chars().take(64).collect();
            self.errors
                .push(FieldError::at(message, format!("query.{name}"), shown));
            return None;
        }
        Some(value)
    }

    pub(crate) fn integer(&mut self, name: &str, least: u32, most: u32) -> Option<u32> {
        let text = self.first(name)?;
        let location = format!("query.{name}");
        let error = match text.parse::<i64>() {
            Err(_) => FieldError::at(
                "invalid integer",
                location,
                text.chars().take(64).collect::<String>(),
            ),
            Ok(number) if number < i64::from(least) => {
                FieldError::at(format!("expected number >= {least}"), location, number)
            }
            Ok(number) => match u32::try_from(number) {
                Ok(number) if number <= most => return Some(number),
                _ => FieldError::at(format!("expected number <= {most}"), location, number),
            },
        };
        self.errors.push(error);
        None
    }

    pub(crate) fn boolean(&mut self, name: &str) -> Option<bool> {
        let text = self.first(name)?;
        let read = go_bool(text);
        if read.is_none() {
            let shown: String = text.chars().take(64).collect();
            self.errors
                .push(FieldError::at("invalid boolean", format!("query.{name}"), shown));
        }
        read
    }

    /// Every error so far as one 422.
    pub(crate) fn finish(self) -> Result<(), Problem> {
        if self.errors.is_empty() {
            Ok(())
        } else {
            Err(Problem::validation(self.errors))
        }
    }
}

/// Parameters of our own operations and pages: an unknown or repeated name, or an ill-typed value, is a 400 that names
/// every one of them.
pub(crate) struct Own<'a> {
    pairs: Pairs<'a>,
    known: &'static [&'static str],
    errors: Vec<FieldError>,
    hint: Option<String>,
    unknown: bool,
}

impl<'a> Own<'a> {
    pub(crate) fn parse(query: Option<&'a str>, known: &'static [&'static str]) -> Self {
        let mut own = Self {
            pairs: pairs(query),
            known,
            errors: Vec::new(),
            hint: None,
            unknown: false,
        };
        own.check_names();
        own
    }

    fn check_names(&mut self) {
        for (index, (name, value)) in self.pairs.iter().enumerate() {
            let shown: String = name.chars().take(64).collect();
            if !self.known.contains(&name.as_ref()) {
                self.unknown = true;
                if self.hint.is_none() {
                    self.hint = Some(hint(name, self.known));
                }
                let message = format!("unknown parameter `{shown}`");
                self.errors
                    .push(FieldError::at(message, format!("query.{shown}"), short(value)));
            } else if self.pairs[..index].iter().any(|(other, _)| other == name) {
                let message = format!("parameter `{shown}` is given more than once");
                self.errors
                    .push(FieldError::at(message, format!("query.{shown}"), short(value)));
            }
        }
    }

    fn first(&self, name: &str) -> Option<&str> {
        debug_assert!(self.known.contains(&name), "`{name}` must be a known parameter");
        self.pairs
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_ref())
    }

    pub(crate) fn refuse(&mut self, name: &str, message: String) {
        let value = self.first(name).map(short).unwrap_or_default();
        self.errors
            .push(FieldError::at(message, format!("query.{name}"), value));
    }

    pub(crate) fn text(&mut self, name: &str, most_chars: usize) -> Option<String> {
        let value = self.first(name)?.to_owned();
        if value.chars().count() > most_chars {
            self.refuse(name, format!("at most {most_chars} characters"));
            return None;
        }
        Some(value)
    }

    /// One of a closed list of words.
    pub(crate) fn word(&mut self, name: &str, words: &[&str]) -> Option<String> {
        let value = self.first(name)?.to_owned();
        if words.contains(&value.as_str()) {
            return Some(value);
        }
        let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        self.refuse(name, format!("expected one of {}", words.join(", ")));
        None
    }

    pub(crate) fn integer(&mut self, name: &str, least: i64, most: i64) -> Option<i64> {
        let text = self.first(name)?;
        let digits = text.strip_prefix('-').unwrap_or(text);
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        match text.parse::<i64>() {
            Ok(number) if plain && (least..=most).contains(&number) => Some(number),
            _ => {
                self.refuse(name, format!("expected a whole number from {least} to {most}"));
                None
            }
        }
    }

    /// One of these words; an empty value is an absent one.
    pub(crate) fn one_of(&mut self, name: &str, known: &[&str]) -> Option<String> {
        let value = self.first(name).filter(|value| !value.is_empty())?.to_owned();
        if known.contains(&value.as_str()) {
            return Some(value);
        }
        self.refuse(name, format!("expected one of `{}`", known.join("`, `")));
        None
    }

    pub(crate) fn boolean(&mut self, name: &str) -> Option<bool> {
        let read = match self.first(name)? {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        };
        if read.is_none() {
            self.refuse(name, "expected `true` or `false`".into());
        }
        read
    }

    /// Every error so far as one 400.
    pub(crate) fn finish(self) -> Result<(), Problem> {
        let Some(first) = self.errors.first() else {
            return Ok(());
        };
        let (code, detail) = if self.unknown {
            (Code::UnknownParameter, first.message.clone())
        } else {
            let place = first.location.clone().unwrap_or_default();
            (Code::InvalidParameter, format!("{place}: {}", first.message))
        };
        let problem = Problem::new(code, detail).errors(self.errors);
        Err(match self.hint {
            Some(hint) => problem.hint(hint),
            None => problem,
        })
    }
}

fn short(value: &(impl AsRef<str> + ?Sized)) -> String {
    value.as_ref().chars().take(64).collect()
}

/// Names the nearest known parameter, else all of them.
fn hint(name: &str, known: &[&str]) -> String {
    if known.is_empty() {
        return "this operation has no parameters".into();
    }
    let nearest = known
        .iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, candidate)| *distance <= 2 && *distance < candidate.len());
    match nearest {
        Some((_, candidate)) => format!("did you mean `{candidate}`?"),
        None => format!("known parameters: `{}`", known.join("`, `")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn official(query: &str) -> (Option<u32>, Option<bool>, Vec<(String, String)>) {
        let mut read = Official::parse(Some(query));
        let limit = read.integer("limit", 1, 100);
        let deleted = read.boolean("include_deleted");
        let errors = read
            .errors
            .iter()
            .map(|e| (e.location.clone().unwrap(), e.message.clone()))
            .collect();
        (limit, deleted, errors)
    }

    #[test]
    fn upstreams_words_for_wrong_parameters_all_together() {
        let error = |location: &str, message: &str| (location.to_owned(), message.to_owned());
        assert_eq!(
            official("limit=0").2,
            [error("query.limit", "expected number >= 1")]
        );
        assert_eq!(
            official("limit=101").2,
            [error("query.limit", "expected number <= 100")]
        );
        assert_eq!(
            official("limit=9223372036854775807").2,
            [error("query.limit", "expected number <= 100")]
        );
        assert_eq!(
            official("limit=abc&include_deleted=foo").2,
            [
                error("query.limit", "invalid integer"),
                error("query.include_deleted", "invalid boolean")
            ]
        );
        assert_eq!(official("limit=&q=1&limit=9").2, []);
        assert_eq!(
            official("limit=7&limit=9&include_deleted=T"),
            (Some(7), Some(true), vec![])
        );
    }

    #[test]
    fn own_parameters_are_named_when_unknown_repeated_or_ill_typed() {
        const KNOWN: &[&str] = &["limit", "search", "cursor"];
        let mut read = Own::parse(Some("serach=x&limit=abc&limit=1"), KNOWN);
        assert_eq!(read.integer("limit", 1, 100), None);
        let problem = read.finish().unwrap_err();
        assert_eq!(problem.code(), Code::UnknownParameter);
        assert_eq!(problem.detail(), "unknown parameter `serach`");
        assert_eq!(problem.hint_text(), Some("did you mean `search`?"));

        let mut read = Own::parse(Some("limit=%2B5"), KNOWN);
        assert_eq!(read.integer("limit", 1, 100), None);
        let problem = read.finish().unwrap_err();
        assert_eq!(problem.code(), Code::InvalidParameter);
        assert_eq!(
            problem.detail(),
            "query.limit: expected a whole number from 1 to 100"
        );

        let far = Own::parse(Some("colour=red"), KNOWN).finish().unwrap_err();
        assert_eq!(
            far.hint_text(),
            Some("known parameters: `limit`, `search`, `cursor`")
        );
    }
}

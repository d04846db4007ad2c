//! Versions: which strings are semantic versions, which of two is later, which one is the server's `latest` and which
//! its `current`.
//!
//! The rules of `latest` are the official registry's, found by running it (see the docs page "Differences" for what
//! we accept and refuse otherwise).

use std::cmp::Ordering;
use std::fmt;

use serde::{Serialize, Serializer};

use crate::limits::VERSION_CHARS;
use crate::status::Status;
use crate::timestamp::Timestamp;

/// A version string as published. Imported ones may be odd, even empty; only control characters and lengths over
/// [`VERSION_CHARS`] cannot be kept.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VersionId(Box<str>);

/// Text that cannot be kept as a version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a version has at most {VERSION_CHARS} characters and no control characters")]
pub struct VersionError;

impl VersionId {
    /// Takes a version string.
    pub fn parse(text: &str) -> Result<Self, VersionError> {
        if text.chars().count() > VERSION_CHARS || text.chars().any(char::is_control) {
            return Err(VersionError);
        }
        Ok(Self(text.into()))
    }

    /// The string as published.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for VersionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for VersionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

impl Serialize for VersionId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// The parts of a semantic version that decide precedence (build metadata does not).
struct Precedence<'a> {
    numbers: [&'a str; 3],
    pre: Option<&'a str>,
}

/// Semantic Versioning 2.0.0 with exactly three numeric parts, after one optional lower-case `v`. Numbers have no
/// upper bound, which is why the digits are compared as text.
fn precedence(version: &str) -> Option<Precedence<'_>> {
    let text = version.strip_prefix('v').unwrap_or(version);
    let (text, build) = match text.split_once('+') {
        Some((text, build)) => (text, Some(build)),
        None => (text, None),
    };
    let (core, pre) = match text.split_once('-') {
        Some((core, pre)) => (core, Some(pre)),
        None => (text, None),
    };
    let mut parts = core.split('.');
    let numbers = [parts.next()?, parts.next()?, parts.next()?];
    let ok = parts.next().is_none()
        && numbers.iter().all(|part| is_number(part))
        && pre.is_none_or(|pre| {
            pre.split('.')
                .all(|part| is_identifier(part) && (!all_digits(part) || is_number(part)))
        })
        && build.is_none_or(|build| build.split('.').all(is_identifier));
    ok.then_some(Precedence { numbers, pre })
}

fn all_digits(part: &str) -> bool {
    part.bytes().all(|b| b.is_ascii_digit())
}

fn is_number(part: &str) -> bool {
    !part.is_empty() && all_digits(part) && (part.len() == 1 || !part.starts_with('0'))
}

fn is_identifier(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

fn compare_numbers(a: &str, b: &str) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

fn compare_pre(a: &str, b: &str) -> Ordering {
    let mut left = a.split('.');
    let mut right = b.split('.');
    loop {
        let order = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(a), Some(b)) => match (all_digits(a), all_digits(b)) {
                (true, true) => compare_numbers(a, b),
                (true, false) => Ordering::Less,
                (false, true) => Ordering::Greater,
                (false, false) => a.cmp(b),
            },
        };
        if order.is_ne() {
            return order;
        }
    }
}

impl Precedence<'_> {
    fn compare(&self, other: &Self) -> Ordering {
        for (a, b) in self.numbers.iter().zip(&other.numbers) {
            let order = compare_numbers(a, b);
            if order.is_ne() {
                return order;
            }
        }
        match (self.pre, other.pre) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (Some(a), Some(b)) => compare_pre(a, b),
        }
    }
}

/// Whether the official registry takes this string for a semantic version: an optional lower-case `v`, then Semantic
/// Versioning 2.0.0 with exactly three numeric parts.
pub fn is_semver(version: &str) -> bool {
    precedence(version).is_some()
}

/// Whether this is a semantic version with a prerelease part. A string that is no semantic version is not one.
pub fn is_prerelease(version: &str) -> bool {
    precedence(version).is_some_and(|parts| parts.pre.is_some())
}

/// Which of two versions is later, by the official registry's rule: both semantic, by precedence (build metadata
/// ignored); neither, by time of publication; one, the semantic one always.
pub fn compare(a: (&str, Timestamp), b: (&str, Timestamp)) -> Ordering {
    match (precedence(a.0), precedence(b.0)) {
        (Some(left), Some(right)) => left.compare(&right),
        (None, None) => a.1.cmp(&b.1),
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
    }
}

/// What is needed to choose among a server's versions.
#[derive(Clone, Debug)]
pub struct Candidate<'a> {
    pub version: &'a str,
    pub status: Status,
    pub published_at: Timestamp,
}

/// The greatest of `candidates`; among equals the one that comes first (give them in order of publication, so that
/// a later equal version does not take over, as upstream).
fn greatest<'a, 'b>(candidates: impl Iterator<Item = (usize, &'b Candidate<'a>)>) -> Option<usize>
where
    'a: 'b,
{
    let mut best: Option<(usize, &Candidate<'_>)> = None;
    for (index, candidate) in candidates {
        let greater = best.is_none_or(|(_, top)| {
            compare(
                (candidate.version, candidate.published_at),
                (top.version, top.published_at),
            )
            .is_gt()
        });
        if greater {
            best = Some((index, candidate));
        }
    }
    best.map(|(index, _)| index)
}

/// Index of the version upstream calls latest, after a change of status: the greatest that is not deleted, else the
/// greatest. `candidates` in order of publication.
pub fn latest(candidates: &[Candidate<'_>]) -> Option<usize> {
    greatest(
        candidates
            .iter()
            .enumerate()
            .filter(|(_, c)| c.status != Status::Deleted),
    )
    .or_else(|| greatest(candidates.iter().enumerate()))
}

/// Index of the version people and agents should see: the greatest stable active one, else the greatest active one,
/// else the greatest that is not deleted, else the greatest. `candidates` in order of publication.
pub fn current(candidates: &[Candidate<'_>]) -> Option<usize> {
    let all = || candidates.iter().enumerate();
    let active = |(_, c): &(usize, &Candidate<'_>)| c.status == Status::Active;
    greatest(all().filter(active).filter(|(_, c)| !is_prerelease(c.version)))
        .or_else(|| greatest(all().filter(active)))
        .or_else(|| greatest(all().filter(|(_, c)| c.status != Status::Deleted)))
        .or_else(|| greatest(all()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates<'a>(rows: &[(&'a str, Status)]) -> Vec<Candidate<'a>> {
        rows.iter()
            .enumerate()
            .map(|(at, (version, status))| Candidate {
                version,
                status: *status,
                published_at: Timestamp::from_micros(i64::try_from(at).unwrap()),
            })
            .collect()
    }

    #[test]
    fn a_prerelease_is_latest_but_not_current() {
        let rows = candidates(&[("1.0.0", Status::Active), ("2.0.0-rc.1", Status::Active)]);
        assert_eq!((latest(&rows), current(&rows)), (Some(1), Some(0)));
    }

    #[test]
    fn deleting_a_mistaken_release_falls_back() {
        let rows = candidates(&[
            ("0.3.9", Status::Active),
            ("1.0.0", Status::Deleted),
            ("0.3.10", Status::Active),
        ]);
        assert_eq!((latest(&rows), current(&rows)), (Some(2), Some(2)));
        let gone = candidates(&[("0.3.9", Status::Deleted), ("1.0.0", Status::Deleted)]);
        assert_eq!((latest(&gone), current(&gone)), (Some(1), Some(1)));
    }

    #[test]
    fn an_equal_version_does_not_take_over() {
        let rows = candidates(&[
            ("1.0.0", Status::Active),
            ("1.0.0+build", Status::Active),
            ("v1.0.0", Status::Active),
        ]);
        assert_eq!(latest(&rows), Some(0));
    }
}

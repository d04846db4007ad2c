//! Which version strings are ranges. Upstream's test is a set of patterns; ours gives the same answers but for two
//! groups, both on purpose: a prerelease that holds an `x` (`1.0.0-next`) is a version, and a lone wildcard or a set
//! of comparators (`*`, `>=1.0.0 <2.0.0`) is a range.

const COMPARATORS: [&str; 7] = [">=", "<=", "^", "~", ">", "<", "="];

/// Whether `version`, its outer spaces aside, names more than one version.
pub(super) fn looks_like_range(version: &str) -> bool {
    let text = version.trim();
    matches!(text, "*" | "x" | "X")
        || is_wildcard(text)
        || is_hyphen_range(text)
        || is_alternatives(text)
        || is_comparator_set(text)
}

/// White space as upstream's patterns know it.
fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0c')
}

/// Takes `1`, `v1.2`, `1.2.3.4-pre` off the start.
fn take_version(text: &str) -> Option<&str> {
    let mut rest = take_digits(text.strip_prefix('v').unwrap_or(text))?;
    for _ in 0..3 {
        match rest.strip_prefix('.').and_then(take_digits) {
            Some(after) => rest = after,
            None => break,
        }
    }
    Some(take_prerelease(rest))
}

fn take_digits(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    (rest.len() < text.len()).then_some(rest)
}

fn is_prerelease_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '.' || c == '-'
}

fn take_prerelease(text: &str) -> &str {
    match text.strip_prefix('-') {
        Some(after) if after.starts_with(is_prerelease_char) => after.trim_start_matches(is_prerelease_char),
        _ => text,
    }
}

fn is_version(text: &str) -> bool {
    take_version(text) == Some("")
}

/// `1.2.3 - 2.0.0`: one space before the hyphen, any number after it.
fn is_hyphen_range(text: &str) -> bool {
    take_version(text)
        .and_then(|rest| rest.strip_prefix(is_space))
        .and_then(|rest| rest.strip_prefix('-'))
        .is_some_and(|rest| is_version(rest.trim_start_matches(is_space)))
}

/// `1.2 || 1.3`
fn is_alternatives(text: &str) -> bool {
    text.contains("||")
        && text
            .split("||")
            .all(|part| is_version(part.trim_matches(is_space)))
}

/// `1.x`, `1.2.*`, `x.1-beta`: two or three parts, a wildcard among them.
fn is_wildcard(text: &str) -> bool {
    let core = match text.split_once('-') {
        Some((core, pre)) if !pre.is_empty() && pre.chars().all(is_prerelease_char) => core,
        Some(_) => return false,
        None => text,
    };
    is_partial(core, 2)
}

/// Up to three parts, at least `least`, with a wildcard among them; the first may be a number after a `v`.
fn is_partial(core: &str, least: usize) -> bool {
    let is_wild = |part: &str| matches!(part, "x" | "X" | "*");
    let is_number = |part: &str| take_digits(part) == Some("");
    let mut wild = false;
    let mut count = 0;
    for part in core.split('.') {
        let number = if count == 0 {
            part.strip_prefix('v').unwrap_or(part)
        } else {
            part
        };
        wild |= is_wild(part);
        count += 1;
        if count > 3 || !(is_wild(part) || is_number(number)) {
            return false;
        }
    }
    wild && count >= least
}

/// `^1.2.3`, `>= 1.0.0`, `>=1.0.0 <2.0.0`, `^1 || ^2`, `>=1,<2`: versions and wildcards, one comparator at least.
fn is_comparator_set(text: &str) -> bool {
    let separator = |c: char| is_space(c) || c == ',' || c == '|';
    let mut rest = text;
    let mut comparators = 0;
    while !rest.is_empty() {
        let sign = COMPARATORS.iter().find_map(|sign| rest.strip_prefix(sign));
        if let Some(after) = sign {
            comparators += 1;
            rest = after.trim_start_matches(is_space);
        }
        let end = rest
            .find(|c| separator(c) || matches!(c, '<' | '>' | '^' | '~' | '='))
            .unwrap_or(rest.len());
        let (atom, after) = rest.split_at(end);
        rest = after.trim_start_matches(separator);
        let apart = rest.is_empty() || rest.len() < after.len();
        if !is_version(atom) && !is_partial(atom, 1) || sign.is_none() && !apart {
            return false;
        }
    }
    comparators > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_as_upstream_finds_them() {
        for range in [
            "^1.2.3",
            "~1",
            ">=1.0.0",
            "<= 1.0",
            ">1",
            "<1.0.0-rc.1",
            "=1.2.3",
            "^v1.2.3.4",
            "1.x",
            "1.2.X",
            "1.*",
            "x.1",
            "*.*.*",
            "v1.x",
            "1.x-beta",
            "1 - 2",
            "1.2.3 -2.0.0",
            "1.0-a - v2",
            "1.2 || 1.3",
            "1.2.3||2.0.0",
            "1||2||3-rc",
            " ^1.2.3 ",
        ] {
            assert!(looks_like_range(range), "{range}");
        }
    }

    #[test]
    fn versions_as_upstream_takes_them() {
        for version in [
            "",
            "1",
            "1.0.0",
            "v1.0.0",
            "2025.06.18",
            "snapshot",
            "main",
            "1.0.0/2",
            "1.0.0+x",
            "1.2.3.x",
            "1.2.3  - 2.0.0",
            "1.2.3-2.0.0",
            "||",
            "1 ||",
            "1|2x",
            "vx.1",
            "1.2.3.4.5",
            "1..x",
            "-x",
            "1.x-",
            "1.0 beta",
            "next",
            "x1",
            "1.0.0 2.0.0",
            ">",
            "=",
            "^a",
            "2=1.2",
            "1.0<2",
        ] {
            assert!(!looks_like_range(version), "{version}");
        }
    }

    #[test]
    fn where_we_differ_on_purpose() {
        for version in [
            "1.0.0-next",
            "1.0.0-linux",
            "1.0.0-experimental.1",
            "0.1.0-dev.x86",
            "1.2.3-fix",
        ] {
            assert!(!looks_like_range(version), "{version}");
        }
        for range in [
            "*",
            "x",
            "X",
            " * ",
            ">=1.0.0 <2.0.0",
            ">=1.0.0, <2.0.0",
            ">=1.0.0<2.0.0",
            ">= 1.0 < 2",
            "^1 || ^2",
            "^1.x",
            ">=*",
            "1.0 || >=2",
        ] {
            assert!(looks_like_range(range), "{range}");
        }
    }
}

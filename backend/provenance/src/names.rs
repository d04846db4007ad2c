//! Names of packages and files as attestations write them, and whether they name the same thing.

use percent_encoding::percent_decode_str;

/// Name and version in `pkg:npm/%40scope/name@1.2.3`.
pub(crate) fn npm(purl: &str) -> Option<(String, String)> {
    let rest = purl.strip_prefix("pkg:npm/")?;
    if rest.contains(['?', '#']) {
        return None;
    }
    let (name, version) = rest.rsplit_once('@')?;
    let decode = |text: &str| {
        let decoded = percent_decode_str(text).decode_utf8().ok()?;
        Some(decoded.into_owned()).filter(|text| !text.is_empty())
    };
    Some((decode(name)?, decode(version)?))
}

/// A file of a Python project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PythonFile {
    /// As PEP 503 writes it.
    pub(crate) project: String,
    pub(crate) version: String,
    /// Build and platform tags, or the kind of archive.
    rest: String,
}

const ARCHIVES: [&str; 6] = [".tar.gz", ".zip", ".tar.bz2", ".tgz", ".tar.xz", ".egg"];

/// Reads a wheel's or a source distribution's file name.
pub(crate) fn python_file(name: &str) -> Option<PythonFile> {
    if name.contains(['/', '\\']) {
        return None;
    }
    if let Some(stem) = name.strip_suffix(".whl") {
        let mut parts = stem.splitn(3, '-');
        let (project, version, rest) = (parts.next()?, parts.next()?, parts.next()?);
        return python(project, version, format!("whl {}", rest.to_ascii_lowercase()));
    }
    let archive = ARCHIVES.iter().find(|suffix| name.ends_with(**suffix))?;
    let (project, version) = name.strip_suffix(archive)?.rsplit_once('-')?;
    python(project, version, (*archive).to_owned())
}

fn python(project: &str, version: &str, rest: String) -> Option<PythonFile> {
    if project.is_empty() || version.is_empty() {
        return None;
    }
    Some(PythonFile {
        project: python_project(project),
        version: python_version(version),
        rest,
    })
}

/// A project's name as PEP 503 compares it: lower case, runs of `-`, `_`, `.` as one `-`.
pub(crate) fn python_project(name: &str) -> String {
    let parts = name.split(['-', '_', '.']).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-").to_lowercase()
}

/// A version as PEP 440 compares it, as far as file names need: `v1.0.0-Alpha_1` is `1a1`.
pub(crate) fn python_version(version: &str) -> String {
    let lower = version.trim().to_lowercase();
    let lower = lower.strip_prefix('v').unwrap_or(&lower);
    let (public, local) = match lower.split_once('+') {
        Some((public, local)) => (public, Some(local.replace(['-', '_'], "."))),
        None => (lower, None),
    };
    let split = public
        .find(|c: char| !c.is_ascii_digit() && c != '.' && c != '!')
        .unwrap_or(public.len());
    let (release, suffix) = public.split_at(split);
    let release = release.trim_end_matches('.');
    let numbers: Vec<&str> = release
        .split('.')
        .map(|number| number.trim_start_matches('0'))
        .map(|number| if number.is_empty() { "0" } else { number })
        .collect();
    let last = numbers.iter().rposition(|number| *number != "0").unwrap_or(0);
    let mut out = numbers[..=last].join(".");
    let mut suffix = suffix.replace(['.', '-', '_'], "");
    for (long, short) in [
        ("alpha", "a"),
        ("beta", "b"),
        ("preview", "rc"),
        ("pre", "rc"),
        ("rev", "post"),
    ] {
        suffix = suffix.replace(long, short);
    }
    out.push_str(&suffix);
    if let Some(local) = local {
        out.push('+');
        out.push_str(&local);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn npm_names_are_read_from_their_purl() {
        let pair = |name: &str, version: &str| Some((name.to_owned(), version.to_owned()));
        assert_eq!(
            npm("pkg:npm/%40acme/weather@1.2.3"),
            pair("@acme/weather", "1.2.3")
        );
        assert_eq!(npm("pkg:npm/weather@1.0.0%2Bb1"), pair("weather", "1.0.0+b1"));
        for other in [
            "weather@1.2.3",
            "pkg:npm/weather",
            "pkg:pypi/w@1",
            "pkg:npm/w@1?x=y",
        ] {
            assert_eq!(npm(other), None, "{other}");
        }
    }

    #[test]
    fn python_files_are_compared_by_project_and_version() {
        let file = |name: &str| python_file(name).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(file("My.Project-1.0.tar.gz"), file("my_project-1.0.0.tar.gz"));
        assert_ne!(file("a-1.0.tar.gz"), file("a-1.1.tar.gz"));
        assert_ne!(file("a-1.0.tar.gz"), file("a-1.0.zip"));
        assert_ne!(
            file("a-1.0-py3-none-any.whl"),
            file("a-1.0-cp311-cp311-linux_x86_64.whl")
        );
        for none in ["a.txt", "a.tar.gz", "../a-1.tar.gz", "a-1.whl"] {
            assert_eq!(python_file(none), None, "{none}");
        }
    }

    #[test]
    fn python_versions_have_many_spellings() {
        for (a, b) in [
            ("1.0", "1"),
            ("v1.0.0-alpha_1", "1a1"),
            ("1.0rc1", "1.0.0-pre.1"),
            ("2024.01.02", "2024.1.2"),
            ("1.0+local-1", "1+local.1"),
        ] {
            assert_eq!(python_version(a), python_version(b), "{a} {b}");
        }
        assert_ne!(python_version("1.0"), python_version("1.0.1"));
        assert_ne!(python_version("0.0.4a2"), python_version("0.0.4"));
        assert_eq!(python_version("0"), "0");
    }
}

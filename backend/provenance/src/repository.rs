//! Addresses of source repositories, compared by what they mean: never by prefix, never by pattern.

use std::fmt;

/// A repository on a forge.
#[derive(Clone, Debug)]
pub struct Repository {
    host: String,
    /// Without slashes at either end.
    path: String,
}

impl Repository {
    /// Reads an address as people write it: `https`, `ssh`, `git+https`, the scp form, with or without `.git`, also the
    /// address of a folder on GitHub or GitLab.
    pub fn parse(address: &str) -> Option<Self> {
        let address = address.trim();
        if address.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\') {
            return None;
        }
        let address = address.strip_prefix("git+").unwrap_or(address);
        let (authority, path) = match address.split_once("://") {
            Some((scheme, rest)) => {
                let known = ["https", "http", "ssh", "git"];
                if !known.iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
                    return None;
                }
                rest.split_once('/')?
            }
            None => address.split_once(':').filter(|(host, _)| !host.contains('/'))?,
        };
        let host = authority.rsplit('@').next()?.to_ascii_lowercase();
        let host = if host == "www.github.com" {
            "github.com".to_owned()
        } else {
            host
        };
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let path = path.trim_start_matches('/').trim_end_matches('/');
        let path = within(&host, path);
        let path = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
        if host.is_empty() || path.is_empty() || path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return None;
        }
        Some(Self {
            host,
            path: path.to_owned(),
        })
    }

    /// The host of the forge, in lower case.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The path on the forge, as written.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The first part of the path: user, organization or top group.
    pub fn owner(&self) -> &str {
        self.path.split('/').next().unwrap_or_default()
    }

    /// Whether two names of an owner on this forge are the same.
    pub(crate) fn same_owner(&self, owner: &str) -> bool {
        self.fold(self.owner()) == self.fold(owner)
    }

    /// Letter case does not matter on GitHub.
    fn fold(&self, text: &str) -> String {
        if self.host == "github.com" {
            text.to_lowercase()
        } else {
            text.to_owned()
        }
    }
}

/// The repository's part of a path that goes on to a folder or a file of it.
fn within<'a>(host: &str, path: &'a str) -> &'a str {
    if host == "github.com" {
        let mut slashes = path.match_indices('/').map(|(at, _)| at);
        if let Some(end) = slashes.nth(1)
            && ["/tree/", "/blob/"]
                .iter()
                .any(|word| path[end..].starts_with(word))
        {
            return &path[..end];
        }
        return path;
    }
    path.split("/-/").next().unwrap_or(path)
}

impl PartialEq for Repository {
    fn eq(&self, other: &Self) -> bool {
        self.host == other.host && self.fold(&self.path) == other.fold(&other.path)
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "https://{}/{}", self.host, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(a: &str, b: &str) -> bool {
        let parse = |text: &str| Repository::parse(text).unwrap_or_else(|| panic!("{text}"));
        parse(a) == parse(b)
    }

    #[test]
    fn one_repository_has_many_spellings() {
        for spelling in [
            "https://github.com/acme/weather",
            "http://github.com/acme/weather/",
            "git+https://github.com/Acme/Weather.git",
            "git+ssh://git@github.com/acme/weather.git",
            "ssh://git@GitHub.com/acme/weather",
            "git@github.com:acme/weather.git",
            "git://github.com/acme/weather.git#main",
            "https://user:word@github.com/acme/weather",
            "https://github.com/acme/weather/tree/main/packages/server",
        ] {
            assert!(same(spelling, "https://github.com/acme/weather"), "{spelling}");
        }
        assert!(same(
            "https://gitlab.com/a/b/c/-/tree/main",
            "git@gitlab.com:a/b/c.git"
        ));
    }

    #[test]
    fn look_alikes_are_others() {
        for other in [
            "https://github.com/acme/weather2",
            "https://github.com/acme/weathe",
            "https://github.com.evil.example/acme/weather",
            "https://githüb.com/acme/weather",
            "https://evil.example/github.com/acme/weather",
            "https://github.com/acme/weather/extra",
            "https://github.com/acme",
        ] {
            assert!(!same(other, "https://github.com/acme/weather"), "{other}");
        }
        assert!(!same(
            "https://gitlab.com/acme/Weather",
            "https://gitlab.com/acme/weather"
        ));
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "acme/weather",
            "https://",
            "https://github.com/",
            "https://github.com/acme/../mallory",
            "file:///etc/passwd",
            "https://github.com/acme/wea ther",
            "javascript://github.com/a/b",
        ] {
            assert!(Repository::parse(text).is_none(), "{text}");
        }
    }
}

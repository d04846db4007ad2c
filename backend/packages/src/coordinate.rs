//! What names a package or a file, written `npm:NAME@V`, `pypi:NAME@V`, `cargo:NAME@V`, `nuget:NAME@V`, `oci:REF`,
//! `mcpb:URL`, `github:OWNER/REPO@TAG#FILE` or an https address.

use std::fmt;
use std::str::FromStr;

use toolmark_domain::target::Target;
use url::Url;

use crate::oci::ImageReference;

/// The kinds of place a package comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    Npm,
    Pypi,
    Cargo,
    Nuget,
    Oci,
    Mcpb,
    GitHub,
    Url,
}

impl Kind {
    /// The word before the colon.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::Pypi => "pypi",
            Self::Cargo => "cargo",
            Self::Nuget => "nuget",
            Self::Oci => "oci",
            Self::Mcpb => "mcpb",
            Self::GitHub => "github",
            Self::Url => "url",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A package, an image or a file, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Coordinate {
    /// A package of a registry; without a version, the registry's latest.
    Package {
        /// npm, `PyPI`, cargo or `NuGet`.
        kind: Kind,
        name: String,
        version: Option<String>,
    },
    Image(ImageReference),
    /// A bundle by its address.
    Mcpb(Url),
    /// A file of a release; without a name, the only one.
    GitHub {
        owner: String,
        repository: String,
        tag: String,
        file: Option<String>,
    },
    /// Any other file.
    Url(Url),
}

/// Text that names no package.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` names no package: {fault}")]
pub struct CoordinateError {
    text: String,
    fault: &'static str,
}

/// Longest name and version, in characters: npm allows 214 for a name, the others less.
const NAME_CHARS: usize = 300;

impl Coordinate {
    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Package { kind, .. } => *kind,
            Self::Image(_) => Kind::Oci,
            Self::Mcpb(_) => Kind::Mcpb,
            Self::GitHub { .. } => Kind::GitHub,
            Self::Url(_) => Kind::Url,
        }
    }

    /// The package of a version's target; nothing for a remote or a kind that is not known.
    pub fn of_target(target: &Target) -> Option<Self> {
        let known = ["npm", "pypi", "cargo", "nuget", "oci", "mcpb"];
        if !known.contains(&target.kind.as_str()) {
            return None;
        }
        target.text().parse().ok()
    }

    /// The version, where it is a package that has one.
    pub fn version(&self) -> Option<&str> {
        match self {
            Self::Package { version, .. } => version.as_deref(),
            Self::GitHub { tag, .. } => Some(tag),
            _ => None,
        }
    }

    /// The repository a release's file is of, when an address is one of a release's files.
    pub fn as_release(&self) -> Option<(String, String)> {
        let url = match self {
            Self::GitHub {
                owner, repository, ..
            } => return Some((owner.clone(), repository.clone())),
            Self::Mcpb(url) | Self::Url(url) => url,
            _ => return None,
        };
        if url.host_str() != Some("github.com") {
            return None;
        }
        let parts: Vec<&str> = url.path_segments()?.collect();
        match parts.as_slice() {
            [owner, repository, "releases", "download", _, _] => {
                Some(((*owner).to_owned(), (*repository).to_owned()))
            }
            _ => None,
        }
    }

    /// The name of the file at the end of an address.
    pub fn file_name(&self) -> Option<String> {
        let url = match self {
            Self::Mcpb(url) | Self::Url(url) => url,
            Self::GitHub { file, .. } => return file.clone(),
            _ => return None,
        };
        let last = url.path_segments()?.next_back()?;
        Some(last.to_owned()).filter(|name| !name.is_empty())
    }
}

impl fmt::Display for Coordinate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Package { kind, name, version } => {
                write!(f, "{kind}:{name}")?;
                version.iter().try_for_each(|version| write!(f, "@{version}"))
            }
            Self::Image(image) => write!(f, "oci:{image}"),
            Self::Mcpb(url) => write!(f, "mcpb:{url}"),
            Self::GitHub {
                owner,
                repository,
                tag,
                file,
            } => {
                write!(f, "github:{owner}/{repository}@{tag}")?;
                file.iter().try_for_each(|file| write!(f, "#{file}"))
            }
            Self::Url(url) => url.fmt(f),
        }
    }
}

impl FromStr for Coordinate {
    type Err = CoordinateError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        read(text).map_err(|fault| CoordinateError {
            text: text.chars().take(NAME_CHARS).collect(),
            fault,
        })
    }
}

fn read(text: &str) -> Result<Coordinate, &'static str> {
    if text.starts_with("https://") || text.starts_with("http://") {
        return Url::parse(text)
            .map(Coordinate::Url)
            .map_err(|_| "not an address");
    }
    let (kind, rest) = text
        .split_once(':')
        .ok_or("expected a kind and a colon, such as `npm:`")?;
    match kind {
        "npm" => npm(rest),
        "pypi" => package(Kind::Pypi, rest, |c| {
            c.is_ascii_alphanumeric() || "._-".contains(c)
        }),
        "cargo" => package(Kind::Cargo, rest, |c| {
            c.is_ascii_alphanumeric() || "_-".contains(c)
        }),
        "nuget" => package(Kind::Nuget, rest, |c| {
            c.is_ascii_alphanumeric() || "._-".contains(c)
        }),
        "oci" => rest.parse().map(Coordinate::Image),
        "mcpb" => match Url::parse(rest) {
            Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(Coordinate::Mcpb(url)),
            _ => Err("an mcpb is named by its address"),
        },
        "github" => github(rest),
        _ => Err("unknown kind"),
    }
}

fn split_version(text: &str) -> Result<(&str, Option<String>), &'static str> {
    // A scope begins with the sign that also parts name and version.
    let from = usize::from(text.starts_with('@'));
    let Some(at) = text.get(from..).and_then(|rest| rest.find('@')) else {
        return Ok((text, None));
    };
    let (name, version) = text.split_at(from + at);
    let version = &version[1..];
    let fits = |c: char| c.is_ascii_alphanumeric() || ".+-_!~*".contains(c);
    if version.is_empty() || version.len() > NAME_CHARS || !version.chars().all(fits) {
        return Err("its version is none");
    }
    Ok((name, Some(version.to_owned())))
}

fn package(kind: Kind, text: &str, fits: impl Fn(char) -> bool) -> Result<Coordinate, &'static str> {
    let (name, version) = split_version(text)?;
    let starts = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if !starts || name.len() > NAME_CHARS || !name.chars().all(fits) {
        return Err("its name is none");
    }
    Ok(Coordinate::Package {
        kind,
        name: name.to_owned(),
        version,
    })
}

fn npm(text: &str) -> Result<Coordinate, &'static str> {
    let (name, version) = split_version(text)?;
    let part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "._-~!*'()".contains(c))
    };
    let ok = match name.strip_prefix('@') {
        Some(scoped) => scoped
            .split_once('/')
            .is_some_and(|(scope, name)| part(scope) && part(name)),
        None => part(name),
    };
    if !ok || name.len() > NAME_CHARS {
        return Err("its name is none");
    }
    Ok(Coordinate::Package {
        kind: Kind::Npm,
        name: name.to_owned(),
        version,
    })
}

fn github(text: &str) -> Result<Coordinate, &'static str> {
    let (text, file) = match text.split_once('#') {
        Some((text, file)) if !file.is_empty() => (text, Some(file.to_owned())),
        Some(_) => return Err("no file after `#`"),
        None => (text, None),
    };
    let shape = "expected `OWNER/REPO@TAG`";
    let (name, tag) = text.split_once('@').ok_or(shape)?;
    let (owner, repository) = name.split_once('/').ok_or(shape)?;
    let part = |part: &str| {
        !part.is_empty()
            && !part.chars().all(|c| c == '.')
            && part
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    };
    if !part(owner) || !part(repository) || tag.is_empty() || text.len() > NAME_CHARS {
        return Err(shape);
    }
    Ok(Coordinate::GitHub {
        owner: owner.to_owned(),
        repository: repository.to_owned(),
        tag: tag.to_owned(),
        file,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_written_as_they_are_read() {
        for text in [
            "npm:weather",
            "npm:weather@1.2.3",
            "npm:@acme/weather@1.2.3-rc.1+b",
            "pypi:weather-mcp@1.0.post1",
            "cargo:weather_mcp@1.0.0",
            "nuget:Acme.Weather@1.0.0",
            "oci:host.example:5000/a/b:1.2",
            "oci:host.example/a/b@sha256:0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a",
            "mcpb:https://github.com/acme/weather/releases/download/v1/weather.mcpb",
            "github:acme/weather@v1.0.0#weather.mcpb",
            "github:acme/weather@release/1",
            "https://example.com/file.zip",
        ] {
            let coordinate: Coordinate = text.parse().unwrap();
            assert_eq!(coordinate.to_string(), text);
        }
    }

    #[test]
    fn what_names_no_package_is_refused() {
        for text in [
            "weather",
            "npm:",
            "npm:../x",
            "npm:@acme",
            "npm:@acme/..",
            "npm:a/b",
            "npm:a@",
            "npm:a@1/../2",
            "pypi:a b",
            "pypi:-a",
            "cargo:a.b",
            "oci:weather",
            "oci:host.example/A",
            "mcpb:weather.mcpb",
            "github:acme@1",
            "github:../x@1",
            "gem:x",
        ] {
            assert!(text.parse::<Coordinate>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_address_of_a_release_names_its_repository() {
        let release = |text: &str| text.parse::<Coordinate>().unwrap().as_release();
        let acme = Some(("acme".to_owned(), "weather".to_owned()));
        assert_eq!(
            release("mcpb:https://github.com/acme/weather/releases/download/v1/w.mcpb"),
            acme
        );
        assert_eq!(release("github:acme/weather@v1"), acme);
        assert_eq!(
            release("mcpb:https://github.com.evil.example/acme/weather/releases/download/v1/w"),
            None
        );
        assert_eq!(
            release("mcpb:https://github.com/acme/weather/raw/v1/w.mcpb"),
            None
        );
    }
}

//! The rules of meaning: what no schema says. Order, references and verdicts are the official registry's; where we
//! differ on purpose it is about versions (see `ranges`).

use serde_json::{Map, Value};

use super::findings::Findings;
use super::place::{Place, short};
use super::ranges::looks_like_range;
use super::templates::Template;
use super::uri::Url;
use crate::characters::first_unseen;

/// Checks a served form.
pub(super) fn check(document: &Value, out: &mut Findings) {
    let root = Place::Root;
    server_name(&root.field("name"), text(document, "name"), out);
    version(&root.field("version"), text(document, "version"), out);
    if let Some(repository) = document.get("repository") {
        check_repository(&root.field("repository"), repository, out);
    }
    website_url(&root.field("websiteUrl"), text(document, "websiteUrl"), out);
    title(&root.field("title"), text(document, "title"), out);
    each(&root.field("icons"), document, out, icon);
    each(&root.field("packages"), document, out, package);
    each(&root.field("remotes"), document, out, remote);
}

/// The publishing rule we add: an empty repository is refused here, though imported ones are served as they came.
pub(super) fn check_published(document: &Value, out: &mut Findings) {
    let empty = document
        .get("repository")
        .and_then(Value::as_object)
        .is_some_and(|repository| {
            text_in(repository, "url").is_empty() && text_in(repository, "source").is_empty()
        });
    if empty {
        out.semantic(&Place::Root.field("repository"), "repository-is-empty", || {
            "repository has neither url nor source, fill in both or leave it out".to_owned()
        });
    }
}

/// A text field; absent and of another type are empty, as in upstream's structs.
fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn text_in<'a>(map: &'a Map<String, Value>, key: &str) -> &'a str {
    map.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Runs `rule` on each item of the list at `place`, whose last key is the list's.
fn each(
    place: &Place<'_>,
    parent: &Value,
    out: &mut Findings,
    rule: impl Fn(&Place<'_>, &Value, &mut Findings),
) {
    let Place::Field(_, key) = place else {
        return;
    };
    for (index, item) in items(parent, key).iter().enumerate() {
        rule(&place.item(index), item, out);
    }
}

fn server_name(place: &Place<'_>, name: &str, out: &mut Findings) {
    if let Err(message) = parse_name(name) {
        out.semantic(place, "invalid-server-name", || message);
    }
}

fn parse_name(name: &str) -> Result<(), String> {
    let form = "server name must have the form `namespace/name`, as `com.example/server`";
    let Some((namespace, local)) = name.split_once('/') else {
        let missing = name.is_empty();
        return Err(if missing { "server name is required" } else { form }.to_owned());
    };
    if local.contains('/') {
        return Err("server name cannot contain multiple slashes".to_owned());
    }
    if namespace.is_empty() || local.is_empty() {
        return Err(format!("{form}, with both parts"));
    }
    let rule = "it must be two characters or more, start and end with a letter or digit, and may hold";
    if !is_part(namespace, b".-") {
        return Err(format!(
            "server name format is invalid: namespace '{}' is invalid, {rule} dots and hyphens between",
            short(namespace)
        ));
    }
    if !is_part(local, b"._-") {
        return Err(format!(
            "server name format is invalid: name '{}' is invalid, {rule} dots, underscores and hyphens between",
            short(local)
        ));
    }
    Ok(())
}

fn is_part(part: &str, between: &[u8]) -> bool {
    let outer = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = part.as_bytes();
    bytes.len() >= 2
        && outer(bytes.first())
        && outer(bytes.last())
        && bytes
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || between.contains(b))
}

fn version(place: &Place<'_>, version: &str, out: &mut Findings) {
    if version.trim().eq_ignore_ascii_case("latest") {
        out.semantic(place, "reserved-version-string", || {
            format!("version string '{version}' is reserved and cannot be used")
        });
    } else if let Some(unseen) = first_unseen(version.trim()) {
        out.semantic(place, "version-has-unseen-character", || {
            format!(
                "version must not hold characters that cannot be seen, found U+{:04X} in {:?}",
                u32::from(unseen),
                short(version)
            )
        });
    } else if looks_like_range(version) {
        out.semantic(place, "version-looks-like-range", || {
            format!(
                "version must be a specific version, not a range: {:?}",
                short(version)
            )
        });
    } else if version.trim().len() != version.len() {
        out.semantic(place, "version-has-outer-space", || {
            format!(
                "version must not start or end with white space: {:?}",
                short(version)
            )
        });
    }
}

fn check_repository(place: &Place<'_>, repository: &Value, out: &mut Findings) {
    let (url, source) = (text(repository, "url"), text(repository, "source"));
    if url.is_empty() && source.is_empty() {
        return;
    }
    if !is_repository_url(source, url) {
        out.semantic(&place.field("url"), "invalid-repository-url", || {
            format!(
                "invalid repository URL: {}, expected https://<host>/<owner>/<repository> on the host of source github or gitlab",
                short(url)
            )
        });
    }
    let subfolder = text(repository, "subfolder");
    if !subfolder.is_empty() && !is_subfolder(subfolder) {
        out.semantic(&place.field("subfolder"), "invalid-subfolder-path", || {
            format!(
                "invalid subfolder path: {}, expected a relative path such as src/server",
                short(subfolder)
            )
        });
    }
}

fn is_repository_url(source: &str, url: &str) -> bool {
    let host = match source {
        "github" => "github.com/",
        "gitlab" => "gitlab.com/",
        _ => return false,
    };
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"))
        .map(|rest| rest.strip_prefix("www.").unwrap_or(rest))
        .and_then(|rest| rest.strip_prefix(host));
    let segment = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b))
    };
    rest.map(|rest| rest.strip_suffix('/').unwrap_or(rest))
        .and_then(|rest| rest.split_once('/'))
        .is_some_and(|(owner, name)| segment(owner) && segment(name))
}

fn is_subfolder(path: &str) -> bool {
    path.split('/').all(|segment| {
        !matches!(segment, "" | "." | "..")
            && segment
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
    })
}

fn website_url(place: &Place<'_>, website: &str, out: &mut Findings) {
    if website.is_empty() {
        return;
    }
    let url = match Url::parse(website) {
        Ok(url) => url,
        Err(error) => {
            out.semantic(place, "invalid-website-url", || {
                format!("invalid websiteUrl: {error}")
            });
            return;
        }
    };
    if !url.is_absolute() {
        out.semantic(place, "website-url-must-be-absolute", || {
            format!("websiteUrl must be absolute (include scheme): {}", short(website))
        });
    }
    if url.scheme != "https" {
        out.semantic(place, "website-url-invalid-scheme", || {
            format!("websiteUrl must use https scheme: {}", short(website))
        });
    }
}

fn title(place: &Place<'_>, title: &str, out: &mut Findings) {
    if !title.is_empty() && title.trim().is_empty() {
        out.semantic(place, "title-whitespace-only", || {
            "title cannot be only whitespace".to_owned()
        });
    }
}

fn icon(place: &Place<'_>, icon: &Value, out: &mut Findings) {
    let src = text(icon, "src");
    let place = place.field("src");
    let url = match Url::parse(src) {
        Ok(url) => url,
        Err(error) => {
            out.semantic(&place, "icon-src-invalid-url", || {
                format!("invalid icon src URL: {error}")
            });
            return;
        }
    };
    if !url.is_absolute() {
        out.semantic(&place, "icon-src-not-absolute", || {
            format!(
                "icon src must be an absolute URL (include scheme): {}",
                short(src)
            )
        });
    }
    if url.scheme != "https" {
        out.semantic(&place, "icon-src-invalid-scheme", || {
            format!(
                "icon src must use https scheme (got {}): {}",
                short(&url.scheme),
                short(src)
            )
        });
    }
}

fn package(place: &Place<'_>, package: &Value, out: &mut Findings) {
    if text(package, "identifier").contains(' ') {
        out.semantic(&place.field("identifier"), "package-name-has-spaces", || {
            "package name cannot contain spaces".to_owned()
        });
    }
    version(&place.field("version"), text(package, "version"), out);
    each(&place.field("runtimeArguments"), package, out, argument);
    each(&place.field("packageArguments"), package, out, argument);
    let transport = package.get("transport").unwrap_or(&Value::Null);
    package_transport(&place.field("transport"), transport, package, out);
}

fn argument(place: &Place<'_>, argument: &Value, out: &mut Findings) {
    if text(argument, "type") != "named" {
        return;
    }
    let name = text(argument, "name");
    if name.is_empty() {
        out.semantic(&place.field("name"), "named-argument-name-required", || {
            "named argument name is required".to_owned()
        });
    } else if name.contains(['<', '>', ' ', '$']) {
        out.semantic(&place.field("name"), "invalid-named-argument-name", || {
            format!(
                "invalid named argument name format: {}, expected the flag alone",
                short(name)
            )
        });
    }
    for (key, reference) in [
        ("value", "argument-value-starts-with-name"),
        ("default", "argument-default-starts-with-name"),
    ] {
        let given = text(argument, key);
        if !given.is_empty() && given.starts_with(name) {
            out.semantic(&place.field(key), reference, || {
                format!(
                    "argument {key} cannot start with the argument name: {key} starts with argument name '{}': {}",
                    short(name),
                    short(given)
                )
            });
        }
    }
}

/// Names a package's URL template may use.
fn package_variables(package: &Value) -> Vec<&str> {
    let environment = items(package, "environmentVariables")
        .iter()
        .map(|item| text(item, "name"));
    let arguments = ["runtimeArguments", "packageArguments"]
        .into_iter()
        .flat_map(|key| items(package, key))
        .flat_map(|item| [text(item, "name"), text(item, "valueHint")])
        .filter(|name| !name.is_empty());
    environment.chain(arguments).collect()
}

fn package_transport(place: &Place<'_>, transport: &Value, package: &Value, out: &mut Findings) {
    let (kind, url) = (text(transport, "type"), text(transport, "url"));
    match kind {
        "stdio" if url.is_empty() => {}
        "stdio" => out.semantic(&place.field("url"), "stdio-transport-url-not-empty", || {
            format!("url must be empty for stdio transport type, got: {}", short(url))
        }),
        "streamable-http" | "sse" if url.is_empty() => {
            out.semantic(&place.field("url"), "streamable-transport-url-required", || {
                format!("url is required for {kind} transport type")
            });
        }
        "streamable-http" | "sse" => {
            let available = package_variables(package);
            templated_url(&place.field("url"), "package transport", url, &available, out);
        }
        _ => out.semantic(&place.field("type"), "unsupported-transport-type", || {
            format!("unsupported transport type: {}", short(kind))
        }),
    }
}

fn templated_url(place: &Place<'_>, what: &str, url: &str, available: &[&str], out: &mut Findings) {
    let template = Template::read(url);
    if template.is_valid(available) {
        return;
    }
    out.semantic(place, "invalid-templated-url", || {
        let url = short(url);
        if template.names.is_empty() {
            return format!("invalid {what} URL: {url}");
        }
        format!(
            "invalid {what} URL: template variables in URL {url} reference undefined variables. Available variables: [{}]",
            short(&available.join(" "))
        )
    });
}

fn remote(place: &Place<'_>, remote: &Value, out: &mut Findings) {
    let (kind, url) = (text(remote, "type"), text(remote, "url"));
    if !matches!(kind, "streamable-http" | "sse") {
        out.semantic(&place.field("type"), "unsupported-remote-transport-type", || {
            format!(
                "unsupported transport type for remotes: {} (only streamable-http and sse are supported)",
                short(kind)
            )
        });
        return;
    }
    let place = place.field("url");
    if url.is_empty() {
        out.semantic(&place, "remote-transport-url-required", || {
            format!("url is required for {kind} transport type")
        });
    } else if !Template::read(url).is_remote() {
        out.semantic(&place, "invalid-remote-url", || {
            format!(
                "invalid remote URL: {}, expected https and a public host",
                short(url)
            )
        });
    }
    let variables = remote.get("variables").and_then(Value::as_object);
    let available: Vec<&str> = variables
        .into_iter()
        .flat_map(Map::keys)
        .map(String::as_str)
        .filter(|name| !name.is_empty())
        .collect();
    templated_url(&place, "remote", url, &available, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_two_parts_of_two_characters() {
        for good in ["ab/cd", "com..example/xy", "a.b/x..y", "1a/2b", "A-B/c_d"] {
            assert_eq!(parse_name(good), Ok(()), "{good}");
        }
        for bad in [
            "", "ab", "a/bc", "ab/c", "ab/cd/ef", "/ab", "ab/", "-ab/cd", "ab/cd-", "a_b/cd", "é1/ab",
        ] {
            assert!(parse_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn repositories_are_two_segments_on_the_host_of_their_source() {
        for (source, url) in [
            ("github", "https://github.com/a/b"),
            ("github", "http://www.github.com/a/b.git/"),
            ("gitlab", "https://gitlab.com/a-b/c_d"),
        ] {
            assert!(is_repository_url(source, url), "{url}");
        }
        for (source, url) in [
            ("github", "https://gitlab.com/a/b"),
            ("GitHub", "https://github.com/a/b"),
            ("github", "https://github.com/a"),
            ("github", "https://github.com/a/"),
            ("github", "https://github.com/a/b/c"),
            ("github", "https://github.com/a/b//"),
            ("github", "https://GitHub.com/a/b"),
            ("github", "https://github.com/a/b?x"),
            ("github", "https://github.com/ä/b"),
            ("gitlab", "https://gitlab.com/g/s/b"),
            ("bitbucket", "https://bitbucket.org/a/b"),
            ("", "https://github.com/a/b"),
        ] {
            assert!(!is_repository_url(source, url), "{url}");
        }
    }

    #[test]
    fn subfolders_are_clean_relative_paths() {
        for good in ["src", "src/x", "a.b/c-d/_e", "..."] {
            assert!(is_subfolder(good), "{good}");
        }
        for bad in ["/src", "src/", "a//b", ".", "a/../b", "a b", "a\\b", "é"] {
            assert!(!is_subfolder(bad), "{bad}");
        }
    }

    #[test]
    fn versions_are_single_and_plain() {
        let reference = |text: &str| {
            let mut out = Findings::default();
            version(&Place::Root, text, &mut out);
            out.finish().issues.first().map(|issue| issue.reference.clone())
        };
        for (text, expected) in [
            ("", None),
            ("1.0.0", None),
            ("1.0 beta", None),
            ("latest", Some("reserved-version-string")),
            ("LATEST", Some("reserved-version-string")),
            (" Latest", Some("reserved-version-string")),
            ("^1", Some("version-looks-like-range")),
            (" 1.0.0", Some("version-has-outer-space")),
            ("1.0.0\n", Some("version-has-outer-space")),
            (" ", Some("version-has-outer-space")),
        ] {
            assert_eq!(reference(text).as_deref(), expected, "{text:?}");
        }
    }
}

//! From a command line to the package or image it starts.

use super::Server;

/// A package, image or remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Launch {
    pub(super) kind: &'static str,
    pub(super) identifier: String,
    pub(super) version: Option<String>,
}

/// What a server's entry starts; none when it is nothing a registry can know.
pub(super) fn of(server: &Server) -> Option<Launch> {
    if let Some(url) = &server.url {
        return Some(remote(url));
    }
    let program = server.command.rsplit(['/', '\\']).next().unwrap_or_default();
    let program = program
        .strip_suffix(".cmd")
        .or(program.strip_suffix(".exe"))
        .unwrap_or(program);
    let args: Vec<&str> = server.args.iter().map(String::as_str).collect();
    match program {
        "cmd" if args.first().is_some_and(|first| first.eq_ignore_ascii_case("/c")) => {
            let inner = Server {
                command: args.get(1).copied().unwrap_or_default().to_owned(),
                args: args.iter().skip(2).map(|arg| (*arg).to_owned()).collect(),
                ..server.clone()
            };
            of(&inner)
        }
        "npx" | "bunx" => npm(&args),
        "npm" if args.first() == Some(&"exec") => npm(&args[1..]),
        "pnpm" | "yarn" if args.first() == Some(&"dlx") => npm(&args[1..]),
        "uvx" | "pipx" => pypi(&args),
        "uv" if args.starts_with(&["tool", "run"]) => pypi(&args[2..]),
        "docker" | "podman" => image(&args),
        _ => None,
    }
}

/// A bridge to a remote is that remote.
const BRIDGES: [&str; 2] = ["mcp-remote", "supergateway"];

fn remote(url: &str) -> Launch {
    Launch {
        kind: "remote",
        // What stands after `?` may be a key.
        identifier: url.split(['?', '#']).next().unwrap_or_default().to_owned(),
        version: None,
    }
}

fn npm(args: &[&str]) -> Option<Launch> {
    let mut named = None;
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match *arg {
            "-p" | "--package" => {
                named = rest.next().copied();
                break;
            }
            "-c" | "--call" => return None,
            flag if flag.starts_with("--package=") => {
                named = flag.strip_prefix("--package=");
                break;
            }
            flag if flag.starts_with('-') => {}
            name => {
                named = Some(name);
                break;
            }
        }
    }
    let (identifier, version) = split(named?, '@');
    if BRIDGES.contains(&identifier.as_str()) {
        let url = rest.find(|arg| arg.starts_with("http://") || arg.starts_with("https://"))?;
        return Some(remote(url));
    }
    Some(Launch {
        kind: "npm",
        identifier,
        version: version.filter(|version| version != "latest"),
    })
}

fn pypi(args: &[&str]) -> Option<Launch> {
    let mut rest = args.iter().filter(|arg| **arg != "run");
    while let Some(arg) = rest.next() {
        match *arg {
            "--from" => return rest.next().map(|spec| python(spec)),
            "--with" | "--python" | "-p" | "--index" | "--index-url" => {
                rest.next();
            }
            flag if flag.starts_with("--from=") => return flag.strip_prefix("--from=").map(python),
            flag if flag.starts_with('-') => {}
            name => return Some(python(name)),
        }
    }
    None
}

fn python(spec: &str) -> Launch {
    let (name, version) = match spec.split_once("==") {
        Some((name, version)) => (name.to_owned(), Some(version.to_owned())),
        None => split(spec, '@'),
    };
    let name = name.split('[').next().unwrap_or_default().trim().to_owned();
    Launch {
        kind: "pypi",
        identifier: name,
        version: version.filter(|version| version != "latest"),
    }
}

/// Flags of `run` that stand alone; all others that are not written with `=` take a value.
const ALONE: [&str; 9] = [
    "-i",
    "-t",
    "-it",
    "-ti",
    "--rm",
    "--init",
    "--interactive",
    "--tty",
    "--read-only",
];

fn image(args: &[&str]) -> Option<Launch> {
    let mut rest = args.iter().skip_while(|arg| **arg != "run").skip(1);
    while let Some(arg) = rest.next() {
        if !arg.starts_with('-') {
            return Some(Launch {
                kind: "oci",
                identifier: (*arg).to_owned(),
                version: None,
            });
        }
        if !ALONE.contains(arg) && !arg.contains('=') {
            rest.next();
        }
    }
    None
}

/// A name and what stands after the last separator, if that is not its first character.
fn split(spec: &str, separator: char) -> (String, Option<String>) {
    match spec.rsplit_once(separator) {
        Some((name, version)) if !name.is_empty() => (name.to_owned(), Some(version.to_owned())),
        _ => (spec.to_owned(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_as_people_write_them() {
        let of = |line: &str| {
            let mut words = line.split(' ').map(str::to_owned);
            let server = Server {
                name: "x".into(),
                command: words.next().unwrap(),
                args: words.collect(),
                url: None,
            };
            super::of(&server).map(|launch| {
                let version = launch
                    .version
                    .map(|version| format!("@{version}"))
                    .unwrap_or_default();
                format!("{}:{}{version}", launch.kind, launch.identifier)
            })
        };
        for (line, launch) in [
            ("npx -y @a/b@1.2.3 --flag", Some("npm:@a/b@1.2.3")),
            ("npx @a/b", Some("npm:@a/b")),
            ("npx -y b@latest", Some("npm:b")),
            ("npx --package=b@1 run-it", Some("npm:b@1")),
            ("cmd /c npx -y b@1", Some("npm:b@1")),
            ("C:\\node\\npx.cmd b@1", Some("npm:b@1")),
            (
                "npx mcp-remote https://a.example/mcp?key=secret --header X",
                Some("remote:https://a.example/mcp"),
            ),
            (
                "uvx mcp-server-time==2025.8.4",
                Some("pypi:mcp-server-time@2025.8.4"),
            ),
            ("uvx mcp-server-time@latest", Some("pypi:mcp-server-time")),
            ("uvx --from a[extra]==1.0 a-cli", Some("pypi:a@1.0")),
            ("uv tool run a", Some("pypi:a")),
            ("pipx run a==2", Some("pypi:a@2")),
            (
                "docker run -i --rm -e KEY -v /a:/b host.example/a/b:1.2",
                Some("oci:host.example/a/b:1.2"),
            ),
            ("docker run -i --rm --env=KEY a/b", Some("oci:a/b")),
            ("docker ps", None),
            ("node /opt/server.js", None),
            ("npx", None),
        ] {
            assert_eq!(of(line).as_deref(), launch, "{line}");
        }
    }
}

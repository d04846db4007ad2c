//! From one entry of `packages` or `remotes` to what a client must start or reach.

use serde_json::Value;
use toolmark_domain::limits::SHOWN_SETTINGS;

use crate::links::is_plain_https;

/// Something the user must supply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Letters, digits and `_` only.
    pub id: String,
    pub description: String,
    pub secret: bool,
}

/// A piece of a word: given, or asked of the user (index into the inputs).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Text(String),
    Ask(usize),
}

/// An argument, a value or an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word(pub Vec<Part>);

impl Word {
    fn text(text: &str) -> Self {
        Self(vec![Part::Text(text.to_owned())])
    }

    /// The word with `ask` deciding how an input is written.
    pub fn write(&self, inputs: &[Input], ask: impl Fn(&Input) -> String) -> String {
        self.0
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.clone(),
                Part::Ask(index) => ask(&inputs[*index]),
            })
            .collect()
    }
}

/// What a client does to have the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    Command {
        program: &'static str,
        args: Vec<Word>,
        env: Vec<(String, Word)>,
    },
    Url {
        sse: bool,
        url: Word,
        headers: Vec<(String, Word)>,
    },
}

/// How to start or reach a server, and what the user must supply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    pub start: Start,
    pub inputs: Vec<Input>,
}

/// Why there is nothing to paste.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoLaunch {
    #[error("The document names no version for this package, so a snippet would not be pinned.")]
    NotPinned,
    #[error(
        "Its identifier or version does not have the form its registry uses; Toolmark makes no command of it."
    )]
    OddIdentifier,
    #[error("This package is a bundle: download it and open it with a client that takes bundles.")]
    Bundle,
    #[error("There is no common command that runs this kind of package directly.")]
    NoRunner,
    #[error(
        "This package starts a server of its own on a local address; see the document for how to reach it."
    )]
    LocalServer,
    #[error("Its address is not a plain https address; Toolmark makes no snippet of it.")]
    OddAddress,
    #[error("Its settings are too long or too many to show here; see the document.")]
    TooLarge,
}

/// Largest entry that snippets are made of, in bytes of JSON: they repeat it once per client.
const ENTRY_BYTES: usize = 8 * 1024;

struct Builder {
    inputs: Vec<Input>,
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

fn flag(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or(false)
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

impl Builder {
    fn ask(&mut self, name: &str, field: &Value, secret: bool) -> Word {
        let id: String = name
            .trim_start_matches('-')
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .take(64)
            .collect();
        let id = if id.is_empty() { "VALUE".to_owned() } else { id };
        let known = self.inputs.iter().position(|input| input.id == id);
        let index = known.unwrap_or_else(|| {
            let description = text(field, "description").unwrap_or(name);
            self.inputs.push(Input {
                id,
                description: description.chars().take(200).collect(),
                secret,
            });
            self.inputs.len() - 1
        });
        self.inputs[index].secret |= secret;
        Word(vec![Part::Ask(index)])
    }

    /// The value of an input field of the document: fixed, asked for, or absent.
    fn value(&mut self, name: &str, field: &Value) -> Option<Word> {
        let secret = flag(field, "isSecret");
        let variables = field.get("variables").and_then(Value::as_object);
        if let (Some(value), Some(variables)) = (text(field, "value"), variables)
            && variables.keys().any(|key| value.contains(&format!("{{{key}}}")))
        {
            return Some(self.template(value, field, secret));
        }
        if secret {
            let wanted = flag(field, "isRequired") || field.get("value").is_some();
            return wanted.then(|| self.ask(name, field, true));
        }
        if let Some(fixed) = text(field, "value").or_else(|| text(field, "default")) {
            return Some(Word::text(fixed));
        }
        flag(field, "isRequired").then(|| self.ask(name, field, false))
    }

    /// `Bearer {token}`: the known variables replaced by their value, or asked for.
    fn template(&mut self, value: &str, field: &Value, secret: bool) -> Word {
        let mut parts = Vec::new();
        let mut rest = value;
        while let Some((before, key, after)) = next_variable(rest, field) {
            if !before.is_empty() {
                parts.push(Part::Text(before.to_owned()));
            }
            let variable = &field["variables"][key];
            let hidden = secret || flag(variable, "isSecret");
            match text(variable, "value").or_else(|| text(variable, "default")) {
                Some(fixed) if !hidden => parts.push(Part::Text(fixed.to_owned())),
                _ => parts.extend(self.ask(key, variable, hidden).0),
            }
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Word(parts)
    }

    fn arguments(&mut self, arguments: &[Value]) -> Vec<Word> {
        let mut words = Vec::new();
        for argument in arguments {
            let name = text(argument, "name");
            if text(argument, "type") == Some("named") {
                let Some(name) = name else { continue };
                // A switch has no value: there when it is required, left to the user when not.
                let switch = text(argument, "format") == Some("boolean")
                    && ["value", "default"].iter().all(|key| argument.get(key).is_none());
                if switch {
                    words.extend(flag(argument, "isRequired").then(|| Word::text(name)));
                } else if let Some(value) = self.value(name, argument) {
                    words.push(Word::text(name));
                    words.push(value);
                }
            } else {
                let hint = text(argument, "valueHint").or(name).unwrap_or("VALUE");
                words.extend(self.value(hint, argument));
            }
        }
        words
    }

    fn named(&mut self, fields: &[Value]) -> Vec<(String, Word)> {
        let mut out = Vec::new();
        for field in fields {
            if let Some(name) = text(field, "name").filter(|name| is_token(name))
                && let Some(value) = self.value(name, field)
            {
                out.push((name.to_owned(), value));
            }
        }
        out
    }
}

/// The first `{key}` whose key is among the field's variables.
fn next_variable<'a>(rest: &'a str, field: &Value) -> Option<(&'a str, &'a str, &'a str)> {
    let variables = field.get("variables")?.as_object()?;
    let mut from = 0;
    while let Some(open) = rest[from..].find('{').map(|at| from + at) {
        let close = open + rest[open..].find('}')?;
        let key = &rest[open + 1..close];
        if variables.contains_key(key) {
            return Some((&rest[..open], key, &rest[close + 1..]));
        }
        from = open + 1;
    }
    None
}

/// A name of an environment variable or header.
fn is_token(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 128
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b))
}

fn is_version(version: &str) -> bool {
    version.starts_with(|c: char| c.is_ascii_alphanumeric())
        && version
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b".+_-!".contains(&b))
        && version != "latest"
}

fn is_identifier(identifier: &str, also: &[u8]) -> bool {
    let scoped = identifier.strip_prefix('@').filter(|_| also.contains(&b'@'));
    let rest = scoped.unwrap_or(identifier);
    rest.starts_with(|c: char| c.is_ascii_alphanumeric())
        && rest
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b) || also.contains(&b))
}

/// What runs one entry of `packages`.
pub fn of_package(package: &Value) -> Result<Launch, NoLaunch> {
    let kind = text(package, "registryType").unwrap_or_default();
    match kind {
        "mcpb" => return Err(NoLaunch::Bundle),
        "npm" | "pypi" | "oci" | "nuget" => {}
        _ => return Err(NoLaunch::NoRunner),
    }
    too_large(
        package,
        &["runtimeArguments", "packageArguments", "environmentVariables"],
    )?;
    let transport = package
        .get("transport")
        .and_then(|transport| text(transport, "type"));
    if transport.is_some_and(|transport| transport != "stdio") {
        return Err(NoLaunch::LocalServer);
    }
    let pinned = pinned(kind, package)?;
    let mut builder = Builder { inputs: Vec::new() };
    let runtime = builder.arguments(list(package, "runtimeArguments"));
    let own = builder.arguments(list(package, "packageArguments"));
    let env = builder.named(list(package, "environmentVariables"));
    let fixed = |words: &[&str]| words.iter().map(|word| Word::text(word)).collect::<Vec<_>>();
    let has = |words: &[Word], flag: &str| words.contains(&Word::text(flag));
    let (program, args) = match kind {
        "npm" => {
            let yes = if has(&runtime, "-y") || has(&runtime, "--yes") {
                vec![]
            } else {
                fixed(&["-y"])
            };
            ("npx", [yes, runtime, fixed(&[&pinned]), own].concat())
        }
        "pypi" => ("uvx", [runtime, fixed(&[&pinned]), own].concat()),
        "nuget" => {
            let dashes = if own.is_empty() { vec![] } else { fixed(&["--"]) };
            ("dnx", [fixed(&[&pinned, "--yes"]), runtime, dashes, own].concat())
        }
        _ => {
            let mut args = fixed(&["run", "-i", "--rm"]);
            args.extend(runtime.into_iter().filter(|word| {
                !["run", "-i", "--rm", "--interactive"]
                    .iter()
                    .any(|known| *word == Word::text(known))
            }));
            for (name, _) in &env {
                args.extend(fixed(&["-e", name]));
            }
            args.extend(fixed(&[&pinned]));
            args.extend(own);
            ("docker", args)
        }
    };
    Ok(Launch {
        start: Start::Command { program, args, env },
        inputs: builder.inputs,
    })
}

/// Identifier and version as the runner takes them.
fn pinned(kind: &str, package: &Value) -> Result<String, NoLaunch> {
    let identifier = text(package, "identifier").unwrap_or_default();
    let version = text(package, "version");
    let also: &[u8] = match kind {
        "npm" => b"@/~",
        "oci" => b"/:@",
        _ => b"",
    };
    if !is_identifier(identifier, also) {
        return Err(NoLaunch::OddIdentifier);
    }
    if kind == "oci" {
        let last = identifier.rsplit('/').next().unwrap_or_default();
        return match (last.split_once(['@', ':']), version) {
            (Some((_, "latest")), _) => Err(NoLaunch::NotPinned),
            (Some(_), _) => Ok(identifier.to_owned()),
            (None, Some(version)) if is_version(version) => Ok(format!("{identifier}:{version}")),
            (None, _) => Err(NoLaunch::NotPinned),
        };
    }
    // A scope holds the one `@` a package's name may have.
    if identifier.trim_start_matches('@').contains('@') {
        return Err(NoLaunch::OddIdentifier);
    }
    match version {
        None | Some("latest") => Err(NoLaunch::NotPinned),
        Some(version) if is_version(version) => Ok(format!("{identifier}@{version}")),
        Some(_) => Err(NoLaunch::OddIdentifier),
    }
}

fn too_large(entry: &Value, lists: &[&str]) -> Result<(), NoLaunch> {
    let many = lists.iter().any(|key| list(entry, key).len() > SHOWN_SETTINGS);
    if many || entry.to_string().len() > ENTRY_BYTES {
        Err(NoLaunch::TooLarge)
    } else {
        Ok(())
    }
}

/// What reaches one entry of `remotes`.
pub fn of_remote(remote: &Value) -> Result<Launch, NoLaunch> {
    too_large(remote, &["headers"])?;
    let sse = match text(remote, "type") {
        Some("sse") => true,
        Some("streamable-http") => false,
        _ => return Err(NoLaunch::NoRunner),
    };
    let address = text(remote, "url").unwrap_or_default();
    let mut builder = Builder { inputs: Vec::new() };
    let url = builder.template(address, remote, false);
    // Judged with a stand-in for what the user supplies.
    if !is_plain_https(&url.write(&builder.inputs, |_| "x".to_owned())) {
        return Err(NoLaunch::OddAddress);
    }
    let headers = builder.named(list(remote, "headers"));
    Ok(Launch {
        start: Start::Url { sse, url, headers },
        inputs: builder.inputs,
    })
}

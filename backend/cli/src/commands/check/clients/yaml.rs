//! As much YAML as Goose writes: nested maps by indentation, lists of words, plain and quoted scalars. Whatever is
//! written otherwise is said, never guessed.

use super::Server;

struct Line<'a> {
    indent: usize,
    text: &'a str,
}

/// The entries under `extensions:` that are started or asked; those built in have no command and are left out.
pub(super) fn servers(text: &str) -> Result<Vec<Server>, String> {
    let mut servers: Vec<(Server, String)> = Vec::new();
    let mut lines = lines(text)?.into_iter().peekable();
    let found = lines
        .by_ref()
        .any(|line| line.indent == 0 && line.text == "extensions:");
    if !found {
        return Err("there is no list `extensions:`".to_owned());
    }
    let mut level = None;
    let mut in_args = None;
    while let Some(line) = lines.next_if(|line| line.indent > 0) {
        let top = *level.get_or_insert(line.indent);
        if line.indent == top {
            let name = key(line.text).filter(|(_, value)| value.is_empty());
            let (name, _) = name.ok_or_else(|| format!("not understood: `{}`", line.text))?;
            servers.push((
                Server {
                    name,
                    ..Server::default()
                },
                String::new(),
            ));
            in_args = None;
            continue;
        }
        let Some((server, kind)) = servers.last_mut() else {
            continue;
        };
        if let Some(indent) = in_args {
            if let Some(word) = line.text.strip_prefix("- ").filter(|_| line.indent >= indent) {
                server.args.push(scalar(word)?);
                continue;
            }
            in_args = None;
        }
        match key(line.text) {
            Some((word, value)) if word == "cmd" => server.command = scalar(value)?,
            Some((word, value)) if word == "uri" => server.url = Some(scalar(value)?),
            Some((word, value)) if word == "type" => *kind = scalar(value)?,
            Some((word, "")) if word == "args" => in_args = Some(line.indent),
            Some((word, value)) if word == "args" => server.args = flow(value)?,
            // Others, and what is below them.
            _ => {}
        }
    }
    let started = servers
        .into_iter()
        .filter(|(_, kind)| !matches!(kind.as_str(), "builtin" | "platform" | "frontend"));
    Ok(started.map(|(server, _)| server).collect())
}

fn lines(text: &str) -> Result<Vec<Line<'_>>, String> {
    let mut found = Vec::new();
    for line in text.lines() {
        let content = line.trim_start_matches(' ');
        if content.starts_with('\t') {
            return Err("a tab stands where spaces should".to_owned());
        }
        let content_trimmed = content.trim_end();
        if content_trimmed.is_empty() || content.starts_with('#') || content_trimmed == "---" {
            continue;
        }
        found.push(Line {
            indent: line.len() - content.len(),
            text: content_trimmed,
        });
    }
    Ok(found)
}

/// `key: value`, the value maybe empty.
fn key(text: &str) -> Option<(String, &str)> {
    let (word, value) = text.split_once(':')?;
    if !(value.is_empty() || value.starts_with(' ')) {
        return None;
    }
    Some((scalar(word).ok()?, value.trim()))
}

fn scalar(text: &str) -> Result<String, String> {
    let text = text.trim();
    if let Some(inner) = text.strip_prefix('\'') {
        let inner = inner
            .strip_suffix('\'')
            .ok_or_else(|| format!("not understood: `{text}`"))?;
        return Ok(inner.replace("''", "'"));
    }
    if text.starts_with('"') {
        return serde_json::from_str(text).map_err(|_| format!("not understood: `{text}`"));
    }
    if text.starts_with(['|', '>', '&', '*', '!', '{', '[']) {
        return Err(format!("not understood: `{text}`"));
    }
    Ok(text.split(" #").next().unwrap_or_default().trim_end().to_owned())
}

/// `[a, "b"]`
fn flow(text: &str) -> Result<Vec<String>, String> {
    let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let inner = inner.ok_or_else(|| format!("not understood: `{text}`"))?;
    let words = inner.split(',').map(str::trim).filter(|word| !word.is_empty());
    words.map(scalar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goose_writes_is_read() {
        let text = "# own\nextensions:\n  developer:\n    bundled: true\n    type: builtin\n  'my tool':\n    args: [\"-y\", pkg@1]\n    cmd: npx # start\n    type: stdio\n    envs: {}\n  c:\n    type: stdio\n    cmd: uvx\n    args:\n    - a==1\n    - \"--x: y\"\n    env_keys: []\nother: 1\n";
        let found = servers(text).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(
            (found[0].name.as_str(), found[0].command.as_str()),
            ("my tool", "npx")
        );
        assert_eq!(found[0].args, ["-y", "pkg@1"]);
        assert_eq!(found[1].args, ["a==1", "--x: y"]);
        assert!(servers("extensions:\n  a:\n    cmd: >\n      x\n").is_err());
    }
}

//! JSON as editors write it: with comments and trailing commas.

use serde_json::Value;

use super::{Server, of_entry};

/// The servers under `mcpServers`, `servers` or `mcp.servers`; of Claude's own file also those of its projects.
pub(super) fn servers(text: &str) -> Result<Vec<Server>, String> {
    let value: Value = serde_json::from_str(&plain(text)).map_err(|error| error.to_string())?;
    let mut tables = Vec::new();
    for pointer in ["/mcpServers", "/servers", "/mcp/servers", "/context_servers"] {
        tables.extend(value.pointer(pointer).and_then(Value::as_object));
    }
    let projects = value.get("projects").and_then(Value::as_object);
    for project in projects.into_iter().flat_map(serde_json::Map::values) {
        tables.extend(project.get("mcpServers").and_then(Value::as_object));
    }
    if tables.is_empty() {
        return Err("there is no `mcpServers` and no `servers`".to_owned());
    }
    let entries = tables.into_iter().flatten();
    Ok(entries.map(|(name, entry)| of_entry(name, entry)).collect())
}

/// The same without comments and without commas before a closing bracket; line ends stay.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut quoted = false;
    while let Some(c) = chars.next() {
        if quoted {
            out.push(c);
            match c {
                '\\' => out.extend(chars.next()),
                '"' => quoted = false,
                _ => {}
            }
            continue;
        }
        match (c, chars.peek()) {
            ('"', _) => {
                quoted = true;
                out.push(c);
            }
            ('/', Some('/')) => {
                while chars.peek().is_some_and(|c| *c != '\n') {
                    chars.next();
                }
            }
            ('/', Some('*')) => {
                chars.next();
                let mut last = ' ';
                for c in chars.by_ref() {
                    if c == '\n' {
                        out.push(c);
                    }
                    if last == '*' && c == '/' {
                        break;
                    }
                    last = c;
                }
            }
            (']' | '}', _) => {
                let end = out.trim_end().len();
                if out[..end].ends_with(',') {
                    out.replace_range(end - 1..end, "");
                }
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_go_and_texts_stay() {
        let text = "{\"a\": \"// no, /* no */ ,}\", // yes\n \"b\": [1, 2, /* x\n */ ],\n}";
        let value: Value = serde_json::from_str(&plain(text)).unwrap();
        assert_eq!(value, serde_json::json!({"a": "// no, /* no */ ,}", "b": [1, 2]}));
        assert_eq!(plain(text).lines().count(), text.lines().count());
    }
}

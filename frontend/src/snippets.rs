//! What to paste into a client so that it starts or reaches a server: version pinned, secrets never filled in.
//!
//! `launch` decides what to run from the document; `clients` writes it the way each client reads it.

mod clients;
mod launch;

pub use clients::{Snippet, snippets};
pub use launch::{Input, Launch, NoLaunch, Part, Start, Word, of_package, of_remote};

use std::fmt::Write as _;

use crate::foreign::is_hidden;

/// How an escape above U+FFFF is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Escapes {
    /// JSON: two surrogates.
    Surrogates,
    /// TOML and YAML: `\U0001F600`.
    Long,
}

/// Replaces hidden characters in JSON text (where they can only stand inside strings) by escapes, so that what is
/// copied is what is read.
fn escape_hidden(json: &str, escapes: Escapes) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if !is_hidden(c) {
            out.push(c);
        } else if u32::from(c) > 0xFFFF && escapes == Escapes::Long {
            let _ = write!(out, "\\U{:08X}", u32::from(c));
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    out
}

/// A quoted string as TOML (basic string) and YAML (double quoted) read it.
fn quoted(text: &str) -> String {
    escape_hidden(&serde_json::Value::from(text).to_string(), Escapes::Long)
}

/// One word of a POSIX shell, or `None` when it cannot be shown without surprise.
fn shell_word(text: &str) -> Option<String> {
    if text.chars().any(|c| is_hidden(c) || c.is_control()) {
        return None;
    }
    let plain = !text.is_empty()
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_./:@=+,-".contains(&b));
    Some(if plain {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    })
}

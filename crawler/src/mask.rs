//! Foreign words made fit to be kept: bounded, without commands to a terminal, and without what looks like a secret.

use toolmark_domain::limits::SERVER_WORDS_CHARS;

const MASK: &str = "********";

/// How tokens of well-known services begin.
const TOKEN_HEADS: [&str; 20] = [
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "npm_",
    "pypi-",
    "sk-",
    "sk_",
    "pk_",
    "rk_",
    "xoxb-",
    "xoxp-",
    "xapp-",
    "AKIA",
    "ASIA",
    "tmk_",
    "hf_",
];

/// Parts of a name whose value is a secret.
const SECRET_PARTS: [&str; 8] = [
    "password",
    "passwd",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "credential",
];

/// The head of `text`, cleaned and masked, with a mark where something was left out.
pub(crate) fn words(text: &str) -> String {
    let clean = masked(&printable(text.trim()));
    let mut chars = clean.chars();
    let mut head: String = chars.by_ref().take(SERVER_WORDS_CHARS).collect();
    if chars.next().is_some() {
        head.push('…');
    }
    head
}

/// The last bytes of an output, cleaned and masked.
pub(crate) fn tail(bytes: &[u8], cut: bool) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    // A line that lost its head may have lost what marks a secret in it.
    let whole = if cut {
        text.split_once('\n').map_or("", |(_, rest)| rest)
    } else {
        &text
    };
    let clean = masked(&printable(whole));
    let clean = clean.trim_matches('\n');
    (!clean.trim().is_empty()).then(|| clean.to_owned())
}

/// Without colours and other commands; line ends and tabs stay.
fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' if chars.peek() == Some(&'[') => {
                chars.next();
                while chars.next().is_some_and(|c| !c.is_ascii_alphabetic()) {}
            }
            '\n' | '\t' => out.push(c),
            '\r' => {}
            c if c.is_control() => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// With what looks like a secret replaced.
pub(crate) fn masked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    // The word before the one looked at, and what stands between them.
    let (mut before, mut between) = ("", "");
    while !rest.is_empty() {
        let start = rest.find(is_word).unwrap_or(rest.len());
        let gap = &rest[..start];
        out.push_str(gap);
        let tail = &rest[start..];
        let end = tail.find(|c| !is_word(c)).unwrap_or(tail.len());
        let word = &tail[..end];
        if between.is_empty() || !gap.is_empty() {
            between = gap;
        }
        if !word.is_empty() {
            if is_secret(word, before, between) {
                out.push_str(MASK);
            } else {
                out.push_str(word);
            }
            before = word;
        }
        rest = &tail[end..];
    }
    without_logins(&out)
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '/' | '~')
}

fn is_secret(word: &str, before: &str, between: &str) -> bool {
    let long = word.len() >= 16;
    if long && TOKEN_HEADS.iter().any(|head| word.starts_with(head)) {
        return true;
    }
    // A signed token: three parts, the first the start of a JSON object.
    if word.starts_with("eyJ") && word.len() >= 20 {
        return true;
    }
    let lower = before.to_ascii_lowercase();
    if matches!(lower.as_str(), "bearer" | "basic") && between.trim().is_empty() && word.len() >= 8 {
        return true;
    }
    let assigned = matches!(
        between.trim_matches([' ', '"', '\'']),
        "=" | ":" | "\":" | "\":\"" | "':"
    );
    assigned && word.len() >= 8 && SECRET_PARTS.iter().any(|part| lower.contains(part))
}

/// `scheme://user:password@host` without its login.
fn without_logins(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (head, tail) = rest.split_at(at + 3);
        out.push_str(head);
        let end = tail
            .find(|c: char| c.is_whitespace() || matches!(c, '/' | '"' | '\'' | '<' | '>'))
            .unwrap_or(tail.len());
        rest = match tail[..end].rfind('@') {
            Some(login) => {
                out.push_str(MASK);
                &tail[login..]
            }
            None => tail,
        };
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_secret_is_masked_and_nothing_else() {
        let token = format!("{}{}", "ghp_", "0123456789abcdefghijABCDEFGHIJ012345");
        let cases = [
            (format!("using {token} now"), "using ******** now".to_owned()),
            ("API_TOKEN=abcdefgh12345".into(), "API_TOKEN=********".into()),
            (
                r#"{"password": "hunter2hunter2"}"#.into(),
                r#"{"password": "********"}"#.into(),
            ),
            (
                "Authorization: Bearer abcdefgh12345".into(),
                "Authorization: Bearer ********".into(),
            ),
            (
                "at postgres://me:pw@db.example/x".into(),
                "at postgres://********@db.example/x".into(),
            ),
            (
                "BRAVE_API_KEY is required".into(),
                "BRAVE_API_KEY is required".into(),
            ),
            ("token: none".into(), "token: none".into()),
            (
                "see https://example.com/a@b".into(),
                "see https://example.com/a@b".into(),
            ),
            ("a  b\n".into(), "a  b\n".into()),
        ];
        for (text, expected) in cases {
            assert_eq!(masked(&text), expected);
        }
    }

    #[test]
    fn words_are_bounded_and_command_nothing() {
        assert_eq!(words(" \u{1b}[31mred\u{1b}[0m\u{7}\r\n x "), "red\\u{7}\n x");
        let long = words(&"é".repeat(SERVER_WORDS_CHARS + 1));
        assert_eq!(long.chars().count(), SERVER_WORDS_CHARS + 1);
        assert!(long.ends_with('…'));
    }

    #[test]
    fn the_tail_begins_with_a_whole_line() {
        assert_eq!(tail(b"lf a line\nlast\n", true).as_deref(), Some("last"));
        assert_eq!(tail(b"first\nlast\n", false).as_deref(), Some("first\nlast"));
        assert_eq!(tail(b" \n", false), None);
    }
}

//! The document as it is served, and whether it is right: the two questions an import asks of the validator.

use serde_json::Value;
use toolmark_domain::validation;

/// The document as it is served.
pub(super) fn form(document: &Value) -> Value {
    validation::served_form(document)
}

/// The text of the served form. Where it is the document as received it is `raw` itself without the white space
/// between its tokens, so that numbers and escapes stay as they were written.
pub(super) fn text(served: &Value, document: &Value, raw: &[u8], must_rewrite: bool) -> String {
    if must_rewrite || served != document {
        return served.to_string();
    }
    compact(raw).unwrap_or_else(|| served.to_string())
}

/// Whether the validator finds no error.
pub(super) fn is_valid(document: &Value) -> bool {
    validation::validate(document).valid
}

/// JSON text without white space between its tokens.
fn compact(raw: &[u8]) -> Option<String> {
    let mut out = Vec::with_capacity(raw.len());
    let mut in_string = false;
    let mut escaped = false;
    for byte in raw {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
        } else if byte.is_ascii_whitespace() {
            continue;
        } else if *byte == b'"' {
            in_string = true;
        }
        out.push(*byte);
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_white_space_between_tokens_goes() {
        let raw = "{ \"a\" : [ 1.50 , \"x \\\" y\" ] ,\n\t\"b\":\"\\u00e9 \" }";
        assert_eq!(
            compact(raw.as_bytes()).as_deref(),
            Some(r#"{"a":[1.50,"x \" y"],"b":"\u00e9 "}"#)
        );
    }
}

//! A NUL byte in path or query is refused before anything else looks at it: databases and C programs cut text there.

use http::Uri;

use crate::problem::{Code, Problem};

pub(crate) fn check(uri: &Uri) -> Option<Problem> {
    let place = if holds_nul(uri.path()) {
        "URL path contains null bytes"
    } else if uri.query().is_some_and(holds_nul) {
        "URL query contains null bytes"
    } else {
        return None;
    };
    Some(Problem::new(Code::NulByte, format!("Invalid request: {place}")).in_plain_json())
}

fn holds_nul(text: &str) -> bool {
    text.contains("%00") || text.contains('\0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_named() {
        let detail = |uri: &'static str| check(&Uri::from_static(uri)).map(|p| p.detail().to_owned());
        assert_eq!(detail("/v0/servers?search=a"), None);
        assert_eq!(detail("/v0/servers/a%2500"), None);
        assert!(detail("/v0/a%00b").unwrap().contains("path"));
        assert!(detail("/v0/servers?search=%00").unwrap().contains("query"));
    }
}

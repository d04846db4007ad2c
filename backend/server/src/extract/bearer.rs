//! The `Authorization` header, checked in two steps as upstream does: its presence together with all other
//! parameters, its form after them.

use http::{HeaderMap, HeaderValue, header};

use crate::problem::{Code, FieldError, Problem};

/// The header as text, or the error to report with all others.
pub(crate) fn authorization(headers: &HeaderMap) -> Result<&str, FieldError> {
    match headers.get(header::AUTHORIZATION).map(HeaderValue::to_str) {
        Some(Ok(text)) if !text.is_empty() => Ok(text),
        // Bytes that are not ASCII can be no token: the form is refused later, not the presence.
        Some(Err(_)) => Ok("?"),
        Some(Ok(_)) | None => Err(FieldError::at(
            "required header parameter is missing",
            "header.Authorization",
            "",
        )),
    }
}

/// The token of `Bearer <token>`.
pub(crate) fn bearer_token(authorization: &str) -> Result<&str, Problem> {
    let token = authorization
        .split_at_checked(7)
        .filter(|(scheme, token)| scheme.eq_ignore_ascii_case("bearer ") && !token.is_empty());
    match token {
        Some((_, token)) => Ok(token),
        None => Err(unauthenticated(
            "Invalid Authorization header format. Expected 'Bearer <token>'",
        )),
    }
}

/// 401 with the challenge every such answer carries.
pub(crate) fn unauthenticated(detail: &'static str) -> Problem {
    Problem::new(Code::Unauthenticated, detail)
        .header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheme_is_read_without_case_and_the_token_as_it_is() {
        assert_eq!(bearer_token("bEaReR abc").unwrap(), "abc");
        for bad in ["Bearer", "Bearer ", "Basic abc", "abc", "é", "Bearé x"] {
            let problem = bearer_token(bad).unwrap_err();
            assert_eq!(problem.code(), Code::Unauthenticated, "{bad}");
        }
        assert!(authorization(&HeaderMap::new()).is_err());
    }
}

//! Every error a client can see: a stable code, its status and its title, and the two shapes it is shown in.
//!
//! Handlers return a [`Problem`]; which shape it takes (official, own, page) is decided once, at the edge, by the
//! path that was asked. Nothing internal goes into a problem: causes are logged where they are found.

use std::borrow::Cow;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use serde_json::Value;
use toolmark_domain::validation;
use utoipa::ToSchema;

/// One thing that is wrong with a request, and where.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct FieldError {
    /// What is wrong.
    pub message: String,
    /// Where: `query.limit`, `header.Authorization`, `body.packages[0].transport`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// What was given there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

impl FieldError {
    /// An error at a place, with the value found there.
    pub(crate) fn at(
        message: impl Into<String>,
        location: impl Into<String>,
        value: impl Into<Value>,
    ) -> Self {
        Self {
            message: message.into(),
            location: Some(location.into()),
            value: Some(value.into()),
        }
    }

    /// An error at a place, without repeating what is there.
    pub(crate) fn located(message: impl Into<String>, location: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            location: Some(location.into()),
            value: None,
        }
    }

    /// An error without a place.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            location: None,
            value: None,
        }
    }
}

/// Longest place shown.
pub(crate) const LOCATION_CHARS: usize = 500;

impl From<validation::FieldError> for FieldError {
    fn from(error: validation::FieldError) -> Self {
        Self {
            message: error.message,
            location: Some(error.location.chars().take(LOCATION_CHARS).collect()),
            value: error.value,
        }
    }
}

macro_rules! codes {
    ($($variant:ident $word:literal $status:ident $title:literal;)*) => {
        /// Stable code of a problem.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Code { $(#[doc = $title] $variant,)* }

        impl Code {
            /// Every code, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The word in JSON; it never changes its meaning.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// The status of the answer.
            pub fn status(self) -> StatusCode {
                match self { $(Self::$variant => StatusCode::$status,)* }
            }

            /// A short title for people.
            pub fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)* }
            }
        }
    };
}

codes! {
    UnknownParameter "unknown_parameter" BAD_REQUEST "A parameter this operation does not have";
    InvalidParameter "invalid_parameter" BAD_REQUEST "A parameter of the wrong form";
    InvalidCursor "invalid_cursor" BAD_REQUEST "A page cursor that is not ours or belongs to another list";
    InvalidPath "invalid_path" BAD_REQUEST "A path that cannot be decoded";
    NulByte "nul_byte" BAD_REQUEST "A NUL byte in the path or query";
    BodyMissing "body_missing" BAD_REQUEST "A request body is needed";
    BodyNotJson "body_not_json" BAD_REQUEST "The body is not JSON we read";
    Refused "refused" BAD_REQUEST "The request goes against a rule of the registry";
    Unauthenticated "unauthenticated" UNAUTHORIZED "A valid token is needed";
    Forbidden "forbidden" FORBIDDEN "The token does not allow this";
    RouteNotFound "route_not_found" NOT_FOUND "No such page or operation";
    NotFound "not_found" NOT_FOUND "Nothing is recorded under this name";
    MethodNotAllowed "method_not_allowed" METHOD_NOT_ALLOWED "This operation has another method";
    BodyTimeout "body_timeout" REQUEST_TIMEOUT "The body did not arrive in time";
    BodyTooLarge "body_too_large" PAYLOAD_TOO_LARGE "The body is larger than the limit";
    TargetTooLong "target_too_long" URI_TOO_LONG "The path and query are longer than the limit";
    MediaType "media_type" UNSUPPORTED_MEDIA_TYPE "The body is not of a type this operation reads";
    ValidationFailed "validation_failed" UNPROCESSABLE_ENTITY "Parameters or body are not valid";
    RateLimited "rate_limited" TOO_MANY_REQUESTS "Too many requests from this address";
    Internal "internal" INTERNAL_SERVER_ERROR "Something went wrong here";
    Unavailable "unavailable" SERVICE_UNAVAILABLE "The store does not answer";
    TimedOut "timed_out" GATEWAY_TIMEOUT "The answer took longer than the limit";
}

/// An answer that is not the one asked for.
#[derive(Clone, Debug)]
pub struct Problem(Box<Facts>);

#[derive(Clone, Debug)]
struct Facts {
    code: Code,
    detail: Cow<'static, str>,
    hint: Option<Cow<'static, str>>,
    errors: Vec<FieldError>,
    headers: Vec<(header::HeaderName, HeaderValue)>,
    plain_json: bool,
}

impl Problem {
    /// A problem with the words people see.
    pub fn new(code: Code, detail: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Facts {
            code,
            detail: detail.into(),
            hint: None,
            errors: Vec::new(),
            headers: Vec::new(),
            plain_json: false,
        }))
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// The places that are wrong.
    #[must_use]
    pub fn errors(mut self, errors: Vec<FieldError>) -> Self {
        self.0.errors = errors;
        self
    }

    /// A header of the answer.
    #[must_use]
    pub fn header(mut self, name: header::HeaderName, value: HeaderValue) -> Self {
        self.0.headers.push((name, value));
        self
    }

    /// Upstream answers a few of its problems as `application/json`.
    #[must_use]
    pub(crate) fn in_plain_json(mut self) -> Self {
        self.0.plain_json = true;
        self
    }

    /// The stable code.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// What happened, for people.
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// What to do about it.
    pub fn hint_text(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// 422 `validation failed` with every error, as the official registry says it.
    pub(crate) fn validation(errors: Vec<FieldError>) -> Self {
        Self::new(Code::ValidationFailed, "validation failed").errors(errors)
    }

    /// 500; the cause is logged here, once, and not shown.
    pub(crate) fn internal(cause: &(dyn std::error::Error + 'static)) -> Self {
        tracing::error!(error = chain(cause), "request failed: {cause}");
        Self::new(Code::Internal, "something went wrong here; it has been logged")
    }

    /// The body in the official registry's shape.
    pub(crate) fn official(&self) -> Vec<u8> {
        let status = self.0.code.status();
        let body = OfficialProblem {
            title: status.canonical_reason().unwrap_or("Error"),
            status: status.as_u16(),
            detail: &self.0.detail,
            errors: &self.0.errors,
        };
        serde_json::to_vec(&body).expect("strings and JSON values always serialise")
    }

    /// The body in our own shape.
    pub(crate) fn own(&self, request_id: &str) -> Vec<u8> {
        let body = OwnProblem {
            kind: format!("/docs/api#{}", self.0.code.as_str()),
            title: self.0.code.title().to_owned(),
            status: self.0.code.status().as_u16(),
            code: self.0.code.as_str().to_owned(),
            detail: self.0.detail.clone().into_owned(),
            hint: self.0.hint.clone().map(Cow::into_owned),
            request_id: request_id.to_owned(),
            errors: self.0.errors.clone(),
        };
        serde_json::to_vec(&body).expect("strings and JSON values always serialise")
    }

    /// Media type of the JSON forms.
    pub(crate) fn media_type(&self) -> HeaderValue {
        HeaderValue::from_static(if self.0.plain_json {
            "application/json"
        } else {
            "application/problem+json"
        })
    }
}

/// The causes of an error, outermost first.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

#[derive(Serialize)]
struct OfficialProblem<'a> {
    title: &'a str,
    status: u16,
    detail: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    errors: &'a [FieldError],
}

/// An RFC 9457 problem of `/api/v1`.
#[derive(Serialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct OwnProblem {
    /// Where the code is explained.
    #[serde(rename = "type")]
    kind: String,
    title: String,
    status: u16,
    /// Stable; branch on this.
    code: String,
    /// What happened, for people.
    detail: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    hint: Option<String>,
    /// Also in the header `X-Request-Id` and in our log.
    request_id: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    errors: Vec<FieldError>,
}

impl IntoResponse for Problem {
    /// An answer without a body that carries the problem; the edge writes the body in the shape of the surface.
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.0.code.status();
        for (name, value) in &self.0.headers {
            response.headers_mut().insert(name.clone(), value.clone());
        }
        response.extensions_mut().insert(self);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_words_of_error_statuses() {
        let mut seen = std::collections::HashSet::new();
        for code in Code::ALL {
            assert!(seen.insert(code.as_str()), "{code:?}");
            assert!(code.status().is_client_error() || code.status().is_server_error());
            assert!(code.as_str().bytes().all(|b| b.is_ascii_lowercase() || b == b'_'));
        }
    }

    #[test]
    fn the_official_shape_has_upstreams_members_and_no_others() {
        let problem = Problem::validation(vec![FieldError::at("expected number >= 1", "query.limit", 0)]);
        assert_eq!(
            serde_json::from_slice::<Value>(&problem.official()).unwrap(),
            serde_json::json!({"title": "Unprocessable Entity", "status": 422, "detail": "validation failed",
                "errors": [{"message": "expected number >= 1", "location": "query.limit", "value": 0}]})
        );
        let bare = Problem::new(Code::NotFound, "Server not found");
        assert_eq!(
            String::from_utf8(bare.official()).unwrap(),
            r#"{"title":"Not Found","status":404,"detail":"Server not found"}"#
        );
    }

    #[test]
    fn our_shape_adds_code_hint_and_request_id() {
        let problem =
            Problem::new(Code::UnknownParameter, "unknown parameter `serach`").hint("did you mean `search`?");
        let read: Value = serde_json::from_slice(&problem.own("r1")).unwrap();
        assert_eq!(read["code"], "unknown_parameter");
        assert_eq!(read["hint"], "did you mean `search`?");
        assert_eq!(read["request_id"], "r1");
        assert_eq!(read["type"], "/docs/api#unknown_parameter");
        assert_eq!(read.get("errors"), None);
    }
}

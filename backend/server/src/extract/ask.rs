//! The head of a request, for handlers that read no body. (A whole request cannot be borrowed across an await: its
//! body is not shared between threads.)

use std::convert::Infallible;

use axum::extract::{FromRequest, Request};
use http::request::Parts;
use http::{HeaderMap, Uri};

/// What is asked.
pub(crate) struct Ask(Parts);

impl Ask {
    pub(crate) fn uri(&self) -> &Uri {
        &self.0.uri
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.0.headers
    }

    pub(crate) fn query(&self) -> Option<&str> {
        self.0.uri.query()
    }
}

impl<S: Send + Sync> FromRequest<S> for Ask {
    type Rejection = Infallible;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Infallible> {
        Ok(Self(request.into_parts().0))
    }
}

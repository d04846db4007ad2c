//! Path segments, percent-decoded exactly once.

use axum::extract::FromRequestParts;
use axum::extract::RawPathParams;
use axum::extract::rejection::RawPathParamsRejection;
use http::request::Parts;

use crate::problem::{Code, Problem};

/// The variable segments of a route, in the order of the route.
pub(crate) struct Segments<const N: usize>(pub(crate) [String; N]);

impl<S: Send + Sync, const N: usize> FromRequestParts<S> for Segments<N> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let params = RawPathParams::from_request_parts(parts, state)
            .await
            .map_err(|rejection: RawPathParamsRejection| undecodable(&rejection))?;
        let mut values = params.iter().map(|(_, value)| value.to_owned());
        Ok(Self(std::array::from_fn(|_| values.next().unwrap_or_default())))
    }
}

fn undecodable(_: &RawPathParamsRejection) -> Problem {
    Problem::new(Code::InvalidPath, "the path is not UTF-8 after percent-decoding")
}

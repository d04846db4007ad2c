//! Reading requests: query parameters, path segments, bodies and the bearer token.
//!
//! Two manners: [`Official`] reads as upstream's framework does (unknown names ignored, every error together, 422);
//! [`Own`] refuses what it does not know, and names it.

mod ask;
mod bearer;
mod body;
mod path;
mod query;

pub(crate) use ask::Ask;
pub(crate) use bearer::{authorization, bearer_token, unauthenticated};
pub(crate) use body::{Unfit, draft, json_bytes, json_value};
pub(crate) use path::Segments;
pub(crate) use query::{Official, Own};

//! `GET /api/v1/evidence/{digest}`: bytes a check of provenance rests on, as they were received.

use axum::extract::State;
use axum::response::Response;
use http::{HeaderValue, header};
use toolmark_domain::digest::Digest;

use crate::answer;
use crate::extract::{Ask, Own, Segments};
use crate::problem::{Code, Problem};
use crate::state::App;

#[utoipa::path(
    get, path = "/api/v1/evidence/{digest}", tag = "provenance", operation_id = "get_evidence",
    summary = "Get bytes of evidence",
    description = "What a place answered, a trusted root, a list of keys, the record of a check or its report, byte for byte.",
    params(("digest" = String, Path, min_length = 64, max_length = 71, pattern = "^(sha256:)?[0-9a-f]{64}$",
        description = "SHA-256 in lower-case hex.")),
    responses((status = 200, body = Vec<u8>, content_type = "application/octet-stream",
        description = "The bytes with this digest."))
)]
pub(crate) async fn get_evidence(
    State(app): State<App>,
    Segments([digest]): Segments<1>,
    ask: Ask,
) -> Result<Response, Problem> {
    Own::parse(ask.query(), &[]).finish()?;
    let none = || {
        Problem::new(Code::NotFound, "no evidence with this digest is kept")
            .hint("the digests are in the provenance of a version")
    };
    let digest: Digest = digest.parse().map_err(|_| none())?;
    let bytes = app.registry.evidence(&digest).await;
    let bytes = bytes
        .map_err(|error| Problem::internal(&error))?
        .ok_or_else(none)?;
    // Foreign bytes: never a page of ours, whatever is in them.
    let media_type = HeaderValue::from_static("application/octet-stream");
    let mut response = answer::text(bytes, media_type, ask.headers());
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_DISPOSITION,
        HeaderValue::from_static("attachment"),
    );
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    Ok(response)
}

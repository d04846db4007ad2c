//! Conversions that lose nothing that matters here.

/// A count as a number to score with.
#[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^24")]
pub(crate) fn real(count: usize) -> f32 {
    count as f32
}

/// A document count as a number to score with.
#[expect(clippy::cast_precision_loss, reason = "idf does not need the last digit")]
pub(crate) fn real_u32(count: u32) -> f32 {
    count as f32
}

/// A 64-bit count as a number to score with.
#[expect(clippy::cast_precision_loss, reason = "averages do not need the last digit")]
pub(crate) fn real_u64(count: u64) -> f32 {
    count as f32
}

/// A score on a fixed grid, so that the last bits of a sum cannot decide an order.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the cast saturates, and scores are small"
)]
pub(crate) fn grid(score: f32) -> i64 {
    (score * 4096.0).round() as i64
}

//! What one call may cost. The values come from the caller's table of limits.

use std::time::Duration;

/// Bounds of one call.
#[derive(Clone, Debug)]
pub struct Caps {
    /// Most bytes of the answer's body, after unpacking.
    pub body_bytes: usize,
    /// Most unpacked bytes for each byte received, once more than [`Caps::EXPANSION_FREE_BYTES`] are unpacked.
    pub expansion: usize,
    /// Longest wait for the head of an answer, connecting included.
    pub first_byte: Duration,
    /// Longest time of one attempt, redirects and body included.
    pub total: Duration,
    /// Most redirects followed.
    pub redirects: usize,
    /// When to try again.
    pub retry: Retry,
}

impl Caps {
    /// Small bodies may unpack to any ratio: a page of one repeated word is not an attack.
    pub const EXPANSION_FREE_BYTES: usize = 1024 * 1024;
}

/// How often and how long a failed GET or HEAD is tried again.
#[derive(Clone, Debug)]
pub struct Retry {
    /// Attempts in all; 1 means none is repeated.
    pub attempts: u32,
    /// No attempt begins later than this after the first one began.
    pub within: Duration,
    /// Wait before the second attempt; doubled before each further one, and shortened by up to a half at random.
    pub base: Duration,
    /// Longest single wait, also when the other side asks for a longer one.
    pub longest: Duration,
}

impl Retry {
    /// One attempt only.
    pub const NEVER: Self = Self {
        attempts: 1,
        within: Duration::ZERO,
        base: Duration::ZERO,
        longest: Duration::ZERO,
    };
}

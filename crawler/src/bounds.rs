//! The bounds of one take. The values are those of `domain::limits`; a struct, so that tests need not wait for them.

use std::time::Duration;

use toolmark_domain::limits;

/// What one take may cost.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// Longest wait for the first answer, from the start.
    pub probe: Duration,
    /// Longest wait for each later answer.
    pub answer: Duration,
    /// Longest time of one take.
    pub take: Duration,
    /// Time to end by itself once its input is closed, and again once it was asked to.
    pub end: Duration,
    /// After a server said that it may change its lists: how long we wait for that, and then before asking again.
    pub settle: Duration,
    pub message_bytes: usize,
    pub take_bytes: usize,
    pub messages: usize,
    pub items: usize,
    pub pages: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            probe: Duration::from_secs(limits::PROBE_SECS),
            answer: Duration::from_secs(limits::ANSWER_SECS),
            take: Duration::from_secs(limits::TAKE_SECS),
            end: Duration::from_millis(limits::END_MILLIS),
            settle: Duration::from_secs(1),
            message_bytes: limits::MCP_MESSAGE_BYTES,
            take_bytes: limits::TAKE_BYTES,
            messages: limits::TAKE_MESSAGES,
            items: limits::MANIFEST_ITEMS,
            pages: limits::LIST_PAGES,
        }
    }
}

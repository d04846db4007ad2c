//! When to try again, and how long to wait.

use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use http::{HeaderMap, StatusCode, header};

use crate::caps::Retry;

/// Time and chance, given from outside so that tests need not wait.
pub trait Pace: Send + Sync {
    /// The time of day, for a `Retry-After` that is a date.
    fn now(&self) -> SystemTime;
    /// Waits.
    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()>;
    /// A number from 0 up to, not including, 1.
    fn chance(&self) -> f64;
}

/// The real thing.
pub struct SystemPace;

impl Pace for SystemPace {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(time))
    }

    fn chance(&self) -> f64 {
        rand::random()
    }
}

/// Whether a later attempt may be answered otherwise.
pub(crate) fn is_transient(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 425 | 429 | 500 | 502 | 503 | 504)
}

/// `Retry-After` as seconds or as a date; a date in the past is no wait.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        // More digits than fit is a long time all the same.
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::from(u32::MAX))));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

/// The wait before attempt number `next` (the first retry is 2). What the other side asks for is honoured up to
/// [`Retry::longest`]; our own wait is never shorter than it would be without.
pub(crate) fn wait(retry: &Retry, next: u32, asked: Option<Duration>, chance: f64) -> Duration {
    let doublings = next.saturating_sub(2).min(16);
    let full = retry.base.saturating_mul(1 << doublings).min(retry.longest);
    let own = full.mul_f64(1.0 - chance.clamp(0.0, 1.0) / 2.0);
    asked.unwrap_or_default().min(retry.longest).max(own)
}

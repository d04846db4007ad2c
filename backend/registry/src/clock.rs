//! Where the time comes from. Rules and the store are given a time; only this port asks for one.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use toolmark_domain::timestamp::Timestamp;

/// Gives the time.
pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap_or_default();
        Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }
}

/// A clock that is moved by hand, for tests. It advances one microsecond at each look, so that two things never
/// happen at the same time.
#[derive(Clone)]
pub struct HandClock(Arc<AtomicI64>);

impl HandClock {
    /// A clock that stands at `start`.
    pub fn at(start: Timestamp) -> Self {
        Self(Arc::new(AtomicI64::new(start.as_micros())))
    }

    /// Moves it forward.
    pub fn advance_secs(&self, secs: i64) {
        self.0.fetch_add(secs * 1_000_000, Ordering::SeqCst);
    }
}

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.fetch_add(1, Ordering::SeqCst))
    }
}

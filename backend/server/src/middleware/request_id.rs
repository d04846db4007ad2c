//! An id for each request, in header, log and problem. A proxy's own id is kept when it is plain.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use http::HeaderMap;

/// Hands out ids: a random part of this process and a number.
pub(crate) struct RequestIds {
    process: u32,
    next: AtomicU64,
}

impl RequestIds {
    pub(crate) fn new() -> Self {
        // The standard library seeds its hash maps from the system; that tells two processes apart.
        let seed = RandomState::new().build_hasher().finish();
        Self {
            process: u32::try_from(seed >> 32).unwrap_or_default(),
            next: AtomicU64::new(1),
        }
    }

    /// The id the client or proxy gave, when it is 8 to 64 plain characters, else a new one.
    pub(crate) fn of(&self, headers: &HeaderMap) -> String {
        let given = headers.get("x-request-id").and_then(|value| value.to_str().ok());
        match given {
            Some(id) if is_plain(id) => id.to_owned(),
            _ => {
                let number = self.next.fetch_add(1, Ordering::Relaxed);
                format!("{:08x}-{number:x}", self.process)
            }
        }
    }
}

fn is_plain(id: &str) -> bool {
    (8..=64).contains(&id.len())
        && id
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_id_is_kept_and_any_other_replaced() {
        let ids = RequestIds::new();
        let of = |id: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("x-request-id", id.parse().unwrap());
            ids.of(&headers)
        };
        assert_eq!(of("abcd-1234"), "abcd-1234");
        assert_ne!(of("a b c d e f"), "a b c d e f");
        assert_ne!(of("short"), "short");
        assert_ne!(ids.of(&HeaderMap::new()), ids.of(&HeaderMap::new()));
    }
}

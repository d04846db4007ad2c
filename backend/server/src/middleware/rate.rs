//! Requests per client address, with the headers that tell a client how much is left.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::Request;
use governor::clock::{Clock, DefaultClock};
use governor::middleware::StateInformationMiddleware;
use governor::state::keyed::DefaultKeyedStateStore;
use governor::{Quota, RateLimiter};
use http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::problem::{Code, Problem};
use crate::settings::RateLimit;

/// Where the connection comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// Addresses not seen for long are forgotten once in this many requests, so that memory follows the traffic.
const SWEEP_EVERY: u64 = 50_000;

pub(crate) struct Limiter {
    addresses: RateLimiter<IpAddr, DefaultKeyedStateStore<IpAddr>, DefaultClock, StateInformationMiddleware>,
    clock: DefaultClock,
    rate: RateLimit,
    trusted: Vec<IpAddr>,
    seen: AtomicU64,
}

/// What the client has left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    limit: u32,
    remaining: u32,
    reset_secs: u64,
}

impl Limiter {
    pub(crate) fn new(rate: RateLimit, trusted_proxies: &[IpAddr]) -> Self {
        let per_minute = NonZeroU32::new(rate.per_minute).unwrap_or(NonZeroU32::MIN);
        let burst = NonZeroU32::new(rate.burst).unwrap_or(NonZeroU32::MIN);
        let quota = Quota::per_minute(per_minute).allow_burst(burst);
        Self {
            addresses: RateLimiter::keyed(quota).with_middleware(),
            clock: DefaultClock::default(),
            rate,
            trusted: trusted_proxies.iter().map(IpAddr::to_canonical).collect(),
            seen: AtomicU64::new(0),
        }
    }

    /// Spends one request. `None` when the request is not counted.
    pub(crate) fn spend(&self, request: &Request) -> Option<(Allowance, Option<Problem>)> {
        if request.uri().path().starts_with("/health") {
            return None;
        }
        let address = network(self.address(request)?);
        if self.seen.fetch_add(1, Ordering::Relaxed) % SWEEP_EVERY == SWEEP_EVERY - 1 {
            self.addresses.retain_recent();
            self.addresses.shrink_to_fit();
        }
        match self.addresses.check_key(&address) {
            Ok(state) => Some((self.allowance(state.remaining_burst_capacity()), None)),
            Err(not_until) => {
                let wait = not_until.wait_time_from(self.clock.now());
                Some((self.allowance(0), Some(too_many(whole_secs(wait).max(1)))))
            }
        }
    }

    /// The peer, or behind trusted proxies the last address of `X-Forwarded-For` that is not one of them.
    fn address(&self, request: &Request) -> Option<IpAddr> {
        let peer = request.extensions().get::<Peer>()?.0.ip().to_canonical();
        if !self.trusted.contains(&peer) {
            return Some(peer);
        }
        let forwarded = request.headers().get_all("x-forwarded-for");
        let lists: Vec<&str> = forwarded.iter().filter_map(|value| value.to_str().ok()).collect();
        let hops = lists.iter().rev().flat_map(|list| list.rsplit(','));
        for hop in hops {
            match hop.trim().parse::<IpAddr>().map(|hop| hop.to_canonical()) {
                Ok(hop) if self.trusted.contains(&hop) => {}
                Ok(hop) => return Some(hop),
                Err(_) => return Some(peer),
            }
        }
        Some(peer)
    }

    fn allowance(&self, remaining: u32) -> Allowance {
        let missing = u64::from(self.rate.burst.saturating_sub(remaining));
        Allowance {
            limit: self.rate.burst,
            remaining,
            // Until the whole burst is there again.
            reset_secs: (missing * 60).div_ceil(u64::from(self.rate.per_minute.max(1))),
        }
    }
}

impl Allowance {
    pub(crate) fn write(self, headers: &mut HeaderMap) {
        const LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
        const REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
        const RESET: HeaderName = HeaderName::from_static("ratelimit-reset");
        headers.insert(LIMIT, HeaderValue::from(self.limit));
        headers.insert(REMAINING, HeaderValue::from(self.remaining));
        headers.insert(RESET, HeaderValue::from(self.reset_secs));
    }
}

fn too_many(secs: u64) -> Problem {
    Problem::new(
        Code::RateLimited,
        format!("too many requests; try again in {secs} s"),
    )
    .hint("`RateLimit-Remaining` says how many requests are left")
    .header(header::RETRY_AFTER, HeaderValue::from(secs))
}

fn whole_secs(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

/// One household or machine has a whole /64 of IPv6 addresses.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    fn from(address: &str, forwarded: Option<&str>) -> Request {
        let mut request = Request::new(Body::empty());
        let peer = Peer(SocketAddr::new(address.parse().unwrap(), 1));
        request.extensions_mut().insert(peer);
        if let Some(forwarded) = forwarded {
            let value = forwarded.parse().unwrap();
            request.headers_mut().insert("x-forwarded-for", value);
        }
        request
    }

    #[test]
    fn the_limit_holds_at_its_edge_per_network() {
        let rate = RateLimit {
            per_minute: 1,
            burst: 2,
        };
        let limiter = Limiter::new(rate, &[]);
        let spend = |address: &str| limiter.spend(&from(address, None)).unwrap();
        let (left, refused) = spend("2001:db8::1");
        assert_eq!((left.remaining, refused.is_some()), (1, false));
        let (left, refused) = spend("2001:db8::2");
        assert_eq!((left.remaining, refused.is_some()), (0, false));
        let (left, refused) = spend("2001:db8::3");
        assert_eq!(
            (left.remaining, left.reset_secs, refused.is_some()),
            (0, 120, true)
        );
        assert!(spend("2001:db8:0:1::1").1.is_none());
        assert!(spend("::ffff:192.0.2.1").1.is_none());
    }

    #[test]
    fn a_forwarded_address_counts_only_from_a_trusted_proxy() {
        let rate = RateLimit {
            per_minute: 1,
            burst: 1,
        };
        let refused = |limiter: &Limiter, forwarded: &str| {
            let request = from("192.0.2.1", Some(forwarded));
            limiter.spend(&request).unwrap().1.is_some()
        };
        let plain = Limiter::new(rate, &[]);
        assert!(!refused(&plain, "198.51.100.1"));
        assert!(refused(&plain, "198.51.100.2"));
        let trusted: [IpAddr; 2] = ["192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap()];
        let proxied = Limiter::new(rate, &trusted);
        assert!(!refused(&proxied, "198.51.100.9, 198.51.100.1"));
        assert!(!refused(&proxied, "198.51.100.8, 198.51.100.2, 192.0.2.2"));
        assert!(refused(&proxied, "198.51.100.7, 198.51.100.2"));
    }
}

//! A rate limiter: a steady rate with bursts (the generic cell rate algorithm).
//!
//! It stores one instant per key: when all requests so far would have been sent at the steady rate.
//! A request must wait if that instant is further in the future than the burst allows.

use std::collections::HashMap;
use std::hash::RandomState;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sp_tree::Digest;

/// Maximum number of keys. Beyond it, keys without debt are dropped, or all keys.
const MAX_KEYS: usize = 65_536;

/// Requests per second, and the size of a burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestRate {
    per_second: u32,
    burst: u32,
}

impl Default for RequestRate {
    fn default() -> Self {
        Self { per_second: 100, burst: 400 }
    }
}

impl FromStr for RequestRate {
    type Err = String;

    /// Parses `100` or `100:400`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (per_second, burst) =
            text.split_once(':').map_or((text, None), |(rate, burst)| (rate, Some(burst)));
        let number =
            |text: &str| text.parse::<u32>().ok().filter(|number| (1..=1_000_000).contains(number));
        let read = || {
            let per_second = number(per_second)?;
            Some(Self {
                per_second,
                burst: burst.map_or(Some(per_second.saturating_mul(4)), number)?,
            })
        };
        read().ok_or_else(|| {
            "expected `<requests per second>` or `<requests per second>:<burst>`, such as `100:400`"
                .into()
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum RateLimitKey {
    Address(IpAddr),
    Token(Digest),
}

impl RateLimitKey {
    /// An IPv6 client usually has a whole /64 network, so only the network counts.
    pub(super) fn from_address(address: IpAddr) -> Self {
        const NETWORK: u128 = !0 << 64;
        match address {
            IpAddr::V6(address) => {
                Self::Address(IpAddr::V6((u128::from(address) & NETWORK).into()))
            }
            address => Self::Address(address),
        }
    }
}

pub(crate) struct RateLimiter {
    interval: Duration,
    burst_allowance: Duration,
    /// Randomly seeded, so that clients cannot choose keys that collide.
    next_free: Mutex<HashMap<RateLimitKey, Instant, RandomState>>,
}

impl RateLimiter {
    pub(crate) fn new(rate: RequestRate) -> Self {
        let interval = Duration::from_secs(1) / rate.per_second;
        Self { interval, burst_allowance: interval * (rate.burst - 1), next_free: Mutex::default() }
    }

    /// Returns how long the client must wait, or `None` if the request is allowed.
    pub(super) fn retry_after(&self, key: RateLimitKey, now: Instant) -> Option<Duration> {
        let mut known = self.next_free.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_KEYS && !known.contains_key(&key) {
            known.retain(|_, done_at| *done_at > now);
            if known.len() >= MAX_KEYS {
                known.clear();
            }
        }
        let done_at = known.entry(key).or_insert(now);
        let begin = (*done_at).max(now);
        let wait = begin
            .duration_since(now)
            .checked_sub(self.burst_allowance)
            .filter(|wait| !wait.is_zero());
        if wait.is_none() {
            *done_at = begin + self.interval;
        }
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allows_a_burst_and_then_a_steady_rate() {
        let limiter = RateLimiter::new("10:5".parse().unwrap());
        let (start, key) =
            (Instant::now(), RateLimitKey::from_address("127.0.0.1".parse().unwrap()));
        let is_allowed =
            |millis: u64| limiter.retry_after(key, start + Duration::from_millis(millis)).is_none();
        assert_eq!((0..20).filter(|_| is_allowed(0)).count(), 5);
        assert!(is_allowed(100) && !is_allowed(100));
        assert_eq!((0..20).filter(|_| is_allowed(10_000)).count(), 5);
        assert!(
            limiter
                .retry_after(RateLimitKey::from_address("127.0.0.2".parse().unwrap()), start)
                .is_none()
        );
    }

    #[test]
    fn number_of_keys_is_bounded() {
        let limiter = RateLimiter::new(RequestRate::default());
        let now = Instant::now();
        for number in 0..200_000_u128 {
            limiter.retry_after(RateLimitKey::from_address(IpAddr::V6((number << 64).into())), now);
        }
        assert!(limiter.next_free.lock().unwrap().len() <= MAX_KEYS);
    }

    #[test]
    fn parses_rate_and_burst() {
        assert_eq!("7".parse(), Ok(RequestRate { per_second: 7, burst: 28 }));
        assert_eq!("7:9".parse(), Ok(RequestRate { per_second: 7, burst: 9 }));
        for invalid in ["", "0", "7:0", "x", "7:9:1", "-1", "99999999"] {
            assert!(invalid.parse::<RequestRate>().is_err(), "{invalid}");
        }
    }
}

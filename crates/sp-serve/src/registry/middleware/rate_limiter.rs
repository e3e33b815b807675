//! A rate limiter: a steady rate with bursts (the generic cell rate algorithm).
//!
//! It stores one instant per key: when all requests so far would have been sent at the steady rate.
//! A request must wait if that instant is further in the future than the burst allows. As many
//! requests as the burst has may wait for their turn; only more than that are refused.

use std::collections::HashMap;
use std::hash::RandomState;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sp_tree::Digest;

use crate::address_range::client_network;

/// Maximum number of keys. Beyond it, keys without debt are dropped, or all keys.
const MAX_KEYS: usize = 65_536;
/// Maximum time that a request waits for its turn.
const MAX_DELAY: Duration = Duration::from_secs(10);

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
    pub(super) fn from_address(address: IpAddr) -> Self {
        Self::Address(client_network(address))
    }
}

/// How much a request counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestWeight {
    Full,
    /// A tenth. For files of an index, of which a client fetches many.
    Light,
}

/// Whether a request may be handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RateDecision {
    /// After this time.
    After(Duration),
    /// Too many are waiting already; the client may try again after this time.
    Refused(Duration),
}

pub(crate) struct RateLimiter {
    interval: Duration,
    burst_allowance: Duration,
    /// How long a request may wait for its turn.
    max_delay: Duration,
    /// Randomly seeded, so that clients cannot choose keys that collide.
    next_free: Mutex<HashMap<RateLimitKey, Instant, RandomState>>,
}

impl RateLimiter {
    pub(crate) fn new(rate: RequestRate) -> Self {
        let interval = Duration::from_secs(1) / rate.per_second;
        Self {
            interval,
            burst_allowance: interval * (rate.burst - 1),
            max_delay: (interval * rate.burst).min(MAX_DELAY),
            next_free: Mutex::default(),
        }
    }

    /// Decides about a request, and counts it unless it is refused.
    pub(super) fn decide(
        &self,
        key: RateLimitKey,
        weight: RequestWeight,
        now: Instant,
    ) -> RateDecision {
        let mut known = self.next_free.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_KEYS && !known.contains_key(&key) {
            known.retain(|_, done_at| *done_at > now);
            if known.len() >= MAX_KEYS {
                known.clear();
            }
        }
        let done_at = known.entry(key).or_insert(now);
        let begin = (*done_at).max(now);
        let delay = begin.duration_since(now).saturating_sub(self.burst_allowance);
        if delay > self.max_delay {
            return RateDecision::Refused(delay - self.max_delay);
        }
        *done_at = begin
            + match weight {
                RequestWeight::Full => self.interval,
                RequestWeight::Light => self.interval / 10,
            };
        RateDecision::After(delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(address: &str) -> RateLimitKey {
        RateLimitKey::from_address(address.parse().unwrap())
    }

    #[test]
    fn rg_106_burst_is_immediate_and_as_many_requests_again_are_delayed() {
        let limiter = RateLimiter::new("10:5".parse().unwrap());
        let start = Instant::now();
        let decide = |millis: u64| {
            let now = start + Duration::from_millis(millis);
            limiter.decide(key("127.0.0.1"), RequestWeight::Full, now)
        };
        let delays: Vec<RateDecision> = (0..12).map(|_| decide(0)).collect();
        let expected: Vec<RateDecision> = [0, 0, 0, 0, 0, 100, 200, 300, 400, 500]
            .map(|millis| RateDecision::After(Duration::from_millis(millis)))
            .into_iter()
            .chain([RateDecision::Refused(Duration::from_millis(100)); 2])
            .collect();
        assert_eq!(delays, expected);
        assert_eq!(decide(10_000), RateDecision::After(Duration::ZERO));
        let other = limiter.decide(key("127.0.0.2"), RequestWeight::Full, start);
        assert_eq!(other, RateDecision::After(Duration::ZERO));
    }

    #[test]
    fn rg_106_default_rate_never_refuses_a_large_index() {
        let limiter = RateLimiter::new(RequestRate::default());
        let now = Instant::now();
        for _ in 0..5_000 {
            let decision = limiter.decide(key("127.0.0.1"), RequestWeight::Light, now);
            assert!(matches!(decision, RateDecision::After(_)), "{decision:?}");
        }
    }

    #[test]
    fn number_of_keys_is_bounded() {
        let limiter = RateLimiter::new(RequestRate::default());
        let now = Instant::now();
        for number in 0..200_000_u128 {
            let key = RateLimitKey::from_address(IpAddr::V6((number << 64).into()));
            limiter.decide(key, RequestWeight::Full, now);
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

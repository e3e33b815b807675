//! How slowly a client may send a request body or read a response.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// Maximum time without a single byte.
const STALL_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a transfer may be slower than [`MIN_BYTES_PER_SECOND`].
const SLOW_START: Duration = Duration::from_secs(20);
const MIN_BYTES_PER_SECOND: u64 = 8 * 1024;

/// Limits on the time that a server waits for a client.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TransferLimits {
    stall: Duration,
    slow_start: Duration,
}

impl TransferLimits {
    /// Returns the usual limits, but none that is longer than the timeout of a request.
    pub(crate) fn for_timeout(timeout: Duration) -> Self {
        Self { stall: STALL_TIMEOUT.min(timeout), slow_start: SLOW_START.min(timeout) }
    }
}

/// Measures how long one side waits for the other. Only waiting counts, so a slow server never
/// makes a client look slow.
pub(crate) struct TransferClock {
    limits: TransferLimits,
    bytes: u64,
    waited: Duration,
    waiting_since: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl TransferClock {
    pub(crate) fn new(limits: TransferLimits) -> Self {
        Self { limits, bytes: 0, waited: Duration::ZERO, waiting_since: None, timer: None }
    }

    /// Records that bytes were transferred.
    pub(crate) fn advance(&mut self, bytes: usize) {
        if let Some(since) = self.waiting_since.take() {
            self.waited += since.elapsed();
        }
        self.bytes = self.bytes.saturating_add(bytes as u64);
    }

    /// Completes once the client is too slow. Called while nothing can be transferred.
    pub(crate) fn poll_expired(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.waiting_since.is_none() {
            let now = Instant::now();
            self.waiting_since = Some(now);
            let deadline = now + self.remaining();
            match &mut self.timer {
                Some(timer) => timer.as_mut().reset(deadline),
                None => self.timer = Some(Box::pin(tokio::time::sleep_until(deadline))),
            }
        }
        self.timer.as_mut().map_or(Poll::Pending, |timer| timer.as_mut().poll(cx))
    }

    /// How long the next wait may be.
    fn remaining(&self) -> Duration {
        let earned = Duration::from_millis(self.bytes.saturating_mul(1000) / MIN_BYTES_PER_SECOND);
        let allowed = self.limits.slow_start + earned;
        self.limits.stall.min(allowed.saturating_sub(self.waited))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rg_101_allowed_wait_depends_on_the_bytes_so_far() {
        let limits = TransferLimits::for_timeout(Duration::from_secs(60));
        let mut clock = TransferClock::new(limits);
        assert_eq!(clock.remaining(), STALL_TIMEOUT);
        clock.waited = SLOW_START - Duration::from_secs(1);
        assert_eq!(clock.remaining(), Duration::from_secs(1));
        clock.waited = SLOW_START + Duration::from_secs(2);
        assert_eq!(clock.remaining(), Duration::ZERO);
        clock.advance(3 * 8 * 1024);
        assert_eq!(clock.remaining(), Duration::from_secs(1));
        let short = TransferClock::new(TransferLimits::for_timeout(Duration::from_secs(1)));
        assert_eq!(short.remaining(), Duration::from_secs(1));
    }
}

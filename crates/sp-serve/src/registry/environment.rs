//! What the registry takes from the operating system: the time and random bytes.
//!
//! The caller provides both: the registry does not read the wall clock itself.

use jiff::Timestamp;
use sp_formats::time::format_seconds;

const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// The clock and the source of randomness of a registry.
#[derive(Clone, Copy)]
pub struct RegistryEnvironment {
    /// Returns the wall-clock time in nanoseconds since the Unix epoch.
    pub wall_clock: fn() -> i64,
    /// Fills a buffer with cryptographically secure random bytes.
    pub random: fn(&mut [u8]) -> std::io::Result<()>,
}

impl RegistryEnvironment {
    /// The wall-clock time in nanoseconds since the Unix epoch.
    pub(crate) fn now_nanos(&self) -> i64 {
        (self.wall_clock)()
    }

    pub(crate) fn unix_seconds(&self) -> u64 {
        u64::try_from(self.now_nanos() / NANOS_PER_SECOND).unwrap_or(0)
    }

    /// The current time in RFC 3339, as it is stored in records.
    pub(crate) fn timestamp(&self) -> String {
        let now = Timestamp::from_nanosecond(self.now_nanos().into()).unwrap_or_default();
        format_seconds(now)
    }

    /// The time in RFC 3339 after some seconds.
    pub(crate) fn timestamp_in(&self, seconds: u64) -> String {
        let nanos = i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(NANOS_PER_SECOND);
        let then = self.now_nanos().saturating_add(nanos);
        format_seconds(Timestamp::from_nanosecond(then.into()).unwrap_or_default())
    }

    /// The time in RFC 3339 an hour ago.
    pub(crate) fn timestamp_an_hour_ago(&self) -> String {
        let then = self.now_nanos().saturating_sub(3600 * NANOS_PER_SECOND);
        format_seconds(Timestamp::from_nanosecond(then.into()).unwrap_or_default())
    }

    /// Fills `bytes` with random bytes.
    pub(crate) fn fill_random(&self, bytes: &mut [u8]) -> std::io::Result<()> {
        (self.random)(bytes)
    }
}

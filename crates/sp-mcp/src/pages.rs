//! How much comes at once, and how long it may be kept.

/// So many items a page has at the most.
pub(crate) const PAGE: usize = 100;
/// What is listed or read may be kept so long: files change under our hands.
pub(crate) const TTL_MS: u64 = 2_000;
/// What cannot change while the server runs may be kept so long.
pub(crate) const LONG_TTL_MS: u64 = 3_600_000;

//! A cache of values computed from bytes, by the digest of the bytes. Entries never become stale.

use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use sp_tree::{Digest, LoadedTree};

/// The maximum size of cached unpacked skills.
const MAX_UNPACKED_BYTES: u64 = 64 * 1024 * 1024;
/// The size of an entry besides its value. It also limits the number of empty values.
const ENTRY_BYTES: u64 = 128;
/// The cache has a single shard for an estimate this low, so a value may take almost all of it.
const ESTIMATED_ENTRIES: usize = 32;

/// A cache with a maximum size. Entries that are used often stay longer; a value that is larger
/// than the cache is not kept.
///
/// ```
/// use sp_engine::DigestCache;
/// use sp_tree::Digest;
///
/// let lengths: DigestCache<usize> = DigestCache::new(1024, |_| 8);
/// let text = "the text of a skill";
/// let digest = Digest::of(text.as_bytes());
/// assert_eq!(lengths.get(&digest), None);
/// assert_eq!(lengths.get_or_try_insert(&digest, || Ok::<_, ()>(text.len())), Ok(19));
/// assert_eq!(lengths.get(&digest), Some(19));
/// ```
pub struct DigestCache<V> {
    entries: Cache<Digest, V, ValueWeighter<V>>,
}

/// Returns the approximate size of a value in bytes.
struct ValueWeighter<V>(fn(&V) -> u64);

impl<V> Clone for ValueWeighter<V> {
    fn clone(&self) -> Self {
        Self(self.0)
    }
}

impl<V> Weighter<Digest, V> for ValueWeighter<V> {
    fn weight(&self, _digest: &Digest, value: &V) -> u64 {
        (self.0)(value).saturating_add(ENTRY_BYTES)
    }
}

impl<V: Clone> DigestCache<V> {
    /// Creates a cache of at most `max_bytes`. `value_bytes` returns the approximate size of a
    /// value, which must not change.
    pub fn new(max_bytes: u64, value_bytes: fn(&V) -> u64) -> Self {
        let weighter = ValueWeighter(value_bytes);
        Self { entries: Cache::with_weighter(ESTIMATED_ENTRIES, max_bytes, weighter) }
    }

    pub fn get(&self, digest: &Digest) -> Option<V> {
        self.entries.get(digest)
    }

    pub fn insert(&self, digest: Digest, value: V) {
        self.entries.insert(digest, value);
    }

    /// Returns the value for a digest, computing it with `make` if it is missing. Other threads
    /// that need the same value wait for it; the cache is not locked meanwhile.
    pub fn get_or_try_insert<E>(
        &self,
        digest: &Digest,
        make: impl FnOnce() -> Result<V, E>,
    ) -> Result<V, E> {
        self.entries.get_or_insert_with(digest, make)
    }
}

/// The skills of a package, each with its path.
pub type UnpackedSkills = Arc<[(String, LoadedTree)]>;

/// A cache of unpacked skills, by the digest of the package.
pub type UnpackedSkillsCache = DigestCache<UnpackedSkills>;

impl Default for UnpackedSkillsCache {
    fn default() -> Self {
        Self::new(MAX_UNPACKED_BYTES, |skills| {
            skills.iter().map(|(_, content)| content.total_bytes()).sum()
        })
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Looks up a text that is inserted if missing, and returns whether it was missing.
    fn get(cache: &DigestCache<Arc<str>>, text: &str) -> bool {
        let mut was_created = false;
        let value = cache.get_or_try_insert(&Digest::of(text.as_bytes()), || {
            was_created = true;
            Ok::<_, Infallible>(text.into())
        });
        assert_eq!(&*value.unwrap(), text);
        was_created
    }

    fn text_cache(max_bytes: u64) -> DigestCache<Arc<str>> {
        DigestCache::new(max_bytes, |text| text.len() as u64)
    }

    #[test]
    fn size_is_limited() {
        let cache = text_cache(10_000);
        for number in 0..1_000 {
            assert!(get(&cache, &format!("{number:>100}")));
            assert!(cache.entries.weight() <= 10_000);
        }
        // 228 bytes per entry.
        let kept = (0..1_000).filter(|number| !get(&cache, &format!("{number:>100}"))).count();
        assert!((20..=43).contains(&kept), "{kept}");
    }

    #[test]
    fn empty_values_count() {
        let cache: DigestCache<()> = DigestCache::new(10_000, |()| 0);
        for number in 0..1_000_u32 {
            cache.insert(Digest::of(&number.to_le_bytes()), ());
        }
        assert!(cache.entries.len() <= 10_000 / 128);
    }

    #[test]
    fn value_larger_than_the_cache_is_not_kept() {
        let cache = text_cache(1_000);
        assert!(get(&cache, "small") && !get(&cache, "small"));
        let large = "x".repeat(2_000);
        assert!(get(&cache, &large) && get(&cache, &large));
        assert!(!get(&cache, "small"));
    }

    #[test]
    fn failures_are_not_kept() {
        let cache = text_cache(1_000);
        let digest = Digest::of(b"text");
        assert_eq!(cache.get_or_try_insert(&digest, || Err("no")), Err("no"));
        assert_eq!(
            cache.get_or_try_insert(&digest, || Ok::<_, &str>("yes".into())),
            Ok("yes".into())
        );
    }

    #[test]
    fn concurrent_callers_compute_a_value_once() {
        let (cache, made) = (text_cache(1_000), AtomicUsize::new(0));
        let start = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    start.wait();
                    let value = cache.get_or_try_insert(&Digest::of(b"text"), || {
                        made.fetch_add(1, Ordering::Relaxed);
                        Ok::<_, Infallible>("text".into())
                    });
                    assert_eq!(&*value.unwrap(), "text");
                });
            }
        });
        assert_eq!(made.into_inner(), 1);
    }
}

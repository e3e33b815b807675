//! A cache of values computed from bytes, by the digest of the bytes. Entries never become stale.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use sp_tree::{Digest, LoadedTree};

/// The maximum size of cached unpacked skills.
const MAX_UNPACKED_BYTES: u64 = 64 * 1024 * 1024;

/// A value that can be cached.
pub trait CacheWeight {
    /// Returns the approximate size in bytes.
    fn weight(&self) -> u64;
}

/// A cache with a maximum size. The oldest entries are evicted first.
pub struct DigestCache<T: ?Sized> {
    max_bytes: u64,
    state: Mutex<DigestCacheState<T>>,
}

struct DigestCacheState<T: ?Sized> {
    entries: HashMap<Digest, Arc<T>>,
    order: VecDeque<Digest>,
    weight: u64,
}

impl<T: CacheWeight + ?Sized> DigestCache<T> {
    pub fn new(max_bytes: u64) -> Self {
        Self {
            max_bytes,
            state: Mutex::new(DigestCacheState {
                entries: HashMap::new(),
                order: VecDeque::new(),
                weight: 0,
            }),
        }
    }

    /// Returns the value for a digest, computing it with `make` if it is missing. The cache is not
    /// locked during the computation.
    pub fn get_or_try_insert<E>(
        &self,
        digest: &Digest,
        make: impl FnOnce() -> Result<Arc<T>, E>,
    ) -> Result<Arc<T>, E> {
        let known =
            self.state.lock().unwrap_or_else(PoisonError::into_inner).entries.get(digest).cloned();
        if let Some(made) = known {
            return Ok(made);
        }
        let made = make()?;
        self.state.lock().unwrap_or_else(PoisonError::into_inner).insert(
            *digest,
            &made,
            self.max_bytes,
        );
        Ok(made)
    }
}

impl<T: CacheWeight + ?Sized> DigestCacheState<T> {
    fn insert(&mut self, digest: Digest, made: &Arc<T>, max_bytes: u64) {
        // Another thread may have computed it at the same time.
        if self.entries.insert(digest, Arc::clone(made)).is_some() {
            return;
        }
        self.order.push_back(digest);
        self.weight += made.weight();
        while self.weight > max_bytes
            && let Some(oldest) =
                self.order.pop_front().and_then(|digest| self.entries.remove(&digest))
        {
            self.weight -= oldest.weight();
        }
    }
}

/// The skills of a package, each with its path.
pub type UnpackedSkills = Arc<[(String, LoadedTree)]>;

/// A cache of unpacked skills, by the digest of the package.
pub type UnpackedSkillsCache = DigestCache<[(String, LoadedTree)]>;

impl CacheWeight for [(String, LoadedTree)] {
    fn weight(&self) -> u64 {
        self.iter().map(|(_, content)| content.total_bytes()).sum()
    }
}

impl Default for UnpackedSkillsCache {
    fn default() -> Self {
        Self::new(MAX_UNPACKED_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    impl CacheWeight for str {
        fn weight(&self) -> u64 {
            self.len() as u64
        }
    }

    /// Looks up a value that is inserted if missing, and returns whether it was missing.
    fn get(cache: &DigestCache<str>, text: &str) -> bool {
        let mut was_created = false;
        let value = cache.get_or_try_insert(&Digest::of(text.as_bytes()), || {
            was_created = true;
            Ok::<_, Infallible>(text.into())
        });
        assert_eq!(&*value.unwrap(), text);
        was_created
    }

    #[test]
    fn oldest_entries_are_evicted_first() {
        let cache = DigestCache::new(10);
        assert!(get(&cache, "four") && get(&cache, "five5") && !get(&cache, "four"));
        assert!(get(&cache, "two") && !get(&cache, "five5") && get(&cache, "four"));
        // A value larger than the cache is not cached.
        assert!(get(&cache, "more than ten") && get(&cache, "more than ten") && get(&cache, "two"));
    }
}

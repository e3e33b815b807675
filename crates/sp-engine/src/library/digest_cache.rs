//! What was made of bytes, kept by their digest as long as there is room. Bytes never change, so neither does it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use sp_tree::{Digest, LoadedTree};

/// So many bytes of unpacked skills are kept.
const MAX_UNPACKED_BYTES: u64 = 64 * 1024 * 1024;

/// What can be kept.
pub trait CacheWeight {
    /// How many bytes it takes, more or less.
    fn weight(&self) -> u64;
}

/// What was made lately. What came first goes first.
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
    /// Room for so many bytes.
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

    /// What is made of the bytes with this digest; it is made if it is not here. Whoever wants something else
    /// meanwhile does not wait for it.
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
    fn insert(&mut self, digest: Digest, made: &Arc<T>, most: u64) {
        // Somebody else may have made it at the same time.
        if self.entries.insert(digest, Arc::clone(made)).is_some() {
            return;
        }
        self.order.push_back(digest);
        self.weight += made.weight();
        while self.weight > most
            && let Some(oldest) =
                self.order.pop_front().and_then(|digest| self.entries.remove(&digest))
        {
            self.weight -= oldest.weight();
        }
    }
}

/// The skills of a package, by the path of each in it.
pub type UnpackedSkills = Arc<[(String, LoadedTree)]>;

/// The skills of packages that were wanted lately, unpacked.
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

    fn get(kept: &DigestCache<str>, text: &str) -> bool {
        let mut was_made = false;
        let made = kept.get_or_try_insert(&Digest::of(text.as_bytes()), || {
            was_made = true;
            Ok::<_, Infallible>(text.into())
        });
        assert_eq!(&*made.unwrap(), text);
        was_made
    }

    #[test]
    fn what_came_first_goes_first_when_there_is_no_room() {
        let kept = DigestCache::new(10);
        assert!(get(&kept, "four") && get(&kept, "five5") && !get(&kept, "four"));
        assert!(get(&kept, "two") && !get(&kept, "five5") && get(&kept, "four"));
        // What is larger than all of the room is made, and not kept.
        assert!(get(&kept, "more than ten") && get(&kept, "more than ten") && get(&kept, "two"));
    }
}

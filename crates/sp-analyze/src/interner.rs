//! Hash tables for hundreds of thousands of strings.
//!
//! The hash is seeded per process, so an input cannot be crafted to make all keys collide.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// A map with a fast hash.
pub(crate) type FastMap<K, V> = std::collections::HashMap<K, V, RandomState>;

/// A hash table of numbers. The caller supplies the hash and decides equality.
///
/// The hashes are kept, so growing hashes nothing again.
pub(crate) struct HashIndex {
    table: HashTable<(HashBits, u32)>,
}

/// Half of a hash: enough to tell a million keys apart, in half the memory.
type HashBits = u32;

impl HashIndex {
    pub(crate) fn with_capacity(room: usize) -> Self {
        Self { table: HashTable::with_capacity(room) }
    }

    /// Finds the number with this hash for which `is` returns true.
    pub(crate) fn find(&self, hash: HashBits, mut is: impl FnMut(u32) -> bool) -> Option<u32> {
        let found = self.table.find(widen(hash), |(known, number)| *known == hash && is(*number));
        found.map(|(_, number)| *number)
    }

    /// Inserts a number, which must not be present.
    pub(crate) fn insert(&mut self, hash: HashBits, number: u32) {
        self.table.insert_unique(widen(hash), (hash, number), |(hash, _)| widen(*hash));
    }
}

/// Fills the upper bits, from which the table makes its tags; the lower bits select the slot.
fn widen(hash: HashBits) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

/// Hashes a value for a [`HashIndex`].
pub(crate) fn hash_of(hasher: &RandomState, value: impl std::hash::Hash) -> HashBits {
    let hash = hasher.hash_one(value);
    (hash ^ hash >> 32) as u32
}

/// Assigns consecutive numbers to strings, stored in one buffer.
pub(crate) struct StringInterner {
    hasher: RandomState,
    table: HashIndex,
    joined: Vec<u8>,
    ends: Vec<usize>,
}

impl StringInterner {
    pub(crate) fn with_capacity(room: usize) -> Self {
        Self {
            hasher: RandomState::default(),
            table: HashIndex::with_capacity(room),
            joined: Vec::with_capacity(room * 16),
            ends: Vec::with_capacity(room),
        }
    }

    fn has_text(&self, number: u32, text: &str) -> bool {
        let number = number as usize;
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        self.joined[start..self.ends[number]] == *text.as_bytes()
    }

    /// Returns the number of a string, if it has one.
    pub(crate) fn find(&self, text: &str) -> Option<u32> {
        self.table.find(hash_of(&self.hasher, text), |number| self.has_text(number, text))
    }

    /// Returns the number of a string, assigning one if necessary, and whether it is new.
    pub(crate) fn intern(&mut self, text: &str) -> (u32, bool) {
        let hash = hash_of(&self.hasher, text);
        if let Some(number) = self.table.find(hash, |number| self.has_text(number, text)) {
            return (number, false);
        }
        let number = self.ends.len() as u32;
        self.joined.extend_from_slice(text.as_bytes());
        self.ends.push(self.joined.len());
        self.table.insert(hash, number);
        (number, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interner_finds_strings_after_growing() {
        let mut interner = StringInterner::with_capacity(0);
        for is_new in [true, false] {
            for number in 0..5000u32 {
                assert_eq!(interner.intern(&format!("text {number}")), (number, is_new));
            }
        }
        assert_eq!(interner.intern(""), (5000, true));
        assert_eq!(interner.find(""), Some(5000));
        assert_eq!(interner.find("text 4999"), Some(4999));
        assert_eq!(interner.find("text 5000"), None);
    }

    #[test]
    fn equal_hashes_are_distinguished() {
        let mut table = HashIndex::with_capacity(2);
        (0..100).for_each(|number| table.insert(7, number));
        assert_eq!(table.find(7, |number| number == 99), Some(99));
        assert_eq!(table.find(7, |_| false), None);
        assert_eq!(table.find(8, |_| true), None);
    }
}

//! Hash tables for hundreds of thousands of strings.
//!
//! The hash is seeded per process, so an input cannot be crafted to make all keys collide.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;

/// A map with a fast hash.
pub(crate) type FastMap<K, V> = std::collections::HashMap<K, V, RandomState>;

/// A hash table of numbers. The caller supplies the hash and decides equality.
pub(crate) struct HashIndex {
    /// A hash and the number plus one; zero marks an empty slot.
    slots: Vec<(u32, u32)>,
    used: usize,
}

impl HashIndex {
    pub(crate) fn with_capacity(room: usize) -> Self {
        Self { slots: vec![(0, 0); (room * 2).next_power_of_two().max(16)], used: 0 }
    }

    /// Finds the number with this hash for which `is` returns true.
    pub(crate) fn find(&self, hash: u32, mut is: impl FnMut(u32) -> bool) -> Option<u32> {
        let mut slot = hash as usize & (self.slots.len() - 1);
        loop {
            match self.slots[slot] {
                (_, 0) => return None,
                (known, number) if known == hash && is(number - 1) => return Some(number - 1),
                _ => slot = (slot + 1) & (self.slots.len() - 1),
            }
        }
    }

    /// Inserts a number, which must not be present.
    pub(crate) fn insert(&mut self, hash: u32, number: u32) {
        if (self.used + 1) * 2 > self.slots.len() {
            let room = self.slots.len();
            let old = std::mem::replace(self, Self::with_capacity(room));
            old.slots
                .into_iter()
                .filter(|(_, number)| *number > 0)
                .for_each(|(hash, number)| self.fill_slot(hash, number));
        }
        self.fill_slot(hash, number + 1);
    }

    fn fill_slot(&mut self, hash: u32, number: u32) {
        let mut slot = hash as usize & (self.slots.len() - 1);
        while self.slots[slot].1 > 0 {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        self.slots[slot] = (hash, number);
        self.used += 1;
    }
}

/// Hashes a value for a [`HashIndex`].
pub(crate) fn hash_of(hasher: &RandomState, value: impl std::hash::Hash) -> u32 {
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

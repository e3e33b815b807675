//! The vocabulary of `o200k_base`, compiled in, and byte pair encoding with it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::layout::{EMPTY_SLOT, SLOT_COUNT, TOKEN_COUNT, first_slot, rank, tag};

static TOKEN_BYTES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/token_bytes"));
static TOKEN_STARTS: &[u8; 4 * (TOKEN_COUNT + 1)] =
    include_bytes!(concat!(env!("OUT_DIR"), "/token_starts"));
static SLOTS: &[u8; 4 * SLOT_COUNT] = include_bytes!(concat!(env!("OUT_DIR"), "/slots"));

/// Returns the number of tokens in a word.
pub(super) fn count_word(word: &[u8]) -> usize {
    if word.len() < 2 || find_rank(word).is_some() {
        return word.len().min(1);
    }
    let mut merger = Merger::new(word);
    while merger.merge_next() {}
    merger.parts
}

/// Returns the rank of a token.
fn find_rank(token: &[u8]) -> Option<u32> {
    let tag = tag(token);
    let mut at = first_slot(token);
    loop {
        let slot = read_u32(SLOTS, at);
        if slot == EMPTY_SLOT {
            return None;
        }
        if slot ^ rank(slot) == tag && token_bytes(rank(slot)) == token {
            return Some(rank(slot));
        }
        at = (at + 1) % SLOT_COUNT;
    }
}

fn token_bytes(rank: u32) -> &'static [u8] {
    let start = |at: usize| read_u32(TOKEN_STARTS, at) as usize;
    &TOKEN_BYTES[start(rank as usize)..start(rank as usize + 1)]
}

fn read_u32(numbers: &[u8], at: usize) -> u32 {
    let bytes = &numbers[4 * at..4 * at + 4];
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

/// Two neighboring parts that are a token together. The lowest rank is merged first, then the
/// leftmost.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    rank: u32,
    start: usize,
    end: usize,
}

/// Merges the parts of a word, which are its bytes at first.
struct Merger<'a> {
    word: &'a [u8],
    /// The end of the part that starts at an offset, or 0 if none starts there.
    ends: Vec<usize>,
    /// The start of the part that ends behind an offset, if one does.
    starts: Vec<usize>,
    pairs: BinaryHeap<Reverse<Pair>>,
    /// Number of parts.
    parts: usize,
}

impl<'a> Merger<'a> {
    fn new(word: &'a [u8]) -> Self {
        let mut merger = Merger {
            word,
            ends: (1..=word.len()).collect(),
            starts: (0..word.len()).collect(),
            pairs: BinaryHeap::with_capacity(word.len()),
            parts: word.len(),
        };
        for start in 0..word.len() - 1 {
            merger.add_pair(start, start + 2);
        }
        merger
    }

    fn add_pair(&mut self, start: usize, end: usize) {
        if let Some(rank) = find_rank(&self.word[start..end]) {
            self.pairs.push(Reverse(Pair { rank, start, end }));
        }
    }

    /// Merges the next pair. Returns whether there was one.
    fn merge_next(&mut self) -> bool {
        let Some(Reverse(Pair { start, end, .. })) = self.pairs.pop() else { return false };
        let middle = self.ends[start];
        // One of its parts may have been merged with another one.
        if middle == 0 || middle >= end || self.ends[middle] != end {
            return true;
        }
        self.ends[start] = end;
        self.ends[middle] = 0;
        self.starts[end - 1] = start;
        self.parts -= 1;
        if start > 0 {
            self.add_pair(self.starts[start - 1], end);
        }
        if end < self.word.len() {
            self.add_pair(start, self.ends[end]);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_is_found() {
        for token in 0..u32::try_from(TOKEN_COUNT).unwrap() {
            assert_eq!(find_rank(token_bytes(token)), Some(token));
        }
        assert_eq!(find_rank(b"no token has this text"), None);
        assert_eq!(find_rank(b""), None);
    }

    #[test]
    fn single_bytes_are_tokens() {
        for byte in 0..=u8::MAX {
            assert!(find_rank(&[byte]).is_some());
        }
    }
}

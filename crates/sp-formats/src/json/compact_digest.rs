//! The digest of a JSON value without insignificant white space, computed while it is parsed.

use std::ops::Range;

use sp_tree::{Digest, Hasher};

/// Digest and length of a value's text with the white space outside of strings removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactDigest {
    pub digest: Digest,
    /// The number of bytes that were hashed.
    pub size: u64,
}

/// Hashes a value while the parser moves over it.
pub(super) struct CompactHasher {
    hasher: Hasher,
    buffer: Vec<u8>,
    size: u64,
    /// Where the bytes start that have not been hashed yet.
    pending_start: usize,
}

impl CompactHasher {
    /// Short runs are buffered, because hashing each one separately is slow.
    const BUFFER_BYTES: usize = 16 * 1024;

    /// Starts hashing at the byte `start` of the text.
    pub(super) fn new(start: usize) -> Self {
        Self { hasher: Hasher::default(), buffer: Vec::new(), size: 0, pending_start: start }
    }

    /// Leaves `whitespace` out of the digest. `text` is the whole document.
    pub(super) fn skip(&mut self, text: &[u8], whitespace: Range<usize>) {
        self.update(&text[self.pending_start..whitespace.start]);
        self.pending_start = whitespace.end;
    }

    /// Returns the digest of everything up to `end`.
    pub(super) fn finish(mut self, text: &[u8], end: usize) -> CompactDigest {
        self.update(&text[self.pending_start..end]);
        self.hasher.update(&self.buffer);
        CompactDigest { digest: self.hasher.finish(), size: self.size }
    }

    fn update(&mut self, run: &[u8]) {
        self.size += run.len() as u64;
        if self.buffer.len() + run.len() > Self::BUFFER_BYTES {
            self.hasher.update(&self.buffer);
            self.buffer.clear();
        }
        if run.len() > Self::BUFFER_BYTES {
            self.hasher.update(run);
        } else {
            self.buffer.extend_from_slice(run);
        }
    }
}

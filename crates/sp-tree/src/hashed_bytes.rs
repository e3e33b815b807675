//! Bytes together with their digest.

use crate::digest::Digest;

/// Bytes and the digest that was computed from them, so that it is computed only once.
///
/// ```
/// use sp_tree::{Digest, HashedBytes};
///
/// let hashed = HashedBytes::new(b"abc".to_vec());
/// assert_eq!(hashed.digest(), Digest::of(b"abc"));
/// assert_eq!(hashed.into_bytes(), b"abc");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HashedBytes {
    bytes: Vec<u8>,
    digest: Digest,
}

impl HashedBytes {
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { digest: Digest::of(&bytes), bytes }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn digest(&self) -> Digest {
        self.digest
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

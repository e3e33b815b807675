//! The layout of the compiled vocabulary, for the build script and for [`super::vocabulary`].
//!
//! Tokens are numbered by rank: the order in which the tokenizer merges them. A hash table with
//! open addressing maps the bytes of a token to its rank. A slot has the rank in its low bits and
//! bits of the hash above, so that the bytes of nearly all other tokens need not be compared.

/// Number of ordinary tokens in `o200k_base`.
pub(crate) const TOKEN_COUNT: usize = 199_998;

/// Number of slots: a power of two.
pub(crate) const SLOT_COUNT: usize = 1 << 18;

/// A slot without token.
pub(crate) const EMPTY_SLOT: u32 = u32::MAX;

/// Number of bits of a rank.
const RANK_BITS: u32 = 18;

/// The slot where the search for a token starts.
pub(crate) fn first_slot(token: &[u8]) -> usize {
    // The remainder fits.
    #[allow(clippy::cast_possible_truncation)]
    let slot = (hash(token) % SLOT_COUNT as u64) as usize;
    slot
}

/// The upper bits of a token's slot. The others are its rank.
pub(crate) fn tag(token: &[u8]) -> u32 {
    // The upper half of the hash fits.
    #[allow(clippy::cast_possible_truncation)]
    let upper = (hash(token) >> 32) as u32;
    upper << RANK_BITS
}

/// The rank in a slot.
#[allow(dead_code, reason = "the build script reads no slots")]
pub(crate) fn rank(slot: u32) -> u32 {
    slot & ((1 << RANK_BITS) - 1)
}

/// FNV-1a, with a last step that spreads the bits.
fn hash(token: &[u8]) -> u64 {
    let hash = token.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash ^ (hash >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(31)
}

//! Pack IDs: unique per pack, and reproducible from the same inputs at the same time.

use jiff::Timestamp;
use sp_tree::Digest;

/// Crockford's base 32.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const TIME_DIGITS: u32 = 10;
const INPUT_DIGITS: u32 = 16;

/// Returns `pk_` and a ULID of 48 bits of the time and 80 bits of the digest of the inputs.
pub fn derive_pack_id(at: Timestamp, inputs: &Digest) -> String {
    let time = u128::try_from(at.as_millisecond()).unwrap_or(0) & ((1 << 48) - 1);
    let hash =
        inputs.as_bytes()[..10].iter().fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
    format!("pk_{}{}", crockford_digits(time, TIME_DIGITS), crockford_digits(hash, INPUT_DIGITS))
}

/// Returns the last `count` base-32 digits of a number.
pub fn crockford_digits(number: u128, count: u32) -> String {
    let digit = |place: u32| char::from(ALPHABET[(number >> (5 * place) & 31) as usize]);
    (0..count).rev().map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context_pack::is_pack_id;

    #[test]
    fn cp_13_pack_id_is_a_ulid_of_time_and_inputs() {
        let created: Timestamp = "2026-04-24T14:22:03Z".parse().unwrap_or_default();
        let id = derive_pack_id(created, &Digest::of(b"a"));
        assert!(is_pack_id(&id) && id.starts_with("pk_01KPZXWZQR"), "{id}");
        assert_eq!(id, derive_pack_id(created, &Digest::of(b"a")));
        assert_ne!(id, derive_pack_id(created, &Digest::of(b"b")));
        assert!(is_pack_id(&derive_pack_id(Timestamp::MIN, &Digest::of(b""))));
    }
}

//! What tells a pack from every other, and yet is the same for the same inputs at the same time.

use jiff::Timestamp;
use sp_tree::Digest;

/// Crockford's alphabet: no letter that looks like a digit.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const TIME_DIGITS: u32 = 10;
const INPUT_DIGITS: u32 = 16;

/// `pk_` and a ULID: 48 bits of the time, and 80 of the hash of what the pack is made of.
pub fn derive_pack_id(at: Timestamp, inputs: &Digest) -> String {
    let time = u128::try_from(at.as_millisecond()).unwrap_or(0) & ((1 << 48) - 1);
    let hash =
        inputs.as_bytes()[..10].iter().fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
    format!("pk_{}{}", crockford_digits(time, TIME_DIGITS), crockford_digits(hash, INPUT_DIGITS))
}

/// The last digits of a number in base 32.
pub fn crockford_digits(number: u128, count: u32) -> String {
    let digit = |place: u32| char::from(ALPHABET[(number >> (5 * place) & 31) as usize]);
    (0..count).rev().map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context_pack::is_pack_id;

    #[test]
    fn cp_13_an_id_is_a_ulid_of_the_time_and_the_inputs() {
        let at: Timestamp = "2026-04-24T14:22:03Z".parse().unwrap_or_default();
        let id = derive_pack_id(at, &Digest::of(b"a"));
        assert!(is_pack_id(&id) && id.starts_with("pk_01KPZXWZQR"), "{id}");
        assert_eq!(id, derive_pack_id(at, &Digest::of(b"a")));
        assert_ne!(id, derive_pack_id(at, &Digest::of(b"b")));
        assert!(is_pack_id(&derive_pack_id(Timestamp::MIN, &Digest::of(b""))));
    }
}

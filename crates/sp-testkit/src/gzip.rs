//! Small compressed streams that decompress to large ones.

/// Returns a gzip stream of at least `length` spaces: one space, then copies of 258 bytes, each in
/// 13 bits.
pub fn gzip_blanks(length: usize) -> Vec<u8> {
    const LONGEST: usize = 258;
    // A final block with fixed codes: a space (code 80), copies (code 285, distance 1), and the end
    // (code 256).
    let mut bits = String::from("1") + "10" + "01010000";
    bits.extend(std::iter::repeat_n("1100010100000", length.div_ceil(LONGEST)));
    bits += "0000000";
    let byte = |bits: &[u8]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | (bit - b'0'));
    let mut packed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    packed.extend(bits.as_bytes().chunks(8).map(byte));
    packed
}

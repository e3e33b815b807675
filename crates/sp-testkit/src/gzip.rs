//! Small compressed streams that decompress to much.

/// A gzip stream of at least `length` blanks: one blank, then copies of what precedes, 258 of them in 13 bits.
pub fn gzip_blanks(length: usize) -> Vec<u8> {
    const LONGEST: usize = 258;
    // A last block with the fixed codes, a blank (code 80), and copies (code 285, distance 1); code 256 ends it.
    let mut bits = String::from("1") + "10" + "01010000";
    bits.extend(std::iter::repeat_n("1100010100000", length.div_ceil(LONGEST)));
    bits += "0000000";
    let byte = |bits: &[u8]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | (bit - b'0'));
    let mut packed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    packed.extend(bits.as_bytes().chunks(8).map(byte));
    packed
}

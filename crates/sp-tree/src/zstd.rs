//! Zstandard frames: compression, and decompression within a limit.

use std::io::Read;

use ruzstd::decoding::StreamingDecoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use thiserror::Error;

use crate::byte_size::ByteSize;

/// Why a frame cannot be decompressed.
#[derive(Debug, Error)]
pub enum ZstdError {
    #[error("invalid or truncated Zstandard frame")]
    Broken,
    #[error("the decompressed data is larger than {}", ByteSize(*.0))]
    TooLarge(u64),
    #[error("trailing data after the Zstandard frame")]
    Trailing,
}

/// Compresses to one frame.
pub fn compress(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

/// Decompresses exactly one frame of at most `limit` bytes.
pub fn decompress(frame: &[u8], limit: u64) -> Result<Vec<u8>, ZstdError> {
    // A frame may request a window of gigabytes, but needs none larger than its content.
    const MIN_WINDOW_BYTES: u64 = 8 * 1024 * 1024;
    let mut rest = frame;
    let mut decoder =
        StreamingDecoder::new_with_max_window_size(&mut rest, limit.max(MIN_WINDOW_BYTES))
            .map_err(|_| ZstdError::Broken)?;
    let mut bytes = Vec::new();
    (&mut decoder)
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|_| ZstdError::Broken)?;
    if bytes.len() as u64 > limit {
        return Err(ZstdError::TooLarge(limit));
    }
    drop(decoder);
    if rest.is_empty() { Ok(bytes) } else { Err(ZstdError::Trailing) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn se_14_limit_accepts_the_maximum_and_rejects_one_more() {
        let bytes = "repeated text compresses well. ".repeat(100).into_bytes();
        let frame = compress(&bytes);
        assert!(frame.len() < bytes.len() / 4);
        assert_eq!(decompress(&frame, bytes.len() as u64).unwrap(), bytes);
        assert!(matches!(decompress(&frame, bytes.len() as u64 - 1), Err(ZstdError::TooLarge(_))));
        assert_eq!(decompress(&compress(b""), 0).unwrap(), b"");
    }

    #[test]
    fn truncated_frames_and_trailing_bytes_are_rejected() {
        let frame = compress(&[b'x'; 1000]);
        for len in 0..frame.len() {
            assert!(decompress(&frame[..len], 1 << 20).is_err(), "{len}");
        }
        assert!(matches!(
            decompress(&[frame.as_slice(), b"x"].concat(), 1 << 20),
            Err(ZstdError::Trailing)
        ));
    }
}

//! Response bodies of limited size.

use std::io::{self, Read};

use ureq::http::Response;

use super::HttpError;

/// A response body that yields at most `max_bytes` bytes and fails with [`HttpError::TooLarge`]
/// beyond that.
///
/// This is the only way to read a response: `clippy.toml` bans ureq's own readers. Their limit
/// counts the bytes on the wire, and 2 MB of gzip can decompress to 2 GB. This one counts
/// decompressed bytes.
pub(crate) struct ResponseBody {
    reader: ureq::BodyReader<'static>,
    content_length: Option<u64>,
    max_bytes: u64,
    received: u64,
}

impl ResponseBody {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads a response body")]
    pub(super) fn new(response: Response<ureq::Body>, max_bytes: u64) -> Self {
        let body = response.into_body();
        let content_length = body.content_length();
        Self {
            reader: body.into_with_config().limit(u64::MAX).reader(),
            content_length,
            max_bytes,
            received: 0,
        }
    }

    /// Returns the length that the server announced, unless the body is compressed.
    pub(crate) fn content_length(&self) -> Option<u64> {
        self.content_length
    }

    /// Reads the body to its end.
    pub(super) fn read_all(mut self) -> Result<Vec<u8>, HttpError> {
        let mut bytes = Vec::new();
        match self.content_length.filter(|length| *length > self.max_bytes) {
            Some(_) => Err(HttpError::TooLarge { max_bytes: self.max_bytes }),
            None => {
                self.read_to_end(&mut bytes)?;
                Ok(bytes)
            }
        }
    }
}

impl Read for ResponseBody {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Reading one byte more than allowed detects a body that is too long.
        let left = (self.max_bytes - self.received).saturating_add(1);
        let length = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let count = self.reader.read(&mut buffer[..length])?;
        let received = self.received + count as u64;
        if received > self.max_bytes {
            return Err(io::Error::other(HttpError::TooLarge { max_bytes: self.max_bytes }));
        }
        self.received = received;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(length: usize, max_bytes: u64) -> ResponseBody {
        let body = ureq::Body::builder().data(vec![b'x'; length]);
        ResponseBody::new(Response::new(body), max_bytes)
    }

    #[test]
    fn se_14_body_at_the_limit_is_accepted_and_one_byte_more_is_refused() {
        for limit in [0, 1, 100_000] {
            let length = usize::try_from(limit).unwrap();
            assert_eq!(body(length, limit).read_all().unwrap().len(), length);
            let error = body(length + 1, limit).read_all().unwrap_err();
            assert!(
                matches!(error, HttpError::TooLarge { max_bytes } if max_bytes == limit),
                "{error:?}"
            );
        }
    }

    #[test]
    fn too_large_error_survives_reads_of_any_block_size() {
        for block in [1, 7, 4096] {
            let (mut body, mut buffer, mut received) = (body(1000, 999), vec![0; block], 0);
            let error = loop {
                match body.read(&mut buffer) {
                    Ok(count) => received += count,
                    Err(error) => break HttpError::from(error),
                }
            };
            assert!(received <= 999, "{received}");
            assert!(matches!(error, HttpError::TooLarge { max_bytes: 999 }), "{error:?}");
        }
    }
}

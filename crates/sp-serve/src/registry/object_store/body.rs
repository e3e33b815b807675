//! Sends an object to a client, in small pieces.

use std::io::ErrorKind;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use sp_tree::{Digest, FileError};
use tokio::task::JoinHandle;

use super::{MAX_CACHED_OBJECT_BYTES, ObjectReader, ObjectStore};
use crate::connections::MAX_PIECE_BYTES;

/// The rest of an object, or of a part of it. A client that does not read occupies no more memory
/// than one piece.
pub(crate) struct ObjectBody {
    source: ObjectSource,
    rest: Range<u64>,
    reading: Option<JoinHandle<Result<ReadPiece, FileError>>>,
}

/// Where the pieces come from: the cache, or an open object.
#[derive(Clone)]
struct ObjectSource {
    store: ObjectStore,
    digest: Digest,
    reader: Option<Arc<dyn ObjectReader>>,
}

struct ReadPiece {
    bytes: Bytes,
    reader: Arc<dyn ObjectReader>,
}

impl ObjectStore {
    /// Returns a part of an object as a response body. Fails if the object is missing, damaged, or
    /// has another length.
    pub(crate) async fn body(
        &self,
        digest: Digest,
        length: u64,
        part: Range<u64>,
    ) -> Result<ObjectBody, FileError> {
        let source = ObjectSource { store: self.clone(), digest, reader: None };
        let source = if self.get_cached(&digest).is_some() {
            source
        } else {
            let opened = tokio::task::spawn_blocking(move || source.open(length)).await;
            opened.unwrap_or_else(|e| Err(read_error(&digest, std::io::Error::other(e))))?
        };
        Ok(ObjectBody { source, rest: part, reading: None })
    }
}

fn read_error(digest: &Digest, why: impl Into<std::io::Error>) -> FileError {
    FileError::new("read", digest.hex(), why.into())
}

impl ObjectSource {
    /// Reads a small object into the cache, or opens a large one.
    fn open(self, length: u64) -> Result<Self, FileError> {
        let missing = || read_error(&self.digest, ErrorKind::NotFound);
        if length <= MAX_CACHED_OBJECT_BYTES {
            let bytes = self.store.get_and_cache(&self.digest)?.ok_or_else(missing)?;
            return if bytes.len() as u64 == length {
                Ok(self)
            } else {
                Err(read_error(&self.digest, ErrorKind::InvalidData))
            };
        }
        let reader = self.store.open_verified(&self.digest)?.ok_or_else(missing)?;
        if reader.version().size == length {
            Ok(Self { reader: Some(reader), ..self })
        } else {
            Err(read_error(&self.digest, ErrorKind::InvalidData))
        }
    }

    /// Returns a piece from the cache.
    fn cached_piece(&self, piece: &Range<u64>) -> Option<Bytes> {
        let bytes = self.store.get_cached(&self.digest)?;
        let index = |at: u64| usize::try_from(at).ok();
        // Copied, so that the object can be removed from the cache.
        bytes.get(index(piece.start)?..index(piece.end)?).map(Bytes::copy_from_slice)
    }

    /// Reads a piece. Blocks.
    fn read_piece(self, piece: Range<u64>) -> Result<ReadPiece, FileError> {
        let reader = match self.reader {
            Some(reader) => reader,
            // The object is no longer in the cache.
            None => self
                .store
                .open_verified(&self.digest)?
                .ok_or_else(|| read_error(&self.digest, ErrorKind::NotFound))?,
        };
        let length = usize::try_from(piece.end - piece.start).unwrap_or(MAX_PIECE_BYTES);
        let mut buffer = vec![0; length.min(MAX_PIECE_BYTES)];
        let count = reader.read_at(piece.start, &mut buffer)?;
        if count == 0 {
            return Err(read_error(&self.digest, ErrorKind::UnexpectedEof));
        }
        buffer.truncate(count);
        Ok(ReadPiece { bytes: buffer.into(), reader })
    }
}

impl HttpBody for ObjectBody {
    type Data = Bytes;
    type Error = FileError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, FileError>>> {
        let rest = self.rest.clone();
        if rest.is_empty() {
            return Poll::Ready(None);
        }
        let piece = rest.start..rest.end.min(rest.start + MAX_PIECE_BYTES as u64);
        let cached = if self.reading.is_none() && self.source.reader.is_none() {
            self.source.cached_piece(&piece)
        } else {
            None
        };
        let bytes = match cached {
            Some(bytes) => bytes,
            None => match ready!(self.poll_read(cx, piece)) {
                Ok(bytes) => bytes,
                Err(error) => {
                    self.rest = rest.end..rest.end;
                    return Poll::Ready(Some(Err(error)));
                }
            },
        };
        self.rest.start += bytes.len() as u64;
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.end - self.rest.start)
    }
}

impl ObjectBody {
    fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        piece: Range<u64>,
    ) -> Poll<Result<Bytes, FileError>> {
        let source = &self.source;
        let reading = self.reading.get_or_insert_with(|| {
            let source = source.clone();
            tokio::task::spawn_blocking(move || source.read_piece(piece))
        });
        let read = ready!(Pin::new(reading).poll(cx));
        self.reading = None;
        let read = read
            .unwrap_or_else(|e| Err(read_error(&self.source.digest, std::io::Error::other(e))))?;
        self.source.reader = Some(read.reader);
        Poll::Ready(Ok(read.bytes))
    }
}

//! A download in progress, kept in the cache so that an interrupted download can be resumed.

use std::path::PathBuf;

use sp_formats::printable::printable;
use sp_tree::{Digest, Dir, HashedBytes, Name, NewFile, read_optional};

use crate::context::{Context, Event};
use crate::error::{Error, ErrorCode, Result};

/// The bytes of a package version received so far.
pub(crate) struct PartialDownload<'a> {
    context: &'a Context<'a>,
    /// The name and version, for progress events and errors.
    label: String,
    digest: Digest,
    expected_len: u64,
    bytes: Vec<u8>,
    /// The copy on disk; none in a dry run.
    cache_file: Option<CacheFile>,
}

struct CacheFile {
    dir: Dir,
    name: Name,
    file: NewFile,
}

/// The digest and length that a registry announced for a version.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExpectedBytes {
    pub digest: Digest,
    pub len: u64,
}

/// The values of `Range` and `If-Range`.
pub(super) struct RangeHeaders {
    pub range: String,
    pub if_range: String,
}

/// Whether an interrupted download stays in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeepPartial {
    Yes,
    No,
}

/// Returns the cache directory of interrupted downloads.
pub(crate) fn downloads_dir(context: &Context<'_>) -> PathBuf {
    context.cache_dir().join("downloads")
}

impl<'a> PartialDownload<'a> {
    /// Starts a download with the bytes that an earlier run left in the cache.
    pub(crate) fn resume(
        context: &'a Context<'a>,
        label: String,
        expected: ExpectedBytes,
        keep: KeepPartial,
    ) -> Result<Self> {
        let mut partial = Self {
            context,
            label,
            digest: expected.digest,
            expected_len: expected.len,
            bytes: Vec::new(),
            cache_file: None,
        };
        if keep == KeepPartial::Yes {
            // A longer file is not a prefix of the download, so it is ignored.
            let path = downloads_dir(context).join(expected.digest.hex());
            partial.bytes =
                read_optional(&path, expected.len).unwrap_or_default().unwrap_or_default();
            partial.cache_file = Some(partial.create_cache_file()?);
        }
        Ok(partial)
    }

    /// Creates the cache file with the bytes received so far.
    fn create_cache_file(&self) -> Result<CacheFile> {
        let dir = self.context.open_private_dir(&downloads_dir(self.context))?;
        let name = Name::new(&self.digest.hex())?;
        dir.remove_tree(&name)?;
        let mut file = dir.create_file(&name, false)?;
        file.write(&self.bytes)?;
        Ok(CacheFile { dir, name, file })
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the number of missing bytes.
    pub(super) fn remaining(&self) -> u64 {
        self.expected_len.saturating_sub(self.bytes.len() as u64)
    }

    pub(super) fn is_complete(&self) -> bool {
        self.bytes.len() as u64 == self.expected_len
    }

    /// Returns the headers that ask for the missing bytes; none if there is nothing to resume.
    pub(super) fn range_headers(&self) -> Option<RangeHeaders> {
        let is_resumable = !self.bytes.is_empty() && !self.is_complete();
        is_resumable.then(|| RangeHeaders {
            range: format!("bytes={}-", self.bytes.len()),
            if_range: format!("\"{}\"", self.digest.hex()),
        })
    }

    /// Discards the bytes received so far.
    pub(crate) fn restart(&mut self) {
        self.bytes.clear();
        if self.cache_file.take().is_some() {
            // Without the file, the next run starts from zero.
            self.cache_file = self.create_cache_file().ok();
        }
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.context.check_cancelled()?;
        if (self.bytes.len() + bytes.len()) as u64 > self.expected_len {
            self.discard_cache_file();
            return Err(Error::new(
                ErrorCode::DigestMismatch,
                format!("`{}` is larger than announced by the registry", self.label),
            )
            .because(format!("the registry announced {} bytes but sent more", self.expected_len))
            .hint("do not trust this registry; nothing was changed"));
        }
        if let Some(cache) = &mut self.cache_file {
            cache.file.write(bytes)?;
        }
        self.bytes.extend_from_slice(bytes);
        let (done, total) = (self.bytes.len() as u64, self.expected_len);
        self.context.emit(Event::Downloading { what: &printable(&self.label), done, total });
        Ok(())
    }

    fn discard_cache_file(&mut self) {
        if let Some(cache) = self.cache_file.take() {
            // A file that stays is resumed and rejected by the next run.
            let _ = cache.dir.remove_file(&cache.name);
        }
    }

    pub(crate) fn matches_digest(&self) -> bool {
        Digest::of(&self.bytes) == self.digest
    }

    /// Returns the bytes if their digest is the announced one.
    pub(crate) fn finish(mut self) -> Result<HashedBytes> {
        self.discard_cache_file();
        let hashed = HashedBytes::new(self.bytes);
        let actual = hashed.digest();
        if actual == self.digest {
            return Ok(hashed);
        }
        Err(Error::new(
            ErrorCode::DigestMismatch,
            format!("the digest of `{}` does not match the registry", self.label),
        )
        .because(format!("the registry lists {}, but the download has {actual}", self.digest))
        .hint("do not trust this registry or the network path to it; nothing was changed"))
    }
}

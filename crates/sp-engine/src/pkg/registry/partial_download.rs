//! The bytes of a version while they come: kept on the disk, so that another run goes on where this one ended.

use std::path::PathBuf;

use sp_formats::printable::printable;
use sp_tree::{Digest, Dir, Name, NewFile, read_optional};

use crate::context::{Context, Event};
use crate::error::{Error, FailureKind, Result};

/// What is there of the bytes of a version.
pub(super) struct PartialDownload<'a> {
    context: &'a Context<'a>,
    /// What it is, for whoever waits.
    label: String,
    digest: Digest,
    expected_len: u64,
    bytes: Vec<u8>,
    /// Where they are kept meanwhile; nowhere in a dry run.
    cache_file: Option<(Dir, Name, NewFile)>,
}

/// Whether what came is kept, should the rest not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pkg) enum KeepPartial {
    Yes,
    No,
}

/// Where downloads are kept that did not end.
pub(crate) fn downloads_dir(context: &Context<'_>) -> PathBuf {
    context.cache_dir().join("downloads")
}

impl<'a> PartialDownload<'a> {
    /// Begins, with what an earlier run has left.
    pub(super) fn resume(
        context: &'a Context<'a>,
        shown: String,
        (digest, expected): (Digest, u64),
        keep: KeepPartial,
    ) -> Result<Self> {
        let mut partial = Self {
            context,
            label: shown,
            digest,
            expected_len: expected,
            bytes: Vec::new(),
            cache_file: None,
        };
        if keep == KeepPartial::Yes {
            // What is longer than it can be is not the beginning of it.
            let path = downloads_dir(context).join(digest.hex());
            partial.bytes = read_optional(&path, expected).unwrap_or_default().unwrap_or_default();
            partial.cache_file = Some(partial.create_cache_file()?);
        }
        Ok(partial)
    }

    /// A file that has what came.
    fn create_cache_file(&self) -> Result<(Dir, Name, NewFile)> {
        let dir = self.context.open_private_dir(&downloads_dir(self.context))?;
        let name = Name::new(&self.digest.hex())
            .map_err(|e| Error::new(FailureKind::Data, e.to_string()))?;
        dir.remove_tree(&name)?;
        let mut file = dir.create_file(&name, false)?;
        file.write(&self.bytes)?;
        Ok((dir, name, file))
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// How many bytes are still to come.
    pub(super) fn remaining(&self) -> u64 {
        self.expected_len.saturating_sub(self.bytes.len() as u64)
    }

    pub(super) fn is_complete(&self) -> bool {
        self.bytes.len() as u64 == self.expected_len
    }

    /// What is missing, and of what it must be the rest, as headers say it.
    pub(super) fn range_headers(&self) -> Option<(String, String)> {
        let begun = !self.bytes.is_empty() && !self.is_complete();
        begun
            .then(|| (format!("bytes={}-", self.bytes.len()), format!("\"{}\"", self.digest.hex())))
    }

    /// Forgets what came.
    pub(super) fn restart(&mut self) {
        self.bytes.clear();
        if self.cache_file.take().is_some() {
            // Without a file the next run begins anew, which is all that it costs.
            self.cache_file = self.create_cache_file().ok();
        }
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.context.check_cancelled()?;
        if (self.bytes.len() + bytes.len()) as u64 > self.expected_len {
            self.discard_cache_file();
            return Err(Error::new(
                FailureKind::Trust,
                format!("`{}` is larger than the registry said", self.label),
            )
            .because(format!("it said {} bytes, and sends more", self.expected_len))
            .hint("nothing was changed: do not trust this registry"));
        }
        if let Some((_, _, file)) = &mut self.cache_file {
            file.write(bytes)?;
        }
        self.bytes.extend_from_slice(bytes);
        let (done, total) = (self.bytes.len() as u64, self.expected_len);
        self.context.emit(Event::Downloading { what: &printable(&self.label), done, total });
        Ok(())
    }

    fn discard_cache_file(&mut self) {
        if let Some((dir, name, _)) = self.cache_file.take() {
            // What stays is asked for again, and is refused then.
            let _ = dir.remove_file(&name);
        }
    }

    /// Whether all that came is what it was said to be.
    pub(super) fn matches_digest(&self) -> bool {
        Digest::of(&self.bytes) == self.digest
    }

    /// All of it, if it is what it was said to be.
    pub(super) fn finish(mut self) -> Result<Vec<u8>> {
        self.discard_cache_file();
        if self.matches_digest() {
            return Ok(self.bytes);
        }
        let is = Digest::of(&self.bytes);
        Err(Error::new(
            FailureKind::Trust,
            format!("the bytes of `{}` are not those that the registry names", self.label),
        )
        .because(format!("it names {}, and these are {is}", self.digest))
        .hint("nothing was changed: do not trust this registry, or what stands between"))
    }
}

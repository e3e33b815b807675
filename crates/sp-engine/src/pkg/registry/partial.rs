//! The bytes of a version while they come: kept on the disk, so that another run goes on where this one ended.

use std::path::PathBuf;

use sp_formats::printable::printable;
use sp_tree::{Digest, Dir, Name, NewFile, read_optional};

use crate::context::{Context, Event};
use crate::error::{Error, Kind, Result};

/// What is there of the bytes of a version.
pub(super) struct Partial<'a> {
    context: &'a Context<'a>,
    /// What it is, for whoever waits.
    shown: String,
    digest: Digest,
    expected: u64,
    bytes: Vec<u8>,
    /// Where they are kept meanwhile; nowhere in a dry run.
    kept: Option<(Dir, Name, NewFile)>,
}

/// Whether what came is kept, should the rest not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pkg) enum Keep {
    Yes,
    No,
}

/// Where downloads are kept that did not end.
pub(crate) fn downloads_in(context: &Context<'_>) -> PathBuf {
    context.cache_dir().join("downloads")
}

impl<'a> Partial<'a> {
    /// Begins, with what an earlier run has left.
    pub(super) fn begin(
        context: &'a Context<'a>,
        shown: String,
        (digest, expected): (Digest, u64),
        keep: Keep,
    ) -> Result<Self> {
        let mut partial = Self { context, shown, digest, expected, bytes: Vec::new(), kept: None };
        if keep == Keep::Yes {
            // What is longer than it can be is not the beginning of it.
            let path = downloads_in(context).join(digest.hex());
            partial.bytes = read_optional(&path, expected).unwrap_or_default().unwrap_or_default();
            partial.kept = Some(partial.file()?);
        }
        Ok(partial)
    }

    /// A file that has what came.
    fn file(&self) -> Result<(Dir, Name, NewFile)> {
        let dir = self.context.private_dir(&downloads_in(self.context))?;
        let name = Name::new(&self.digest.hex()).map_err(|e| Error::new(Kind::Data, e.to_string()))?;
        dir.remove_tree(&name)?;
        let mut file = dir.create_file(&name, false)?;
        file.write(&self.bytes)?;
        Ok((dir, name, file))
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// How many bytes are still to come.
    pub(super) fn missing(&self) -> u64 {
        self.expected.saturating_sub(self.bytes.len() as u64)
    }

    pub(super) fn is_whole(&self) -> bool {
        self.bytes.len() as u64 == self.expected
    }

    /// What is missing, and of what it must be the rest, as headers say it.
    pub(super) fn rest(&self) -> Option<(String, String)> {
        let begun = !self.bytes.is_empty() && !self.is_whole();
        begun.then(|| (format!("bytes={}-", self.bytes.len()), format!("\"{}\"", self.digest.hex())))
    }

    /// Forgets what came.
    pub(super) fn restart(&mut self) {
        self.bytes.clear();
        if self.kept.take().is_some() {
            // Without a file the next run begins anew, which is all that it costs.
            self.kept = self.file().ok();
        }
    }

    pub(super) fn add(&mut self, bytes: &[u8]) -> Result<()> {
        self.context.go_on()?;
        if (self.bytes.len() + bytes.len()) as u64 > self.expected {
            self.discard();
            return Err(Error::new(Kind::Trust, format!("`{}` is larger than the registry said", self.shown))
                .because(format!("it said {} bytes, and sends more", self.expected))
                .hint("nothing was changed: do not trust this registry"));
        }
        if let Some((_, _, file)) = &mut self.kept {
            file.write(bytes)?;
        }
        self.bytes.extend_from_slice(bytes);
        let (done, total) = (self.bytes.len() as u64, self.expected);
        self.context.tell(Event::Downloading { what: &printable(&self.shown), done, total });
        Ok(())
    }

    fn discard(&mut self) {
        if let Some((dir, name, _)) = self.kept.take() {
            // What stays is asked for again, and is refused then.
            let _ = dir.remove_file(&name);
        }
    }

    /// Whether all that came is what it was said to be.
    pub(super) fn is_right(&self) -> bool {
        Digest::of(&self.bytes) == self.digest
    }

    /// All of it, if it is what it was said to be.
    pub(super) fn finish(mut self) -> Result<Vec<u8>> {
        self.discard();
        if self.is_right() {
            return Ok(self.bytes);
        }
        let is = Digest::of(&self.bytes);
        Err(Error::new(Kind::Trust, format!("the bytes of `{}` are not those that the registry names", self.shown))
            .because(format!("it names {}, and these are {is}", self.digest))
            .hint("nothing was changed: do not trust this registry, or what stands between"))
    }
}

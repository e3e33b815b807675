//! The limits on what is read of a context pack, from a directory or from the web.

use std::fmt::Display;
use std::io::{self, Read};

use sp_formats::printable::printable;
use sp_formats::text::ByteSize;
use sp_tree::Limits;

use crate::error::{Error, ErrorCode, Result};

/// Counts the files and bytes of a pack while it is read.
pub(super) struct ContextPackReadBudget<'a> {
    /// The pack, for errors.
    pub(super) name: String,
    limits: &'a Limits,
    files: u64,
    bytes: u64,
}

impl<'a> ContextPackReadBudget<'a> {
    pub(super) fn new(name: String, limits: &'a Limits) -> Self {
        Self { name, limits, files: 0, bytes: 0 }
    }

    /// Counts a file at the given depth.
    pub(super) fn take_file(&mut self, depth: u64) -> Result<()> {
        self.check_depth(depth)?;
        self.files += 1;
        if self.files > self.limits.skill_entries {
            return Err(self.limit_error(
                "has more files than",
                self.limits.skill_entries,
                "skill-entries",
            ));
        }
        Ok(())
    }

    pub(super) fn check_depth(&self, depth: u64) -> Result<()> {
        if depth > self.limits.depth {
            return Err(self.limit_error(
                "exceeds the maximum directory depth of",
                self.limits.depth,
                "depth",
            ));
        }
        Ok(())
    }

    /// Returns how many bytes of the next file to read: one more than allowed, so that a file that
    /// is too large is recognized.
    pub(super) fn read_limit(&self) -> u64 {
        let limits = self.limits;
        limits.skill_bytes.saturating_sub(self.bytes).min(limits.file_bytes).saturating_add(1)
    }

    /// Reads and counts the bytes of a file.
    pub(super) fn read(
        &mut self,
        reader: impl Read,
        path: &str,
        failed: impl FnOnce(io::Error) -> Error,
    ) -> Result<Vec<u8>> {
        let (limits, mut bytes) = (self.limits, Vec::new());
        reader.take(self.read_limit()).read_to_end(&mut bytes).map_err(failed)?;
        self.bytes += bytes.len() as u64;
        if bytes.len() as u64 > limits.file_bytes {
            let message = format!(
                "`{}` in `{}` is larger than {}",
                printable(path),
                self.name,
                ByteSize(limits.file_bytes)
            );
            return Err(Error::new(ErrorCode::LimitExceeded, message).hint(
                "raise the limit with `--limit file-bytes=<number>` if you trust the context pack",
            ));
        }
        if self.bytes > limits.skill_bytes {
            return Err(self.limit_error(
                "is larger than",
                ByteSize(limits.skill_bytes),
                "skill-bytes",
            ));
        }
        Ok(bytes)
    }

    fn limit_error(&self, excess: &str, limit: impl Display, name: &str) -> Error {
        Error::new(
            ErrorCode::LimitExceeded,
            format!("the context pack `{}` {excess} {limit}", self.name),
        )
        .hint(format!(
            "raise the limit with `--limit {name}=<number>` if you trust the context pack"
        ))
    }
}

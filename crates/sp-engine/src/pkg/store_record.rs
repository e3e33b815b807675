//! A JSON record of the home directory, while a command changes it.
//!
//! The file is read once. What was read decides whether it has to be written, and is what the
//! transaction expects to replace.

use std::ops::{Deref, DerefMut};
use std::path::Path;

use sp_formats::JsonRecord;
use sp_tree::transaction::PriorState;
use sp_tree::{Digest, Name, read_optional};

use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::install::plan::FilePlan;

const MAX_RECORD_BYTES: u64 = 256 * 1024 * 1024;

/// A record as it was read, with the value that will be written.
pub(super) struct RecordFile<T> {
    /// The path in the home directory.
    file: &'static str,
    /// The bytes of the file; none if it does not exist.
    before: Option<Vec<u8>>,
    value: T,
}

impl<T: JsonRecord + Default + PartialEq> RecordFile<T> {
    /// Reads a record. A missing file is an empty record.
    pub(super) fn read(context: &Context<'_>, file: &'static str) -> Result<Self> {
        let path = context.home.join(file);
        let before = read_optional(&path, MAX_RECORD_BYTES)?;
        let value = match &before {
            None => T::default(),
            Some(bytes) => T::parse(bytes).map_err(|why| {
                let shown = context.display_path(&path);
                Error::new(ErrorCode::InvalidState, format!("`{shown}` is invalid"))
                    .because(why)
                    .hint(format!(
                        "fix the file, or move it away (`mv {shown} {shown}.broken`); nothing was \
                         changed"
                    ))
            })?,
        };
        Ok(Self { file, before, value })
    }

    pub(super) fn into_value(self) -> T {
        self.value
    }

    /// Plans the write of the record; none if its file is up to date, or missing and the record
    /// empty. `home` is the real path of the home directory.
    pub(super) fn plan(&self, home: &Path) -> Result<Option<FilePlan>> {
        let bytes = self.value.to_json();
        let is_up_to_date = match &self.before {
            Some(before) => *before == bytes,
            None => self.value == T::default(),
        };
        if is_up_to_date {
            return Ok(None);
        }
        let before = match &self.before {
            Some(before) => PriorState::Ours(Some(Digest::of(before))),
            None => PriorState::Absent,
        };
        let path = home.join(self.file);
        let name = Name::new(&path.file_name().unwrap_or_default().to_string_lossy())?;
        let dir = path.parent().unwrap_or(home).to_path_buf();
        Ok(Some(FilePlan::new(dir, name, before, Some(bytes.into())).with_times()))
    }
}

impl<T> Deref for RecordFile<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for RecordFile<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

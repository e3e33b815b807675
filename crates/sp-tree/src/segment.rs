//! Names that are a single path segment, the only ones that a [`Dir`](crate::Dir) accepts.
//!
//! There are three kinds: a [`Name`] that was checked, a [`DirEntry`] that the system listed, and a
//! [`StaticName`] from the source code.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::file_stamp::EntryKind;
use crate::path::Name;

/// A single path segment, which cannot lead out of a directory.
pub trait Segment {
    fn segment(&self) -> &OsStr;
}

impl Segment for Name {
    fn segment(&self) -> &OsStr {
        OsStr::new(self.as_str())
    }
}

/// A constant name in the source code.
#[derive(Debug, Clone, Copy)]
pub struct StaticName(pub &'static str);

impl Segment for StaticName {
    fn segment(&self) -> &OsStr {
        OsStr::new(self.0)
    }
}

/// An entry as listed by the system. Its name is one segment, but it need not be UTF-8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    name: OsString,
    pub kind: EntryKind,
}

impl DirEntry {
    pub(crate) fn new(name: OsString, kind: EntryKind) -> Self {
        Self { name, kind }
    }

    /// The last segment of a path given by the user.
    pub(crate) fn from_path(path: &Path) -> Option<Self> {
        path.file_name().map(Self::named)
    }

    /// A directory entry for one segment of a path given by the user.
    pub(crate) fn named(name: &OsStr) -> Self {
        Self { name: name.into(), kind: EntryKind::Dir }
    }

    pub fn name(&self) -> &OsStr {
        &self.name
    }
}

impl Segment for DirEntry {
    fn segment(&self) -> &OsStr {
        &self.name
    }
}

/// A name as text, with bytes that are not UTF-8 escaped.
pub fn escape_non_utf8(name: &OsStr) -> String {
    name.as_bytes().utf8_chunks().fold(String::new(), |mut text, chunk| {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
        text
    })
}

//! The JSON files that `sp` reads, changes and writes again: lockfiles, and the records of the home
//! directory.
//!
//! Each has a version. Members that this version does not know are kept by the types themselves, so
//! that a rewrite loses nothing that another tool wrote.

use serde::{Deserialize, Serialize};

/// A versioned JSON file.
pub trait JsonRecord: Serialize + for<'de> Deserialize<'de> {
    /// The only version that can be read.
    const VERSION: u32;

    /// The version of this file.
    fn version(&self) -> u32;

    /// Parses a file. The error is a message fragment.
    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let record: Self = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
        match record.version() {
            version if version == Self::VERSION => Ok(record),
            newer => Err(format!("unsupported version {newer}")),
        }
    }

    fn to_json(&self) -> Vec<u8> {
        to_json_file(self)
    }
}

/// Serializes a value as an indented text that ends with a newline.
pub(crate) fn to_json_file(value: &(impl Serialize + ?Sized)) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// Implements [`JsonRecord`] for types with a field `version`.
macro_rules! impl_json_record {
    ($version:expr => $($type:ty),+) => {
        $(impl $crate::json_record::JsonRecord for $type {
            const VERSION: u32 = $version;

            fn version(&self) -> u32 {
                self.version
            }
        })+
    };
}
pub(crate) use impl_json_record;

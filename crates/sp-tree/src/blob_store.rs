//! The store: blobs by digest.
//!
//! ```text
//! store/ab/cdef…   the bytes whose SHA-256 is abcdef…
//! ```
//!
//! Untrusted names never become paths here, and bytes are verified when they are read. Blobs are
//! added and removed by a transaction, together with the records that refer to them.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::digest::Digest;
use crate::dir::{Dir, Follow};
use crate::file_error::FileError;
use crate::hashed_bytes::HashedBytes;
use crate::path::{Name, PathError};
use crate::read::read_open;
use crate::segment::StaticName;

const STORE_DIR: StaticName = StaticName("store");

pub struct BlobStore {
    path: PathBuf,
}

impl BlobStore {
    /// The store in a home directory, whether it exists or not.
    pub fn of(home: &Path) -> Self {
        Self { path: home.join(STORE_DIR.0) }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory and the file name of a blob.
    pub fn location(&self, digest: &Digest) -> Result<(PathBuf, Name), PathError> {
        let hex = digest.hex();
        Ok((self.path.join(&hex[..2]), Name::new(&hex[2..])?))
    }

    /// Reads a blob; `None` if it does not exist. Wrong bytes are an error.
    pub fn get(&self, digest: &Digest, limit: u64) -> Result<Option<HashedBytes>, FileError> {
        let invalid = |e: PathError| FileError::new("name", &self.path, std::io::Error::other(e));
        let (dir, name) = self.location(digest).map_err(invalid)?;
        let file = match Dir::open(&dir).and_then(|dir| dir.open_file(&name, Follow::Never)) {
            Ok(file) => file,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e),
        };
        let mut bytes = Vec::new();
        let path = dir.join(name.as_str());
        read_open(&file, limit, &mut bytes).map_err(|e| FileError::new("read", &path, e))?;
        let hashed = HashedBytes::new(bytes);
        if hashed.digest() == *digest {
            return Ok(Some(hashed));
        }
        let why =
            std::io::Error::new(ErrorKind::InvalidData, "its content does not match its digest");
        Err(FileError::new("verify", path, why))
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the test creates and corrupts its own files")]
mod tests {
    use super::*;

    #[test]
    fn blob_is_read_by_digest_and_verified() {
        let temp = tempfile::tempdir().unwrap();
        let store = BlobStore::of(temp.path());
        let digest = Digest::of(b"some bytes");
        assert_eq!(store.get(&digest, 100).unwrap(), None);
        let (dir, name) = store.location(&digest).unwrap();
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join(name.as_str()), "some bytes").unwrap();
        assert_eq!(store.get(&digest, 100).unwrap().unwrap().bytes(), b"some bytes");
        assert_eq!(store.get(&digest, 3).unwrap_err().kind(), ErrorKind::FileTooLarge);
        std::fs::write(dir.join(name.as_str()), "evil bytes").unwrap();
        assert!(store.get(&digest, 100).is_err());
    }
}

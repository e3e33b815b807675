//! The store: bytes by their digest, whatever they are.
//!
//! ```text
//! store/ab/cdef…   the bytes whose SHA-256 is abcdef…
//! ```
//!
//! A name from outside never becomes a path here, and what is got is held against its digest. What
//! is put and removed goes through a transaction, together with the records that speak of it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::digest::Digest;
use crate::dir::{Dir, Follow, StaticName};
use crate::file_error::FileError;
use crate::path::{Name, PathError};
use crate::read::read_open;

const STORE_DIR: StaticName = StaticName("store");

/// Bytes by their digest.
pub struct BlobStore {
    path: PathBuf,
}

impl BlobStore {
    /// The store of a home, whether it is there or not.
    pub fn of(home: &Path) -> Self {
        Self { path: home.join(STORE_DIR.0) }
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the bytes with this digest are: the directory, and the name in it.
    pub fn location(&self, digest: &Digest) -> Result<(PathBuf, Name), PathError> {
        let hex = digest.hex();
        Ok((self.path.join(&hex[..2]), Name::new(&hex[2..])?))
    }

    /// The bytes with this digest; none if they are not there. Other bytes in their place are an error.
    pub fn get(&self, digest: &Digest, limit: u64) -> Result<Option<Vec<u8>>, FileError> {
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
        match Digest::of(&bytes) == *digest {
            true => Ok(Some(bytes)),
            false => {
                let why = std::io::Error::other("its bytes are not those that were stored");
                Err(FileError::new("trust", path, why))
            }
        }
    }
}

#[cfg(test)]
#[allow(
    clippy::disallowed_methods,
    reason = "a test makes the files that it needs, and breaks them"
)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_got_by_their_digest_and_held_against_it() {
        let temp = tempfile::tempdir().unwrap();
        let store = BlobStore::of(temp.path());
        let digest = Digest::of(b"some bytes");
        assert_eq!(store.get(&digest, 100).unwrap(), None);
        let (dir, name) = store.location(&digest).unwrap();
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join(name.as_str()), "some bytes").unwrap();
        assert_eq!(store.get(&digest, 100).unwrap().unwrap(), b"some bytes");
        assert_eq!(store.get(&digest, 3).unwrap_err().kind(), ErrorKind::FileTooLarge);
        std::fs::write(dir.join(name.as_str()), "evil bytes").unwrap();
        assert!(store.get(&digest, 100).is_err());
    }
}

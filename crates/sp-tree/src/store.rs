//! The store: bytes by their digest, whatever they are.
//!
//! ```text
//! store/ab/cdef…   the bytes whose SHA-256 is abcdef…
//! ```
//!
//! A name from outside never becomes a path here. What is put is there wholly or not at all, and
//! what is got is held against its digest. Callers hold the lock of the home while they change it.

use std::io::ErrorKind;

use crate::atomic::{self, Durability, Temp};
use crate::digest::Digest;
use crate::dir::{Dir, FileError, Fixed, Follow};
use crate::hex::from_hex;
use crate::path::{Name, PathError};
use crate::read::read_open;

const STORE: Fixed = Fixed("store");
const INCOMING: Fixed = Fixed("incoming");

/// Bytes by their digest.
pub struct Store {
    dir: Dir,
}

impl Store {
    /// The store of a home; it is made if it is missing.
    pub fn create(home: &Dir) -> Result<Self, FileError> {
        Ok(Self { dir: sub_dir(home, &STORE)? })
    }

    /// The store of a home, if it has one.
    pub fn open(home: &Dir) -> Result<Option<Self>, FileError> {
        match home.open_dir(&STORE, Follow::Never) {
            Ok(dir) => Ok(Some(Self { dir })),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// The directory itself.
    pub fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Puts bytes, if they are not there yet.
    pub fn put(&self, bytes: &[u8]) -> Result<Digest, FileError> {
        let digest = Digest::of(bytes);
        let (folder, name) = place(&digest);
        let dir = self.sub_dir(&folder)?;
        if dir.look(&self.named(&name)?, Follow::Never)?.is_none_or(|stamp| stamp.size != bytes.len() as u64) {
            let temp = Temp { dir: &self.dir, name: INCOMING };
            atomic::replace(&dir, &self.named(&name)?, temp, bytes, Durability::Durable)?;
        }
        Ok(digest)
    }

    /// The bytes with this digest; none if they are not there. Other bytes in their place are an error.
    pub fn get(&self, digest: &Digest, limit: u64) -> Result<Option<Vec<u8>>, FileError> {
        let (folder, name) = place(digest);
        let open =
            || self.dir.open_dir(&self.named(&folder)?, Follow::Never)?.open_file(&self.named(&name)?, Follow::Never);
        let file = match open() {
            Ok(file) => file,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e),
        };
        let mut bytes = Vec::new();
        let path = self.dir.path().join(&folder).join(&name);
        read_open(&file, limit, &mut bytes).map_err(|e| FileError::new("read", &path, e))?;
        match Digest::of(&bytes) == *digest {
            true => Ok(Some(bytes)),
            false => {
                Err(FileError::new("trust", path, std::io::Error::other("its bytes are not those that were stored")))
            }
        }
    }

    /// Removes every blob that `keep` does not name, and what a death left. How many, is told.
    pub fn sweep(&self, keep: &dyn Fn(&Digest) -> bool) -> Result<usize, FileError> {
        self.dir.remove_tree(&INCOMING)?;
        let mut removed = 0;
        for folder in self.dir.entries()? {
            let Some(start) = folder.name().to_str().filter(|name| name.len() == 2) else { continue };
            let dir = self.dir.open_dir(&folder, Follow::Never)?;
            for blob in dir.entries()? {
                let digest = blob.name().to_str().and_then(|rest| from_hex(&format!("{start}{rest}")));
                if digest.is_some_and(|digest| !keep(&Digest::from_bytes(digest))) {
                    dir.remove_file(&blob)?;
                    removed += 1;
                }
            }
        }
        Ok(removed)
    }

    fn sub_dir(&self, name: &str) -> Result<Dir, FileError> {
        sub_dir(&self.dir, &self.named(name)?)
    }

    fn named(&self, name: &str) -> Result<Name, FileError> {
        let invalid = |e: PathError| FileError::new("name", self.dir.path().join(name), std::io::Error::other(e));
        Name::new(name).map_err(invalid)
    }
}

fn place(digest: &Digest) -> (String, String) {
    let hex = digest.hex();
    (hex[..2].into(), hex[2..].into())
}

fn sub_dir(dir: &Dir, name: &(impl crate::dir::Segment + ?Sized)) -> Result<Dir, FileError> {
    match dir.create_dir(name) {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => Err(e),
        _ => dir.open_dir(name, Follow::Never),
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test looks at the files and breaks them")]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_got_by_their_digest_and_held_against_it() {
        let temp = tempfile::tempdir().unwrap();
        let home = Dir::open(temp.path()).unwrap();
        assert!(Store::open(&home).unwrap().is_none());
        let store = Store::create(&home).unwrap();
        let digest = store.put(b"some bytes").unwrap();
        assert_eq!(store.put(b"some bytes").unwrap(), digest);
        assert_eq!(store.get(&digest, 100).unwrap().unwrap(), b"some bytes");
        assert_eq!(store.get(&Digest::of(b"others"), 100).unwrap(), None);
        assert_eq!(store.get(&digest, 3).unwrap_err().kind(), ErrorKind::FileTooLarge);
        let hex = digest.hex();
        let path = temp.path().join("store").join(&hex[..2]).join(&hex[2..]);
        std::fs::write(path, "evil bytes").unwrap();
        assert!(store.get(&digest, 100).is_err());
        assert_eq!(store.sweep(&|kept| *kept == digest).unwrap(), 0);
        assert_eq!(store.sweep(&|_| false).unwrap(), 1);
    }
}

//! Objects as files in a directory.
//!
//! An object is written to a temporary file, synced, and renamed to its digest, so every object is
//! complete.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::Bytes;
use sp_tree::{Digest, Dir, EntryKind, FileError, FileStamp, Follow, Name, from_hex};

use super::backend::{ListedObject, ObjectBackend, ObjectReader, ObjectVersion};
use super::storage_health::StorageCounts;

pub(crate) const OBJECTS_DIR: &str = "objects";
pub(crate) const INCOMING_DIR: &str = "incoming";
/// Damaged objects, for the operator.
const DAMAGED_DIR: &str = "damaged";
/// The ID of the registry, if its database is elsewhere.
pub(crate) const MARKER_FILE: &str = "registry-id";
const MAX_MARKER_BYTES: u64 = 1024;

pub(crate) struct FileObjects {
    root: Arc<Path>,
    temp_counter: AtomicU64,
    /// Nothing is changed in a directory of another process, or in a backup.
    is_read_only: bool,
}

impl FileObjects {
    pub(super) fn open(folder: &Path) -> Result<Self, FileError> {
        Dir::create_all_private(&folder.join(OBJECTS_DIR))?;
        let data = Dir::open(folder)?;
        data.remove_tree(&entry_name(INCOMING_DIR)?)?;
        Dir::create_all_private(&folder.join(INCOMING_DIR))?;
        Ok(Self { is_read_only: false, ..Self::open_read_only(folder) })
    }

    /// Opens the objects in a data directory that another process may use, to delete some.
    pub(super) fn open_shared(folder: &Path) -> Self {
        Self { is_read_only: false, ..Self::open_read_only(folder) }
    }

    pub(super) fn open_read_only(folder: &Path) -> Self {
        Self { root: folder.into(), temp_counter: AtomicU64::new(0), is_read_only: true }
    }

    fn object_path(&self, digest: &Digest) -> Result<(PathBuf, Name), FileError> {
        let hex = digest.hex();
        Ok((self.root.join(OBJECTS_DIR).join(&hex[..2]), entry_name(&hex[2..])?))
    }
}

impl ObjectBackend for FileObjects {
    fn put(&self, digest: &Digest, bytes: &Bytes) -> Result<(), FileError> {
        let (folder, target) = self.object_path(digest)?;
        let dir = Dir::create_all_private(&folder)?;
        let incoming = Dir::create_all_private(&self.root.join(INCOMING_DIR))?;
        let temporary =
            entry_name(&format!("{}", self.temp_counter.fetch_add(1, Ordering::Relaxed)))?;
        let written = || -> Result<(), FileError> {
            let mut file = incoming.create_file(&temporary, false)?;
            file.write(bytes)?;
            file.sync()?;
            // Readers of the previous file keep reading it.
            incoming.rename_replace(&temporary, &dir, &target)?;
            dir.sync()
        };
        if let Err(error) = written() {
            let _ = incoming.remove_tree(&temporary);
            return Err(error);
        }
        Ok(())
    }

    fn open(&self, digest: &Digest) -> Result<Option<Box<dyn ObjectReader>>, FileError> {
        let (folder, target) = self.object_path(digest)?;
        let file = match Dir::open(&folder).and_then(|dir| dir.open_file(&target, Follow::Never)) {
            Ok(file) => file,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e),
        };
        let stamp =
            FileStamp::of(&file).map_err(|e| FileError::new("read the metadata of", &folder, e))?;
        let version = ObjectVersion { size: stamp.size, tag: (stamp.inode, stamp.modified) };
        Ok(Some(Box::new(ObjectFile { file, version, path: folder.join(target.as_str()) })))
    }

    fn list(&self, visit: &mut dyn FnMut(ListedObject)) -> Result<(), FileError> {
        let root = Dir::open(&self.root.join(OBJECTS_DIR))?;
        for group in root.entries()?.into_iter().filter(|entry| entry.kind == EntryKind::Dir) {
            let dir = root.open_dir(&group, Follow::Never)?;
            for entry in dir.entries()? {
                let stamp = dir.stat(&entry, Follow::Never)?;
                let hex =
                    [group.name().to_str(), entry.name().to_str()].map(Option::unwrap_or_default);
                let digest = from_hex(&hex.concat()).map(Digest::from_bytes);
                if let (Some(digest), Some(stamp)) = (digest, stamp) {
                    visit(ListedObject { digest, size: stamp.size, written_at: stamp.modified });
                }
            }
        }
        Ok(())
    }

    fn remove(&self, digest: &Digest, not_after: i64) -> Result<(), FileError> {
        let (folder, name) = self.object_path(digest)?;
        let Ok(dir) = Dir::open(&folder) else { return Ok(()) };
        match dir.stat(&name, Follow::Never)? {
            Some(stamp) if stamp.modified <= not_after => dir.remove_file(&name),
            _ => Ok(()),
        }
    }

    fn quarantine(&self, digest: &Digest) -> Result<(), FileError> {
        if self.is_read_only {
            return Ok(());
        }
        let (folder, name) = self.object_path(digest)?;
        let damaged = Dir::create_all_private(&self.root.join(DAMAGED_DIR))?;
        let dir = Dir::open(&folder)?;
        dir.rename_replace(&name, &damaged, &entry_name(&digest.hex())?)
    }

    fn location(&self, digest: &Digest) -> PathBuf {
        let hex = digest.hex();
        self.root.join(OBJECTS_DIR).join(&hex[..2]).join(&hex[2..])
    }

    fn read_marker(&self) -> Result<Option<String>, FileError> {
        let name = entry_name(MARKER_FILE)?;
        let file = match Dir::open(&self.root).and_then(|dir| dir.open_file(&name, Follow::Never)) {
            Ok(file) => file,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e),
        };
        let mut text = String::new();
        let read = file.take(MAX_MARKER_BYTES).read_to_string(&mut text);
        read.map_err(|e| FileError::new("read", self.root.join(MARKER_FILE), e))?;
        Ok(Some(text.trim().to_owned()))
    }

    fn write_marker(&self, id: &str) -> Result<(), FileError> {
        let root = Dir::create_all_private(&self.root)?;
        let incoming = Dir::create_all_private(&self.root.join(INCOMING_DIR))?;
        let name = entry_name(MARKER_FILE)?;
        let _ = incoming.remove_tree(&name);
        let mut file = incoming.create_file(&name, false)?;
        file.write(format!("{id}\n").as_bytes())?;
        file.sync()?;
        incoming.rename_replace(&name, &root, &name)?;
        root.sync()
    }

    fn probe(&self, _: &str) -> Result<(), FileError> {
        Dir::create_all_private(&self.root.join(INCOMING_DIR)).map(drop)
    }

    fn ping(&self) -> Result<(), FileError> {
        Dir::open(&self.root.join(OBJECTS_DIR)).map(drop)
    }

    fn counts(&self) -> StorageCounts {
        StorageCounts::default()
    }

    fn describe(&self) -> String {
        self.root.display().to_string()
    }
}

struct ObjectFile {
    file: File,
    version: ObjectVersion,
    path: PathBuf,
}

impl ObjectReader for ObjectFile {
    fn version(&self) -> &ObjectVersion {
        &self.version
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, FileError> {
        self.file.read_at(buffer, offset).map_err(|e| FileError::new("read", &self.path, e))
    }
}

pub(super) fn entry_name(text: &str) -> Result<Name, FileError> {
    Name::new(text).map_err(|e| FileError::new("name", text, std::io::Error::other(e)))
}

//! Writing a tree into an empty directory.

use std::collections::HashMap;

use crate::dir::{Dir, Follow};
use crate::file_error::FileError;
use crate::file_stamp::PathStamps;
use crate::path::{Name, PathError, RelPath};

/// Writes files and directories below an empty directory.
pub struct TreeWriter {
    root: Dir,
    dirs: HashMap<Box<str>, Dir>,
    stamps: PathStamps,
}

impl TreeWriter {
    /// Creates a writer for `root`, which must be empty.
    pub fn new(root: Dir) -> Self {
        Self { root, dirs: HashMap::new(), stamps: Vec::new() }
    }

    /// Creates a directory whose parent exists.
    pub fn create_dir(&mut self, path: &RelPath) -> Result<(), FileError> {
        let (parent, name) = self.parent_and_name(path)?;
        parent.create_dir(&name)?;
        let dir = parent.open_dir(&name, Follow::Never)?;
        self.dirs.insert(path.as_str().into(), dir);
        Ok(())
    }

    /// Writes a file whose parent directory exists.
    pub fn write_file(
        &mut self,
        path: &RelPath,
        executable: bool,
        bytes: &[u8],
    ) -> Result<(), FileError> {
        let (parent, name) = self.parent_and_name(path)?;
        let mut file = parent.create_file(&name, executable)?;
        if !bytes.is_empty() {
            file.write(bytes)?;
        }
        let stamp = file.stamp()?;
        self.stamps.push((path.as_str().into(), stamp));
        Ok(())
    }

    /// Returns the stamp of each file and directory; the root has the path "".
    pub fn finish(mut self) -> Result<PathStamps, FileError> {
        for (path, dir) in self.dirs {
            self.stamps.push((path, dir.stamp()?));
        }
        self.stamps.push(("".into(), self.root.stamp()?));
        Ok(self.stamps)
    }

    fn parent_and_name(&self, path: &RelPath) -> Result<(&Dir, Name), FileError> {
        let parent = match path.parent() {
            None => Some(&self.root),
            Some(parent) => self.dirs.get(parent),
        };
        let invalid = |why: PathError| std::io::Error::new(std::io::ErrorKind::InvalidInput, why);
        Name::new(path.file_name())
            .map_err(invalid)
            .and_then(|name| {
                parent.map(|dir| (dir, name)).ok_or(std::io::ErrorKind::NotFound.into())
            })
            .map_err(|e| FileError::new("write", self.root.path().join(path.as_str()), e))
    }
}

//! The tree of a world in memory, so that a test can start from it many times.

use std::collections::BTreeMap;
use std::fs::{self, Metadata, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Directories, files and links with their permission bits, by path. A directory comes before what
/// it contains.
pub(crate) struct Snapshot {
    root: PathBuf,
    entries: BTreeMap<PathBuf, Saved>,
}

#[derive(PartialEq, Eq)]
enum Saved {
    Dir(u32),
    File(u32, Vec<u8>),
    Link(PathBuf),
}

impl Saved {
    fn read(path: &Path, about: &Metadata) -> Self {
        let mode = about.permissions().mode() & 0o7777;
        if about.is_symlink() {
            Self::Link(fs::read_link(path).expect("a link"))
        } else if about.is_dir() {
            Self::Dir(mode)
        } else {
            Self::File(mode, fs::read(path).expect("a file that can be read"))
        }
    }

    fn write(&self, path: &Path) {
        match self {
            Self::Link(target) => symlink(target, path).expect("a link"),
            Self::Dir(mode) => {
                if !path.is_dir() {
                    fs::create_dir(path).expect("a directory");
                }
                fs::set_permissions(path, Permissions::from_mode(*mode)).expect("a mode");
            }
            Self::File(mode, bytes) => {
                fs::write(path, bytes).expect("a file");
                fs::set_permissions(path, Permissions::from_mode(*mode)).expect("a mode");
            }
        }
    }
}

impl Snapshot {
    /// Reads everything below a directory.
    pub(crate) fn of(root: &Path) -> Self {
        let mut entries = BTreeMap::new();
        read_below(root, &mut entries);
        Self { root: root.into(), entries }
    }

    /// Makes the directory as it was: what did not change stays in place, everything else is
    /// removed and created again.
    pub(crate) fn restore(&self) {
        let mut now = BTreeMap::new();
        read_below(&self.root, &mut now);
        let is_kept_dir = |path: &Path| matches!(self.entries.get(path), Some(Saved::Dir(_)));
        for (path, entry) in now.iter().rev() {
            if self.entries.get(path) == Some(entry) {
                continue;
            }
            match entry {
                Saved::Dir(_) if is_kept_dir(path) => {}
                Saved::Dir(_) => fs::remove_dir(path).expect("an empty directory"),
                Saved::File(..) | Saved::Link(_) => fs::remove_file(path).expect("a file"),
            }
        }
        for (path, entry) in &self.entries {
            if now.get(path) != Some(entry) {
                entry.write(path);
            }
        }
    }
}

fn read_below(dir: &Path, entries: &mut BTreeMap<PathBuf, Saved>) {
    for entry in fs::read_dir(dir).expect("a directory").flatten() {
        let path = entry.path();
        let about = path.symlink_metadata().expect("an entry that was just listed");
        let saved = Saved::read(&path, &about);
        let is_dir = matches!(saved, Saved::Dir(_));
        entries.insert(path.clone(), saved);
        if is_dir {
            read_below(&path, entries);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    #[test]
    fn a_restored_tree_is_as_before() {
        let temp = TempDir::new().unwrap();
        let path = |name: &str| temp.path().join(name);
        fs::create_dir_all(path("a/b")).unwrap();
        fs::write(path("a/b/file"), "old").unwrap();
        fs::write(path("a/same"), "same").unwrap();
        fs::set_permissions(path("a/same"), Permissions::from_mode(0o600)).unwrap();
        symlink("same", path("a/link")).unwrap();
        let before = Snapshot::of(temp.path());
        fs::remove_dir_all(path("a/b")).unwrap();
        fs::write(path("a/b"), "a file now").unwrap();
        fs::set_permissions(path("a/same"), Permissions::from_mode(0o644)).unwrap();
        fs::remove_file(path("a/link")).unwrap();
        fs::create_dir_all(path("a/link/new")).unwrap();
        before.restore();
        let after = Snapshot::of(temp.path());
        assert!(after.entries == before.entries);
    }
}

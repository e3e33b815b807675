//! A directory that the user named, resolved and opened once.
//!
//! Between resolving a path and changing something there, another process may replace the directory
//! with a symbolic link to a directory of its choice. A [`PinnedDir`] keeps a handle on the
//! directory that the path led to, so every later step happens there. `PinnedDir::verify` checks
//! whether the path still leads to it.
//!
//! Links on the way to the directory are allowed, because people link their dotfiles. They are
//! followed once, and must be the same links, not renamed or replaced, when the path is verified.

use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

use crate::dir::{Dir, DirAccess, Follow};
use crate::file_error::FileError;
use crate::file_stamp::{FileStamp, stamp_link};
use crate::segment::DirEntry;

/// A directory by its resolved path, with a handle on the part of it that exists.
#[derive(Debug)]
pub struct PinnedDir {
    path: PathBuf,
    /// The directory itself, or its nearest existing parent.
    base: Dir,
    /// The missing segments, outermost first.
    missing: Vec<OsString>,
    /// The links that were followed, with their stamps.
    links: Vec<(PathBuf, FileStamp)>,
    /// The directory, after it was created.
    created: OnceLock<Dir>,
}

impl PinnedDir {
    /// Resolves a path and opens the directory, or its nearest existing parent.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let resolved =
            PathResolution::resolve(path).map_err(|e| FileError::new("open directory", path, e))?;
        // A link that replaced a directory in the meantime is not followed.
        let base = Dir::open_without_links(&resolved.real)?;
        let path = resolved.missing.iter().fold(resolved.real, |path, name| path.join(name));
        Ok(Self {
            path,
            base,
            missing: resolved.missing,
            links: resolved.links,
            created: OnceLock::new(),
        })
    }

    /// The resolved path: absolute, and without links in the part that exists.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory, if it exists.
    pub fn dir(&self) -> Option<&Dir> {
        if self.missing.is_empty() { Some(&self.base) } else { self.created.get() }
    }

    /// The directory, or its nearest existing parent.
    pub fn nearest_existing(&self) -> &Dir {
        &self.base
    }

    /// The paths of the missing directories, outermost first.
    pub fn missing_paths(&self) -> Vec<PathBuf> {
        let mut path = self.base.path().to_path_buf();
        let next = |name| {
            path.push(name);
            path.clone()
        };
        self.missing.iter().map(next).collect()
    }

    /// Returns a second handle on the directory after creating missing directories, without
    /// following links. Directories created below `home` are private if `home` is.
    pub fn create(&self, home: &Dir) -> Result<Dir, FileError> {
        self.create_with(home.access_of(&self.path)?)
    }

    fn create_with(&self, access: DirAccess) -> Result<Dir, FileError> {
        let mut dir = self.base.reopen(access)?;
        for name in &self.missing {
            let entry = DirEntry::named(name);
            match dir.create_dir(&entry) {
                Err(e) if e.kind() != ErrorKind::AlreadyExists => return Err(e),
                _ => dir = dir.open_dir(&entry, Follow::Never)?,
            }
        }
        let created = dir.reopen(access)?;
        let _ = self.created.set(created);
        Ok(dir)
    }

    /// Whether the path still leads to `dir` through the same links.
    pub(crate) fn verify(&self, dir: &Dir) -> Result<bool, FileError> {
        let is_same_dir = match Dir::open_without_links(&self.path) {
            Ok(is_same_dir) => is_same_dir.identity()? == dir.identity()?,
            Err(e) if e.is_not_real_dir() => false,
            Err(e) => return Err(e),
        };
        Ok(is_same_dir
            && self.links.iter().all(|(path, stamp)| stamp_link(path).as_ref() == Some(stamp)))
    }
}

/// The kernel's own limit.
const MAX_LINKS: usize = 40;

/// Resolves a path one link at a time and records each link.
struct PathResolution {
    /// The part that exists.
    real: PathBuf,
    missing: Vec<OsString>,
    links: Vec<(PathBuf, FileStamp)>,
}

impl PathResolution {
    fn resolve(path: &Path) -> io::Result<Self> {
        let start =
            if path.is_absolute() { PathBuf::new() } else { Path::new(".").canonicalize()? };
        let mut resolved = Self { real: start, missing: Vec::new(), links: Vec::new() };
        resolved.follow(path)?;
        Ok(resolved)
    }

    fn follow(&mut self, path: &Path) -> io::Result<()> {
        for part in path.components() {
            match part {
                Component::CurDir => {}
                Component::RootDir | Component::Prefix(_) => {
                    self.real = Component::RootDir.as_os_str().into();
                }
                // `..` after a directory that does not exist is ambiguous.
                Component::ParentDir if !self.missing.is_empty() => {
                    return Err(ErrorKind::NotFound.into());
                }
                Component::ParentDir => drop(self.real.pop()),
                Component::Normal(name) if !self.missing.is_empty() => {
                    self.missing.push(name.into());
                }
                Component::Normal(name) => self.enter(name)?,
            }
        }
        Ok(())
    }

    fn enter(&mut self, name: &OsStr) -> io::Result<()> {
        let path = self.real.join(name);
        if let Some(stamp) = stamp_link(&path) {
            if self.links.len() == MAX_LINKS {
                return Err(io::Error::other("too many symbolic links"));
            }
            let target = path.read_link()?;
            self.links.push((path, stamp));
            self.follow(&target)?;
            // Creating a directory through a dangling link would be surprising.
            return if self.missing.is_empty() { Ok(()) } else { Err(ErrorKind::NotFound.into()) };
        }
        match path.symlink_metadata() {
            Ok(metadata) if metadata.is_dir() => self.real = path,
            Ok(_) => return Err(ErrorKind::NotADirectory.into()),
            Err(e) if e.kind() == ErrorKind::NotFound => self.missing.push(name.into()),
            Err(e) => return Err(e),
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the tests create and swap their own directories")]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    struct SwapFixture {
        _temp: tempfile::TempDir,
        root: PathBuf,
    }

    /// A directory `sink`, a directory `foreign`, and `link`, a symlink to `foreign`.
    fn swap_fixture() -> SwapFixture {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("sink")).unwrap();
        std::fs::create_dir(root.join("foreign")).unwrap();
        symlink(root.join("foreign"), root.join("link")).unwrap();
        SwapFixture { _temp: temp, root }
    }

    impl SwapFixture {
        fn exchange(&self, a: &str, b: &str) {
            let dir = Dir::open(&self.root).unwrap();
            assert!(
                dir.exchange(&DirEntry::named(a.as_ref()), &dir, &DirEntry::named(b.as_ref()))
                    .unwrap()
            );
        }
    }

    #[test]
    fn directory_swapped_for_a_link_stays_open_and_is_detected() {
        let fixture = swap_fixture();
        let pinned = PinnedDir::open(&fixture.root.join("sink")).unwrap();
        let dir = pinned.create_with(DirAccess::Ordinary).unwrap();
        assert!(pinned.verify(&dir).unwrap());
        fixture.exchange("sink", "link");
        assert!(!pinned.verify(&dir).unwrap());
        dir.create_dir(&DirEntry::named("made".as_ref())).unwrap();
        assert!(
            fixture.root.join("link/made").is_dir(),
            "the handle must follow the directory, not its name"
        );
        assert!(!fixture.root.join("foreign/made").exists());
        fixture.exchange("sink", "link");
        assert!(pinned.verify(&dir).unwrap());
    }

    #[test]
    fn link_in_the_path_is_followed_once_and_renaming_it_is_detected() {
        let fixture = swap_fixture();
        let pinned = PinnedDir::open(&fixture.root.join("link/deep/er")).unwrap();
        assert_eq!(pinned.path(), fixture.root.join("foreign/deep/er"));
        assert!(pinned.dir().is_none());
        let dir = pinned.create_with(DirAccess::Ordinary).unwrap();
        assert!(fixture.root.join("foreign/deep/er").is_dir());
        assert!(pinned.verify(&dir).unwrap());
        fixture.exchange("sink", "link");
        assert!(!pinned.verify(&dir).unwrap());
    }

    #[test]
    fn paths_resolve_as_the_system_resolves_them() {
        let fixture = swap_fixture();
        std::fs::create_dir_all(fixture.root.join("foreign/in/side")).unwrap();
        symlink("../foreign/in", fixture.root.join("sink/relative")).unwrap();
        symlink("relative/side", fixture.root.join("sink/twice")).unwrap();
        for path in [
            "sink",
            "link",
            "link/in/..",
            "sink/relative/side",
            "sink/twice",
            "sink/twice/..",
            "./sink/.",
        ] {
            let path = fixture.root.join(path);
            let pinned = PinnedDir::open(&path).unwrap();
            assert_eq!(pinned.path(), path.canonicalize().unwrap(), "{}", path.display());
            assert!(pinned.verify(pinned.dir().unwrap()).unwrap());
        }
    }

    #[test]
    fn missing_directories_are_never_created_through_a_link() {
        let fixture = swap_fixture();
        let pinned = PinnedDir::open(&fixture.root.join("later/skills")).unwrap();
        symlink(fixture.root.join("foreign"), fixture.root.join("later")).unwrap();
        pinned.create_with(DirAccess::Ordinary).unwrap_err();
        assert!(!fixture.root.join("foreign/skills").exists());
    }

    #[test]
    fn dangling_link_and_file_are_errors() {
        let fixture = swap_fixture();
        symlink(fixture.root.join("nowhere"), fixture.root.join("dangling")).unwrap();
        std::fs::write(fixture.root.join("file"), "").unwrap();
        symlink("round", fixture.root.join("round")).unwrap();
        for path in ["dangling", "dangling/x", "file", "file/x", "x/../y", "round"] {
            PinnedDir::open(&fixture.root.join(path)).unwrap_err();
        }
    }
}

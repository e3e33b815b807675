//! Files that get their name when they are complete.
//!
//! A [`StagedFile`] has no name while it is written, so nothing is left of it if the process is
//! killed. Where the file system does not support that, it has a temporary name. The file is locked
//! as long as it is open: [`remove_leftovers`] removes files with a temporary name that no process
//! has locked.

use std::fs::TryLockError;
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{Access, AtFlags, OFlags};
use rustix::io::Errno;

use crate::dir::{Dir, Follow};
use crate::fault::{self, FileOp};
use crate::file_error::FileError;
use crate::file_stamp::EntryKind;
use crate::new_file::{FileAccess, NewFile};
use crate::path::Name;
use crate::segment::Segment;

/// The end of temporary names.
const TEMP_SUFFIX: &str = ".sp-new";
/// Where the kernel lists the open files of the process.
const FD_LINKS: &str = "/proc/self/fd";
/// How often a temporary file is created again that another process took for a leftover.
const MAX_ATTEMPTS: usize = 8;

/// A file in `dir` without its final name. It is removed on drop unless it was placed.
pub(crate) struct StagedFile<'a> {
    dir: &'a Dir,
    temp: Name,
    pub(crate) file: NewFile,
    has_temp_name: bool,
}

impl<'a> StagedFile<'a> {
    /// Creates an empty file. `run_id` is unique.
    pub(crate) fn create(
        dir: &'a Dir,
        run_id: &str,
        access: FileAccess,
    ) -> Result<Self, FileError> {
        let temp = temp_name(dir, run_id)?;
        match create_unnamed(dir, &temp, access)? {
            Some(file) => {
                try_lock(&file)?;
                Ok(Self { dir, temp, file, has_temp_name: false })
            }
            None => Self::create_with_temp_name(dir, temp, access),
        }
    }

    fn create_with_temp_name(
        dir: &'a Dir,
        temp: Name,
        access: FileAccess,
    ) -> Result<Self, FileError> {
        let file = create_locked(dir, &temp, access)?;
        Ok(Self { dir, temp, file, has_temp_name: true })
    }

    /// Gives the file its name; fails if the name exists.
    pub(crate) fn place_new(mut self, name: &(impl Segment + ?Sized)) -> Result<(), FileError> {
        if self.has_temp_name {
            self.dir.rename_noreplace(&self.temp, self.dir, name)?;
            self.has_temp_name = false;
            Ok(())
        } else {
            link(self.dir, &self.file, name)
        }
    }

    /// Gives the file its name, replacing an existing file.
    pub(crate) fn place_over(mut self, name: &(impl Segment + ?Sized)) -> Result<(), FileError> {
        if !self.has_temp_name {
            // A file without a name cannot replace another.
            link(self.dir, &self.file, &self.temp)?;
            self.has_temp_name = true;
        }
        self.dir.rename_replace(&self.temp, self.dir, name)?;
        self.has_temp_name = false;
        Ok(())
    }
}

impl Drop for StagedFile<'_> {
    fn drop(&mut self) {
        if self.has_temp_name {
            // Best effort: `remove_leftovers` removes what stays.
            let _ = self.dir.remove_file(&self.temp);
        }
    }
}

/// Creates a file that must not exist and is locked when it appears, until it is dropped.
pub fn create_locked_file(dir: &Dir, name: &Name) -> Result<NewFile, FileError> {
    match create_unnamed(dir, name, FileAccess::Ordinary)? {
        Some(file) => {
            try_lock(&file)?;
            link(dir, &file, name)?;
            Ok(file)
        }
        None => create_locked(dir, name, FileAccess::Ordinary),
    }
}

/// Creates a file without a name, which disappears with its handle unless [`link`] gives it one.
/// `None` if that is not supported. `name` is for messages.
#[cfg(target_os = "linux")]
fn create_unnamed(
    dir: &Dir,
    name: &Name,
    access: FileAccess,
) -> Result<Option<NewFile>, FileError> {
    let path = dir.path_of(name);
    let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
    let create = || -> io::Result<OwnedFd> {
        fault::point(FileOp::CreateFile, || path.display().to_string())?;
        // `link` needs it.
        rustix::fs::access(FD_LINKS, Access::EXISTS).map_err(|_| Errno::OPNOTSUPP)?;
        Ok(rustix::fs::openat(dir.as_fd(), c".", flags, dir.new_file_mode(access))?)
    };
    match create() {
        Ok(fd) => Ok(Some(NewFile { file: fd.into(), path })),
        Err(e) => match Errno::from_io_error(&e) {
            Some(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => Ok(None),
            _ => Err(FileError::new("create", path, e)),
        },
    }
}

#[cfg(not(target_os = "linux"))]
fn create_unnamed(_: &Dir, _: &Name, _: FileAccess) -> Result<Option<NewFile>, FileError> {
    Ok(None)
}

/// Gives a name to a file without one; fails if the name exists.
fn link(dir: &Dir, file: &NewFile, name: &(impl Segment + ?Sized)) -> Result<(), FileError> {
    let from = format!("{FD_LINKS}/{}", file.file.as_raw_fd());
    dir.mutate(FileOp::CreateFile, "create", name, || {
        let flags = AtFlags::SYMLINK_FOLLOW;
        rustix::fs::linkat(rustix::fs::CWD, &*from, dir.as_fd(), name.segment(), flags)
    })
}

/// Creates a file that must not exist, and locks it before another process takes it for a leftover.
fn create_locked(dir: &Dir, name: &Name, access: FileAccess) -> Result<NewFile, FileError> {
    for _ in 0..MAX_ATTEMPTS {
        let file = match access {
            FileAccess::Ordinary => dir.create_file(name, false)?,
            FileAccess::Executable => dir.create_file(name, true)?,
            FileAccess::Private => dir.create_private_file(name)?,
        };
        if try_lock(&file)? && file.has_name()? {
            return Ok(file);
        }
    }
    Err(FileError::new("lock", dir.path_of(name), ErrorKind::ResourceBusy))
}

/// Locks a file if no other process has it locked.
fn try_lock(file: &NewFile) -> Result<bool, FileError> {
    match file.file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        // Where files cannot be locked, nothing is taken for a leftover.
        Err(TryLockError::Error(e)) if e.kind() == ErrorKind::Unsupported => Ok(true),
        Err(TryLockError::Error(e)) => Err(FileError::new("lock", &file.path, e)),
    }
}

/// Removes the temporary files in `dir` of processes that died. Best effort.
pub(crate) fn remove_leftovers(dir: &Dir) {
    for entry in dir.entries().unwrap_or_default() {
        let is_temp = entry.kind == EntryKind::File
            && entry
                .name()
                .to_str()
                .is_some_and(|name| name.starts_with('.') && name.ends_with(TEMP_SUFFIX));
        // The lock is held until the file is removed.
        if is_temp
            && let Ok(file) = dir.open_file(&entry, Follow::Never)
            && file.try_lock().is_ok()
        {
            let _ = dir.remove_file(&entry);
        }
    }
}

fn temp_name(dir: &Dir, run_id: &str) -> Result<Name, FileError> {
    let name = format!(".{run_id}{TEMP_SUFFIX}");
    Name::new(&name).map_err(|e| FileError::new("name", dir.path(), io::Error::other(e)))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the test creates its own files")]
mod tests {
    use super::*;
    use crate::segment::StaticName;

    const NAME: StaticName = StaticName("file");

    fn names(dir: &Dir) -> Vec<String> {
        let mut names: Vec<String> = dir
            .entries()
            .unwrap()
            .iter()
            .map(|entry| entry.name().to_str().unwrap().to_owned())
            .collect();
        names.sort();
        names
    }

    fn staged(dir: &Dir, has_temp_name: bool) -> StagedFile<'_> {
        let temp = temp_name(dir, "run").unwrap();
        let mut staged = if has_temp_name {
            StagedFile::create_with_temp_name(dir, temp, FileAccess::Private).unwrap()
        } else {
            StagedFile::create(dir, "run", FileAccess::Private).unwrap()
        };
        staged.file.write(b"new").unwrap();
        staged
    }

    #[test]
    fn file_is_placed_once_and_leaves_nothing_else() {
        for has_temp_name in [false, true] {
            let temp = tempfile::tempdir().unwrap();
            let path = temp.path().join("file");
            let dir = Dir::open(temp.path()).unwrap();
            drop(staged(&dir, has_temp_name));
            assert!(names(&dir).is_empty());
            staged(&dir, has_temp_name).place_new(&NAME).unwrap();
            assert_eq!(
                (names(&dir), std::fs::read(&path).unwrap()),
                (vec!["file".into()], b"new".into())
            );
            std::fs::write(&path, "old").unwrap();
            let error = staged(&dir, has_temp_name).place_new(&NAME).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::AlreadyExists);
            assert_eq!(
                (names(&dir), std::fs::read(&path).unwrap()),
                (vec!["file".into()], b"old".into())
            );
            staged(&dir, has_temp_name).place_over(&NAME).unwrap();
            assert_eq!(
                (names(&dir), std::fs::read(&path).unwrap()),
                (vec!["file".into()], b"new".into())
            );
        }
    }

    #[test]
    fn only_unlocked_temporary_files_are_leftovers() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(temp.path()).unwrap();
        for name in [".dead.sp-new", "mine.sp-new", ".mine"] {
            std::fs::write(temp.path().join(name), "").unwrap();
        }
        std::fs::create_dir(temp.path().join(".folder.sp-new")).unwrap();
        std::os::unix::fs::symlink("mine.sp-new", temp.path().join(".link.sp-new")).unwrap();
        let alive = staged(&dir, true);
        remove_leftovers(&dir);
        assert_eq!(
            names(&dir),
            [".folder.sp-new", ".link.sp-new", ".mine", ".run.sp-new", "mine.sp-new"]
        );
        alive.place_new(&NAME).unwrap();
        assert!(names(&dir).contains(&"file".into()));
    }

    #[test]
    fn named_file_is_locked_and_must_not_exist() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open(temp.path()).unwrap();
        let name = Name::new("download.zip").unwrap();
        let file = create_locked_file(&dir, &name).unwrap();
        let is_locked = || dir.open_file(&name, Follow::Never).unwrap().try_lock().is_err();
        assert!(is_locked());
        assert_eq!(create_locked_file(&dir, &name).unwrap_err().kind(), ErrorKind::AlreadyExists);
        drop(file);
        assert!(!is_locked());
    }
}

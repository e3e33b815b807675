//! A handle on a directory, and every operation below it.
//!
//! Every call uses the handle and a checked name (a [`Segment`]), so nothing here can be redirected
//! to another directory. Links are followed only if the caller passes [`Follow::Links`]. Every call
//! that changes something passes [`fault::point`].
//!
//! A [`Dir`] is ordinary or private. Everything created below a private one, at any depth, is
//! private too and accessible only to its owner, regardless of the umask.

use std::ffi::{CStr, OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::fault::{self, FileOp};
use crate::file_error::FileError;
use crate::file_stamp::{EntryKind, FileStamp, entry_kind, stamp_of};
use crate::new_file::{FileAccess, NewFile};
use crate::path::RelPath;
use crate::segment::{DirEntry, Segment};

type Result<T, E = FileError> = std::result::Result<T, E>;

/// Whether symbolic links are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follow {
    /// Follow links, as for an author's own files.
    Links,
    Never,
}

impl Follow {
    fn flags(self) -> AtFlags {
        match self {
            Self::Links => AtFlags::empty(),
            Self::Never => AtFlags::SYMLINK_NOFOLLOW,
        }
    }
}

/// Who may access what is created in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DirAccess {
    /// As the umask allows.
    Ordinary,
    /// Only the owner.
    Private,
}

impl DirAccess {
    /// The permission bits of `mode` that are allowed.
    fn mask_mode(self, mode: u32) -> Mode {
        Mode::from_raw_mode(
            (match self {
                Self::Ordinary => mode,
                Self::Private => mode & 0o700,
            }) as _,
        )
    }
}

/// An open directory.
#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
    path: PathBuf,
    access: DirAccess,
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "only one platform lists through its own handle")
    )]
    listed: AtomicBool,
}

const DIR_FLAGS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

impl Dir {
    /// Opens a directory by a path given by the user, not by a package.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_with_access(path, DirAccess::Ordinary)
    }

    fn open_with_access(path: &Path, access: DirAccess) -> Result<Self> {
        let fd = rustix::fs::open(path, DIR_FLAGS, Mode::empty())
            .map_err(|e| FileError::new("open directory", path, e))?;
        Ok(Self { fd, path: path.into(), access, listed: AtomicBool::new(false) })
    }

    /// Opens a directory by its resolved path. A link anywhere in it is an error (`ELOOP` or
    /// `ENOTDIR`).
    pub fn open_without_links(path: &Path) -> Result<Self> {
        let fd = open_without_links(path).map_err(|e| FileError::new("open directory", path, e))?;
        Ok(Self {
            fd,
            path: path.into(),
            access: DirAccess::Ordinary,
            listed: AtomicBool::new(false),
        })
    }

    /// A second handle on the same directory.
    pub(crate) fn reopen(&self, access: DirAccess) -> Result<Self> {
        let fd = rustix::fs::openat(&self.fd, ".", DIR_FLAGS, Mode::empty())
            .map_err(|e| FileError::new("open directory", &self.path, e))?;
        Ok(Self { fd, path: self.path.clone(), access, listed: AtomicBool::new(false) })
    }

    /// Opens a directory by a path given by the user, creating it and its parents if necessary.
    pub fn create_all(path: &Path) -> Result<Self> {
        Self::create_with_access(path, DirAccess::Ordinary)
    }

    /// Like [`create_all`](Self::create_all), but the directory is private, and so are the
    /// directories that are created.
    pub fn create_all_private(path: &Path) -> Result<Self> {
        Self::create_with_access(path, DirAccess::Private)
    }

    /// The access for what is created at `path`: private if it is below this directory and this one
    /// is private.
    pub(crate) fn access_of(&self, path: &Path) -> Result<DirAccess> {
        let own = self.identity()?;
        let is_own = |above: &Path| {
            Self::open(above).and_then(|above| above.identity()).is_ok_and(|other| other == own)
        };
        let inside = self.access == DirAccess::Private && path.ancestors().any(is_own);
        Ok(if inside { DirAccess::Private } else { DirAccess::Ordinary })
    }

    fn create_with_access(path: &Path, access: DirAccess) -> Result<Self> {
        match Self::open_with_access(path, access) {
            Err(error) if error.is_errno(Errno::NOENT) => {}
            other => return other,
        }
        let (Some(parent), Some(entry)) = (path.parent(), DirEntry::from_path(path)) else {
            return Self::open_with_access(path, access);
        };
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        match Self::create_with_access(parent, access)?.create_dir(&entry) {
            Err(error) if !error.is_errno(Errno::EXIST) => Err(error),
            _ => Self::open_with_access(path, access),
        }
    }

    /// Removes the permissions of everyone except the owner.
    pub fn restrict_to_owner(&self) -> Result<()> {
        let others = self.stamp()?.mode & 0o077;
        if others == 0 {
            return Ok(());
        }
        fault::point(FileOp::Mode, || self.path.display().to_string())
            .and_then(|()| Ok(rustix::fs::fchmod(&self.fd, Mode::from_raw_mode(0o700))?))
            .map_err(|e| FileError::new("change the permissions of", &self.path, e))
    }

    /// Removes the permissions of everyone except the owner from a file.
    pub fn restrict_file_to_owner(&self, name: &(impl Segment + ?Sized)) -> Result<()> {
        let file = self.open_file(name, Follow::Never)?;
        self.mutate(FileOp::Mode, "change the permissions of", name, || {
            let mode = Mode::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) & Mode::RWXU;
            rustix::fs::fchmod(&file, mode)
        })
    }

    /// The path, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of an entry, for messages.
    pub fn path_of(&self, name: &(impl Segment + ?Sized)) -> PathBuf {
        self.path.join(name.segment())
    }

    /// Opens a subdirectory.
    pub fn open_dir(&self, name: &(impl Segment + ?Sized), follow: Follow) -> Result<Self> {
        let flags = match follow {
            Follow::Links => DIR_FLAGS,
            Follow::Never => DIR_FLAGS | OFlags::NOFOLLOW,
        };
        let fd = rustix::fs::openat(&self.fd, name.segment(), flags, Mode::empty())
            .map_err(|e| FileError::new("open directory", self.path_of(name), e))?;
        Ok(Self {
            fd,
            path: self.path_of(name),
            access: self.access,
            listed: AtomicBool::new(false),
        })
    }

    /// Opens a file for reading. Does not block on a FIFO; the caller checks the file type first.
    pub fn open_file(&self, name: &(impl Segment + ?Sized), follow: Follow) -> Result<File> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let flags = match follow {
            Follow::Links => flags,
            Follow::Never => flags | OFlags::NOFOLLOW,
        };
        rustix::fs::openat(&self.fd, name.segment(), flags, Mode::empty())
            .map(File::from)
            .map_err(|e| FileError::new("open", self.path_of(name), e))
    }

    /// Opens a file in a subdirectory for reading. With [`Follow::Never`], no directory on the way
    /// may be a link.
    pub fn open_beneath(&self, path: &RelPath, follow: Follow) -> Result<File> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = match follow {
            Follow::Links => rustix::fs::openat(&self.fd, path.as_str(), flags, Mode::empty()),
            Follow::Never => self.open_beneath_without_links(path, flags | OFlags::NOFOLLOW),
        };
        opened.map(File::from).map_err(|e| FileError::new("open", self.path.join(path.as_str()), e))
    }

    fn open_beneath_without_links(
        &self,
        path: &RelPath,
        flags: OFlags,
    ) -> rustix::io::Result<OwnedFd> {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::ResolveFlags;
            let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
            match rustix::fs::openat2(&self.fd, path.as_str(), flags, Mode::empty(), beneath) {
                // Kernels before 5.6, and sandboxes that block the call.
                Err(Errno::NOSYS | Errno::PERM) => {}
                other => return other,
            }
        }
        let Some(parent) = path.parent() else {
            return rustix::fs::openat(&self.fd, path.as_str(), flags, Mode::empty());
        };
        let step = DIR_FLAGS | OFlags::NOFOLLOW;
        let mut dir = rustix::fs::openat(&self.fd, ".", DIR_FLAGS, Mode::empty())?;
        for segment in parent.split('/') {
            dir = rustix::fs::openat(&dir, segment, step, Mode::empty())?;
        }
        rustix::fs::openat(&dir, path.file_name(), flags, Mode::empty())
    }

    /// Returns the stamp of an entry, or `None` if it does not exist.
    pub fn stat(
        &self,
        name: &(impl Segment + ?Sized),
        follow: Follow,
    ) -> Result<Option<FileStamp>> {
        self.stat_at(name.segment(), follow)
    }

    /// Returns the stamp of a path. Only safe if the caller knows the directories on the way.
    pub fn stat_beneath(&self, path: &RelPath, follow: Follow) -> Result<Option<FileStamp>> {
        self.stat_at(OsStr::new(path.as_str()), follow)
    }

    /// Whether a path in the index still has the same stamp.
    pub(crate) fn is_unchanged(&self, path: &CStr, follow: Follow, stamp: &FileStamp) -> bool {
        let now = if path.is_empty() {
            rustix::fs::fstat(&self.fd)
        } else {
            rustix::fs::statat(&self.fd, path, follow.flags())
        };
        now.is_ok_and(|now| FileStamp::from_stat(&now) == *stamp)
    }

    fn stat_at(&self, path: &OsStr, follow: Follow) -> Result<Option<FileStamp>> {
        match rustix::fs::statat(&self.fd, path, follow.flags()) {
            Ok(stat) => Ok(Some(FileStamp::from_stat(&stat))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(e) => Err(FileError::new("read the metadata of", self.path.join(path), e)),
        }
    }

    /// The stamp of the directory itself.
    pub fn stamp(&self) -> Result<FileStamp> {
        stamp_of(&self.fd).map_err(|e| FileError::new("read the metadata of", &self.path, e))
    }

    /// Device and inode, which are unique at any time.
    pub fn identity(&self) -> Result<(u64, u64)> {
        #[allow(clippy::unnecessary_cast, reason = "the fields' types differ between platforms")]
        rustix::fs::fstat(&self.fd)
            .map(|stat| (stat.st_dev as u64, stat.st_ino as u64))
            .map_err(|e| FileError::new("read the metadata of", &self.path, e))
    }

    /// The entries in no particular order, without `.` and `..`.
    pub fn entries(&self) -> Result<Vec<DirEntry>> {
        self.raw_entries()
            .map_err(|e| FileError::new("list", &self.path, e))?
            .into_iter()
            .filter_map(|(name, kind)| match kind {
                // Some file systems do not return the type together with the name.
                FileType::Unknown => match self.stat_at(&name, Follow::Never) {
                    Ok(stamp) => stamp.map(|stamp| Ok(DirEntry::new(name, stamp.kind()))),
                    Err(e) => Some(Err(e)),
                },
                known => Some(Ok(DirEntry::new(name, entry_kind(known)))),
            })
            .collect()
    }

    #[cfg(target_os = "linux")]
    fn raw_entries(&self) -> rustix::io::Result<Vec<(OsString, FileType)>> {
        // A second listing with the same handle would continue where the first ended.
        if self.listed.swap(true, Ordering::Relaxed) {
            rustix::fs::seek(&self.fd, rustix::fs::SeekFrom::Start(0))?;
        }
        let mut entries = Vec::new();
        let mut buffer = [std::mem::MaybeUninit::uninit(); 16 * 1024];
        let mut raw = rustix::fs::RawDir::new(&self.fd, &mut buffer);
        while let Some(entry) = raw.next() {
            let entry = entry?;
            push_entry(&mut entries, entry.file_name(), entry.file_type());
        }
        Ok(entries)
    }

    #[cfg(not(target_os = "linux"))]
    fn raw_entries(&self) -> rustix::io::Result<Vec<(OsString, FileType)>> {
        let mut entries = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.fd)? {
            let entry = entry?;
            push_entry(&mut entries, entry.file_name(), entry.file_type());
        }
        Ok(entries)
    }

    /// The target of a link as written.
    pub fn read_link(&self, name: &(impl Segment + ?Sized)) -> Result<OsString> {
        rustix::fs::readlinkat(&self.fd, name.segment(), Vec::new())
            .map(|target| OsString::from_vec(target.into_bytes()))
            .map_err(|e| FileError::new("read the symbolic link", self.path_of(name), e))
    }

    /// The free space available to the user.
    pub fn free_bytes(&self) -> Result<u64> {
        rustix::fs::fstatvfs(&self.fd)
            .map(|stat| stat.f_bavail.saturating_mul(stat.f_frsize))
            .map_err(|e| FileError::new("query the file system of", &self.path, e))
    }

    /// Creates a directory that must not exist.
    pub fn create_dir(&self, name: &(impl Segment + ?Sized)) -> Result<()> {
        self.mutate(FileOp::CreateDir, "create directory", name, || {
            rustix::fs::mkdirat(&self.fd, name.segment(), self.access.mask_mode(0o777))
        })
    }

    /// Creates a link; only used to preserve a user's links.
    pub fn create_link(&self, name: &(impl Segment + ?Sized), target: &OsStr) -> Result<()> {
        self.mutate(FileOp::CreateFile, "create the symbolic link", name, || {
            rustix::fs::symlinkat(target, &self.fd, name.segment())
        })
    }

    /// Creates a file that must not exist.
    pub fn create_file(&self, name: &(impl Segment + ?Sized), executable: bool) -> Result<NewFile> {
        self.create_with_mode(name, if executable { 0o777 } else { 0o666 })
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// The permission bits of a new file, from which the umask takes more.
    pub(crate) fn new_file_mode(&self, access: FileAccess) -> Mode {
        self.access.mask_mode(match access {
            FileAccess::Ordinary => 0o666,
            FileAccess::Executable => 0o777,
            FileAccess::Private => 0o600,
        })
    }

    /// Creates a file that must not exist and that only the owner can read.
    pub fn create_private_file(&self, name: &(impl Segment + ?Sized)) -> Result<NewFile> {
        self.create_with_mode(name, 0o600)
    }

    fn create_with_mode(&self, name: &(impl Segment + ?Sized), mode: u32) -> Result<NewFile> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let path = self.path_of(name);
        let create = || -> io::Result<OwnedFd> {
            fault::point(FileOp::CreateFile, || path.display().to_string())?;
            Ok(rustix::fs::openat(&self.fd, name.segment(), flags, self.access.mask_mode(mode))?)
        };
        match create() {
            Ok(fd) => Ok(NewFile { file: fd.into(), path }),
            Err(e) => Err(FileError::new("create", path, e)),
        }
    }

    /// Creates an empty file unless it exists.
    pub fn ensure_file(&self, name: &(impl Segment + ?Sized)) -> Result<()> {
        match self.create_file(name, false) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(e),
            _ => Ok(()),
        }
    }

    /// Renames an entry; fails if the target exists.
    pub fn rename_noreplace(
        &self,
        from: &(impl Segment + ?Sized),
        to: &Dir,
        name: &(impl Segment + ?Sized),
    ) -> Result<()> {
        self.mutate(FileOp::Rename, "move", from, || {
            let with = |flags| {
                rustix::fs::renameat_with(&self.fd, from.segment(), &to.fd, name.segment(), flags)
            };
            match with(RenameFlags::NOREPLACE) {
                // The file system does not support it: check, then rename.
                Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                    match rustix::fs::statat(&to.fd, name.segment(), AtFlags::SYMLINK_NOFOLLOW) {
                        Err(Errno::NOENT) => with(RenameFlags::empty()),
                        Ok(_) => Err(Errno::EXIST),
                        Err(e) => Err(e),
                    }
                }
                other => other,
            }
        })
    }

    /// Renames an entry, replacing an existing file.
    pub fn rename_replace(
        &self,
        from: &(impl Segment + ?Sized),
        to: &Dir,
        name: &(impl Segment + ?Sized),
    ) -> Result<()> {
        to.mutate(FileOp::Rename, "replace", name, || {
            rustix::fs::renameat(&self.fd, from.segment(), &to.fd, name.segment())
        })
    }

    /// Exchanges two entries atomically. `Ok(false)` if the file system does not support it.
    pub fn exchange(
        &self,
        a: &(impl Segment + ?Sized),
        other: &Dir,
        b: &(impl Segment + ?Sized),
    ) -> Result<bool> {
        let exchange = || {
            rustix::fs::renameat_with(
                &self.fd,
                a.segment(),
                &other.fd,
                b.segment(),
                RenameFlags::EXCHANGE,
            )
        };
        let mut supported = true;
        self.mutate(FileOp::Rename, "exchange", a, || match exchange() {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                supported = false;
                Ok(())
            }
            other => other,
        })?;
        Ok(supported)
    }

    pub fn remove_file(&self, name: &(impl Segment + ?Sized)) -> Result<()> {
        self.mutate(FileOp::Remove, "remove", name, || {
            rustix::fs::unlinkat(&self.fd, name.segment(), AtFlags::empty())
        })
    }

    pub fn remove_dir(&self, name: &(impl Segment + ?Sized)) -> Result<()> {
        self.mutate(FileOp::Remove, "remove directory", name, || {
            rustix::fs::unlinkat(&self.fd, name.segment(), AtFlags::REMOVEDIR)
        })
    }

    /// Removes an entry recursively without following links. A missing entry is not an error.
    pub fn remove_tree(&self, name: &(impl Segment + ?Sized)) -> Result<()> {
        match self.stat(name, Follow::Never)?.map(|stamp| stamp.kind()) {
            None => Ok(()),
            Some(EntryKind::Dir) => {
                let dir = self.open_for_removal(name)?;
                for entry in dir.entries()? {
                    match entry.kind {
                        EntryKind::Dir => dir.remove_tree(&entry)?,
                        _ => dir.remove_file(&entry)?,
                    }
                }
                self.remove_dir(name)
            }
            Some(_) => self.remove_file(name),
        }
    }

    /// Opens a directory and makes it writable first if necessary.
    fn open_for_removal(&self, name: &(impl Segment + ?Sized)) -> Result<Dir> {
        let writable = Mode::from_raw_mode(0o700);
        if let Some(stamp) = self.stat(name, Follow::Never)?
            && stamp.mode & 0o700 != 0o700
        {
            // This fails for another user's directory; then removing fails and is reported.
            let _ = self.mutate(FileOp::Mode, "change the permissions of", name, || {
                rustix::fs::chmodat(&self.fd, name.segment(), writable, AtFlags::empty())
            });
        }
        self.open_dir(name, Follow::Never)
    }

    /// Makes changes to the directory's entries durable.
    pub fn sync(&self) -> Result<()> {
        self.sync_with("sync", || rustix::fs::fsync(&self.fd))
    }

    /// Makes everything written to this file system durable.
    pub fn sync_filesystem(&self) -> Result<()> {
        self.sync_with("sync the file system of", || {
            #[cfg(target_os = "linux")]
            rustix::fs::syncfs(&self.fd)?;
            #[cfg(not(target_os = "linux"))]
            rustix::fs::sync();
            Ok(())
        })
    }

    fn sync_with(
        &self,
        action: &'static str,
        call: impl FnOnce() -> rustix::io::Result<()>,
    ) -> Result<()> {
        fault::point(FileOp::Sync, || self.path.display().to_string())
            .and_then(|()| Ok(call()?))
            .map_err(|e| FileError::new(action, &self.path, e))
    }

    pub(crate) fn mutate(
        &self,
        op: FileOp,
        action: &'static str,
        name: &(impl Segment + ?Sized),
        call: impl FnOnce() -> rustix::io::Result<()>,
    ) -> Result<()> {
        fault::point(op, || self.path_of(name).display().to_string())
            .and_then(|()| Ok(call()?))
            .map_err(|e| FileError::new(action, self.path_of(name), e))
    }
}

fn push_entry(entries: &mut Vec<(OsString, FileType)>, name: &CStr, kind: FileType) {
    let name = name.to_bytes();
    if name != b"." && name != b".." {
        entries.push((OsString::from_vec(name.to_vec()), kind));
    }
}

/// Opens a directory without following a link anywhere in the path.
fn open_without_links(path: &Path) -> rustix::io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, ResolveFlags};
        match rustix::fs::openat2(CWD, path, DIR_FLAGS, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            // Kernels before 5.6, and sandboxes that block the call.
            Err(Errno::NOSYS | Errno::PERM) => {}
            other => return other,
        }
    }
    let start = if path.is_absolute() { "/" } else { "." };
    let mut dir = rustix::fs::open(start, DIR_FLAGS, Mode::empty())?;
    for part in
        path.components().filter(|part| !matches!(part, Component::RootDir | Component::CurDir))
    {
        dir = rustix::fs::openat(
            &dir,
            part.as_os_str(),
            DIR_FLAGS | OFlags::NOFOLLOW,
            Mode::empty(),
        )?;
    }
    Ok(dir)
}

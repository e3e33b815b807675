//! Disposal of replaced folders: deleted if they are unchanged since installation, otherwise moved
//! to the trash.

use super::journal::{Journal, JournalChange};
use super::{TRASH_DIR, TrashedEntry, discarded_name, old_name, staged_name};
use crate::dir::{Dir, Follow};
use crate::file_error::FileError;
use crate::file_stamp::EntryKind;
use crate::limits::Limits;
use crate::path::Name;
use crate::read::digest_open;
use crate::scan::hash_installed;
use crate::segment::Segment;

/// Disposes of the old folders of one root.
pub(super) struct Disposal<'a> {
    pub home: &'a Dir,
    pub journal: &'a Journal,
    pub limits: &'a Limits,
    pub dir: &'a Dir,
    pub stage: &'a Dir,
}

impl Disposal<'_> {
    /// Moves the old folder of a change to the trash if the user has edited it, otherwise to where
    /// it will be deleted.
    ///
    /// Nothing is deleted here: a folder that a crash left half deleted would look edited in the
    /// next run.
    pub(super) fn dispose(
        &self,
        index: usize,
        change: &JournalChange,
    ) -> Result<Option<TrashedEntry>, FileError> {
        for slot in [staged_name(index), old_name(index)] {
            if entry_inode(self.stage, &slot)? != change.goes {
                continue;
            }
            if !self.is_unmodified(&slot, change)? {
                return self.move_to_trash(index, &slot, change).map(Some);
            }
            self.stage.rename_noreplace(&slot, self.stage, &discarded_name(index))?;
        }
        Ok(None)
    }

    fn move_to_trash(
        &self,
        index: usize,
        slot: &Name,
        change: &JournalChange,
    ) -> Result<TrashedEntry, FileError> {
        let trash = open_or_create_dir(self.home, &TRASH_DIR)?;
        let run = open_or_create_dir(&trash, &self.journal.id)?;
        let trash_dir = open_or_create_dir(&run, &Name::from_number(change.root, ""))?;
        match self.stage.rename_noreplace(slot, &trash_dir, &change.name) {
            Err(e) if e.kind() == std::io::ErrorKind::CrossesDevices => {
                self.copy_to_trash(slot, &trash_dir, &change.name)?;
                self.stage.rename_noreplace(slot, self.stage, &discarded_name(index))?;
            }
            moved => moved?,
        }
        trash_dir.sync()?;
        Ok(TrashedEntry {
            from: self.dir.path_of(&change.name),
            to: trash_dir.path_of(&change.name),
        })
    }

    /// Copies to another file system, completely or not at all.
    fn copy_to_trash(&self, slot: &Name, trash_dir: &Dir, name: &Name) -> Result<(), FileError> {
        let partial = Name::with_prefix(".partial-", name);
        trash_dir.remove_tree(&partial)?;
        copy_entry(self.stage, slot, trash_dir, &partial)?;
        trash_dir.sync_filesystem()?;
        // What exists is a complete copy: the process crashed before the original was moved away.
        trash_dir.remove_tree(name)?;
        trash_dir.rename_noreplace(&partial, trash_dir, name)
    }

    fn is_unmodified(&self, slot: &Name, change: &JournalChange) -> Result<bool, FileError> {
        // A link in place of an installed folder has no content of its own.
        if self.stage.stat(slot, Follow::Never)?.is_none_or(|stamp| stamp.kind() == EntryKind::Link)
        {
            return Ok(true);
        }
        let Some(digest) = change.digest else {
            return Ok(false);
        };
        if let Ok(current) = self
            .stage
            .open_file(slot, Follow::Never)
            .map_err(drop)
            .and_then(|file| digest_open(&file).map_err(drop))
        {
            return Ok(current == digest);
        }
        let Ok(folder) = self.stage.open_dir(slot, Follow::Never) else {
            return Ok(false);
        };
        // A folder that cannot be read cannot be recognized as unchanged.
        let measured = hash_installed(&folder, self.limits).unwrap_or(None);
        Ok(measured.is_some_and(|measured| measured.tree.digest() == digest))
    }
}

/// Opens a directory, creating it if necessary.
fn open_or_create_dir(dir: &Dir, name: &(impl Segment + ?Sized)) -> Result<Dir, FileError> {
    match dir.create_dir(name) {
        Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => Err(e),
        _ => dir.open_dir(name, Follow::Never),
    }
}

/// Copies anything but special files to another file system, links as links.
fn copy_entry(
    from: &Dir,
    name: &(impl Segment + ?Sized),
    to: &Dir,
    as_name: &(impl Segment + ?Sized),
) -> Result<(), FileError> {
    let Some(stamp) = from.stat(name, Follow::Never)? else {
        return Ok(());
    };
    match stamp.kind() {
        EntryKind::Dir => {
            to.create_dir(as_name)?;
            let (from, to) =
                (from.open_dir(name, Follow::Never)?, to.open_dir(as_name, Follow::Never)?);
            for entry in from.entries()? {
                copy_entry(&from, &entry, &to, &entry)?;
            }
            Ok(())
        }
        EntryKind::File => {
            let mut file = from.open_file(name, Follow::Never)?;
            let mut copy = to.create_private_file(as_name)?;
            copy.write_from(&mut file)?;
            copy.copy_permissions(&stamp)
        }
        EntryKind::Link => to.create_link(as_name, &from.read_link(name)?),
        EntryKind::Special => Ok(()),
    }
}

pub(super) fn entry_inode(dir: &Dir, name: &Name) -> Result<Option<u64>, FileError> {
    Ok(dir.stat(name, Follow::Never)?.map(|stamp| stamp.inode))
}

//! What becomes of a folder that was replaced: deleted if it is as we left it, else kept.

use std::path::Path;

use super::journal::{Journal, JournalChange};
use super::{Kept, TRASH};
use crate::dir::{Dir, EntryKind, FileError, Fixed, Follow, Segment};
use crate::limits::Limits;
use crate::path::Name;
use crate::scan::measure;

const PARTIAL: Fixed = Fixed("partial");

/// Deletes the old folder in `slot`, or moves it to the trash if a person has edited it.
pub(super) fn dispose(
    home: &Dir,
    stage: &Dir,
    slot: &Name,
    stood: &Path,
    journal: &Journal,
    change: &JournalChange,
    limits: &Limits,
) -> Result<Option<Kept>, FileError> {
    if is_as_we_left_it(stage, slot, change, limits)? {
        stage.remove_tree(slot)?;
        return Ok(None);
    }
    let trash = make(home, &TRASH)?;
    let run = make(&trash, &journal.id)?;
    let shelf = make(&run, &Name::numbered(change.root, ""))?;
    let to = shelf.path_of(&change.name);
    match stage.rename_new(slot, &shelf, &change.name) {
        Err(e) if e.kind() == std::io::ErrorKind::CrossesDevices => {
            // A death after the copy and before the removal leaves both: the copy stays.
            shelf.remove_tree(&PARTIAL)?;
            copy(stage, slot, &shelf, &PARTIAL)?;
            shelf.sync_filesystem()?;
            shelf.remove_tree(&change.name)?;
            shelf.rename_new(&PARTIAL, &shelf, &change.name)?;
            stage.remove_tree(slot)?;
        }
        moved => moved?,
    }
    shelf.sync()?;
    Ok(Some(Kept { from: stood.into(), to }))
}

fn is_as_we_left_it(stage: &Dir, slot: &Name, change: &JournalChange, limits: &Limits) -> Result<bool, FileError> {
    // A file or a link in the place of a folder of ours holds nothing worth keeping but itself.
    if stage.look(slot, Follow::Never)?.is_none_or(|stamp| stamp.kind() == EntryKind::Link) {
        return Ok(true);
    }
    let Some(digest) = change.digest else {
        return Ok(false);
    };
    let Ok(folder) = stage.open_dir(slot, Follow::Never) else {
        return Ok(false);
    };
    // What cannot be read cannot be known to be ours.
    let measured = measure(&folder, limits).unwrap_or(None);
    Ok(measured.is_some_and(|(tree, _)| tree.digest() == digest))
}

/// Opens a directory of our own, made where it is missing.
fn make(dir: &Dir, name: &(impl Segment + ?Sized)) -> Result<Dir, FileError> {
    match dir.create_dir(name) {
        Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => Err(e),
        _ => dir.open_dir(name, Follow::Never),
    }
}

/// Copies anything but special files as it is, links as links, to another file system.
fn copy(
    from: &Dir,
    name: &(impl Segment + ?Sized),
    to: &Dir,
    as_name: &(impl Segment + ?Sized),
) -> Result<(), FileError> {
    let Some(stamp) = from.look(name, Follow::Never)? else {
        return Ok(());
    };
    match stamp.kind() {
        EntryKind::Dir => {
            to.create_dir(as_name)?;
            let (from, to) = (from.open_dir(name, Follow::Never)?, to.open_dir(as_name, Follow::Never)?);
            for entry in from.entries()? {
                copy(&from, &entry, &to, &entry)?;
            }
            Ok(())
        }
        EntryKind::File => {
            let mut file = from.open_file(name, Follow::Never)?;
            let mut copy = to.create_file(as_name, stamp.executable())?;
            copy.write_from(&mut file)
        }
        EntryKind::Link => to.create_link(as_name, &from.read_link(name)?),
        EntryKind::Special => Ok(()),
    }
}

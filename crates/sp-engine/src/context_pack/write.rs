//! Files as they are to be, all of them or none.

use std::collections::BTreeMap;
use std::path::Path;

use sp_formats::output::{ContextFile, ContextPackWritten, FileChange};
use sp_tree::read_optional;

use crate::config::Session;
use crate::error::{Error, Kind, Result};
use crate::files::{place_of, read_before, real_dir};
use crate::home::Home;
use crate::install::{Change, Mode};
use crate::plan::FilePlan;

/// A file as it is, and as it is to be; none means that it is not there.
pub(super) struct Target {
    old: Option<Vec<u8>>,
    new: Option<Vec<u8>>,
    /// Directories that go with the file if nothing else is in them, outermost first.
    dirs_of_ours: &'static [&'static str],
}

impl Target {
    pub(super) fn new(old: Option<String>, new: Option<String>) -> Self {
        Self::of_bytes(old.map(String::into_bytes), new.map(String::into_bytes))
    }

    pub(super) fn of_bytes(old: Option<Vec<u8>>, new: Option<Vec<u8>>) -> Self {
        Self { old, new, dirs_of_ours: &[] }
    }

    /// The same file, with directories that go with it if nothing else is in them.
    pub(super) fn in_dirs_of_ours(self, dirs_of_ours: &'static [&'static str]) -> Self {
        Self { dirs_of_ours, ..self }
    }

    fn change(&self) -> FileChange {
        match (&self.old, &self.new) {
            (old, new) if old == new => FileChange::Same,
            (None, _) => FileChange::New,
            (Some(_), Some(_)) => FileChange::Changed,
            (Some(_), None) => FileChange::Gone,
        }
    }
}

/// Writes the files of a pack.
pub(super) fn write_files(
    session: &Session<'_>,
    dir: &Path,
    files: &BTreeMap<String, Vec<u8>>,
) -> Result<ContextPackWritten> {
    let mut targets = BTreeMap::new();
    for (path, bytes) in files {
        let old = read_optional(&dir.join(path), session.limits.skill_bytes)?;
        targets.insert(path.clone(), Target::of_bytes(old, Some(bytes.clone())));
    }
    change_files(session, dir, targets, Mode::Apply)
}

/// Changes files, all at once.
pub(super) fn change_files(
    session: &Session<'_>,
    dir: &Path,
    files: BTreeMap<String, Target>,
    mode: Mode,
) -> Result<ContextPackWritten> {
    let written = compare(dir, &files)?;
    if mode == Mode::Apply && files.values().any(|target| target.change() != FileChange::Same) {
        put_files(session, &Home::open(session.context, &session.limits)?, &written.dir, files)?;
    }
    Ok(written)
}

/// Changes files, all at once, for somebody who has the home already.
pub(super) fn change_files_at_once(
    session: &Session<'_>,
    home: &Home<'_>,
    dir: &Path,
    files: BTreeMap<String, Target>,
) -> Result<ContextPackWritten> {
    let written = compare(dir, &files)?;
    put_files(session, home, &written.dir, files)?;
    Ok(written)
}

/// What becomes of each file.
fn compare(dir: &Path, files: &BTreeMap<String, Target>) -> Result<ContextPackWritten> {
    let dir = dir.canonicalize().map_err(|e| sp_tree::FileError::new("find", dir, e))?;
    let file = |(path, target): (&String, &Target)| ContextFile {
        path: path.clone(),
        bytes: target.new.as_ref().map_or(0, Vec::len),
        change: target.change(),
    };
    Ok(ContextPackWritten { dir, files: files.iter().map(file).collect() })
}

fn put_files(session: &Session<'_>, home: &Home<'_>, dir: &Path, files: BTreeMap<String, Target>) -> Result<()> {
    let changed = files.into_iter().filter(|(_, target)| target.change() != FileChange::Same);
    let plans: Vec<FilePlan> = changed.map(|(path, target)| plan(dir, &path, target)).collect::<Result<_>>()?;
    match plans.is_empty() {
        true => Ok(()),
        false => Change { session, home: Some(home), terms: Mode::Apply.into() }.make_files(plans),
    }
}

fn plan(root: &Path, path: &str, target: Target) -> Result<FilePlan> {
    let full = root.join(path);
    let (old, before) = read_before(&full, u64::MAX)?;
    if old != target.old {
        return Err(Error::new(Kind::Request, format!("`{}` changed while the command was running", full.display()))
            .hint("nothing was changed: run the command again"));
    }
    let (dir, name) = place_of(&full)?;
    let mut plan = FilePlan::new(real_dir(dir), name, before, target.new.map(Into::into));
    plan.remove_if_empty = target.dirs_of_ours.iter().map(|dir| root.join(dir)).collect();
    Ok(plan)
}

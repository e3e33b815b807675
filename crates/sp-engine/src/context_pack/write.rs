//! Files as they are to be, all of them or none.

use std::collections::BTreeMap;
use std::path::Path;

use sp_formats::output::{ContextFile, ContextPackWritten, FileChange};
use sp_tree::transaction::Before;
use sp_tree::{Digest, Dir, Name, read_optional};

use crate::config::Session;
use crate::error::{Error, Kind, Result};
use crate::home::Home;
use crate::install::{Change, Mode};
use crate::plan::FilePlan;

/// A file as it is, and as it is to be; none means that it is not there.
pub(super) struct Target {
    old: Option<Vec<u8>>,
    new: Option<Vec<u8>>,
}

impl Target {
    pub(super) fn new(old: Option<String>, new: Option<String>) -> Self {
        Self { old: old.map(String::into_bytes), new: new.map(String::into_bytes) }
    }

    pub(super) fn of_bytes(old: Option<Vec<u8>>, new: Option<Vec<u8>>) -> Self {
        Self { old, new }
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
        targets.insert(path.clone(), Target { old, new: Some(bytes.clone()) });
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
    let (parent, name) = path.rsplit_once('/').map_or(("", path), |(parent, name)| (parent, name));
    let name = Name::new(name).map_err(|why| Error::new(Kind::Data, format!("`{path}`: {why}")))?;
    let dir = root.join(parent);
    Dir::create_all(&dir)?;
    let before = target.old.map_or(Before::Nothing, |old| Before::Ours(Some(Digest::of(&old))));
    Ok(FilePlan { dir, name, before, bytes: target.new.map(Into::into) })
}

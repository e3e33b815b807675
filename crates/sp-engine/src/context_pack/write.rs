//! Writes the files of a pack in one transaction.

use std::collections::BTreeMap;
use std::path::Path;

use sp_formats::output::{ContextPackWriteReport, ContextPackWrittenFile, FileChangeKind};
use sp_tree::read_optional;

use crate::apply_mode::ApplyMode;
use crate::error::{Error, ErrorCode, Result};
use crate::files::{canonicalize_existing, parent_and_name, read_for_update};
use crate::home::LockedHome;
use crate::install::change::ChangeExecutor;
use crate::install::plan::FilePlan;
use crate::session::Session;

/// The old and the new bytes of a file; none means that the file does not exist.
pub(super) struct FileReplacement {
    old: Option<Vec<u8>>,
    new: Option<Vec<u8>>,
    /// Directories that are removed with the file if they are empty then, outermost first.
    owned_dirs: &'static [&'static str],
}

impl FileReplacement {
    pub(super) fn new(old: Option<String>, new: Option<String>) -> Self {
        Self::from_bytes(old.map(String::into_bytes), new.map(String::into_bytes))
    }

    pub(super) fn from_bytes(old: Option<Vec<u8>>, new: Option<Vec<u8>>) -> Self {
        Self { old, new, owned_dirs: &[] }
    }

    pub(super) fn with_owned_dirs(self, owned_dirs: &'static [&'static str]) -> Self {
        Self { owned_dirs, ..self }
    }

    fn change(&self) -> FileChangeKind {
        match (&self.old, &self.new) {
            (old, new) if old == new => FileChangeKind::Same,
            (None, _) => FileChangeKind::New,
            (Some(_), Some(_)) => FileChangeKind::Changed,
            (Some(_), None) => FileChangeKind::Gone,
        }
    }
}

/// Writes the files of a pack to a directory.
pub(super) fn write_files(
    session: &Session<'_>,
    dir: &Path,
    files: &BTreeMap<String, Vec<u8>>,
) -> Result<ContextPackWriteReport> {
    let mut targets = BTreeMap::new();
    for (path, bytes) in files {
        let old = read_optional(&dir.join(path), session.limits.skill_bytes)?;
        targets.insert(path.clone(), FileReplacement::from_bytes(old, Some(bytes.clone())));
    }
    change_files(session, dir, targets, ApplyMode::Apply)
}

/// Changes files atomically, or reports what would change.
pub(super) fn change_files(
    session: &Session<'_>,
    dir: &Path,
    files: BTreeMap<String, FileReplacement>,
    mode: ApplyMode,
) -> Result<ContextPackWriteReport> {
    let written = summarize_changes(dir, &files)?;
    if mode == ApplyMode::Apply
        && files.values().any(|target| target.change() != FileChangeKind::Same)
    {
        apply_changes(
            session,
            &LockedHome::open(session.context, &session.limits)?,
            &written.dir,
            files,
        )?;
    }
    Ok(written)
}

/// Changes files atomically, for callers that hold the lock of the home.
pub(super) fn change_files_with_home(
    session: &Session<'_>,
    home: &LockedHome<'_>,
    dir: &Path,
    files: BTreeMap<String, FileReplacement>,
) -> Result<ContextPackWriteReport> {
    let written = summarize_changes(dir, &files)?;
    apply_changes(session, home, &written.dir, files)?;
    Ok(written)
}

/// Reports the change of each file.
fn summarize_changes(
    dir: &Path,
    files: &BTreeMap<String, FileReplacement>,
) -> Result<ContextPackWriteReport> {
    let dir = dir.canonicalize().map_err(|e| sp_tree::FileError::new("find", dir, e))?;
    let file = |(path, target): (&String, &FileReplacement)| ContextPackWrittenFile {
        path: path.clone(),
        bytes: target.new.as_ref().map_or(0, Vec::len),
        change: target.change(),
    };
    Ok(ContextPackWriteReport { dir, files: files.iter().map(file).collect() })
}

fn apply_changes(
    session: &Session<'_>,
    home: &LockedHome<'_>,
    dir: &Path,
    files: BTreeMap<String, FileReplacement>,
) -> Result<()> {
    let changed = files.into_iter().filter(|(_, target)| target.change() != FileChangeKind::Same);
    let plans: Vec<FilePlan> =
        changed.map(|(path, target)| plan_file(dir, &path, target)).collect::<Result<_>>()?;
    if plans.is_empty() {
        return Ok(());
    }
    ChangeExecutor { session, home: Some(home), options: ApplyMode::Apply.into() }
        .execute_files(plans)
        .map(drop)
}

fn plan_file(root: &Path, path: &str, target: FileReplacement) -> Result<FilePlan> {
    let full = root.join(path);
    let (old, before) = read_for_update(&full, u64::MAX)?;
    if old != target.old {
        return Err(Error::new(
            ErrorCode::ChangedMeanwhile,
            format!("`{}` changed while the command was running", full.display()),
        )
        .hint("run the command again; nothing was changed"));
    }
    let (dir, name) = parent_and_name(&full)?;
    let mut plan =
        FilePlan::new(canonicalize_existing(dir), name, before, target.new.map(Into::into));
    plan.remove_if_empty = target.owned_dirs.iter().map(|dir| root.join(dir)).collect();
    Ok(plan)
}

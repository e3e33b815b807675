//! Writes the files of a pack in one transaction.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sp_formats::output::{
    ContextPackWriteReport, ContextPackWrittenFile, FileChangeKind, PlanStatus,
};
use sp_tree::read_optional;

use crate::apply_mode::ApplyMode;
use crate::error::{Error, ErrorCode, Result};
use crate::files::{canonicalize_existing, parent_and_name, read_for_update};
use crate::home::LockedHome;
use crate::install::change::ChangeExecutor;
use crate::install::plan::FilePlan;
use crate::plan_id::ApplyOptions;
use crate::session::Session;

/// The old and the new bytes of a file; none means that the file does not exist.
pub(crate) struct FileReplacement {
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

    /// Returns the new text; none if the file is removed.
    pub(super) fn new_text(&self) -> Option<&str> {
        str::from_utf8(self.new.as_deref()?).ok()
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
    mode: ApplyMode,
) -> Result<ContextPackWriteReport> {
    let mut targets = BTreeMap::new();
    for (path, bytes) in files {
        let old = read_optional(&dir.join(path), session.limits.skill_bytes)?;
        targets.insert(path.clone(), FileReplacement::from_bytes(old, Some(bytes.clone())));
    }
    change_files(session, dir, targets, mode.into())
}

/// Changes files atomically, or reports what would change.
pub(super) fn change_files(
    session: &Session<'_>,
    dir: &Path,
    files: BTreeMap<String, FileReplacement>,
    apply: ApplyOptions,
) -> Result<ContextPackWriteReport> {
    change_files_and(session, dir, files, None, apply)
}

/// Changes files, and one that is not part of the pack.
pub(super) fn change_files_and(
    session: &Session<'_>,
    dir: &Path,
    files: BTreeMap<String, FileReplacement>,
    other: Option<FilePlan>,
    apply: ApplyOptions,
) -> Result<ContextPackWriteReport> {
    let dir = real_dir(dir, apply.mode)?;
    let written = written_files(&files);
    let changes =
        other.is_some() || files.values().any(|target| target.change() != FileChangeKind::Same);
    let home = match apply.mode {
        ApplyMode::Apply if changes => Some(LockedHome::open(session.context, &session.limits)?),
        _ => None,
    };
    // Without a change there is nothing to lock, and nothing is written.
    let options = if home.is_some() { apply } else { apply.as_dry_run() };
    let mut plans = file_plans(&dir, files)?;
    plans.extend(other);
    let executor = ChangeExecutor { session, home: home.as_ref(), options };
    let status = executor.execute_files(plans)?;
    let status = PlanStatus { applied: !apply.is_dry_run(), ..status };
    Ok(ContextPackWriteReport { status, dir, files: written })
}

/// Changes files atomically, for callers that hold the lock of the home. Without a home, it reports
/// what would change.
pub(super) fn change_files_with_home(
    session: &Session<'_>,
    home: Option<&LockedHome<'_>>,
    dir: &Path,
    files: BTreeMap<String, FileReplacement>,
) -> Result<ContextPackWriteReport> {
    let mode = if home.is_some() { ApplyMode::Apply } else { ApplyMode::DryRun };
    let dir = real_dir(dir, mode)?;
    let written = written_files(&files);
    let plans = file_plans(&dir, files)?;
    let status = ChangeExecutor { session, home, options: mode.into() }.execute_files(plans)?;
    Ok(ContextPackWriteReport { status, dir, files: written })
}

/// Returns the real path of a directory. Only a dry run can find it missing.
fn real_dir(dir: &Path, mode: ApplyMode) -> Result<PathBuf> {
    if mode == ApplyMode::DryRun {
        return Ok(canonicalize_existing(dir));
    }
    Ok(dir.canonicalize().map_err(|e| sp_tree::FileError::new("find", dir, e))?)
}

/// Reports the change of each file.
fn written_files(files: &BTreeMap<String, FileReplacement>) -> Vec<ContextPackWrittenFile> {
    let file = |(path, target): (&String, &FileReplacement)| ContextPackWrittenFile {
        path: path.clone(),
        bytes: target.new.as_ref().map_or(0, Vec::len),
        change: target.change(),
    };
    files.iter().map(file).collect()
}

/// Plans the files that change, and reports all of them.
pub(crate) fn plan_changes(
    dir: &Path,
    files: BTreeMap<String, FileReplacement>,
) -> Result<(Vec<FilePlan>, Vec<ContextPackWrittenFile>)> {
    let written = written_files(&files);
    Ok((file_plans(dir, files)?, written))
}

fn file_plans(dir: &Path, files: BTreeMap<String, FileReplacement>) -> Result<Vec<FilePlan>> {
    let changed = files.into_iter().filter(|(_, target)| target.change() != FileChangeKind::Same);
    changed.map(|(path, target)| plan_file(dir, &path, target)).collect()
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

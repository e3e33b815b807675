//! The manifest and the lockfile of a project on disk.
//!
//! [`ProjectFiles::read`] reads both. Conflicts that git left in them are united by entry, if the
//! command allows it. Commands edit the values; [`ProjectFiles::plans`] has what has to be written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sp_formats::Report;
use sp_formats::package::{PackageName, VersionRange};
use sp_formats::project::conflict::{MergeSides, has_conflict_markers, split_sides};
use sp_formats::project::lock::{self, LockedNames, ProjectLock};
use sp_formats::project::manifest::{self, ProjectManifest};
use sp_formats::project::manifest_edit::ManifestEdit;
use sp_formats::project::merge::{ManifestVersion, MergeConflict, merge_locks, merge_manifests};
use sp_formats::project::rules::{LC_01, LC_06, LC_07};
use sp_formats::project::{LOCK_FILE, MANIFEST_FILE, MAX_LOCK_BYTES};
use sp_tree::read_limited;

use super::file_on_disk::FileOnDisk;
use super::own_lockfiles::OwnLockfiles;
use crate::context::{Context, Event};
use crate::error::{Error, ErrorCode, Result};
use crate::files::canonicalize_existing;
use crate::install::plan::FilePlan;
use crate::manifest_dir::{find_manifest_dir, has_manifest};
use crate::session::Session;
use crate::sinks::{SinkScope, project_root};

/// Which manifest a command works on.
#[derive(Debug, Clone)]
pub struct ProjectLocation {
    /// The manifest of the user, or that of the project.
    pub scope: SinkScope,
    /// The directory of the project, given with `--root`.
    pub root: Option<PathBuf>,
}

/// What to do if there is no manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissingManifest {
    Create,
    Refuse,
}

/// What to do with conflicts that git left in the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GitConflicts {
    Unite,
    Refuse,
}

/// The directory of a manifest.
#[derive(Debug, Clone)]
pub(crate) struct ProjectDir {
    /// The real path.
    pub path: PathBuf,
    pub scope: SinkScope,
}

impl ProjectDir {
    /// Finds the manifest: that of the user, or the nearest one upward.
    pub(crate) fn find(
        context: &Context<'_>,
        location: &ProjectLocation,
        missing: MissingManifest,
    ) -> Result<Self> {
        let scope = location.scope;
        let at = |path: &Path| Self { path: canonicalize_existing(path), scope };
        let start = match (scope, &location.root) {
            (SinkScope::Global, _) => context.home.clone(),
            (SinkScope::Project, Some(root)) => context.expand(&root.to_string_lossy()),
            (SinkScope::Project, None) => {
                find_manifest_dir(context).unwrap_or_else(|| project_root(context)).to_path_buf()
            }
        };
        if missing == MissingManifest::Create || has_manifest(&start) {
            return Ok(at(&start));
        }
        let place = context.display_path(&start);
        let error = Error::new(
            ErrorCode::ManifestNotFound,
            match scope {
                SinkScope::Global => format!("no `{MANIFEST_FILE}` in `{place}`"),
                SinkScope::Project => {
                    format!("no `{MANIFEST_FILE}` in `{place}` or any parent directory")
                }
            },
        );
        Err(error.hint(match scope {
            SinkScope::Global => "run `sp add <source> --global` to create it",
            SinkScope::Project => {
                "run `sp add <source>` to create it, or use `--global` for your own skills"
            }
        }))
    }

    /// Returns the absolute path of the manifest, which is the name of its records in the state.
    pub(crate) fn manifest_path(&self) -> PathBuf {
        self.path.join(MANIFEST_FILE)
    }

    fn lock_path(&self) -> PathBuf {
        self.path.join(LOCK_FILE)
    }
}

/// Returns the names in the lockfile of a project, without parsing the file; none if it cannot be
/// read.
pub(crate) fn locked_names(context: &Context<'_>, location: &ProjectLocation) -> LockedNames {
    let dir = ProjectDir::find(context, location, MissingManifest::Refuse).ok();
    let bytes = dir.and_then(|dir| read_limited(&dir.lock_path(), MAX_LOCK_BYTES).ok());
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    text.map(|text| lock::scan_names(&text)).unwrap_or_default()
}

/// A manifest and its lockfile.
pub(crate) struct ProjectFiles {
    pub dir: ProjectDir,
    pub manifest: ProjectManifest,
    /// The text of the manifest; with conflicts united.
    pub manifest_text: String,
    pub lock: ProjectLock,
    /// The names of the files in which conflicts were united.
    pub united: Vec<&'static str>,
    manifest_file: FileOnDisk,
    lock_file: FileOnDisk,
    /// The lockfiles whose content was added to `lock`.
    own_lockfiles: OwnLockfiles,
}

impl ProjectFiles {
    /// Reads the files. A missing file is empty.
    pub(crate) fn read(
        session: &Session<'_>,
        dir: &ProjectDir,
        conflicts: GitConflicts,
    ) -> Result<Self> {
        let limit = session.limits.yaml_bytes;
        let manifest_file = FileOnDisk::read(session, dir.manifest_path(), limit, &LC_01)?;
        let lock_file = FileOnDisk::read(session, dir.lock_path(), MAX_LOCK_BYTES, &LC_06)?;
        let mut united = Vec::new();
        let mut manifest_text = manifest_file.text.clone().unwrap_or_default();
        if conflicts == GitConflicts::Unite && has_conflict_markers(&manifest_text).is_some() {
            manifest_text = unite_manifest(session, &manifest_file, &manifest_text)?;
            united.push(MANIFEST_FILE);
        }
        let label = manifest_file.label(session);
        let (manifest, report) = manifest::read(&label, &manifest_text, &session.limits);
        let manifest = usable(session, manifest, report, "the manifest is invalid")?;
        let lock_text = lock_file.text.as_deref().unwrap_or_default();
        let mut lock = if lock_file.text.is_none() {
            ProjectLock::default()
        } else if conflicts == GitConflicts::Unite && has_conflict_markers(lock_text).is_some() {
            united.push(LOCK_FILE);
            unite_lock(session, &lock_file, lock_text)?
        } else {
            read_lock(session, &lock_file.label(session), lock_text)?
        };
        let own_lockfiles = match dir.scope {
            SinkScope::Project => OwnLockfiles::read(session, &dir.path, &mut lock)?,
            SinkScope::Global => OwnLockfiles::default(),
        };
        Ok(Self {
            dir: dir.clone(),
            manifest,
            manifest_text,
            lock,
            united,
            manifest_file,
            lock_file,
            own_lockfiles,
        })
    }

    /// Returns the packages that `ctxpkg.lock` requests, if there still is one.
    pub(crate) fn converted_requests(&self) -> &BTreeMap<PackageName, VersionRange> {
        &self.own_lockfiles.requests
    }

    /// Returns the names of the lockfiles whose content moves to this one.
    pub(crate) fn converted(&self) -> Vec<String> {
        self.own_lockfiles.names()
    }

    /// Returns the edits that add what other lockfiles request to the manifest.
    pub(crate) fn conversion_edits(&self) -> Vec<ManifestEdit> {
        self.own_lockfiles.edits(&self.manifest)
    }

    /// Whether writing this lock changes the lockfile.
    pub(crate) fn changes_lock(&self, lock: &ProjectLock) -> bool {
        let is_changed = match &self.lock_file.text {
            Some(text) => *text != lock.to_text(),
            None => !lock.is_empty(),
        };
        is_changed || !self.own_lockfiles.is_empty()
    }

    /// Whether writing this text changes the manifest.
    pub(crate) fn changes_manifest(&self, text: &str) -> bool {
        self.manifest_file.text.as_deref().unwrap_or_default() != text
    }

    /// Plans the files that change.
    pub(crate) fn plans(&self, manifest_text: &str, lock: &ProjectLock) -> Result<Vec<FilePlan>> {
        let mut plans = Vec::new();
        if self.changes_manifest(manifest_text) {
            plans.push(self.manifest_file.plan(Some(manifest_text.to_owned()))?);
        }
        if self.changes_lock(lock) {
            plans.push(self.lock_file.plan(Some(lock.to_text()))?);
        }
        plans.extend(self.own_lockfiles.removals()?);
        Ok(plans)
    }
}

/// Returns a value that was read, and shows the warnings about it.
fn usable<T>(session: &Session<'_>, value: Option<T>, report: Report, what: &str) -> Result<T> {
    match value {
        Some(value) => {
            if !report.findings.is_empty() {
                session.context.emit(Event::Findings(&report));
            }
            Ok(value)
        }
        None => Err(Error::in_file(ErrorCode::InvalidProject, what, report)),
    }
}

fn read_lock(session: &Session<'_>, label: &str, text: &str) -> Result<ProjectLock> {
    let (lock, report) = lock::read(label, text);
    usable(session, lock, report, "the lockfile is invalid")
}

/// Separates the sides of the conflicts in a file.
fn sides(session: &Session<'_>, file: &FileOnDisk, text: &str) -> Result<MergeSides> {
    let damaged = |span| {
        let mut report = Report::new(file.label(session), text);
        report
            .error(&LC_07, span, "unexpected or missing conflict marker")
            .help("resolve the conflict by hand");
        Error::in_file(ErrorCode::InvalidProject, "the conflict markers are damaged", report)
    };
    match split_sides(text) {
        Ok(Some(sides)) => Ok(sides),
        Ok(None) => Err(damaged(0..0)),
        Err(error) => Err(damaged(error.span)),
    }
}

fn conflict_error(
    session: &Session<'_>,
    file: &FileOnDisk,
    text: &str,
    why: &MergeConflict,
) -> Error {
    let marker = has_conflict_markers(text).unwrap_or(0..0);
    let mut report = Report::new(file.label(session), text);
    report
        .error(&LC_07, marker, why.to_string())
        .help("keep one of the two versions, remove the markers, then run `sp sync`");
    Error::in_file(ErrorCode::InvalidProject, "the two branches cannot be united", report)
}

fn unite_manifest(session: &Session<'_>, file: &FileOnDisk, text: &str) -> Result<String> {
    let sides = sides(session, file, text)?;
    let label = file.label(session);
    let read = |text: &str| {
        let (value, report) = manifest::read(&label, text, &session.limits);
        usable(session, value, report, "one side of the conflict is invalid")
    };
    let base = sides.base.as_deref().map(read).transpose()?;
    let (ours, theirs) = (read(&sides.ours)?, read(&sides.theirs)?);
    let ours = ManifestVersion { text: &sides.ours, manifest: &ours };
    merge_manifests(base.as_ref(), ours, &theirs, &session.limits)
        .map_err(|why| conflict_error(session, file, text, &why))
}

fn unite_lock(session: &Session<'_>, file: &FileOnDisk, text: &str) -> Result<ProjectLock> {
    let sides = sides(session, file, text)?;
    let label = file.label(session);
    let read = |text: &str| read_lock(session, &label, text);
    let base = sides.base.as_deref().map(read).transpose()?;
    let (ours, theirs) = (read(&sides.ours)?, read(&sides.theirs)?);
    merge_locks(base.as_ref(), &ours, &theirs)
        .map_err(|why| conflict_error(session, file, text, &why))
}

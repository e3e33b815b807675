//! The manifest and the lockfile of an examined project, as far as they are valid.

use std::path::{Path, PathBuf};

use sp_formats::Report;
use sp_formats::output::DoctorCode;
use sp_formats::project::conflict::has_conflict_markers;
use sp_formats::project::lock::{self, ProjectLock};
use sp_formats::project::manifest::{self, ProjectManifest};
use sp_formats::project::{LOCK_FILE, MANIFEST_FILE, MAX_LOCK_BYTES};
use sp_tree::read_optional;

use crate::error::{Error, ErrorCode, Result};
use crate::project::{ProjectLocation, ProjectOnDisk};
use crate::session::Session;
use crate::sinks::SinkScope;

/// A project, and its files as far as they are valid.
pub(super) struct ExaminedProject<'a> {
    pub on_disk: ProjectOnDisk<'a>,
    pub manifest: Result<ProjectManifest, InvalidFile>,
    pub lock: Result<ProjectLock, InvalidFile>,
}

/// A file that cannot be used.
pub(super) struct InvalidFile {
    pub code: DoctorCode,
    pub error: Error,
}

impl<'a> ExaminedProject<'a> {
    /// Reads the current project and that of the user, if they exist.
    pub(super) fn read_all(session: &'a Session<'a>, root: Option<&Path>) -> Vec<Self> {
        let location = |scope| ProjectLocation { scope, root: root.map(Path::to_path_buf) };
        let mut found: Vec<Self> = Vec::new();
        for scope in [SinkScope::Project, SinkScope::Global] {
            if let Some(on_disk) = ProjectOnDisk::find(session, &location(scope))
                && !found.iter().any(|other| other.on_disk.path() == on_disk.path())
            {
                found.push(Self::read(session, on_disk));
            }
        }
        found
    }

    fn read(session: &Session<'_>, on_disk: ProjectOnDisk<'a>) -> Self {
        let limits = &session.limits;
        let path = on_disk.path();
        let manifest = read_file(session, &path.join(MANIFEST_FILE), limits.yaml_bytes)
            .map_err(|error| InvalidFile { code: DoctorCode::ManifestInvalid, error })
            .and_then(|text| {
                let read = manifest::read(MANIFEST_FILE, &text, limits);
                usable(read, &text, DoctorCode::ManifestInvalid)
            });
        let lock = read_file(session, &path.join(LOCK_FILE), MAX_LOCK_BYTES)
            .map_err(|error| InvalidFile { code: DoctorCode::LockInvalid, error })
            .and_then(|text| {
                if text.is_empty() {
                    return Ok(ProjectLock::default());
                }
                let code = if is_newer_lock(&text) {
                    DoctorCode::LockNewer
                } else {
                    DoctorCode::LockInvalid
                };
                usable(lock::read(LOCK_FILE, &text), &text, code)
            });
        Self { on_disk, manifest, lock }
    }

    /// Returns the directories that the project installs into.
    pub(super) fn skill_dirs(&self) -> Vec<PathBuf> {
        let sinks = self.manifest.iter().flat_map(|manifest| self.on_disk.sinks(manifest).0);
        sinks.map(|sink| sink.path).collect()
    }
}

/// Reads a text file; a missing one is empty.
fn read_file(session: &Session<'_>, path: &Path, limit: u64) -> Result<String> {
    let bytes = read_optional(path, limit)?.unwrap_or_default();
    String::from_utf8(bytes).map_err(|_| {
        let shown = session.context.display_path(path);
        Error::new(ErrorCode::InvalidProject, format!("`{shown}` is not UTF-8"))
            .hint("save the file as UTF-8")
    })
}

fn usable<T>(
    (value, report): (Option<T>, Report),
    text: &str,
    code: DoctorCode,
) -> Result<T, InvalidFile> {
    value.ok_or_else(|| {
        let has_markers = has_conflict_markers(text).is_some();
        let code = if has_markers { DoctorCode::MergeConflict } else { code };
        let message = format!("`{}` cannot be used", report.file);
        InvalidFile { code, error: Error::in_file(ErrorCode::InvalidProject, message, report) }
    })
}

/// Whether a lockfile that cannot be read has a later version.
fn is_newer_lock(text: &str) -> bool {
    let version = text.lines().find_map(|line| line.strip_prefix("version = "));
    version.and_then(|version| version.trim().parse::<u64>().ok()).is_some_and(|it| it > 1)
}

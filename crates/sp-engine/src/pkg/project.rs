//! A project with packages: `ctxpkg.lock`, and below `.ctxpkg/` the packages, the merged graph and
//! the history of the lock.
//!
//! [`PackageProject`] reads these files and plans changes of them. A file that `sp` did not write
//! is never replaced, and symlinks in these paths are refused, since a project comes from others.
//!
//! In a project with a manifest, `skillpack.lock` has the packages. It is written together with the
//! manifest, by the commands of projects.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sp_formats::JsonRecord;
use sp_formats::package::lock::{LOCKFILE_NAME, LockHistory, LockHistoryEntry, PackageLock};
use sp_formats::package::{Package, PackageName};
use sp_formats::project::{LOCK_FILE, MANIFEST_FILE, lock};
use sp_tree::transaction::PriorState;
use sp_tree::{Digest, HashedBytes, Name, read_optional};

use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::install::plan::FilePlan;
use crate::session::Session;

const CTXPKG_DIR: &str = ".ctxpkg";
const PACKAGES_DIR: &str = "packages";
const HISTORY_FILE: &str = "history.json";
const CONTEXT_FILE: &str = "context.json";
const MAX_LOCK_BYTES: u64 = 64 * 1024 * 1024;
/// Larger texts cannot be parsed as JSON.
const MAX_CONTEXT_BYTES: u64 = u32::MAX as u64;

/// Returns the directory of the installed packages of a project.
pub(crate) fn installed_packages_dir(root: &Path) -> PathBuf {
    root.join(CTXPKG_DIR).join(PACKAGES_DIR)
}

/// Returns the name of the file of an installed package.
pub(crate) fn package_file_name(name: &PackageName) -> Result<Name> {
    Name::new(&format!("{}.ctxpkg", name.file_stem())).map_err(|why| {
        let message = format!("cannot install `{name}`: the name cannot be used as a file name");
        Error::new(ErrorCode::InvalidProject, message)
            .because(why)
            .hint("ask its author to rename it")
    })
}

/// A sink as the history records it.
#[derive(Debug, Clone)]
pub(super) struct PastSink {
    pub name: String,
    pub path: String,
}

/// The sinks where the skills of packages are installed.
pub(super) type SinksByPackage = BTreeMap<PackageName, Vec<PastSink>>;

/// Returns the sinks of an entry of the history.
pub(super) fn past_sinks(entry: &LockHistoryEntry) -> SinksByPackage {
    let to_sinks = |sinks: &Vec<(String, String)>| {
        let sinks = sinks.iter().cloned();
        sinks.map(|(name, path)| PastSink { name, path }).collect()
    };
    entry.sinks.iter().map(|(package, sinks)| (package.clone(), to_sinks(sinks))).collect()
}

/// How the history changes with a new lock.
#[derive(Debug, Clone)]
pub(super) enum HistoryUpdate {
    /// The old lock is appended, with the sinks of its skills.
    Append(SinksByPackage),
    /// Only this many entries are kept, so that two rollbacks go back two steps.
    Truncate(usize),
}

/// The file that has the lock.
enum PackageLockFile {
    /// `ctxpkg.lock`, with its bytes; none if it does not exist.
    Own(Option<Vec<u8>>),
    /// `skillpack.lock`.
    OfManifest,
}

/// A project and its lock.
pub(super) struct PackageProject {
    pub root: PathBuf,
    pub lock: PackageLock,
    lock_file: PackageLockFile,
    /// Read when it is first needed.
    history: OnceCell<HistoryFile>,
}

/// The history of the lock, and its file.
struct HistoryFile {
    history: LockHistory,
    before: PriorState,
}

/// Refuses symlinks, which could make `sp` write outside the project.
fn reject_symlinks(session: &Session<'_>, root: &Path) -> Result<()> {
    for path in [
        root.join(CTXPKG_DIR),
        installed_packages_dir(root),
        root.join(CTXPKG_DIR).join(HISTORY_FILE),
        root.join(CTXPKG_DIR).join(CONTEXT_FILE),
        root.join(LOCKFILE_NAME),
    ] {
        if path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()) {
            return Err(Error::new(
                ErrorCode::PathIsLink,
                format!("`{}` is a link", session.context.display_path(&path)),
            )
            .because("files written there would end up outside the project")
            .hint("remove the link, then run the command again"));
        }
    }
    Ok(())
}

/// Returns the nearest directory, from the current one upward, that has packages.
pub(crate) fn nearest_package_root(context: &Context<'_>) -> Option<PathBuf> {
    let has_packages =
        |dir: &&Path| dir.join(LOCKFILE_NAME).is_file() || dir.join(CTXPKG_DIR).is_dir();
    context.current_dir.ancestors().find(has_packages).map(Path::to_path_buf)
}

fn find_root(session: &Session<'_>, root: Option<&Path>) -> Result<PathBuf> {
    let context = session.context;
    let Some(root) = root else {
        return Ok(nearest_package_root(context).unwrap_or_else(|| context.current_dir.clone()));
    };
    let root = context.expand(&root.to_string_lossy());
    if root.is_dir() {
        return Ok(root);
    }
    Err(Error::new(
        ErrorCode::DirectoryNotFound,
        format!("directory `{}` not found", context.display_path(&root)),
    )
    .hint("set `--root` to the directory of the project"))
}

impl PackageProject {
    /// Finds the project: the given directory, the nearest one from the current directory upward
    /// that has packages, or the current directory.
    pub(super) fn find(session: &Session<'_>, root: Option<&Path>) -> Result<Self> {
        let root = find_root(session, root)?;
        let root = root.canonicalize().map_err(|e| sp_tree::FileError::new("find", &root, e))?;
        reject_symlinks(session, &root)?;
        let own_bytes = read_optional(&root.join(LOCKFILE_NAME), MAX_LOCK_BYTES)?;
        let mut lock = match &own_bytes {
            None => PackageLock::default(),
            Some(bytes) => parse_own_lock(session, &root, bytes)?,
        };
        let mut lock_file = PackageLockFile::Own(own_bytes);
        if root.join(MANIFEST_FILE).is_file() {
            let of_manifest = read_project_lock(session, &root)?;
            lock.packages.extend(of_manifest.packages);
            lock.context = of_manifest.context.or(lock.context);
            lock_file = PackageLockFile::OfManifest;
        }
        Ok(Self { root, lock, lock_file, history: OnceCell::new() })
    }

    /// Returns a project with a manifest. The caller has read its lock, and writes the new one.
    pub(super) fn of_manifest(
        session: &Session<'_>,
        root: &Path,
        lock: PackageLock,
    ) -> Result<Self> {
        reject_symlinks(session, root)?;
        let (root, history) = (root.to_path_buf(), OnceCell::new());
        Ok(Self { root, lock, lock_file: PackageLockFile::OfManifest, history })
    }

    /// Whether the project has a manifest.
    pub(super) fn has_manifest(&self) -> bool {
        matches!(self.lock_file, PackageLockFile::OfManifest)
    }

    fn ctxpkg_dir(&self) -> PathBuf {
        self.root.join(CTXPKG_DIR)
    }

    fn packages_dir(&self) -> PathBuf {
        installed_packages_dir(&self.root)
    }

    /// Reads the installed file of a package.
    pub(super) fn read_package(
        &self,
        session: &Session<'_>,
        name: &PackageName,
    ) -> Result<Option<HashedBytes>> {
        let path = self.packages_dir().join(package_file_name(name)?.as_str());
        let limit = session.limits.package_bytes.max(MAX_LOCK_BYTES);
        Ok(read_optional(&path, limit)?.map(HashedBytes::new))
    }

    /// Plans the write or removal of the file of a package; none if it is up to date. `old` is the
    /// digest of the file that is there.
    pub(super) fn package_file_plan(
        &self,
        session: &Session<'_>,
        name: &PackageName,
        old: Option<Digest>,
        package: Option<&Package>,
    ) -> Result<Option<FilePlan>> {
        if old == package.map(Package::digest) {
            return Ok(None);
        }
        let locked = self.lock.packages.get(name).map(|locked| locked.digest);
        if old.is_some() && locked.is_none() {
            let path = self.packages_dir().join(package_file_name(name)?.as_str());
            return Err(Error::new(
                ErrorCode::NotOwned,
                format!("`{}` was not installed by `sp`", session.context.display_path(&path)),
            )
            .because("the lockfile does not list it")
            .hint("move the file to another directory, then run the command again"));
        }
        let before = if old.is_some() { PriorState::Ours(locked) } else { PriorState::Absent };
        let bytes = package.map(|package| Arc::clone(package.text()).into());
        let file_name = package_file_name(name)?;
        let plan = FilePlan::new(self.packages_dir(), file_name, before, bytes);
        Ok(Some(plan.with_digest(package.map(Package::digest))))
    }

    /// Returns the path of the merged graph.
    pub(super) fn context_path(&self) -> PathBuf {
        self.ctxpkg_dir().join(CONTEXT_FILE)
    }

    pub(super) fn read_context(&self) -> Result<Option<Vec<u8>>> {
        Ok(read_optional(&self.context_path(), MAX_CONTEXT_BYTES)?)
    }

    /// Plans the write or removal of the merged graph; none if it is up to date. `old` is the
    /// digest of the file that is there.
    pub(super) fn context_plan(
        &self,
        old: Option<Digest>,
        new: Option<HashedBytes>,
    ) -> Result<Option<FilePlan>> {
        if old == new.as_ref().map(HashedBytes::digest) {
            return Ok(None);
        }
        // A file with another digest than the locked one makes the transaction fail.
        let locked = self.lock.context.as_ref().map(|locked| locked.digest);
        let name = Name::new(CONTEXT_FILE)?;
        let before = if old.is_some() { PriorState::Ours(locked) } else { PriorState::Absent };
        let digest = new.as_ref().map(HashedBytes::digest);
        let bytes = new.map(|new| new.into_bytes().into());
        Ok(Some(FilePlan::new(self.ctxpkg_dir(), name, before, bytes).with_digest(digest)))
    }

    /// Returns the earlier locks of the project.
    pub(super) fn history(&self, session: &Session<'_>) -> Result<&LockHistory> {
        Ok(&self.history_file(session)?.history)
    }

    fn history_file(&self, session: &Session<'_>) -> Result<&HistoryFile> {
        if let Some(file) = self.history.get() {
            return Ok(file);
        }
        let file = self.read_history(session)?;
        Ok(self.history.get_or_init(|| file))
    }

    fn read_history(&self, session: &Session<'_>) -> Result<HistoryFile> {
        let path = self.ctxpkg_dir().join(HISTORY_FILE);
        let bytes = read_optional(&path, MAX_LOCK_BYTES)?;
        let history = match &bytes {
            None => LockHistory::default(),
            Some(bytes) => LockHistory::parse(bytes).map_err(|why| {
                Error::new(
                    ErrorCode::InvalidProject,
                    format!("`{}` is invalid", session.context.display_path(&path)),
                )
                .because(why)
                .hint("fix or remove the file; without it, you cannot roll back to earlier states")
            })?,
        };
        Ok(HistoryFile { history, before: prior_state(bytes.as_deref()) })
    }

    /// Plans a new lock and its history; nothing if the lock is the same. The lock of a project
    /// with a manifest is not among the plans.
    pub(super) fn lock_plans(
        &self,
        session: &Session<'_>,
        lock: &PackageLock,
        update: &HistoryUpdate,
    ) -> Result<Vec<FilePlan>> {
        let old = match &self.lock_file {
            PackageLockFile::Own(old) => old.as_deref(),
            PackageLockFile::OfManifest if *lock == self.lock => return Ok(Vec::new()),
            PackageLockFile::OfManifest => return Ok(vec![self.history_plan(session, update)?]),
        };
        let bytes = lock.to_json();
        if old == Some(&bytes) || old.is_none() && *lock == PackageLock::default() {
            return Ok(Vec::new());
        }
        let prior = prior_state(old);
        let name = Name::new(LOCKFILE_NAME)?;
        let lock_plan = FilePlan::new(self.root.clone(), name, prior, Some(bytes.into()));
        Ok(vec![lock_plan, self.history_plan(session, update)?])
    }

    fn history_plan(&self, session: &Session<'_>, update: &HistoryUpdate) -> Result<FilePlan> {
        let HistoryFile { history, before } = self.history_file(session)?;
        let mut history = history.clone();
        match update {
            HistoryUpdate::Append(sinks) => {
                history = history.with_entry(self.history_entry(session, sinks));
            }
            HistoryUpdate::Truncate(entries) => history.entries.truncate(*entries),
        }
        let bytes = Some(history.to_json().into());
        Ok(FilePlan::new(self.ctxpkg_dir(), Name::new(HISTORY_FILE)?, *before, bytes).with_times())
    }

    fn history_entry(&self, session: &Session<'_>, sinks: &SinksByPackage) -> LockHistoryEntry {
        let to_pairs = |sinks: &Vec<PastSink>| {
            let sinks = sinks.iter().cloned();
            sinks.map(|sink| (sink.name, sink.path)).collect()
        };
        let sinks = sinks.iter().map(|(package, sinks)| (package.clone(), to_pairs(sinks)));
        LockHistoryEntry {
            until: session.context.timestamp(),
            lock: self.lock.clone(),
            sinks: sinks.collect(),
        }
    }
}

/// Parses `ctxpkg.lock`.
pub(crate) fn parse_own_lock(
    session: &Session<'_>,
    root: &Path,
    bytes: &[u8],
) -> Result<PackageLock> {
    PackageLock::parse(bytes).map_err(|why| {
        let path = session.context.display_path(&root.join(LOCKFILE_NAME));
        Error::new(ErrorCode::InvalidProject, format!("`{path}` is invalid")).because(why).hint(
            "fix the file, restore it from version control, or remove it and install the packages \
             again",
        )
    })
}

/// Reads the packages in `skillpack.lock`.
fn read_project_lock(session: &Session<'_>, root: &Path) -> Result<PackageLock> {
    let path = root.join(LOCK_FILE);
    let Some(bytes) = read_optional(&path, MAX_LOCK_BYTES)? else {
        return Ok(PackageLock::default());
    };
    let label = session.context.display_relative_path(&path);
    let (lock, report) = lock::read(&label, &String::from_utf8_lossy(&bytes));
    let lock = lock.ok_or_else(|| {
        Error::in_file(ErrorCode::InvalidProject, "the lockfile is invalid", report)
    })?;
    Ok(PackageLock::of_manifest(BTreeMap::new(), lock.packages, lock.merged))
}

fn prior_state(old: Option<&[u8]>) -> PriorState {
    old.map_or(PriorState::Absent, |old| PriorState::Ours(Some(Digest::of(old))))
}

//! A project that has packages: `ctxpkg.lock` and `.ctxpkg/`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sp_formats::package::PackageName;
use sp_formats::package::lock::{LOCKFILE_NAME, LockHistory, LockHistoryEntry, PackageLock};
use sp_tree::transaction::PriorState;
use sp_tree::{Digest, Name, read_optional};

use crate::error::{Error, FailureKind, Result};
use crate::install::plan::FilePlan;
use crate::session::Session;

/// The directory in which a project keeps its packages.
const CTXPKG_DIR: &str = ".ctxpkg";
const PACKAGES_DIR: &str = "packages";
const HISTORY_FILE: &str = "history.json";
const CONTEXT_FILE: &str = "context.json";
const MAX_LOCK_BYTES: u64 = 64 * 1024 * 1024;
/// A text of this size is no JSON that we read.
const MAX_CONTEXT_BYTES: u64 = u32::MAX as u64;

/// Where a project keeps its packages.
pub(crate) fn installed_packages_dir(root: &Path) -> PathBuf {
    root.join(CTXPKG_DIR).join(PACKAGES_DIR)
}

/// Into which sinks the skills of which package went: the name of each sink, and its path.
pub(super) type SinksByPackage = BTreeMap<PackageName, Vec<(String, String)>>;

/// What becomes of the past when there is a new lock.
#[derive(Debug, Clone)]
pub(super) enum HistoryUpdate {
    /// The old lock becomes part of it, with the sinks that its skills are in.
    Append(SinksByPackage),
    /// So many entries of it are left: going back twice goes back two steps.
    Truncate(usize),
}

/// A project.
pub(super) struct PackageProject {
    pub root: PathBuf,
    pub lock: PackageLock,
    /// The lock as it stands in its file.
    lock_bytes: Option<Vec<u8>>,
}

/// What a project brings along must not lead us out of it.
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
                FailureKind::Trust,
                format!("`{}` is a link", session.context.display_path(&path)),
            )
            .because("what is written there would be written elsewhere")
            .hint("remove the link, and install again"));
        }
    }
    Ok(())
}

impl PackageProject {
    /// The project that the user means: a given one, the nearest upward that has packages, or the current directory.
    pub(super) fn find(session: &Session<'_>, given: Option<&Path>) -> Result<Self> {
        let context = session.context;
        let root = match given {
            Some(given) => {
                let root = context.expand(&given.to_string_lossy());
                if !root.is_dir() {
                    return Err(Error::new(
                        FailureKind::Request,
                        format!("there is no directory `{}`", context.display_path(&root)),
                    )
                    .hint("give `--root` the directory of the project"));
                }
                root
            }
            None => {
                let holds = |dir: &&Path| {
                    dir.join(LOCKFILE_NAME).is_file() || dir.join(CTXPKG_DIR).is_dir()
                };
                context.current_dir.ancestors().find(holds).unwrap_or(&context.current_dir).into()
            }
        };
        let root = root.canonicalize().map_err(|e| sp_tree::FileError::new("find", &root, e))?;
        reject_symlinks(session, &root)?;
        let path = root.join(LOCKFILE_NAME);
        let stored = read_optional(&path, MAX_LOCK_BYTES)?;
        let lock = match &stored {
            None => PackageLock::default(),
            Some(bytes) => PackageLock::parse(bytes).map_err(|why| {
                Error::new(FailureKind::Data, format!("`{}` cannot be used", context.display_path(&path)))
                    .because(why)
                    .hint("nothing was changed: mend it, take it from your history, or remove it and install anew")
            })?,
        };
        Ok(Self { root, lock, lock_bytes: stored })
    }

    fn ctxpkg_dir(&self) -> PathBuf {
        self.root.join(CTXPKG_DIR)
    }

    fn packages_dir(&self) -> PathBuf {
        installed_packages_dir(&self.root)
    }

    /// The name of a package's file.
    pub(super) fn package_file_name(name: &PackageName) -> Result<Name> {
        Name::new(&format!("{}.ctxpkg", name.file_stem())).map_err(|why| {
            Error::new(
                FailureKind::Data,
                format!("`{name}` cannot be installed: no file can have its name"),
            )
            .because(why)
            .hint("whoever made it must rename it")
        })
    }

    /// The bytes of a package's file, if it is there.
    pub(super) fn read_package(
        &self,
        session: &Session<'_>,
        name: &PackageName,
    ) -> Result<Option<Vec<u8>>> {
        let path = self.packages_dir().join(Self::package_file_name(name)?.as_str());
        let limit = session.limits.package_bytes.max(MAX_LOCK_BYTES);
        Ok(read_optional(&path, limit)?)
    }

    /// What gives a package's file these bytes, or removes it; nothing if it is so.
    pub(super) fn package_file_plan(
        &self,
        session: &Session<'_>,
        name: &PackageName,
        bytes: Option<&Arc<str>>,
    ) -> Result<Option<FilePlan>> {
        let old = self.read_package(session, name)?;
        if old.as_deref() == bytes.map(|text| text.as_bytes()) {
            return Ok(None);
        }
        let locked = self.lock.packages.get(name).map(|locked| locked.digest);
        if old.is_some() && locked.is_none() {
            let path = self.packages_dir().join(Self::package_file_name(name)?.as_str());
            return Err(Error::new(
                FailureKind::Trust,
                format!("`{}` was not put there by `sp`", session.context.display_path(&path)),
            )
            .because(format!("`{LOCKFILE_NAME}` says nothing of it"))
            .hint("move it away, and install again"));
        }
        let before = if old.is_some() { PriorState::Ours(locked) } else { PriorState::Absent };
        let bytes = bytes.map(|text| Arc::clone(text).into());
        Ok(Some(FilePlan::new(self.packages_dir(), Self::package_file_name(name)?, before, bytes)))
    }

    /// Where the merged graph is.
    pub(super) fn context_path(&self) -> PathBuf {
        self.ctxpkg_dir().join(CONTEXT_FILE)
    }

    /// The bytes of the merged graph, if it is there.
    pub(super) fn read_context(&self) -> Result<Option<Vec<u8>>> {
        Ok(read_optional(&self.context_path(), MAX_CONTEXT_BYTES)?)
    }

    /// What gives the merged graph these bytes, or removes it; nothing if it is so.
    pub(super) fn context_plan(&self, bytes: Option<Vec<u8>>) -> Result<Option<FilePlan>> {
        let old = self.read_context()?;
        if old == bytes {
            return Ok(None);
        }
        // What somebody else put there, or changed, is kept.
        let locked = self.lock.context.as_ref().map(|locked| locked.digest);
        let name =
            Name::new(CONTEXT_FILE).map_err(|e| Error::new(FailureKind::Data, e.to_string()))?;
        let before = if old.is_some() { PriorState::Ours(locked) } else { PriorState::Absent };
        Ok(Some(FilePlan::new(self.ctxpkg_dir(), name, before, bytes.map(Into::into))))
    }

    /// The locks that the project had.
    pub(super) fn read_history(&self, session: &Session<'_>) -> Result<LockHistory> {
        let path = self.ctxpkg_dir().join(HISTORY_FILE);
        match read_optional(&path, MAX_LOCK_BYTES)? {
            None => Ok(LockHistory::default()),
            Some(bytes) => LockHistory::parse(&bytes).map_err(|why| {
                Error::new(
                    FailureKind::Data,
                    format!("`{}` cannot be used", session.context.display_path(&path)),
                )
                .because(why)
                .hint("nothing was changed: remove it, and there is no way back to earlier states")
            }),
        }
    }

    /// What stores a new lock and what the project had before it; nothing if it is the same.
    pub(super) fn lock_plans(
        &self,
        session: &Session<'_>,
        lock: &PackageLock,
        onwards: &HistoryUpdate,
    ) -> Result<Vec<FilePlan>> {
        let bytes = lock.to_json();
        if self.lock_bytes.as_ref() == Some(&bytes)
            || self.lock_bytes.is_none() && *lock == PackageLock::default()
        {
            return Ok(Vec::new());
        }
        let before = |old: Option<&[u8]>| {
            old.map_or(PriorState::Absent, |old| PriorState::Ours(Some(Digest::of(old))))
        };
        let named =
            |name: &str| Name::new(name).map_err(|e| Error::new(FailureKind::Data, e.to_string()));
        let stored = before(self.lock_bytes.as_deref());
        let mut plans = vec![FilePlan::new(
            self.root.clone(),
            named(LOCKFILE_NAME)?,
            stored,
            Some(bytes.into()),
        )];
        let mut history = self.read_history(session)?;
        match onwards {
            HistoryUpdate::Append(sinks) => {
                let (until, lock) = (session.context.timestamp(), self.lock.clone());
                history =
                    history.with_entry(LockHistoryEntry { until, lock, sinks: sinks.clone() });
            }
            HistoryUpdate::Truncate(entries) => history.entries.truncate(*entries),
        }
        let old = read_optional(&self.ctxpkg_dir().join(HISTORY_FILE), MAX_LOCK_BYTES)?;
        let bytes = Some(history.to_json().into());
        plans.push(FilePlan::new(
            self.ctxpkg_dir(),
            named(HISTORY_FILE)?,
            before(old.as_deref()),
            bytes,
        ));
        Ok(plans)
    }
}

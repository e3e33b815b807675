//! A project that has packages: `ctxpkg.lock` and `.ctxpkg/`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sp_formats::package::PackageName;
use sp_formats::package::lock::{History, LOCK, Lock, Past};
use sp_tree::transaction::Before;
use sp_tree::{Digest, Name, read_optional};

use crate::config::Session;
use crate::error::{Error, Kind, Result};
use crate::plan::FilePlan;

/// The directory in which a project keeps its packages.
const DIR: &str = ".ctxpkg";
const PACKAGES: &str = "packages";
const HISTORY: &str = "history.json";
const CONTEXT: &str = "context.json";
const MAX_LOCK: u64 = 64 * 1024 * 1024;
/// A text of this size is no JSON that we read.
const MAX_CONTEXT: u64 = u32::MAX as u64;

/// Where a project keeps its packages.
pub(crate) fn installed_in(root: &Path) -> PathBuf {
    root.join(DIR).join(PACKAGES)
}

/// Into which sinks the skills of which package went: the name of each sink, and its path.
pub(super) type SinksOf = BTreeMap<PackageName, Vec<(String, String)>>;

/// What becomes of the past when there is a new lock.
#[derive(Debug, Clone)]
pub(super) enum Onwards {
    /// The old lock becomes part of it, with the sinks that its skills are in.
    Remember(SinksOf),
    /// So many entries of it are left: going back twice goes back two steps.
    BackTo(usize),
}

/// A project.
pub(super) struct Project {
    pub root: PathBuf,
    pub lock: Lock,
    /// The lock as it stands in its file.
    stored: Option<Vec<u8>>,
}

/// What a project brings along must not lead us out of it.
fn refuse_links(session: &Session<'_>, root: &Path) -> Result<()> {
    for path in [
        root.join(DIR),
        installed_in(root),
        root.join(DIR).join(HISTORY),
        root.join(DIR).join(CONTEXT),
        root.join(LOCK),
    ] {
        if path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()) {
            return Err(Error::new(Kind::Trust, format!("`{}` is a link", session.context.show(&path)))
                .because("what is written there would be written elsewhere")
                .hint("remove the link, and install again"));
        }
    }
    Ok(())
}

impl Project {
    /// The project that the user means: a given one, the nearest upward that has packages, or the current directory.
    pub(super) fn find(session: &Session<'_>, given: Option<&Path>) -> Result<Self> {
        let context = session.context;
        let root = match given {
            Some(given) => {
                let root = context.expand(&given.to_string_lossy());
                if !root.is_dir() {
                    return Err(Error::new(Kind::Request, format!("there is no directory `{}`", context.show(&root)))
                        .hint("give `--root` the directory of the project"));
                }
                root
            }
            None => {
                let holds = |dir: &&Path| dir.join(LOCK).is_file() || dir.join(DIR).is_dir();
                context.current_dir.ancestors().find(holds).unwrap_or(&context.current_dir).into()
            }
        };
        let root = root.canonicalize().map_err(|e| sp_tree::FileError::new("find", &root, e))?;
        refuse_links(session, &root)?;
        let path = root.join(LOCK);
        let stored = read_optional(&path, MAX_LOCK)?;
        let lock = match &stored {
            None => Lock::default(),
            Some(bytes) => Lock::parse(bytes).map_err(|why| {
                Error::new(Kind::Data, format!("`{}` cannot be used", context.show(&path)))
                    .because(why)
                    .hint("nothing was changed: mend it, take it from your history, or remove it and install anew")
            })?,
        };
        Ok(Self { root, lock, stored })
    }

    fn dir(&self) -> PathBuf {
        self.root.join(DIR)
    }

    fn packages_dir(&self) -> PathBuf {
        installed_in(&self.root)
    }

    /// The name of a package's file.
    pub(super) fn file_name(name: &PackageName) -> Result<Name> {
        Name::new(&format!("{}.ctxpkg", name.file_stem())).map_err(|why| {
            Error::new(Kind::Data, format!("`{name}` cannot be installed: no file can have its name"))
                .because(why)
                .hint("whoever made it must rename it")
        })
    }

    /// The bytes of a package's file, if it is there.
    pub(super) fn read(&self, session: &Session<'_>, name: &PackageName) -> Result<Option<Vec<u8>>> {
        let path = self.packages_dir().join(Self::file_name(name)?.as_str());
        let limit = session.limits.package_bytes.max(MAX_LOCK);
        Ok(read_optional(&path, limit)?)
    }

    /// What gives a package's file these bytes, or removes it; nothing if it is so.
    pub(super) fn file_plan(
        &self,
        session: &Session<'_>,
        name: &PackageName,
        bytes: Option<&Arc<str>>,
    ) -> Result<Option<FilePlan>> {
        let old = self.read(session, name)?;
        if old.as_deref() == bytes.map(|text| text.as_bytes()) {
            return Ok(None);
        }
        let locked = self.lock.packages.get(name).map(|locked| locked.digest);
        if old.is_some() && locked.is_none() {
            let path = self.packages_dir().join(Self::file_name(name)?.as_str());
            return Err(Error::new(
                Kind::Trust,
                format!("`{}` was not put there by `sp`", session.context.show(&path)),
            )
            .because(format!("`{LOCK}` says nothing of it"))
            .hint("move it away, and install again"));
        }
        let before = if old.is_some() { Before::Ours(locked) } else { Before::Nothing };
        let bytes = bytes.map(|text| Arc::clone(text).into());
        Ok(Some(FilePlan::new(self.packages_dir(), Self::file_name(name)?, before, bytes)))
    }

    /// Where the merged graph is.
    pub(super) fn context_path(&self) -> PathBuf {
        self.dir().join(CONTEXT)
    }

    /// The bytes of the merged graph, if it is there.
    pub(super) fn read_context(&self) -> Result<Option<Vec<u8>>> {
        Ok(read_optional(&self.context_path(), MAX_CONTEXT)?)
    }

    /// What gives the merged graph these bytes, or removes it; nothing if it is so.
    pub(super) fn context_plan(&self, bytes: Option<Vec<u8>>) -> Result<Option<FilePlan>> {
        let old = self.read_context()?;
        if old == bytes {
            return Ok(None);
        }
        // What somebody else put there, or changed, is kept.
        let locked = self.lock.context.as_ref().map(|locked| locked.digest);
        let name = Name::new(CONTEXT).map_err(|e| Error::new(Kind::Data, e.to_string()))?;
        let before = if old.is_some() { Before::Ours(locked) } else { Before::Nothing };
        Ok(Some(FilePlan::new(self.dir(), name, before, bytes.map(Into::into))))
    }

    /// The locks that the project had.
    pub(super) fn history(&self, session: &Session<'_>) -> Result<History> {
        let path = self.dir().join(HISTORY);
        match read_optional(&path, MAX_LOCK)? {
            None => Ok(History::default()),
            Some(bytes) => History::parse(&bytes).map_err(|why| {
                Error::new(Kind::Data, format!("`{}` cannot be used", session.context.show(&path)))
                    .because(why)
                    .hint("nothing was changed: remove it, and there is no way back to earlier states")
            }),
        }
    }

    /// What stores a new lock and what the project had before it; nothing if it is the same.
    pub(super) fn lock_plans(&self, session: &Session<'_>, lock: &Lock, onwards: &Onwards) -> Result<Vec<FilePlan>> {
        let bytes = lock.to_json();
        if self.stored.as_ref() == Some(&bytes) || self.stored.is_none() && *lock == Lock::default() {
            return Ok(Vec::new());
        }
        let before = |old: Option<&[u8]>| old.map_or(Before::Nothing, |old| Before::Ours(Some(Digest::of(old))));
        let named = |name: &str| Name::new(name).map_err(|e| Error::new(Kind::Data, e.to_string()));
        let stored = before(self.stored.as_deref());
        let mut plans = vec![FilePlan::new(self.root.clone(), named(LOCK)?, stored, Some(bytes.into()))];
        let mut history = self.history(session)?;
        match onwards {
            Onwards::Remember(sinks) => {
                let (until, lock) = (session.context.timestamp(), self.lock.clone());
                history = history.with(Past { until, lock, sinks: sinks.clone() });
            }
            Onwards::BackTo(entries) => history.entries.truncate(*entries),
        }
        let old = read_optional(&self.dir().join(HISTORY), MAX_LOCK)?;
        let bytes = Some(history.to_json().into());
        plans.push(FilePlan::new(self.dir(), named(HISTORY)?, before(old.as_deref()), bytes));
        Ok(plans)
    }
}

//! A source together with the place from which its relative paths start.

use std::fmt;
use std::path::{Path, PathBuf};

use sp_formats::bag::SourceRef;

/// A source and the directory from which a relative path in it starts.
#[derive(Debug, Clone)]
pub(crate) struct Located {
    pub source: SourceRef,
    pub base: PathBuf,
    /// Whether somebody wrote it who does not know this machine.
    pub foreign: bool,
}

impl Located {
    pub(crate) fn new(source: SourceRef, base: &Path) -> Self {
        Self { source, base: base.into(), foreign: false }
    }

    /// A source that a skill from elsewhere names.
    pub(crate) fn foreign(source: SourceRef) -> Self {
        Self { source, base: PathBuf::new(), foreign: true }
    }

    /// What two ways of writing one source have in common.
    fn identity(&self) -> String {
        match &self.source {
            SourceRef::Git(repo) => format!("git {}", repo.url.trim_end_matches('/').trim_end_matches(".git")),
            SourceRef::Web(url) => format!("web {url}"),
            SourceRef::Zip(path) | SourceRef::Dir(path) => {
                let path = self.base.join(path);
                format!("here {}", path.canonicalize().unwrap_or(path).display())
            }
        }
    }

    /// Whether it is on this machine, so that whoever wrote it knows this machine.
    pub(crate) fn is_here(&self) -> bool {
        matches!(self.source, SourceRef::Zip(_) | SourceRef::Dir(_))
    }

    /// Where relative paths in the files of this source start; none if it is not a directory of this machine.
    pub(crate) fn inner_base(&self) -> Option<PathBuf> {
        match &self.source {
            SourceRef::Dir(path) => Some(self.base.join(path)),
            _ => None,
        }
    }
}

impl PartialEq for Located {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl fmt::Display for Located {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}

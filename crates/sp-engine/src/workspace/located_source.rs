//! A source together with the directory that its relative path starts from.

use std::fmt;
use std::path::{Path, PathBuf};

use sp_formats::git_repo::GitTransport;
use sp_formats::redact::QueryAllowlist;
use sp_formats::workspace::SourceRef;

use crate::context::Context;

/// A source, and the directory that its relative path starts from.
///
/// Two located sources are equal if they lead to the same place, however they are written.
#[derive(Debug, Clone)]
pub(crate) struct LocatedSource {
    pub source: SourceRef,
    pub base: PathBuf,
    /// Whether it is declared by a skill from elsewhere, whose author does not know this machine.
    pub foreign: bool,
    /// The source as written, without credentials.
    written: String,
}

impl LocatedSource {
    /// Creates a source that was written on this machine. `~` is the user's home directory.
    pub(crate) fn new(context: &Context<'_>, source: SourceRef, base: &Path) -> Self {
        let written = source.to_string();
        let expand = |path: String| {
            if path.starts_with('~') {
                context.expand(&path).to_string_lossy().into_owned()
            } else {
                path
            }
        };
        let source = match source {
            SourceRef::Dir(path) => SourceRef::Dir(expand(path)),
            SourceRef::Zip(path) => SourceRef::Zip(expand(path)),
            other => other,
        };
        Self { source, base: base.into(), foreign: false, written }
    }

    /// Allows printing and recording these query parameters.
    pub(crate) fn with_kept_query(mut self, allowlist: &QueryAllowlist) -> Self {
        if self.source.omits_query() {
            self.source = self.source.with_query_allowlist(allowlist);
            self.written = self.source.to_string();
        }
        self
    }

    /// Creates a source that a skill from elsewhere declares.
    pub(crate) fn foreign(source: SourceRef) -> Self {
        Self { written: source.to_string(), source, base: PathBuf::new(), foreign: true }
    }

    /// Returns the source as recorded in the lockfile: relative paths start at the workspace.
    pub(crate) fn to_lock_source(&self, root: &Path) -> String {
        match &self.source {
            SourceRef::Dir(path) | SourceRef::Zip(path)
                if self.base != root && Path::new(path).is_relative() =>
            {
                relative_path(root, &self.base.join(path))
            }
            _ => self.written.clone(),
        }
    }

    /// Returns a key that is equal for all ways to write one source.
    fn identity(&self) -> String {
        match &self.source {
            SourceRef::Git(repo) => {
                format!("git {}", repo.url.trim_end_matches('/').trim_end_matches(".git"))
            }
            SourceRef::Web(web) => match &web.locked {
                // The recorded URL lacks its query, so it does not identify the source.
                Some(locked) => format!("archive {:?} {}", locked.digest, web.url),
                None => format!("web {}", web.url),
            },
            SourceRef::Zip(path) | SourceRef::Dir(path) => {
                let path = self.base.join(path);
                format!("here {}", path.canonicalize().unwrap_or(path).display())
            }
        }
    }

    /// Whether the source is on this machine.
    pub(crate) fn is_local(&self) -> bool {
        match &self.source {
            SourceRef::Zip(_) | SourceRef::Dir(_) => true,
            SourceRef::Git(repo) => {
                matches!(repo.transport, GitTransport::Path | GitTransport::File)
            }
            SourceRef::Web(_) => false,
        }
    }

    /// Returns the directory that relative paths in the files of this source start from. Only a
    /// local directory has one.
    pub(crate) fn content_base(&self) -> Option<PathBuf> {
        match &self.source {
            SourceRef::Dir(path) => Some(self.base.join(path)),
            _ => None,
        }
    }
}

impl PartialEq for LocatedSource {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl fmt::Display for LocatedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

/// Returns the path from one directory to another.
fn relative_path(from: &Path, to: &Path) -> String {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.into());
    let (from, to) = (real(from), real(to));
    let shared = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up =
        std::iter::repeat_n(std::path::Component::ParentDir, from.components().count() - shared);
    let path: PathBuf = up.chain(to.components().skip(shared)).collect();
    if path.as_os_str().is_empty() { ".".into() } else { path.to_string_lossy().into_owned() }
}

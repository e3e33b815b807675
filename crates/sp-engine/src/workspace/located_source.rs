//! A source together with the place from which its relative paths start.

use std::fmt;
use std::path::{Path, PathBuf};

use sp_formats::git_repo::GitTransport;
use sp_formats::redact::QueryAllowlist;
use sp_formats::workspace::SourceRef;

use crate::context::Context;

/// A source and the directory from which a relative path in it starts.
#[derive(Debug, Clone)]
pub(crate) struct LocatedSource {
    pub source: SourceRef,
    pub base: PathBuf,
    /// Whether somebody wrote it who does not know this machine.
    pub foreign: bool,
    /// As it was written, without credentials.
    written: String,
}

impl LocatedSource {
    /// A source as somebody who knows this machine writes it: `~` is the home.
    pub(crate) fn new(context: &Context<'_>, source: SourceRef, base: &Path) -> Self {
        let written = source.to_string();
        let expand = |path: String| match path.starts_with('~') {
            true => context.expand(&path).to_string_lossy().into_owned(),
            false => path,
        };
        let source = match source {
            SourceRef::Dir(path) => SourceRef::Dir(expand(path)),
            SourceRef::Zip(path) => SourceRef::Zip(expand(path)),
            other => other,
        };
        Self { source, base: base.into(), foreign: false, written }
    }

    /// The same, shown and locked with these parameters of its query too.
    pub(crate) fn with_kept_query(mut self, kept: &QueryAllowlist) -> Self {
        if self.source.omits_query() {
            self.source = self.source.with_query_allowlist(kept);
            self.written = self.source.to_string();
        }
        self
    }

    /// A source that a skill from elsewhere names.
    pub(crate) fn foreign(source: SourceRef) -> Self {
        Self { written: source.to_string(), source, base: PathBuf::new(), foreign: true }
    }

    /// How the lock of a workspace names it: so that it is found again from there.
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

    /// What two ways of writing one source have in common.
    fn identity(&self) -> String {
        match &self.source {
            SourceRef::Git(repo) => {
                format!("git {}", repo.url.trim_end_matches('/').trim_end_matches(".git"))
            }
            SourceRef::Web(web) => match &web.locked {
                // The address is not whole, so two of them say nothing.
                Some(locked) => format!("archive {:?} {}", locked.digest, web.url),
                None => format!("web {}", web.url),
            },
            SourceRef::Zip(path) | SourceRef::Dir(path) => {
                let path = self.base.join(path);
                format!("here {}", path.canonicalize().unwrap_or(path).display())
            }
        }
    }

    /// Whether it is on this machine, so that whoever wrote it knows this machine.
    pub(crate) fn is_local(&self) -> bool {
        match &self.source {
            SourceRef::Zip(_) | SourceRef::Dir(_) => true,
            SourceRef::Git(repo) => {
                matches!(repo.transport, GitTransport::Path | GitTransport::File)
            }
            SourceRef::Web(_) => false,
        }
    }

    /// Where relative paths in the files of this source start; none if it is not a directory of this machine.
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

/// The way from one directory to another place.
fn relative_path(from: &Path, to: &Path) -> String {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.into());
    let (from, to) = (real(from), real(to));
    let shared = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up =
        std::iter::repeat_n(std::path::Component::ParentDir, from.components().count() - shared);
    let way: PathBuf = up.chain(to.components().skip(shared)).collect();
    if way.as_os_str().is_empty() { ".".into() } else { way.to_string_lossy().into_owned() }
}

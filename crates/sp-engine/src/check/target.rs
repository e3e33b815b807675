//! The targets of a check.

use std::path::{Component, Path, PathBuf};

use super::CheckRequest;
use super::discover::{find_packages, has_packages, is_repository, is_skill_dir};
use crate::context::Context;
use crate::context_pack::{ContextPackLocation, RemoteContextPack, is_context_pack};
use crate::error::{Error, ErrorCode, Result};
use crate::workspace::workspace_dir::is_workspace;

/// A file, a directory, or the URL of a context pack.
pub(super) struct CheckTarget {
    /// The path, or the display form of the URL.
    pub path: PathBuf,
    /// The URL, if the target is one.
    pub address: Option<RemoteContextPack>,
}

impl CheckTarget {
    pub(super) fn new(path: PathBuf) -> Self {
        // `a/..` must be resolved on disk, because `a` may be a link. Collecting drops `.`.
        let path = if path.components().any(|part| part == Component::ParentDir) {
            path.canonicalize().unwrap_or(path)
        } else {
            path.components().collect()
        };
        Self { path, address: None }
    }

    /// Parses a command-line argument.
    fn from_argument(context: &Context<'_>, argument: &Path) -> Result<Self> {
        Ok(match ContextPackLocation::new(context, argument)? {
            ContextPackLocation::Local(path) => Self::new(path),
            ContextPackLocation::Remote(address) => {
                Self { path: address.to_string().into(), address: Some(address) }
            }
        })
    }

    /// Refuses a URL.
    pub(super) fn require_local(&self, hint: &str) -> Result<()> {
        match &self.address {
            None => Ok(()),
            Some(address) => {
                Err(Error::new(ErrorCode::Unsupported, format!("`{address}` is on the web"))
                    .hint(hint))
            }
        }
    }

    pub(super) fn require_exists(&self, context: &Context<'_>) -> Result<()> {
        match self.path.metadata() {
            Ok(_) => Ok(()),
            Err(e) => Err(Error::new(
                ErrorCode::UnreadableFile,
                format!("cannot read `{}`", context.display_relative_path(&self.path)),
            )
            .because(e)
            .hint("name a file or a directory that exists")),
        }
    }

    pub(super) fn is_dir(&self) -> bool {
        self.path.is_dir()
    }

    pub(super) fn is_file_named(&self, name: &str) -> bool {
        self.path.file_name().is_some_and(|own| own == name) && self.path.is_file()
    }

    /// Whether a directory above is a skill.
    pub(super) fn is_inside_skill(&self) -> bool {
        self.path.ancestors().skip(1).any(is_skill_dir)
    }

    pub(super) fn is_in_dir_named(&self, name: &str) -> bool {
        self.path.parent().is_some_and(|parent| parent.ends_with(name))
    }
}

/// Returns the targets of a request, without duplicates.
pub(super) fn resolve_targets(
    context: &Context<'_>,
    request: &CheckRequest,
) -> Result<Vec<CheckTarget>> {
    if !request.paths.is_empty() {
        let targets: Vec<CheckTarget> = request
            .paths
            .iter()
            .map(|path| CheckTarget::from_argument(context, path))
            .collect::<Result<_>>()?;
        let mut seen = std::collections::HashSet::new();
        let is_new = |target: &CheckTarget| {
            seen.insert(target.path.canonicalize().unwrap_or_else(|_| target.path.clone()))
        };
        return Ok(targets.into_iter().filter(is_new).collect());
    }
    if let Some(root) = &request.root {
        return Ok(vec![CheckTarget::new(context.expand(&root.to_string_lossy()))]);
    }
    let nearest = context.current_dir.ancestors().find(|dir| is_checkable_dir(dir));
    match nearest {
        Some(dir) => Ok(vec![CheckTarget::new(dir.into())]),
        None if has_packages(&context.current_dir) => {
            Ok(find_packages(&context.current_dir).into_iter().map(CheckTarget::new).collect())
        }
        // Walking the whole current directory, perhaps a home directory, requires an explicit path.
        None => Err(Error::new(ErrorCode::NothingToCheck, "the current directory is in no skill and no repository of skills")
            .hint("name what to check: a skill's folder, a pack file, or a directory with skills, such as `.`")),
    }
}

/// Whether a directory has a format other than "directory with skills below it".
fn is_checkable_dir(dir: &Path) -> bool {
    is_skill_dir(dir) || is_repository(dir) || is_workspace(dir) || is_context_pack(dir)
}

//! What a user points at.

use std::path::{Component, Path, PathBuf};

use super::CheckRequest;
use super::discover::{find_packages, has_packages, is_repository, is_skill_dir};
use crate::context::Context;
use crate::context_pack::{ContextPackLocation, RemoteContextPack, is_context_pack};
use crate::error::{Error, FailureKind, Result};
use crate::workspace::workspace_dir::is_workspace;

/// A file, a directory, or the address of a context pack.
pub(super) struct CheckTarget {
    /// Where it is; of an address what may be shown.
    pub path: PathBuf,
    /// The address, if it is one.
    pub address: Option<RemoteContextPack>,
}

impl CheckTarget {
    pub(super) fn new(path: PathBuf) -> Self {
        // `a/..` is looked up, since `a` may be a link; `.` says nothing.
        let path = match path.components().any(|part| part == Component::ParentDir) {
            true => path.canonicalize().unwrap_or(path),
            false => path.components().collect(),
        };
        Self { path, address: None }
    }

    /// What a user wrote.
    fn from_argument(context: &Context<'_>, given: &Path) -> Result<Self> {
        Ok(match ContextPackLocation::new(context, given)? {
            ContextPackLocation::Local(path) => Self::new(path),
            ContextPackLocation::Remote(address) => {
                Self { path: address.to_string().into(), address: Some(address) }
            }
        })
    }

    /// Refuses an address where only what is here will do.
    pub(super) fn require_local(&self, hint: &str) -> Result<()> {
        match &self.address {
            None => Ok(()),
            Some(address) => {
                Err(Error::new(FailureKind::Request, format!("`{address}` is on the web"))
                    .hint(hint))
            }
        }
    }

    pub(super) fn require_exists(&self, context: &Context<'_>) -> Result<()> {
        match self.path.metadata() {
            Ok(_) => Ok(()),
            Err(e) => Err(Error::new(
                FailureKind::Data,
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

    /// Whether it is a file of a skill.
    pub(super) fn is_inside_skill(&self) -> bool {
        self.path.ancestors().skip(1).any(is_skill_dir)
    }

    pub(super) fn is_in_dir_named(&self, name: &str) -> bool {
        self.path.parent().is_some_and(|parent| parent.ends_with(name))
    }
}

/// The places that a request means.
pub(super) fn resolve_targets(
    context: &Context<'_>,
    request: &CheckRequest,
) -> Result<Vec<CheckTarget>> {
    if !request.paths.is_empty() {
        let all: Vec<CheckTarget> = request
            .paths
            .iter()
            .map(|path| CheckTarget::from_argument(context, path))
            .collect::<Result<_>>()?;
        // Two ways to one place are one place.
        let mut seen = std::collections::HashSet::new();
        let is_new = |place: &CheckTarget| {
            seen.insert(place.path.canonicalize().unwrap_or_else(|_| place.path.clone()))
        };
        return Ok(all.into_iter().filter(is_new).collect());
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
        // A walk through whatever lies below, a home perhaps, is done only where it is asked for.
        None => Err(Error::new(FailureKind::Data, "the current directory is in no skill and no repository of skills")
            .hint("name what to check: a skill's folder, a pack file, or a directory with skills, such as `.`")),
    }
}

/// Whether a directory is something by itself.
fn is_checkable_dir(dir: &Path) -> bool {
    is_skill_dir(dir) || is_repository(dir) || is_workspace(dir) || is_context_pack(dir)
}

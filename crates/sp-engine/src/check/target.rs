//! A target of a check.

use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use super::discover::is_skill_dir;
use crate::context::Context;
use crate::context_pack::{ContextPackLocation, RemoteContextPack};
use crate::error::{Error, ErrorCode, Result};

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
    pub(super) fn from_argument(context: &Context<'_>, argument: &Path) -> Result<Self> {
        Ok(match ContextPackLocation::new(context, argument)? {
            ContextPackLocation::Local(path) => Self::new(path),
            ContextPackLocation::Remote(address) => {
                Self { path: address.to_string().into(), address: Some(address) }
            }
        })
    }

    /// Rejects a URL.
    pub(super) fn require_local(&self, hint: &str) -> Result<()> {
        match &self.address {
            None => Ok(()),
            Some(address) => {
                Err(Error::new(ErrorCode::Unsupported, format!("`{address}` is a URL")).hint(hint))
            }
        }
    }

    /// Rejects a path that cannot be read. URLs are accepted, because they are fetched later.
    pub(super) fn require_exists(&self, context: &Context<'_>) -> Result<()> {
        match self.path.metadata() {
            Ok(_) => Ok(()),
            Err(_) if self.address.is_some() => Ok(()),
            Err(e) => {
                let hint = match e.kind() {
                    ErrorKind::PermissionDenied => {
                        "you do not have permission to read a directory above it"
                    }
                    _ => "specify an existing file or directory",
                };
                Err(Error::new(
                    ErrorCode::UnreadableFile,
                    format!("cannot read `{}`", context.display_relative_path(&self.path)),
                )
                .because(e)
                .hint(hint))
            }
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

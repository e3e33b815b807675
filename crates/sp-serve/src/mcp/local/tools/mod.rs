//! The tools of this machine. Each calls one operation of the engine.

mod check;
mod generate;
mod install;
mod knowledge;
mod workspace;

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use sp_engine::{Error, ErrorCode, Result, SinkScope};
use sp_formats::printable::printable;

use super::LocalBackend;
use crate::mcp::tool::McpTool;

pub(super) fn tools() -> Vec<McpTool<LocalBackend>> {
    [check::tools(), install::tools(), generate::tools(), workspace::tools()]
        .into_iter()
        .flatten()
        .collect()
}

/// Scope of an installation.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum ScopeInput {
    /// For the user, in all projects.
    #[default]
    Global,
    /// For the project in the current directory.
    Project,
}

impl From<ScopeInput> for SinkScope {
    fn from(scope: ScopeInput) -> Self {
        match scope {
            ScopeInput::Global => Self::Global,
            ScopeInput::Project => Self::Project,
        }
    }
}

impl LocalBackend {
    /// Resolves a path from a client. It must be below the current directory or the root: a client
    /// may not read everything that the user may.
    fn allowed_path(&self, path: &str) -> Result<PathBuf> {
        let current = &self.settings.context.current_dir;
        let root = self.settings.library_filter.root.iter().map(|root| current.join(root));
        let mut roots = std::iter::once(current.clone()).chain(root);
        // The error is the same for missing files and for files outside.
        let real = self.absolute_path(path).canonicalize().ok();
        let is_below = |real: &PathBuf, root: &Path| {
            root.canonicalize().is_ok_and(|root| real.starts_with(root))
        };
        real.filter(|real| roots.any(|root| is_below(real, &root))).ok_or_else(|| {
            Error::new(
                ErrorCode::PathOutsideRoot,
                format!(
                    "`{}` does not exist or is outside the served directories",
                    printable(path)
                ),
            )
            .hint(format!("use a path below `{}`", self.settings.context.display_path(current)))
        })
    }

    fn absolute_path(&self, path: &str) -> PathBuf {
        self.settings.context.current_dir.join(path)
    }

    fn root(&self) -> Option<&Path> {
        self.settings.library_filter.root.as_deref()
    }
}

//! Tools of this machine: each is a verb of the engine.

mod check;
mod generate;
mod install;
mod knowledge;
mod workspace;

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use sp_engine::{Error, FailureKind, Result, SinkScope};
use sp_formats::printable::printable;

use super::LocalBackend;
use crate::mcp::tool::McpTool;

/// The tools.
pub(super) fn tools() -> Vec<McpTool<LocalBackend>> {
    [check::tools(), install::tools(), generate::tools(), workspace::tools()]
        .into_iter()
        .flatten()
        .collect()
}

/// Where an agent reads.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum ScopeInput {
    /// For the user, in every project.
    #[default]
    Global,
    /// In the project of the current directory.
    Project,
}

impl From<ScopeInput> for SinkScope {
    fn from(place: ScopeInput) -> Self {
        match place {
            ScopeInput::Global => Self::Global,
            ScopeInput::Project => Self::Project,
        }
    }
}

impl LocalBackend {
    /// A path that a client gave, if it lies where this server was told to look: whoever may ask is not for that
    /// reason allowed to see everything that its user may.
    fn allowed_path(&self, path: &str) -> Result<PathBuf> {
        let current = &self.settings.context.current_dir;
        let root = self.settings.library_filter.root.iter().map(|root| current.join(root));
        let mut places = std::iter::once(current.clone()).chain(root);
        // Whether there is something elsewhere is nobody's business either.
        let real = self.absolute_path(path).canonicalize().ok();
        let is_below = |real: &PathBuf, place: &Path| {
            place.canonicalize().is_ok_and(|place| real.starts_with(place))
        };
        real.filter(|real| places.any(|place| is_below(real, &place))).ok_or_else(|| {
            Error::new(
                FailureKind::Request,
                format!("`{}` is not there, or lies outside of what is served", printable(path)),
            )
            .hint(format!("name something below `{}`", self.settings.context.display_path(current)))
        })
    }

    /// A path from the current directory.
    fn absolute_path(&self, path: &str) -> PathBuf {
        self.settings.context.current_dir.join(path)
    }

    fn root(&self) -> Option<&Path> {
        self.settings.library_filter.root.as_deref()
    }
}

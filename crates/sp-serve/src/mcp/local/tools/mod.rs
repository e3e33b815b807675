//! Tools of this machine: each is a verb of the engine.

mod bag;
mod change;
mod check;
mod generate;
mod knowledge;

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use sp_engine::{Error, Kind, Result, Scope};
use sp_formats::printable::printable;

use super::Local;
use crate::mcp::tools::Tool;

/// The tools.
pub(super) fn tools() -> Vec<Tool<Local>> {
    [check::tools(), change::tools(), generate::tools(), bag::tools()].into_iter().flatten().collect()
}

/// Where an agent reads.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Place {
    /// For the user, in every project.
    #[default]
    Global,
    /// In the project of the current directory.
    Project,
}

impl From<Place> for Scope {
    fn from(place: Place) -> Self {
        match place {
            Place::Global => Self::Global,
            Place::Project => Self::Project,
        }
    }
}

impl Local {
    /// A path that a client gave, if it lies where this server was told to look: whoever may ask is not for that
    /// reason allowed to see everything that its user may.
    fn inside(&self, path: &str) -> Result<PathBuf> {
        let current = &self.settings.context.current_dir;
        let root = self.settings.shelves.root.iter().map(|root| current.join(root));
        let mut places = std::iter::once(current.clone()).chain(root);
        // Whether there is something elsewhere is nobody's business either.
        let real = self.here(path).canonicalize().ok();
        let is_below = |real: &PathBuf, place: &Path| place.canonicalize().is_ok_and(|place| real.starts_with(place));
        real.filter(|real| places.any(|place| is_below(real, &place))).ok_or_else(|| {
            Error::new(Kind::Request, format!("`{}` is not there, or lies outside of what is served", printable(path)))
                .hint(format!("name something below `{}`", self.settings.context.show(current)))
        })
    }

    /// A path from the current directory.
    fn here(&self, path: &str) -> PathBuf {
        self.settings.context.current_dir.join(path)
    }

    fn root(&self) -> Option<&Path> {
        self.settings.shelves.root.as_deref()
    }
}

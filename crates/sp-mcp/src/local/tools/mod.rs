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
use crate::tools::Tool;

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
        let (current, root) = (&self.settings.context.current_dir, &self.settings.shelves.root);
        let wanted = current.join(path);
        let real = wanted.canonicalize().map_err(|e| sp_tree::FileError::new("find", &wanted, e))?;
        let root = root.iter().map(|root| current.join(root));
        let places: Vec<PathBuf> = std::iter::once(current.clone()).chain(root).collect();
        let is_below = |place: &PathBuf| place.canonicalize().is_ok_and(|place| real.starts_with(place));
        match places.iter().any(is_below) {
            true => Ok(real),
            false => Err(Error::new(Kind::Request, format!("`{}` lies outside of what is served", printable(path)))
                .hint(format!("name something below `{}`", self.settings.context.show(current)))),
        }
    }

    fn root(&self) -> Option<&Path> {
        self.settings.shelves.root.as_deref()
    }
}

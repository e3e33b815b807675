//! Knowledge bases: folders of what somebody collected. Each has an index in Skillpack's own directory, which
//! is brought up to date by reading only what changed. It is a cache: without it everything is read again.

mod files;
mod refresh;
mod search;
mod store;
mod view;

pub use search::{SearchRequest, search};
pub use view::{add, list, remove, stats};

pub(crate) use refresh::{Base, refresh};
pub(crate) use search::Records;
pub(crate) use store::Store;
pub(crate) use view::told;

use std::path::{Path, PathBuf};

use crate::context::Context;
use crate::error::{Error, Kind, Result};

/// Where the indexes are.
fn home(context: &Context<'_>) -> PathBuf {
    context.home.join("kb")
}

/// The folder of a knowledge base as it really is.
fn folder(context: &Context<'_>, dir: &Path) -> Result<PathBuf> {
    let dir = context.expand(&dir.to_string_lossy());
    match dir.canonicalize() {
        Ok(real) if real.is_dir() => Ok(real),
        Ok(_) => Err(Error::new(Kind::Usage, format!("`{}` is no folder", context.show(&dir)))
            .hint("name the folder that holds your notes, pages and bookmarks")),
        Err(e) => Err(sp_tree::FileError::new("find", &dir, e).into()),
    }
}

/// The folders that were added.
pub(crate) fn known_folders(context: &Context<'_>) -> Result<Vec<PathBuf>> {
    let folders: Vec<PathBuf> = Store::all(context).into_iter().map(|(folder, _)| folder).collect();
    if folders.is_empty() { Err(none_known()) } else { Ok(folders) }
}

/// Nothing is known yet.
fn none_known() -> Error {
    Error::new(Kind::Request, "there is no knowledge base yet").hint("`sp context kb add <folder>` adds one")
}

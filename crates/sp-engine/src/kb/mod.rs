//! Knowledge bases: directories of notes, saved pages, bookmarks and captures.
//!
//! Each knowledge base has a `KnowledgeIndex` in the home, which `refresh` brings up to date by
//! reading only files that changed. The index is a cache: without it, everything is read again. The
//! directory itself is never changed.
//!
//! How files are parsed and documents are ranked is defined in `sp_analyze::knowledge`.

mod commands;
mod files;
mod index;
mod refresh;
mod search;

pub use commands::{add, list, remove, stats};
pub use search::{KnowledgeSearchRequest, search};

pub(crate) use index::KnowledgeIndex;
pub(crate) use refresh::{KnowledgeBase, refresh, skipped_output};
pub(crate) use search::{MergedDocuments, TimeRange};

use std::path::{Path, PathBuf};

use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::files::{InputKind, require_input};

/// Returns the directory of the indexes.
fn index_dir(context: &Context<'_>) -> PathBuf {
    context.home.join("kb")
}

/// Returns the canonical path of the directory of a knowledge base.
fn resolve_folder(context: &Context<'_>, dir: &Path) -> Result<PathBuf> {
    let dir = context.expand(&dir.to_string_lossy());
    require_input(context, &dir, InputKind::Directory)?;
    match dir.canonicalize() {
        Ok(real) if real.is_dir() => Ok(real),
        Ok(_) => Err(Error::new(
            ErrorCode::InvalidArguments,
            format!("`{}` is not a directory", context.display_path(&dir)),
        )
        .hint("specify the directory that contains your notes, pages and bookmarks")),
        Err(e) => Err(sp_tree::FileError::new("find", &dir, e).into()),
    }
}

/// Returns the directories that were added. It is an error if there are none.
pub(crate) fn indexed_folders(context: &Context<'_>) -> Result<Vec<PathBuf>> {
    let folders: Vec<PathBuf> =
        KnowledgeIndex::open_all(context).into_iter().map(|(folder, _)| folder).collect();
    if folders.is_empty() { Err(no_knowledge_base()) } else { Ok(folders) }
}

fn no_knowledge_base() -> Error {
    Error::new(ErrorCode::NothingFound, "no knowledge base found")
        .hint("run `sp context kb add <dir>` to add one")
}

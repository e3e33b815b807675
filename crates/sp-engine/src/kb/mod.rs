//! Knowledge bases: folders of what somebody collected. Each has an index in Skillpack's own directory, which
//! is brought up to date by reading only what changed. It is a cache: without it everything is read again.

mod commands;
mod files;
mod index;
mod refresh;
mod search;

pub use commands::{add, list, remove, stats};
pub use search::{KnowledgeSearchRequest, search};

pub(crate) use commands::skipped_output;
pub(crate) use index::KnowledgeIndex;
pub(crate) use refresh::{KnowledgeBase, refresh};
pub(crate) use search::MergedDocuments;

use std::path::{Path, PathBuf};

use crate::context::Context;
use crate::error::{Error, FailureKind, Result};

/// Where the indexes are.
fn index_dir(context: &Context<'_>) -> PathBuf {
    context.home.join("kb")
}

/// The folder of a knowledge base as it really is.
fn resolve_folder(context: &Context<'_>, dir: &Path) -> Result<PathBuf> {
    let dir = context.expand(&dir.to_string_lossy());
    match dir.canonicalize() {
        Ok(real) if real.is_dir() => Ok(real),
        Ok(_) => Err(Error::new(
            FailureKind::Usage,
            format!("`{}` is no folder", context.display_path(&dir)),
        )
        .hint("name the folder that holds your notes, pages and bookmarks")),
        Err(e) => Err(sp_tree::FileError::new("find", &dir, e).into()),
    }
}

/// The folders that were added.
pub(crate) fn indexed_folders(context: &Context<'_>) -> Result<Vec<PathBuf>> {
    let folders: Vec<PathBuf> =
        KnowledgeIndex::open_all(context).into_iter().map(|(folder, _)| folder).collect();
    if folders.is_empty() { Err(no_knowledge_base()) } else { Ok(folders) }
}

/// Nothing is known yet.
fn no_knowledge_base() -> Error {
    Error::new(FailureKind::Request, "there is no knowledge base yet")
        .hint("`sp context kb add <folder>` adds one")
}

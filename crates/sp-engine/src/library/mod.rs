//! What `sp` can serve to agents over MCP: skills, context packs and packages.
//!
//! A [`SkillLibrary`] lists the skills of a repository, a workspace, sinks and stored packages.
//! Opening it reads no skill; each skill is read on demand.

mod search;
mod skills;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sp_formats::context_pack::{ContextPack, listed_files};

use crate::context::Context;
use crate::error::Result;
use crate::session::Session;

pub use search::{SearchDocument, search_documents};
pub use skills::{LibraryFilter, LibrarySkill, LibrarySource, SkillHandle, SkillLibrary};

/// A context pack with the files that it lists.
pub struct LibraryPack {
    pub pack: ContextPack,
    /// The files by path, including `pack.json`.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// Reads a context pack. Fails if it is invalid.
pub fn read_context_pack(context: &Context<'_>, path: &Path) -> Result<LibraryPack> {
    let session = Session::begin(context)?;
    let (pack, entries) = crate::context_pack::read_valid_pack(&session, path)?;
    let files = listed_files(&pack, &entries);
    Ok(LibraryPack { pack, files })
}

/// Returns the context pack in the default output directory of `sp context build`, if there is one.
pub fn default_context_pack(context: &Context<'_>) -> Option<PathBuf> {
    let default = context.absolute(Path::new(crate::context_pack::DEFAULT_OUT_DIR));
    crate::context_pack::is_context_pack(&default).then_some(default)
}

/// Returns the text of a package in the store, given as `@acme/notes@1.2.0`.
pub fn package_text(context: &Context<'_>, subject: &str) -> Result<String> {
    let session = Session::begin(context)?;
    crate::pkg::load_package_text(&session, subject)
}
